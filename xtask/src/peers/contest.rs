use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;

use anyhow::Result;

use super::comparison::{Comparison, Outcome, Row, Target};
use super::goal::{ONE_THREAD, THREADS_GOALS};
use super::python::{Python, ScriptOutput};
use super::rust_program::OurTime;
use super::workload::{Goals, Workload};
use crate::programs::Executables;

/// The rounds of one workload with one number of threads.
pub(super) struct Contest<'a> {
    work: &'a Workload,
    threads: NonZeroUsize,
    /// For each peer, the pairs of our time and the peer's from all rounds, in seconds.
    pairs: BTreeMap<String, Vec<(f64, f64)>>,
    /// Our times in all rounds, in seconds.
    ours: Vec<f64>,
    last: Option<ScriptOutput>,
    /// The peers that are not installed or are broken, each with the reason.
    missing: BTreeMap<String, String>,
    failure: Option<String>,
}

impl fmt::Display for Contest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, threads: {}", self.work.title, self.threads)
    }
}

impl<'a> Contest<'a> {
    pub(super) fn new(work: &'a Workload, threads: NonZeroUsize) -> Self {
        let (pairs, missing) = (BTreeMap::new(), BTreeMap::new());
        Self { work, threads, pairs, ours: Vec::new(), last: None, missing, failure: None }
    }

    /// Runs one round. Does nothing after a failed round.
    pub(super) fn run_round(&mut self, round: usize, python: &Python, executables: &Executables) {
        if self.failure.is_some() {
            return;
        }
        match self.time_round(round, python, executables) {
            Ok((ours, output)) => self.record(ours, output, |package| python.install(package)),
            Err(error) => self.failure = Some(format!("{error:#}")),
        }
    }

    /// Our time in seconds, and the script's output.
    fn time_round(&self, round: usize, python: &Python, executables: &Executables) -> Result<(f64, ScriptOutput)> {
        let ours = self.work.time_our_program(executables, self.threads, round)?;
        let output = python.time(self.work, self.threads, round)?;
        Ok((ours, output))
    }

    /// Records a round's times. `install` returns the command that installs a package.
    fn record(&mut self, ours: f64, output: ScriptOutput, install: impl Fn(&str) -> String) {
        self.ours.push(ours);
        for (label, peer) in output.times() {
            self.pairs.entry(label.to_owned()).or_default().push((ours, peer));
        }
        for (label, package) in &output.missing {
            self.missing.insert(label.clone(), format!("not installed: {}", install(package)));
        }
        for (label, error) in &output.failed {
            self.missing.insert(label.clone(), format!("failed: {error}"));
        }
        self.last = Some(output);
    }

    /// Names and versions of the timed peers.
    pub(super) fn peers(&self) -> impl Iterator<Item = &str> {
        self.last.iter().flat_map(|output| output.peer.split(", "))
    }

    /// Whether its times are for epochs, scaled to the full training set.
    pub(super) fn is_of_epochs(&self) -> bool {
        self.work.time == OurTime::Epoch
    }

