//! Builds with cargo and finds the executables it built.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::workspace::Workspace;

/// Runs cargo in the workspace and returns the executable with that name. `None` if the build fails
/// or has no such executable. The compiler's messages go to stderr.
///
/// # Errors
/// If cargo cannot be started.
pub(crate) fn build_executable(workspace: Workspace, arguments: &[&str], name: &str) -> Result<Option<PathBuf>> {
    let (messages, is_success) = build(workspace, arguments)?;
    let executable =
        artifacts(&messages).find(|artifact| artifact.target.name == name && artifact.executable.is_some());
    Ok(executable.and_then(|artifact| artifact.executable).filter(|_| is_success))
}

/// The executables of a build.
pub(crate) struct Executables(Vec<Artifact>);

/// Runs cargo in the workspace and returns all executables that it built. The compiler's messages go to stderr.
///
/// # Errors
/// If cargo cannot be started, or the build fails.
pub(crate) fn build_executables(workspace: Workspace, arguments: &[&str]) -> Result<Executables> {
    let (messages, is_success) = build(workspace, arguments)?;
    ensure!(is_success, "cargo {} failed", arguments.join(" "));
    Ok(Executables(artifacts(&messages).filter(|artifact| artifact.executable.is_some()).collect()))
}

impl Executables {
    /// The executable for the target `name` of `package`.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn get(&self, package: &str, name: &str) -> Result<&Path> {
        let is_it = |artifact: &&Artifact| artifact.target.name == name && artifact.is_of(package);
        let executable = self.0.iter().find(is_it).and_then(|artifact| artifact.executable.as_deref());
        executable.with_context(|| format!("cargo built no executable {name} of {package}"))
    }
}

/// The cargo that is running this program, set to run in the workspace.
pub(crate) fn cargo(workspace: Workspace) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace.folder());
    command
}

/// Runs cargo in the workspace. Returns its messages, one JSON object per line, and whether the
/// build succeeded.
fn build(workspace: Workspace, arguments: &[&str]) -> Result<(String, bool)> {
    let output = cargo(workspace)
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success()))
}

#[derive(Deserialize)]
struct Artifact {
    /// "path+file:///workspace/kernels-gpu#0.1.0", or "…/neural-net/perceptron#name@0.1.0".
    #[serde(default)]
    package_id: String,
    target: Target,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

impl Artifact {
    /// Whether it belongs to the package with that name.
    fn is_of(&self, package: &str) -> bool {
        let (path, version) = self.package_id.rsplit_once('#').unwrap_or((&self.package_id, ""));
        let name = version.split_once('@').map_or_else(|| path.rsplit('/').next().unwrap_or(path), |(name, _)| name);
        name == package
    }
}

/// The artifacts in cargo's messages.
fn artifacts(messages: &str) -> impl Iterator<Item = Artifact> {
    messages.lines().filter_map(|line| serde_json::from_str::<Artifact>(line).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_an_executable_is_found_in_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"max_functions"},"executable":null}
{"reason":"compiler-artifact","package_id":"path+file:///w/max_functions#0.1.0","target":{"kind":["bin"],"name":"max_functions"},"executable":"/target/debug/max_functions"}
{"reason":"build-finished","success":true}"#;
        let names: Vec<(String, bool)> =
            artifacts(messages).map(|artifact| (artifact.target.name, artifact.executable.is_some())).collect();
        assert_eq!(names, [("max_functions".to_owned(), false), ("max_functions".to_owned(), true)]);
        let built = Executables(artifacts(messages).filter(|artifact| artifact.executable.is_some()).collect());
        let expected = Path::new("/target/debug/max_functions");
        assert_eq!(built.get("max_functions", "max_functions").unwrap(), expected);
        assert!(built.get("neural-net", "max_functions").is_err() && built.get("max_functions", "neural-net").is_err());
    }
}
