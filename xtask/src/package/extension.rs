//! The VS Code extension that contains the debugger.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::capture::stdout_of;
use crate::workspace_root;

/// Packs the extension, with `program` in it, as `folder`/kernel-debugger.vsix.
///
/// # Errors
/// If npm is missing or cannot fetch the packer, or VS Code does not support that system.
pub(super) fn make(program: &Path, executable: &str, triple: &str, folder: &Path) -> Result<()> {
    let made = tempfile::tempdir()?;
    let sources = workspace_root().join("rust-cuda/kernel-debugger/vscode");
    for file in ["extension.js", "package.json"] {
        std::fs::copy(sources.join(file), made.path().join(file)).with_context(|| format!("cannot copy {file}"))?;
    }
    let bin = made.path().join("bin");
    std::fs::create_dir(&bin)?;
    std::fs::copy(program, bin.join(executable))?;
    let platform = platform(triple).with_context(|| format!("VS Code does not run on {triple}"))?;
    let arguments: [&[&str]; 2] = [
        &["install", "--silent", "--no-audit", "--no-fund"],
        &["run", "--silent", "package", "--", "--target", &platform],
    ];
    for arguments in arguments {
        // On Windows, npm is a script that the command interpreter starts.
        let mut npm = if cfg!(windows) { Command::new("cmd") } else { Command::new("npm") };
        if cfg!(windows) {
            npm.args(["/c", "npm"]);
        }
        stdout_of(npm.args(arguments).current_dir(made.path()))
            .context("npm cannot pack the extension for VS Code: install Node.js 22 or later, and be online")?;
    }
    std::fs::copy(made.path().join("kernel-debugger.vsix"), folder.join("kernel-debugger.vsix"))?;
    Ok(())
}

/// VS Code's name for a system.
fn platform(triple: &str) -> Option<String> {
    let systems = [("windows", "win32"), ("linux", "linux"), ("darwin", "darwin")];
    let (_, system) = systems.into_iter().find(|(name, _)| triple.contains(name))?;
    Some(format!("{system}-{}", if triple.starts_with("aarch64") { "arm64" } else { "x64" }))
}
