//! `cargo xtask test`: runs the tests of all workspaces.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use command_line::{CHECK_FAILED, say};

use crate::cargo::cargo;
use crate::workspace::Workspace;

/// The options of `cargo xtask test`.
#[derive(Args)]
pub(crate) struct Options {
    /// More arguments of `cargo test --workspace`, as `--no-run`, or `-- --ignored`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    more: Vec<String>,
}

/// Runs `cargo test --workspace` in each workspace, even after one has failed. The exit code is 1
/// if any has failed.
///
/// # Errors
/// If cargo cannot be started.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let mut failed = Vec::new();
    for workspace in Workspace::ALL {
        let name = workspace.name();
        say!("[*] In {name}: cargo test --workspace {}", options.more.join(" "));
        let status = cargo(workspace).args(["test", "--workspace"]).args(&options.more).status();
        if !status.context("cannot start cargo")?.success() {
            failed.push(name);
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    say!("[*] Tests fail in {}.", failed.join(", "));
    Ok(ExitCode::from(CHECK_FAILED))
}
