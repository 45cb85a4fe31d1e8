//! `cargo xtask peers`: the programs as users run them, beside Python programs that do the same work.
//!
//! Ours and the peer run in turn, several rounds, so that a busy moment of the machine does not fall on one side only. A round
//! goes through all works, so that it does not fall on all rounds of one either.

pub(crate) mod comparison;
mod goal;
mod growth;
mod python;
mod rust_program;
pub(crate) mod table;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::Result;
use neural_net::data::find_mnist;
use serde_json::json;
use timing::program::{CHECK_FAILED, parse_cores};

use comparison::{Comparison, Outcome, Row, Target};
use goal::Count;
use python::{Python, ScriptOutput};
use rust_program::Executables;
use work::{Work, WorkName};

/// What to time, and how often.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Worker threads on both sides [default: 1, and 2 where the machine has two cores]
    #[arg(long, value_name = "N", num_args = 1.., value_parser = parse_cores)]
    threads: Vec<NonZeroUsize>,
    /// Time this work only
    #[arg(long, value_enum, value_name = "WORK")]
    only: Option<WorkName>,
    /// How often ours and the peer run in turn; the fastest of each counts
    #[arg(long, value_name = "N", default_value = "3")]
    rounds: NonZeroUsize,
    /// Time the works at other sizes and batches than the table's: nowhere is a peer to be faster by more than 10 %
    #[arg(long)]
    growth: bool,
    /// Exit with 1 if a goal is not reached, or not measured
    #[arg(long)]
    require_goals: bool,
    /// How often each run times a call of max, matmul, activation and the notebook, after one call to warm up
    #[arg(long, value_name = "N", default_value = "20")]
    repeats: NonZeroUsize,
    /// How many epochs of the network each run times
    #[arg(long, value_name = "N", default_value = "3")]
    epochs: NonZeroUsize,
    /// The Python interpreter [default: $PYTHON, else python3]
    #[arg(long, value_name = "PATH")]
    python: Option<OsString>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

/// Times everything and prints the table. A peer that is missing, or a program of ours that fails, becomes a row that says so.
///
/// # Errors
/// If Python or NumPy is missing.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let works = match options.growth {
        true => growth::all(options.only, options.repeats, options.epochs)?,
        false => work::all(options.only, options.repeats, options.epochs, cuda_driver::availability().is_ok()),
    };
    let python = Python::find(options.python.clone())?;
    let executables = Executables::build(works.iter().map(|work| work.program).collect::<BTreeSet<_>>())?;

    let mut contests = Vec::new();
    for work in &works {
        let at = |threads| Contest::new(work, threads, &python, &executables);
        contests.extend(threads_of(options).into_iter().map(at));
    }
    for round in 1..=options.rounds.get() {
        for contest in &mut contests {
            eprintln!("[*] round {round} of {}: {}, threads: {}", options.rounds, contest.work.title, contest.threads);
            contest.play(round);
        }
    }
    let rows: Vec<Row> = contests.iter().flat_map(Contest::rows).collect();
    let names = contests.iter().flat_map(|contest| &contest.last).flat_map(|output| output.peer.split(", "));
    let peers: BTreeSet<String> = names.map(str::to_owned).collect();

    let peers = Vec::from_iter(peers);
    let count = Count::of(&rows);
    if options.json {
        timing::say!("{}", json!({ "peers": peers, "rounds": options.rounds, "rows": rows, "goals": count }));
    } else {
        let meaning = format!(
            "ratio: ours / peer, the fastest of {} rounds each; below 1, ours is faster. median: of the rounds' ratios. \
             goal: the largest good ratio; short by: how far above it.",
            options.rounds
        );
        timing::say!("{}", table::render(&rows, &peers, &meaning).trim_end());
        if count.goals > 0 {
            timing::say!("{}", count.line());
        }
    }
    Ok(if options.require_goals && !count.all_reached() { ExitCode::from(CHECK_FAILED) } else { ExitCode::SUCCESS })
}

