//! `cargo xtask debug KERNEL`: a kernel's launch at the homework's size in the debugger, in the terminal or as a page.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use gpu::Capture;

use crate::cargo::{Workspace, build_executable};
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
    // Without the kernel's results, what comes after its launch may fail.
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

#[cfg(test)]
mod tests {
    use kernel_debugger::LaunchFile;
    use kernel_debugger::record::{Options, Page, record};

    use super::*;

    fn recorded(launch: &str) -> Page {
        let file = workspace_root().join("rust-cuda/kernel-debugger/launches").join(launch);
        let options = Options { source_root: workspace_root().to_owned(), ..Options::default() };
        record(&LaunchFile::open(&file).unwrap(), &options).unwrap()
    }

    /// The figures and the fault in docs/debug.md are those of the launch files.
    #[test]
    fn the_page_on_the_debugger_quotes_it() {
        if !gpu_testing::require_ptx(&kernels_gpu::PTX) || !gpu_testing::require_ptx(&seeded_bugs::PTX) {
            return;
        }
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let document = words(&std::fs::read_to_string(workspace_root().join("docs/debug.md")).unwrap());
        let Page { recorded: count, html, .. } = recorded("matmul_tiles_f32.json");
        let size = (html.len() + 5000) / 10_000 * 10;
        let figures =
            format!("all {} instructions of its 32 warps, is a page of {size} kB", timing::grouped(count as u64));
        assert!(document.contains(&figures), "docs/debug.md does not say: {figures}");

        let fault = recorded("missing_second_barrier.json").fault.unwrap();
        let mut parts = fault.split("PTX line ");
        let mut quoted = parts.next().unwrap().replace("kernel missing_second_barrier, ", "");
        for part in parts {
            quoted.push_str(&format!("…{}", part.splitn(3, '`').nth(2).unwrap()));
        }
        assert!(document.contains(&words(&quoted)), "docs/debug.md does not quote: {quoted}");
    }
}
