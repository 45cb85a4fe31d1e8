//! Building with cargo, and finding the executable that it built.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::workspace_root;

/// Runs cargo in the workspace and returns the executable of that name; `None` if the build fails or has no such
/// executable. The compiler's messages go to stderr.
///
/// # Errors
/// If cargo cannot be started.
pub(crate) fn build_executable(arguments: &[&str], name: &str) -> Result<Option<PathBuf>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .current_dir(workspace_root())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    Ok(executable_of(name, &String::from_utf8_lossy(&output.stdout)).filter(|_| output.status.success()))
}

/// The executable of that name in cargo's messages, one JSON object per line.
fn executable_of(name: &str, messages: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Artifact {
        target: Target,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    let mut artifacts = messages.lines().filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
    artifacts.find_map(|artifact| artifact.executable.filter(|_| artifact.target.name == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_an_executable_is_found_in_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"max_functions"},"executable":null}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"max_functions"},"executable":"/target/debug/max_functions"}
{"reason":"build-finished","success":true}"#;
        let expected = Some(PathBuf::from("/target/debug/max_functions"));
        assert_eq!(executable_of("max_functions", messages), expected);
        assert_eq!(executable_of("neural-net", messages), None);
    }
}
