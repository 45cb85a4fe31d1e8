//! `cargo course grade` on systems without the sandbox. It grades nothing there, because grading
//! without a sandbox is unsafe.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

/// Accepts and ignores any arguments.
#[derive(Args)]
pub struct Options {
    #[arg(value_name = "SUBMISSION", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Always fails without grading.
///
/// # Errors
/// Always: submissions are graded in a sandbox, which needs Linux.
pub fn run(_: &Options) -> Result<ExitCode> {
    bail!(
        "submissions are graded in a sandbox, which needs Linux: on Windows, run this in WSL (https://learn.microsoft.com/windows/wsl)"
    )
}
