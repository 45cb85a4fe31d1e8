//! The ranges of a search for layers, learning rate and weight decay.

use serde::{Deserialize, Serialize};

use super::problems::{MAX_LAYERS, MAX_NEURONS};

/// The values that a search draws from, and the seed for drawing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchSettings {
    /// Minimum and maximum number of hidden layers.
    pub layers: [usize; 2],
    /// Possible widths of a hidden layer, drawn for each layer.
    pub widths: Vec<usize>,
    /// Minimum and maximum learning rate. Its logarithm is drawn uniformly.
    pub learning_rate: [f64; 2],
    /// Minimum and maximum weight decay λ. Its logarithm is drawn uniformly.
    pub regularization: [f64; 2],
    /// Seed for drawing the values.
    pub seed: u64,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            layers: [1, 3],
            widths: vec![8, 16, 32, 64, 128],
            learning_rate: [0.0003, 0.03],
            regularization: [1e-6, 0.01],
            seed: 0,
        }
    }
}

impl SearchSettings {
    /// Whether these are the defaults. Files omit them.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The first range that a search cannot draw from: its key, the problem and a remedy, in one
    /// line.
    pub fn problem(&self) -> Option<String> {
        let [fewest, most] = self.layers;
        if fewest > most {
            return Some(format!(
                "search.layers: the minimum {fewest} is greater than the maximum {most}: write [{most}, {fewest}]"
            ));
        }
        if most > MAX_LAYERS {
            return Some(format!(
                "search.layers: {most} hidden layers are too many: at most {MAX_LAYERS} are possible"
            ));
        }
        if self.widths.is_empty() {
            return Some("search.widths: the list is empty: give at least one width, such as [8, 16, 32]".to_owned());
        }
        if let Some(width) = self.widths.iter().find(|width| !(1..=MAX_NEURONS).contains(*width)) {
            return Some(format!("search.widths: {width} is out of range, must be 1 … {MAX_NEURONS}"));
        }
        let of_rate = logarithmic("search.learning_rate", self.learning_rate, (10.0, "0.0003, 0.03"));
        of_rate.or_else(|| logarithmic("search.regularization", self.regularization, (1.0, "0.000001, 0.01")))
    }
}

/// The problem of a range that is drawn logarithmically.
fn logarithmic(key: &str, [low, high]: [f64; 2], (limit, example): (f64, &str)) -> Option<String> {
    if !(low > 0.0 && high > 0.0) {
        return Some(format!(
            "{key}: [{low}, {high}] must have positive bounds, since its logarithm is drawn: write for example [{example}]"
        ));
    }
    if low > high {
        return Some(format!("{key}: the minimum {low} is greater than the maximum {high}: write [{high}, {low}]"));
    }
    (high > limit).then(|| format!("{key}: {high} is out of range: the maximum is at most {limit}"))
}
