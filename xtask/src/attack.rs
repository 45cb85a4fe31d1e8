//! `cargo xtask attack`: builds the attack and the programs under attack, and runs it.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::capture::stdout_of;
use crate::cargo::{Workspace, build_executable};
use crate::workspace_root;

/// Options passed through to the attack's own program, which parses them.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// Options of the attack: --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    arguments: Vec<OsString>,
}

/// Runs the attack, and returns its exit code.
///
/// # Errors
/// If a program does not build or the attack cannot be started.
pub(crate) fn run(Options { arguments }: &Options) -> Result<ExitCode> {
    // The attack is built with all checks on, the programs as `cargo run` builds them.
    let build = ["build", "--quiet", "--profile", "attack", "--package", "attack"];
    let Some(attack) = build_executable(Workspace::Homework, &build, "attack")? else {
        bail!("the attack does not build")
    };
    let mut command = Command::new(&attack);
    command.args(arguments).current_dir(workspace_root());
    // The attack itself reports wrong options and prints the help.
    let is_help = arguments.iter().any(|argument| argument == "--help" || argument == "-h");
    if !is_help && let Ok(packages) = stdout_of(Command::new(&attack).arg("programs").args(arguments)) {
        let packages: Vec<&str> = packages.lines().collect();
        if let Some(folder) = programs(&packages)? {
            command.arg("--programs").arg(folder);
        }
    }
    let status = command.status().with_context(|| format!("cannot start {}", attack.display()))?;
    // A signal has no exit code; shells use 128 plus its number, 130 for SIGINT.
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(130)))
}

/// Builds the packages' programs, and returns their folder; `None` if there are no packages.
fn programs(packages: &[&str]) -> Result<Option<OsString>> {
    let Some(&first) = packages.first() else { return Ok(None) };
    let build = ["build", "--quiet"].into_iter().chain(packages.iter().flat_map(|package| ["--package", package]));
    let executable = build_executable(Workspace::Homework, &build.collect::<Vec<_>>(), first)?;
    let folder = executable.as_deref().and_then(Path::parent).context("the programs do not build")?;
    Ok(Some(folder.as_os_str().to_owned()))
}
