//! `cargo xtask gpu-check`: one folder with everything that checks and times the kernels on a machine that has a GPU and
//! no Rust. There, `run.sh` runs it and writes one JSON file; where Python has CuPy, Numba or PyTorch, beside their times.
//!
//! Each item (a test program, a timing, a peer's script, a sanitizer run) is a child process with a time limit, and the
//! results are written after each item: a hang, a crash or a refusal of one costs that one.

mod folder;
mod machine;
mod mnist;
mod phases;
mod plan;
mod python;
mod ratios;
mod results;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

/// What to do.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run the checks of the folder that holds this program, instead of making the folder
    #[arg(long, hide = true)]
    run: bool,
    /// With --run: these phases only, each of at most 9 minutes [default: all of them, in this order]
    #[arg(long, value_enum, value_delimiter = ',', requires = "run")]
    only: Vec<Phase>,
    /// With --run: an item's time limit in seconds, for those that have no longer one of their own
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600), requires = "run")]
    limit: u64,
    /// Print the results in a file that the checks wrote as tables, with the goals that are reached
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    read: Option<PathBuf>,
}

/// A part of the checks that fits into one call of a machine that is lent for ten minutes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Phase {
    /// The tests that need a GPU
    Tests,
    /// The programs' times
    Times,
    /// The same work in Python's libraries
    Peers,
    /// The training step by the number of blocks, and the latency of launches and barriers
    Sweep,
    /// The tests again under compute-sanitizer
    Sanitizer,
}

/// Makes the folder, runs the checks in it, or prints their results.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    match (&options.read, options.run) {
        (Some(file), _) => show::print(file),
        (None, true) => phases::run(&options.only, options.limit),
        (None, false) => folder::make(),
    }
}