    /// The peers that are not installed or are broken, each with the reason.
    pub(super) fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.missing.iter().map(|(label, reason)| (label.as_str(), reason.as_str()))
    }

    /// One row for each peer of the script and for each goal. Growth has no row for a peer that is
    /// missing or broken, since its goals apply only to peers that run.
    pub(super) fn rows(&self) -> Vec<Row> {
        if let Some(reason) = &self.failure {
            return self.rows_of_failure(reason);
        }
        let compared = self.pairs.iter().filter_map(|(label, pairs)| {
            Comparison::of(pairs).map(|comparison| self.row(label, Outcome::Compared(comparison)))
        });
        let missing = self.missing().filter(|_| self.work.goals != Goals::Growth);
        let missing = missing.map(|(label, reason)| self.row(label, Outcome::Missing { reason: reason.to_owned() }));
        let mut rows: Vec<_> = compared.chain(missing).collect();
        for (peer, _) in self.work.peers_with_goals(self.threads) {
            if !rows.iter().any(|row| row.peer.as_deref() == Some(peer)) {
                rows.push(self.row(peer, Outcome::Missing { reason: "the script did not time it".to_owned() }));
            }
        }
        rows
    }

    /// Compares our time with the time of `alone`, if both are the same workload and `alone` has
    /// one thread while this one has several. Only for training runs and for workloads with a goal
    /// for this comparison.
    pub(super) fn row_beside_one_thread(&self, alone: &Contest) -> Option<Row> {
        let is_alone = alone.threads == NonZeroUsize::MIN && alone.work.title == self.work.title;
        let has_goal = THREADS_GOALS.iter().any(|(title, ..)| *title == self.work.title);
        if !(self.is_of_epochs() || has_goal) || !is_alone || self.threads == NonZeroUsize::MIN {
            return None;
        }
        let pairs: Vec<(f64, f64)> = self.ours.iter().copied().zip(alone.ours.iter().copied()).collect();
        let outcome = Outcome::Compared(Comparison::of(&pairs)?);
        let goals = THREADS_GOALS.iter().filter(|(_, threads, _)| *threads == self.threads.get());
        let goal = goals.filter(|(title, ..)| *title == self.work.title).map(|(.., at_most)| *at_most).next();
        let target = goal.map(|goal| Target::of(goal, &outcome));
        let (work, peer) = (self.work.title.clone(), Some(ONE_THREAD.to_owned()));
        Some(Row { work, threads: Some(self.threads), peer, target, outcome })
    }

    /// One row for each peer with a goal, or one row without a peer if there is no goal.
    fn rows_of_failure(&self, reason: &str) -> Vec<Row> {
        let missing = || Outcome::Missing { reason: reason.to_owned() };
        let rows: Vec<_> =
            self.work.peers_with_goals(self.threads).map(|(peer, _)| self.row(peer, missing())).collect();
        if !rows.is_empty() {
            return rows;
        }
        // The growth goal applies to any peer.
        vec![Row { peer: None, ..self.row("", missing()) }]
    }

    fn row(&self, peer: &str, outcome: Outcome) -> Row {
        let target = self.work.goal(peer, self.threads).map(|goal| Target::of(goal, &outcome));
        let work = self.work.title.clone();
        Row { work, threads: Some(self.threads), peer: Some(peer.to_owned()), target, outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::super::goal::Count;
    use super::super::workload_name::WorkloadName;
    use super::super::{growth, workload};
    use super::*;

    const ONE: NonZeroUsize = NonZeroUsize::MIN;

    /// Output for an epoch of 60,000 images: one second for NumPy, and `torch` seconds for PyTorch
    /// if it is installed.
    fn output(torch: Option<f64>) -> ScriptOutput {
        let (names, seconds, missing) = match torch {
            Some(seconds) => (", PyTorch 2.15.0", format!(r#", "PyTorch": {{"min": {seconds}}}"#), ""),
            None => ("", String::new(), r#""PyTorch": "torch""#),
        };
        let json = format!(
            r#"{{"peer": "NumPy 2.4.6{names}", "images": 60000, "missing": {{{missing}}},
                "seconds": {{"NumPy": {{"min": 1.0}}{seconds}}}}}"#
        );
        ScriptOutput::parse(&json).unwrap()
    }

    fn with_rounds(work: &Workload, rounds: impl IntoIterator<Item = (f64, Option<f64>)>) -> Contest<'_> {
        let mut contest = Contest::new(work, ONE);
        for (ours, torch) in rounds {
            contest.record(ours, output(torch), |package| format!("pip install {package}"));
        }
        contest
    }

    #[test]
    fn peers_our_epochs_on_two_threads_have_a_row_beside_one_thread() {
        let workloads = growth::all(Some(WorkloadName::Network), ONE, ONE).unwrap();
        let of_batch = |title: &str| workloads.iter().find(|work| work.title == title).unwrap();
        let work = of_batch("epoch, batch 64");
        let alone = with_rounds(work, [(0.1, None), (0.2, None)]);
        let mut two = with_rounds(work, [(0.06, None), (0.05, None)]);
        assert!(two.row_beside_one_thread(&alone).is_none(), "both are on one thread");
        two.threads = ONE.saturating_add(1);
        let row = two.row_beside_one_thread(&alone).unwrap();
        let Outcome::Compared(comparison) = &row.outcome else { panic!("{row:?}") };
        assert_eq!((row.peer.as_deref(), comparison.ratio), (Some("ours, 1 thread"), 0.5));
        assert_eq!(row.target, Some(Target { goal: 0.58, short_by: Some(0.0) }));
        let other = with_rounds(of_batch("epoch, batch 256"), [(0.1, None)]);
        assert!(two.row_beside_one_thread(&other).is_none(), "another training run");
        assert!(alone.row_beside_one_thread(&two).is_none(), "the other way around");
    }

    #[test]
    fn peers_growth_fails_where_any_peer_is_faster_by_more_than_a_tenth() {
        let workloads = growth::all(Some(WorkloadName::Network), ONE, ONE).unwrap();
        let count = |ours, torch| Count::of(&with_rounds(&workloads[0], [(ours, torch)]).rows());
        for (ours, torch, goals, short) in [
            (1.10, None, 1, 0),
            (1.11, None, 1, 1),
            (1.10, Some(1.0), 2, 0),
            (1.10, Some(0.9), 2, 1),
            (1.20, Some(1.0), 2, 2),
        ] {
            let count = count(ours, torch);
            assert_eq!((count.goals, count.short, count.not_measured), (goals, short, 0), "{ours} {torch:?}");
            assert_eq!(count.must_fail(true), short > 0, "{ours} {torch:?}");
            assert!(!count.must_fail(false));
        }
        // The fastest round counts.
        assert!(!Count::of(&with_rounds(&workloads[0], [(1.5, None), (1.0, None)]).rows()).must_fail(true));
    }

    #[test]
    fn peers_growth_fails_where_nothing_could_be_measured() {
        let workloads = growth::all(Some(WorkloadName::Network), ONE, ONE).unwrap();
        let contest = Contest { failure: Some("network.py failed".to_owned()), ..Contest::new(&workloads[0], ONE) };
        let count = Count::of(&contest.rows());
        assert!(count.not_measured == 1 && count.must_fail(true));
    }

    #[test]
    fn peers_a_broken_peer_is_a_row_with_the_reason() {
        let json = r#"{"peer": "NumPy 2.4.6", "images": 60000, "seconds": {"NumPy": {"min": 1.0}},
            "failed": {"PyTorch": "OSError: libtorch.so: cannot open shared object file"}}"#;
        let table = workload::all(Some(WorkloadName::Network), ONE, ONE, false);
        let mut contest = Contest::new(&table[0], ONE);
        contest.record(0.1, ScriptOutput::parse(json).unwrap(), |_| unreachable!("no peer is missing"));
        let rows = contest.rows();
        let of = |peer: &str| &rows.iter().find(|row| row.peer.as_deref() == Some(peer)).unwrap().outcome;
        let Outcome::Missing { reason } = of("PyTorch") else { panic!("{rows:?}") };
        assert_eq!(reason, "failed: OSError: libtorch.so: cannot open shared object file");
        assert!(matches!(of("NumPy"), Outcome::Compared(_)), "{rows:?}");
        assert!(Count::of(&rows).must_fail(true));
    }

    #[test]
    fn peers_a_missing_peer_is_a_row_of_the_table_and_a_note_of_growth() {
        let table = workload::all(Some(WorkloadName::Network), ONE, ONE, false);
        let rows = with_rounds(&table[0], [(0.1, None)]).rows();
        let absent = rows.iter().find(|row| row.peer.as_deref() == Some("PyTorch")).unwrap();
        assert!(matches!(&absent.outcome, Outcome::Missing { reason } if reason == "not installed: pip install torch"));
        assert!(Count::of(&rows).must_fail(true));

        let growth = growth::all(Some(WorkloadName::Network), ONE, ONE).unwrap();
        let contests = growth.iter().map(|work| with_rounds(work, [(0.1, None)])).collect::<Vec<_>>();
        assert!(contests.iter().flat_map(Contest::rows).all(|row| row.peer.as_deref() == Some("NumPy")));
        let notes = growth::notes(&contests);
        assert_eq!(notes.len(), 2);
        assert_eq!(notes[0], "no rows for PyTorch: not installed: pip install torch");
        let present = growth.iter().map(|work| with_rounds(work, [(0.1, Some(1.0))])).collect::<Vec<_>>();
        assert_eq!(growth::notes(&present), notes[1..]);
    }
}
