//! Acceptance bounds for the ratios. [`GOALS`] contains every goal of the table.

use serde::Serialize;

use super::comparison::Row;
use super::workload_name::WorkloadName;

/// Acceptance bound for the ratio of our time to a peer's time.
#[derive(Debug)]
pub(super) struct Goal {
    pub(super) work: WorkloadName,
    /// The peer's label in its script.
    pub(super) peer: &'static str,
    pub(super) threads: usize,
    /// The largest accepted ratio.
    pub(super) at_most: f64,
}

/// Workload, peer, threads on both sides, and the largest accepted ours/peer.
pub(super) const GOALS: [Goal; 21] = [
    goal(WorkloadName::Max, "NumPy", 1, 0.85),
    goal(WorkloadName::Max, "Numba parallel", 2, 0.9),
    // For f32 and for f64.
    goal(WorkloadName::Matmul, "NumPy", 1, 0.85),
    goal(WorkloadName::Matmul, "NumPy", 2, 0.8),
    goal(WorkloadName::Activation, "NumPy three passes", 1, 0.05),
    goal(WorkloadName::Activation, "NumPy three passes", 2, 0.05),
    goal(WorkloadName::Activation, "NumPy tanh", 1, 0.5),
    goal(WorkloadName::Activation, "NumPy tanh", 2, 0.3),
    // For each kernel.
    goal(WorkloadName::Correlation, "SciPy", 1, 0.2),
    goal(WorkloadName::Correlation, "OpenCV", 1, 1.0),
    goal(WorkloadName::Network, "NumPy", 1, 0.25),
    goal(WorkloadName::Network, "NumPy", 2, 0.16),
    // PyTorch only on one thread: its time on two is no better, and varies.
    goal(WorkloadName::Network, "PyTorch", 1, 0.1),
    goal(WorkloadName::Notebook, "NumPy", 1, 0.1),
    goal(WorkloadName::Notebook, "NumPy", 2, 0.1),
    goal(WorkloadName::Prediction, "NumPy", 1, 0.13),
    goal(WorkloadName::Prediction, "NumPy", 2, 0.13),
    // Only on one thread: batches of so small a network leave little work for a second thread.
    goal(WorkloadName::Regressor, "scikit-learn", 1, 0.12),
    goal(WorkloadName::Regressor, "PyTorch", 1, 0.12),
    goal(WorkloadName::ToTarget, WITHOUT_IMPORTS, 1, 0.25),
    goal(WorkloadName::ToTarget, WITHOUT_IMPORTS, 2, 0.17),
];

/// The workloads that are compared with their own time on one thread: title, threads, and the
/// largest accepted ratio.
pub(super) const THREADS_GOALS: [(&str, usize, f64); 9] = [
    ("correlation 3×3", 2, 0.55),
    ("correlation 5×5", 2, 0.55),
    ("correlation 7×7", 2, 0.55),
    ("correlation sobel 5×5", 2, 0.55),
    ("epoch of 60000 images", 2, 0.62),
    ("epoch, batch 16", 2, 0.62),
    ("epoch, batch 64", 2, 0.58),
    ("epoch, batch 256", 2, 0.55),
    ("epoch, batch 1024", 2, 0.55),
];

/// Label of our own time on one thread.
pub(super) const ONE_THREAD: &str = "ours, 1 thread";

/// The largest accepted ratio of growth, at every size and for every peer: no peer is faster by more than 10 %.
pub(super) const GROWTH_AT_MOST: f64 = 1.1;

/// Label of the to-target script's time after the imports, which is fairer to NumPy.
pub(super) const WITHOUT_IMPORTS: &str = "NumPy without imports";

const fn goal(work: WorkloadName, peer: &'static str, threads: usize, at_most: f64) -> Goal {
    Goal { work, peer, threads, at_most }
}

/// Counts of the rows' goals: reached, missed, and not measured.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Count {
    pub(super) goals: usize,
    pub(super) reached: usize,
    pub(super) short: usize,
    pub(super) not_measured: usize,
}

impl Count {
    pub(super) fn of(rows: &[Row]) -> Self {
        let mut count = Self { goals: 0, reached: 0, short: 0, not_measured: 0 };
        for target in rows.iter().filter_map(|row| row.target.as_ref()) {
            count.goals += 1;
            match target.short_by {
                Some(share) if share > 0.0 => count.short += 1,
                Some(_) => count.reached += 1,
                None => count.not_measured += 1,
            }
        }
        count
    }

    /// Whether every goal is reached. A goal that was not measured is not reached.
    pub(super) fn all_reached(&self) -> bool {
        self.reached == self.goals
    }

    /// Whether the command fails: if the goals are required and one is not reached.
    pub(super) fn must_fail(&self, require_goals: bool) -> bool {
        require_goals && !self.all_reached()
    }

