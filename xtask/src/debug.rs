//! `cargo xtask debug KERNEL`: debugs a kernel's launch at the homework's size, in the terminal or
//! as a page.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use gpu::Capture;

use crate::cargo::build_executable;
use crate::workspace::Workspace;
use crate::{ptx, workspace_root};

/// Options of `cargo xtask debug`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The kernel, by its name in the PTX, such as max_kernel
    kernel: String,
    /// The variant of the PTX; by default the newest
    #[arg(long, value_name = "sm_NN")]
    arch: Option<String>,
    /// Write a page that plays a block of the launch, instead of debugging it here
    #[arg(long, value_name = "FILE.html")]
    record: Option<PathBuf>,
    /// The order in which warps execute: a source line each (lines), or each up to the barrier (warps)
    #[arg(long, value_parser = ["lines", "warps"], default_value = "lines")]
    order: String,
}

/// Captures a launch of the kernel, and opens it in the debugger.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let build = ["build", "--quiet", "--package=kernel-debugger"];
    let Some(debugger) = build_executable(Workspace::Toolchain, &build, "kernel-debugger")? else {
        bail!("kernel-debugger cannot be built");
    };
    let directory = tempfile::tempdir().context("cannot make a directory for the launch")?;
    let capture = Capture::new(directory.path(), Some(&options.kernel)).without_running();
    let launched = ptx::launch(&options.kernel, options.arch.as_deref(), |device| device.capture(capture.clone()));
    // Without the kernel's results, the code after its launch may fail.
    match launched {
        Err(error) if !capture.launch_file().exists() => return Err(error),
        _ => {}
    }
    let mut command = Command::new(debugger);
    match &options.record {
        None => command.arg("terminal").arg(capture.launch_file()),
        Some(page) => command.arg("record").arg(capture.launch_file()).arg("--output").arg(page),
    };
    let status = command
        .args(["--order", &options.order])
        .arg("--source-root")
        .arg(workspace_root())
        .status()
        .context("cannot start kernel-debugger")?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
