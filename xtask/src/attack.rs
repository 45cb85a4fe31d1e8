//! `cargo xtask attack`: builds the attack and the programs that it runs, and starts it.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::capture::stdout_of;
use crate::cargo::build_executable;
use crate::workspace_root;

/// The attack's own program has the options; what is not known there is an error there.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// Options of the attack: --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    arguments: Vec<OsString>,
}

/// Attacks, and ends with the attack's exit code.
///
/// # Errors
/// If something does not build, or cannot be started.
pub(crate) fn run(Options { arguments }: &Options) -> Result<ExitCode> {
    // With every check on, and the programs as `cargo run` builds them.
    let Some(attack) = build_executable(&["build", "--quiet", "--profile", "attack", "--package", "attack"], "attack")?
    else {
        bail!("the attack does not build")
    };
    let mut command = Command::new(&attack);
    command.args(arguments).current_dir(workspace_root());
    // Where the options are wrong, or ask for help, the attack itself says so.
    let is_help = arguments.iter().any(|argument| argument == "--help" || argument == "-h");
    if !is_help && let Ok(packages) = stdout_of(Command::new(&attack).arg("programs").args(arguments)) {
        let packages: Vec<&str> = packages.lines().collect();
        if let Some(folder) = programs(&packages)? {
            command.arg("--programs").arg(folder);
        }
    }
    let status = command.status().with_context(|| format!("cannot start {}", attack.display()))?;
    // A signal has no exit code; shells have 128 and its number.
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(130)))
}

/// Builds the packages' programs, and returns the folder that they are in; None of no packages.
fn programs(packages: &[&str]) -> Result<Option<OsString>> {
    let Some(&first) = packages.first() else { return Ok(None) };
    let build = ["build", "--quiet"].into_iter().chain(packages.iter().flat_map(|package| ["--package", package]));
    let executable = build_executable(&build.collect::<Vec<_>>(), first)?;
    let folder = executable.as_deref().and_then(Path::parent).context("the programs do not build")?;
    Ok(Some(folder.as_os_str().to_owned()))
}
