use std::num::NonZeroUsize;

use serde::Serialize;
use timing::Measurement;

/// One line of the table.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) work: String,
    pub(super) threads: NonZeroUsize,
    /// None where our own program could not be timed, or the whole script.
    pub(super) peer: Option<String>,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    Compared(Comparison),
    /// One side could not be timed.
    Missing {
        reason: String,
    },
}

/// Our time and a peer's, in seconds, over all rounds.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Comparison {
    /// The fastest of our rounds.
    pub(super) ours_seconds: f64,
    /// The fastest of the peer's rounds.
    pub(super) peer_seconds: f64,
    /// The fastest of ours over the fastest of the peer: below 1, ours is faster.
    pub(super) ratio: f64,
    /// The median of the ratios of the single rounds: far from `ratio`, the machine was not quiet.
    pub(super) median_ratio: f64,
    pub(super) slower: bool,
}

impl Comparison {
    /// Compares the rounds' pairs of our time and the peer's, in seconds. None without a round.
    pub(super) fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let ours_seconds = Measurement::of(pairs.iter().map(|(ours, _)| *ours).collect())?.min;
        let peer_seconds = Measurement::of(pairs.iter().map(|(_, peer)| *peer).collect())?.min;
        let median_ratio = Measurement::of(pairs.iter().map(|(ours, peer)| ours / peer).collect())?.median;
        let ratio = ours_seconds / peer_seconds;
        Some(Self { ours_seconds, peer_seconds, ratio, median_ratio, slower: ratio > 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_the_ratio_is_of_the_fastest_and_the_median_of_the_rounds() {
        let comparison = Comparison::of(&[(4.0, 2.0), (1.0, 4.0), (3.0, 3.0)]).unwrap();
        assert_eq!((comparison.ours_seconds, comparison.peer_seconds), (1.0, 2.0));
        assert_eq!((comparison.ratio, comparison.median_ratio), (0.5, 1.0));
        assert!(!comparison.slower);
    }

    #[test]
    fn peers_slower_is_above_one_only() {
        let slower = |ours| Comparison::of(&[(ours, 1.0)]).unwrap().slower;
        assert_eq!([0.99, 1.0, 1.01].map(slower), [false, false, true]);
        assert_eq!(Comparison::of(&[]), None);
    }

    #[test]
    fn peers_json_rows_are_flat() {
        let row = |outcome| Row {
            work: "max".to_owned(),
            threads: NonZeroUsize::MIN,
            peer: Some("NumPy".to_owned()),
            outcome,
        };
        let compared = row(Outcome::Compared(Comparison::of(&[(1.0, 2.0)]).unwrap()));
        let expected = serde_json::json!({ "work": "max", "threads": 1, "peer": "NumPy", "ours_seconds": 1.0,
            "peer_seconds": 2.0, "ratio": 0.5, "median_ratio": 0.5, "slower": false });
        assert_eq!(serde_json::to_value(compared).unwrap(), expected);
        let missing = row(Outcome::Missing { reason: "not installed".to_owned() });
        let expected = serde_json::json!({ "work": "max", "threads": 1, "peer": "NumPy", "reason": "not installed" });
        assert_eq!(serde_json::to_value(missing).unwrap(), expected);
    }
}
