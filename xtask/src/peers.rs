//! `cargo xtask peers`: times the programs, run as users run them, against Python programs with the
//! same workload.
//!
//! Our program and the peer alternate for several rounds, so a busy moment of the machine does not
//! affect just one side. A round runs all workloads, so the moment does not affect all rounds of
//! one workload either.

pub(crate) mod comparison;
mod contest;
mod goal;
mod growth;
mod python;
pub(crate) mod rust_program;
pub(crate) mod table;
mod workload;
mod workload_name;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::Result;
use command_line::{CHECK_FAILED, parse_cores, parse_repeats};
use serde_json::json;

use comparison::Row;
use contest::Contest;
use goal::Count;
use python::Python;
use workload_name::WorkloadName;

use crate::programs::{Executables, Profile};

/// Options of `cargo xtask peers`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Worker threads on both sides [default: 1, and 2 on a machine with two cores]
    #[arg(long, value_name = "N", num_args = 1.., value_parser = parse_cores)]
    threads: Vec<NonZeroUsize>,
    /// Time this workload only
    #[arg(long, value_enum, value_name = "WORKLOAD")]
    only: Option<WorkloadName>,
    /// Rounds in which our program and the peer alternate; the fastest of each counts
    #[arg(long, value_name = "N", default_value = "3", value_parser = parse_repeats)]
    rounds: NonZeroUsize,
    /// Time the workloads at other sizes and batches: at none may a peer be faster by more than 10 %
    #[arg(long)]
    growth: bool,
    /// Exit with 1 if a goal is not reached or not measured
    #[arg(long)]
    require_goals: bool,
    /// Repeats of ten iterations of the notebook in each run, after a warm-up; max, matmul and activation repeat five
    /// times as often
    #[arg(long, value_name = "N", default_value = "20", value_parser = parse_repeats)]
    repeats: NonZeroUsize,
    /// Epochs of the network in each run
    #[arg(long, value_name = "N", default_value = "3", value_parser = parse_repeats)]
    epochs: NonZeroUsize,
    /// The Python interpreter [default: $PYTHON, else python3, on Windows python]
    #[arg(long, value_name = "PATH")]
    python: Option<OsString>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

/// Times all workloads and prints the table. A missing peer or a failing program of ours becomes a row with the reason.
///
/// # Errors
/// If Python or NumPy is missing.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let workloads = match options.growth {
        true => growth::all(options.only, options.repeats, options.epochs)?,
        false => workload::all(options.only, options.repeats, options.epochs, cuda_driver::availability().is_ok()),
    };
    let python = Python::find(options.python.clone())?;
    let executables = Executables::build(workloads.iter().map(|work| work.program).collect(), Profile::Dev)?;

    let mut contests = Vec::new();
    for work in &workloads {
        let at = |threads| Contest::new(work, threads);
        contests.extend(threads_of(options).into_iter().map(at));
    }
    for round in 1..=options.rounds.get() {
        for contest in &mut contests {
            command_line::note!("[*] round {round} of {}: {contest}", options.rounds);
            contest.run_round(round, &python, &executables);
        }
    }
    let mut rows: Vec<Row> = contests.iter().flat_map(Contest::rows).collect();
    rows.extend(contests.iter().flat_map(|one| contests.iter().filter_map(|many| many.row_beside_one_thread(one))));
    let peers = contests.iter().flat_map(Contest::peers).map(str::to_owned);
    let peers = Vec::from_iter(peers.collect::<BTreeSet<_>>());
    let notes = match options.growth {
        true => growth::notes(&contests),
        false => Vec::new(),
    };
    let count = Count::of(&rows);
    if options.json {
        let rounds = options.rounds;
        command_line::say!(
            "{}",
            json!({ "peers": peers, "rounds": rounds, "rows": rows, "goals": count, "notes": notes })
        );
    } else {
        let meaning = format!(
            "ratio: ours / peer, the fastest of {} rounds each; below 1, ours is faster. median: of the rounds' ratios. \
             goal: the largest good ratio; short by: how far above it.",
            options.rounds
        );
        command_line::say!("{}", table::render(&rows, &peers, &meaning).trim_end());
        for note in &notes {
            command_line::say!("[*] {note}");
        }
        if count.goals > 0 {
            command_line::say!("{}", count.line());
        }
    }
    Ok(if count.must_fail(options.require_goals) { ExitCode::from(CHECK_FAILED) } else { ExitCode::SUCCESS })
}

fn threads_of(options: &Options) -> Vec<NonZeroUsize> {
    if !options.threads.is_empty() {
        return options.threads.clone();
    }
    let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    [1, 2].into_iter().filter_map(NonZeroUsize::new).filter(|threads| *threads <= cores).collect()
}
