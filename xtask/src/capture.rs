use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs a command to its end and returns its stdout.
///
/// # Errors
/// If it cannot be started or fails; the message then has the last line of its stderr.
pub(crate) fn stdout_of(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{}: {}", output.status, last_line(&stderr).unwrap_or("no message").trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{name} wrote bytes that are not UTF-8"))
}

/// The last line that is not blank.
pub(crate) fn last_line(text: &str) -> Option<&str> {
    text.lines().rfind(|line| !line.trim().is_empty())
}