    /// Last line of the table.
    pub(super) fn line(&self) -> String {
        let Self { goals, reached, short, not_measured } = self;
        let missing = if *not_measured > 0 { format!(", {not_measured} not measured") } else { String::new() };
        format!("[*] goals: {reached} of {goals} reached, {short} short{missing}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::comparison::{Comparison, Outcome, Target};
    use crate::peers::workload::Workload;

    fn row(goal: Option<f64>, ours: Option<f64>) -> Row {
        let outcome = match ours.and_then(|ours| Comparison::of(&[(ours, 1.0)])) {
            Some(comparison) => Outcome::Compared(comparison),
            None => Outcome::Missing { reason: "not installed".to_owned() },
        };
        let target = goal.map(|goal| Target::of(goal, &outcome));
        Row { work: "max".to_owned(), threads: None, peer: None, target, outcome }
    }

    #[test]
    fn peers_goals_are_counted() {
        let rows = [row(Some(0.5), Some(0.5)), row(Some(0.5), Some(0.6)), row(None, Some(9.0)), row(None, None)];
        let count = Count::of(&rows);
        assert_eq!(count, Count { goals: 2, reached: 1, short: 1, not_measured: 0 });
        assert_eq!(count.line(), "[*] goals: 1 of 2 reached, 1 short");
        assert!(!count.all_reached());
        assert!(Count::of(&rows[..1]).all_reached() && Count::of(&rows[2..]).all_reached());
    }

    #[test]
    fn peers_a_goal_that_is_not_measured_is_not_reached() {
        let count = Count::of(&[row(Some(0.5), Some(0.1)), row(Some(0.1), None)]);
        assert_eq!(count.line(), "[*] goals: 1 of 2 reached, 0 short, 1 not measured");
        assert!(!count.all_reached());
    }

    #[test]
    fn peers_every_goal_names_a_peer_of_its_script() {
        let scripts = [
            ("max.py", include_str!("../../peers/max.py")),
            ("matmul.py", include_str!("../../peers/matmul.py")),
            ("activation.py", include_str!("../../peers/activation.py")),
            ("correlation.py", include_str!("../../peers/correlation.py")),
            ("network.py", include_str!("../../peers/network.py")),
            ("notebook.py", include_str!("../../peers/notebook.py")),
            ("prediction.py", include_str!("../../peers/prediction.py")),
            ("regressor.py", include_str!("../../peers/regressor.py")),
            ("to_target.py", include_str!("../../peers/to_target.py")),
        ];
        let one = std::num::NonZeroUsize::MIN;
        for goal in &GOALS {
            let workloads: Vec<Workload> = crate::peers::workload::all(Some(goal.work), one, one, false);
            for work in &workloads {
                let (_, text) = scripts.iter().find(|(name, _)| *name == work.script).unwrap();
                assert!(text.contains(&format!("{:?}", goal.peer)), "{goal:?}");
            }
            assert!(!workloads.is_empty() && (0.0..=1.0).contains(&goal.at_most), "{goal:?}");
        }
    }

    #[test]
    fn peers_every_goal_beside_one_thread_is_of_a_workload() {
        let one = std::num::NonZeroUsize::MIN;
        let mut workloads = crate::peers::workload::all(None, one, one, false);
        workloads.extend(crate::peers::growth::all(None, one, one).unwrap());
        for (title, ..) in THREADS_GOALS {
            assert!(workloads.iter().any(|work| work.title == title), "{title}");
        }
    }

    #[test]
    fn peers_the_goals_are_those_of_the_table() {
        let one = std::num::NonZeroUsize::MIN;
        let goals = |threads: usize| {
            let workloads = crate::peers::workload::all(None, one, one, false);
            let of_work = |work: &Workload| {
                let goals = work.peers_with_goals(one.saturating_add(threads - 1));
                goals.map(|(_, goal)| goal).collect::<Vec<_>>()
            };
            workloads.iter().map(of_work).collect::<Vec<_>>()
        };
        let tables = [
            (
                vec![vec![0.85], vec![0.85], vec![0.85], vec![0.05, 0.5]],
                vec![0.2, 1.0],
                vec![vec![0.25, 0.1], vec![0.1], vec![0.13], vec![0.12, 0.12], vec![0.25]],
            ),
            (
                vec![vec![0.9], vec![0.8], vec![0.8], vec![0.05, 0.3]],
                vec![],
                vec![vec![0.16], vec![0.1], vec![0.13], vec![], vec![0.17]],
            ),
        ];
        let with_correlations = |(kernels, correlation, networks)| [kernels, vec![correlation; 4], networks].concat();
        assert_eq!([1, 2].map(goals), tables.map(with_correlations));
        assert!(goals(3).iter().all(Vec::is_empty));
    }
}
