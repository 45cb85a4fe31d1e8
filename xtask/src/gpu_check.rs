//! `cargo xtask gpu-check`: makes one folder that checks and times the kernels on a machine with a
//! GPU but without Rust. There, `run.sh` (`run.cmd` on Windows) runs everything and writes one JSON
//! file. If Python has CuPy, Numba or PyTorch, it times them as well.
//!
//! Each item (a test program, a timing, a peer's script, a sanitizer run) is a child process with a
//! time limit, and the results are written after each item. A hang, a crash or a rejection
//! therefore costs only that item. The most important items run first. A later run continues after
//! a deadline.

mod figures;
mod folder;
mod limits;
mod machine;
mod mnist;
mod nsight;
mod plan;
mod python;
mod ratios;
mod rehearsal;
mod results;
mod runner;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

/// The options of `cargo xtask gpu-check`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run the checks of the folder that holds this program, instead of making the folder
    #[arg(long, hide = true)]
    run: bool,
    /// With --run: stop after that many seconds and list the items left [default: run all items]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400), requires = "run")]
    within: Option<u64>,
    /// With --run: continue the folder's results, and run only the items left
    #[arg(long, requires = "run")]
    resume: bool,
    /// Print the results in a file that the checks wrote as tables, with the goals that are reached
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    read: Option<PathBuf>,
    /// Make the folder, and run it on the emulated driver, with stand-ins for NVIDIA's tools
    #[arg(long, conflicts_with_all = ["run", "read", "target"])]
    rehearse: bool,
    /// Make the folder for another system, such as x86_64-pc-windows-gnu, for which this machine can compile
    #[arg(long, value_name = "TRIPLE", conflicts_with_all = ["run", "read"])]
    target: Option<String>,
}

/// Makes the folder, runs the checks in it, rehearses them, or prints their results.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    match (&options.read, options.run) {
        (Some(file), _) => show::print(file),
        (None, true) => runner::run(options.within.map(Duration::from_secs), options.resume),
        (None, false) if options.rehearse => rehearsal::run(),
        (None, false) => folder::make(options.target.as_deref()).map(|()| ExitCode::SUCCESS),
    }
}
