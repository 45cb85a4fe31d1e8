use std::num::NonZeroUsize;

use serde::Serialize;
use timing::Measurement;

/// One row of the table.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) work: String,
    /// `None` on a GPU.
    pub(crate) threads: Option<NonZeroUsize>,
    /// `None` if our program or the whole script could not be timed.
    pub(crate) peer: Option<String>,
    /// `None` if the row has no goal.
    #[serde(flatten)]
    pub(crate) target: Option<Target>,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

/// A goal, and the margin by which it is missed.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Target {
    /// The largest accepted ratio.
    pub(crate) goal: f64,
    /// Excess of the ratio over the goal, as a fraction of the goal: 0 if it is reached, `None` if
    /// nothing was measured.
    pub(crate) short_by: Option<f64>,
}

impl Target {
    /// Computes by what margin `outcome` misses the goal.
    pub(crate) fn of(goal: f64, outcome: &Outcome) -> Self {
        let short_by = match outcome {
            Outcome::Compared(comparison) => Some((comparison.ratio / goal - 1.0).max(0.0)),
            Outcome::Missing { .. } => None,
        };
        Self { goal, short_by }
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Outcome {
    Compared(Comparison),
    /// One side could not be timed.
    Missing {
        reason: String,
    },
}

/// Our time and a peer's, in seconds, over all rounds.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Comparison {
    /// The fastest of our rounds.
    pub(crate) ours_seconds: f64,
    /// The fastest of the peer's rounds.
    pub(crate) peer_seconds: f64,
    /// Our fastest time divided by the peer's fastest time. Below 1, ours is faster.
    pub(crate) ratio: f64,
    /// Median of the rounds' ratios, or the ratio of the medians if the sides did not alternate. A
    /// value far from `ratio` means that the machine was not idle.
    pub(crate) median_ratio: f64,
    /// Whether ours is slower, that is, `ratio` is above 1.
    pub(crate) slower: bool,
}

impl Comparison {
    /// Compares the rounds' pairs of our time and the peer's, in seconds. `None` if there are no rounds.
    pub(crate) fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let ours_seconds = Measurement::of(pairs.iter().map(|(ours, _)| *ours).collect())?.min;
        let peer_seconds = Measurement::of(pairs.iter().map(|(_, peer)| *peer).collect())?.min;
        let median_ratio = Measurement::of(pairs.iter().map(|(ours, peer)| ours / peer).collect())?.median;
        let ratio = ours_seconds / peer_seconds;
        Some(Self { ours_seconds, peer_seconds, ratio, median_ratio, slower: ratio > 1.0 })
    }

    /// Compares two sides that ran one after the other without alternating.
    pub(crate) fn of_measurements(ours: &Measurement, peer: &Measurement) -> Self {
        let ratio = ours.min / peer.min;
        let median_ratio = ours.median / peer.median;
        Self { ours_seconds: ours.min, peer_seconds: peer.min, ratio, median_ratio, slower: ratio > 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_the_ratio_uses_the_fastest_rounds_and_the_median_all_rounds() {
        let comparison = Comparison::of(&[(4.0, 2.0), (1.0, 4.0), (3.0, 3.0)]).unwrap();
        assert_eq!((comparison.ours_seconds, comparison.peer_seconds), (1.0, 2.0));
        assert_eq!((comparison.ratio, comparison.median_ratio), (0.5, 1.0));
        assert!(!comparison.slower);
    }

    #[test]
    fn peers_ours_is_slower_only_above_a_ratio_of_one() {
        let slower = |ours| Comparison::of(&[(ours, 1.0)]).unwrap().slower;
        assert_eq!([0.99, 1.0, 1.01].map(slower), [false, false, true]);
        assert_eq!(Comparison::of(&[]), None);
    }

    #[test]
    fn peers_short_by_is_relative_to_the_goal() {
        let short_by = |goal, ours| {
            let outcome = Outcome::Compared(Comparison::of(&[(ours, 4.0)]).unwrap());
            Target::of(goal, &outcome).short_by
        };
        assert_eq!([0.25, 0.5, 1.0].map(|ours| short_by(0.125, ours)), [Some(0.0), Some(0.0), Some(1.0)]);
        assert_eq!(Target::of(0.5, &Outcome::Missing { reason: String::new() }).short_by, None);
    }

    #[test]
    fn peers_json_rows_are_flat() {
        let row = |outcome| Row {
            work: "max".to_owned(),
            threads: Some(NonZeroUsize::MIN),
            peer: Some("NumPy".to_owned()),
            target: None,
            outcome,
        };
        let compared = row(Outcome::Compared(Comparison::of(&[(1.0, 2.0)]).unwrap()));
        let expected = serde_json::json!({ "work": "max", "threads": 1, "peer": "NumPy", "ours_seconds": 1.0,
            "peer_seconds": 2.0, "ratio": 0.5, "median_ratio": 0.5, "slower": false });
        assert_eq!(serde_json::to_value(compared).unwrap(), expected);
        let missing = || row(Outcome::Missing { reason: "not installed".to_owned() });
        let expected = serde_json::json!({ "work": "max", "threads": 1, "peer": "NumPy", "reason": "not installed" });
        assert_eq!(serde_json::to_value(missing()).unwrap(), expected);
        let target = Some(Target { goal: 0.5, short_by: None });
        let expected = serde_json::json!({ "work": "max", "threads": 1, "peer": "NumPy", "goal": 0.5, "short_by": null,
            "reason": "not installed" });
        assert_eq!(serde_json::to_value(Row { target, ..missing() }).unwrap(), expected);
    }
}