/// The environment variable that names the folder of MNIST's files, where there is one: both sides read the same images, and
/// the program looks in more places than the scripts.
fn mnist_variable() -> Option<(&'static str, PathBuf)> {
    let path = std::path::absolute(find_mnist(None)?).ok()?;
    Some(("MNIST_DIR", path))
}

fn threads_of(options: &Options) -> Vec<NonZeroUsize> {
    if !options.threads.is_empty() {
        return options.threads.clone();
    }
    let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    [1, 2].into_iter().filter_map(NonZeroUsize::new).filter(|threads| *threads <= cores).collect()
}

/// One work at one number of threads, and its rounds so far.
struct Contest<'a> {
    work: &'a Work,
    threads: NonZeroUsize,
    python: &'a Python,
    executables: &'a Executables,
    /// Of each peer the rounds' pairs of our time and its, in seconds.
    pairs: BTreeMap<String, Vec<(f64, f64)>>,
    last: Option<ScriptOutput>,
    failure: Option<String>,
}

impl<'a> Contest<'a> {
    fn new(work: &'a Work, threads: NonZeroUsize, python: &'a Python, executables: &'a Executables) -> Self {
        Self { work, threads, python, executables, pairs: BTreeMap::new(), last: None, failure: None }
    }

    /// Runs a round. After a failure there are no more.
    fn play(&mut self, round: usize) {
        if self.failure.is_some() {
            return;
        }
        match self.round(round) {
            Ok((ours, output)) => {
                for (label, peer) in output.times() {
                    self.pairs.entry(label.to_owned()).or_default().push((ours, peer));
                }
                self.last = Some(output);
            }
            Err(error) => self.failure = Some(format!("{error:#}")),
        }
    }

    /// Our time in seconds, and what the script found.
    fn round(&self, round: usize) -> Result<(f64, ScriptOutput)> {
        let ours = self.executables.time(self.work, self.threads, round)?;
        let output = self.python.time(self.work, self.threads, round)?;
        Ok((ours, output))
    }

    /// One row for each peer of the script and for each goal.
    fn rows(&self) -> Vec<Row> {
        if let Some(reason) = &self.failure {
            return self.rows_of_failure(reason);
        }
        let compared = self.pairs.iter().filter_map(|(label, pairs)| {
            Comparison::of(pairs).map(|comparison| self.row(label, Outcome::Compared(comparison)))
        });
        let missing = self.last.iter().flat_map(|output| &output.missing).map(|(label, package)| {
            self.row(label, Outcome::Missing { reason: format!("not installed: {}", self.python.install(package)) })
        });
        let mut rows: Vec<_> = compared.chain(missing).collect();
        for (peer, _) in self.work.peers_with_goals(self.threads) {
            if !rows.iter().any(|row| row.peer.as_deref() == Some(peer)) {
                rows.push(self.row(peer, Outcome::Missing { reason: "the script has no time of it".to_owned() }));
            }
        }
        rows
    }

    /// One row for each peer that has a goal; without one, a row of no peer.
    fn rows_of_failure(&self, reason: &str) -> Vec<Row> {
        let missing = || Outcome::Missing { reason: reason.to_owned() };
        let rows: Vec<_> =
            self.work.peers_with_goals(self.threads).map(|(peer, _)| self.row(peer, missing())).collect();
        if !rows.is_empty() {
            return rows;
        }
        // A growth's goal is for any peer.
        vec![Row { peer: None, ..self.row("", missing()) }]
    }

    fn row(&self, peer: &str, outcome: Outcome) -> Row {
        let target = self.work.goal(peer, self.threads).map(|goal| Target::of(goal, &outcome));
        let work = self.work.title.clone();
        Row { work, threads: Some(self.threads), peer: Some(peer.to_owned()), target, outcome }
    }
}
