//! `cargo xtask gpu-check`: one folder with everything that checks and times the kernels on a machine that has a GPU and
//! no Rust. There, `run.sh`, on Windows `run.cmd`, runs it and writes one JSON file; where Python has CuPy, Numba or
//! PyTorch, beside their times.
//!
//! Each item (a test program, a timing, a peer's script, a sanitizer run) is a child process with a time limit, and the
//! results are written after each item: a hang, a crash or a refusal of one costs that one. The items are in five calls,
//! each of which ends with a verdict of at most 20 lines.

mod calls;
mod figures;
mod folder;
mod machine;
mod mnist;
mod nsight;
mod plan;
mod python;
mod ratios;
mod rehearsal;
mod results;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use self::plan::Call;

/// What to do.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run the checks of the folder that holds this program, instead of making the folder
    #[arg(long, hide = true)]
    run: bool,
    /// With --run: these calls only, each within its time limit [default: all of them, in this order]
    #[arg(long, value_enum, value_delimiter = ',', requires = "run")]
    only: Vec<Call>,
    /// Print the results in a file that the checks wrote as tables, with the goals that are reached
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    read: Option<PathBuf>,
    /// Make the folder, and run all of its calls on the emulated driver, with stand-ins for NVIDIA's tools
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
        (None, true) => calls::run(&options.only),
        (None, false) if options.rehearse => rehearsal::run(),
        (None, false) => folder::make(options.target.as_deref()).map(|()| ExitCode::SUCCESS),
    }
}
