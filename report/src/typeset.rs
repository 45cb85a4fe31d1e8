//! Typesets a document with the program in report/typeset. Typst would be a sixth of what the tests
//! compile, so it is built only for a report.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use crate::document::Document;

/// The program, built.
#[derive(Clone, Debug)]
pub struct Typesetter {
    program: PathBuf,
}

/// A typeset document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages {
    /// The PDF file.
    pub pdf: Vec<u8>,
    /// Its number of pages.
    pub count: usize,
    /// The HTML page with embedded images, if requested.
    pub html: Option<String>,
}

/// The errors of [`Typesetter::build`].
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The sources no longer exist where this program was built.
    #[error("{} is missing: keep the workspace where this program was built, or build it again", .0.display())]
    NoSources(PathBuf),
    /// Cargo could not be started.
    #[error("{} does not start ({error}): put cargo on the PATH", .cargo.display())]
    NoCargo {
        /// The program.
        cargo: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// Cargo failed and printed its reason.
    #[error("cargo cannot build report/typeset, for the reason above")]
    Failed,
}

/// The errors of [`Typesetter::typeset`].
#[derive(Debug, thiserror::Error)]
pub enum TypesetError {
    /// The program could not be started, or its output ended early.
    #[error("{} does not run: {error}", .program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The template does not match the document. This is a bug in one of them, not in the figures.
    #[error("the report could not be typeset: {0}")]
    Template(String),
}

/// A line of Cargo's messages. Messages of other kinds have no executable.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
}

/// The program's output.
#[derive(Deserialize)]
struct Output {
    pdf: String,
    pages: usize,
    html: Option<String>,
}

impl Typesetter {
    /// Whether an earlier run has built the program next to this one, though perhaps from different
    /// sources.
    pub fn is_built() -> bool {
        let name = format!("typeset{}", std::env::consts::EXE_SUFFIX);
        std::env::current_exe().is_ok_and(|this_program| this_program.with_file_name(name).is_file())
    }

    /// Builds the program from the workspace's sources, in this program's profile and target
    /// folder. Cargo's progress goes to stderr.
    ///
    /// # Errors
    /// If there is no Cargo, the sources do not compile, or a library cannot be downloaded.
    pub fn build(workspace: &Path) -> Result<Self, BuildError> {
        let manifest = workspace.join("report").join("typeset").join("Cargo.toml");
        if !manifest.is_file() {
            return Err(BuildError::NoSources(manifest));
        }
        let cargo = PathBuf::from(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let mut command = Command::new(&cargo);
        // Cargo takes its settings from the current folder and from variables such as CARGO_NET_OFFLINE.
        command.current_dir(workspace).args(["build", "--locked", "--message-format=json-render-diagnostics"]);
        command.arg("--manifest-path").arg(manifest).args((!is_dev()).then_some("--release"));
        let this_program = std::env::current_exe().unwrap_or_default();
        if let Some(target) = target_folder(&this_program) {
            command.arg("--target-dir").arg(target);
        }
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_a_build(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| BuildError::NoCargo { cargo, error })?;
        let messages = String::from_utf8_lossy(&output.stdout);
        let mut messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
        let program = messages.find_map(|message| message.executable).filter(|_| output.status.success());
        Ok(Self { program: program.ok_or(BuildError::Failed)? })
    }

    /// Typesets the document as PDF, and as HTML if requested.
    ///
    /// # Errors
    /// If the program does not run, or the template does not match the document.
    pub fn typeset(&self, document: &Document, with_html: bool) -> Result<Pages, TypesetError> {
        let failed = |error| TypesetError::Program { program: self.program.clone(), error };
        let mut command = Command::new(&self.program);
        command.args(with_html.then_some("--html"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        // The program reads everything before it writes anything. If it ends early, its exit code
        // and stderr are more informative than this pipe's error.
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(document.to_json().as_bytes());
        }
        let output = child.wait_with_output().map_err(failed)?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let line = stderr.lines().find(|line| !line.is_empty()).unwrap_or_default();
            let reason = line.strip_prefix("error: ").unwrap_or(line);
            return Err(TypesetError::Template(format!("{reason} ({})", output.status)));
        }
        let no_report = |error: &dyn ToString| failed(io::Error::new(io::ErrorKind::InvalidData, error.to_string()));
        let Output { pdf, pages, html } = serde_json::from_slice(&output.stdout).map_err(|error| no_report(&error))?;
        let pdf = BASE64_STANDARD.decode(pdf).map_err(|error| no_report(&error))?;
        Ok(Pages { pdf, count: pages, html })
    }
}

/// Whether this program was built in the dev profile.
pub fn is_dev() -> bool {
    env!("BUILT_PROFILE") == "debug"
}

/// Cargo's target folder that contains one of its programs, recognized by Cargo's marker file.
/// `None` for a program that was copied elsewhere; Cargo's settings then choose the folder. Only
/// the program's location reveals a `--target-dir` on Cargo's command line.
fn target_folder(program: &Path) -> Option<&Path> {
    program.ancestors().skip(1).find(|folder| folder.join("CACHEDIR.TAG").is_file())
}

/// Whether a variable belongs to the package that `cargo run` or `cargo test` has started, or to
/// checks that Cargo's caller requested for the workspace's own code. Different values would make
/// the compiler run again. The user's settings are kept.
fn is_of_a_build(name: &str) -> bool {
    ["RUSTC_WORKSPACE_WRAPPER", "OUT_DIR"].contains(&name)
        || ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_EXE_"].iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_folder_has_cargos_mark() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        std::fs::create_dir_all(&target).unwrap();
        let programs = ["debug/report", "debug/deps/report-0123", "x86_64-unknown-linux-gnu/release/report"];
        assert_eq!(target_folder(&target.join(programs[0])), None);
        std::fs::write(target.join("CACHEDIR.TAG"), "").unwrap();
        for program in programs {
            assert_eq!(target_folder(&target.join(program)), Some(&*target), "{program}");
        }
        assert_eq!(target_folder(&folder.path().join("report")), None);
    }

    #[test]
    fn the_users_settings_reach_the_build() {
        let removed = ["RUSTC_WORKSPACE_WRAPPER", "CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "OUT_DIR"];
        let kept = ["CARGO_NET_OFFLINE", "CARGO_HOME", "CARGO_TARGET_DIR", "RUSTFLAGS", "RUSTC_WRAPPER", "PATH"];
        assert!(removed.into_iter().all(is_of_a_build) && !kept.into_iter().any(is_of_a_build));
    }

    #[test]
    fn missing_sources_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = Typesetter::build(folder.path()).unwrap_err().to_string();
        assert!(error.contains("Cargo.toml is missing: keep the workspace where this program was built"), "{error}");
    }
}
