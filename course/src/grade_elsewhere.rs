//! `cargo course grade` on systems without the sandbox: it grades nothing there, rather than without one.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

/// Any arguments: none is used.
#[derive(Args)]
pub struct Options {
    #[arg(value_name = "SUBMISSION", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Grades nothing.
///
/// # Errors
/// Always: submissions are graded in a sandbox, which needs Linux.
pub fn run(_: &Options) -> Result<ExitCode> {
    bail!(
        "submissions are graded in a sandbox, which needs Linux: on Windows, run this in WSL (https://learn.microsoft.com/windows/wsl)"
    )
}
