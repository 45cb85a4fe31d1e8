//! The learning rate over the epochs of a training run.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::Hyperparameters;
use crate::names::display_and_parse_names;

/// How the learning rate changes from epoch to epoch; within an epoch it is constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// It does not.
    #[default]
    Constant,
    /// It falls along half a cosine: in epoch e of E, counted from 0, it is η · (1 + cos(π e / E)) / 2 (I. Loshchilov
    /// and F. Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017, without restarts).
    Cosine,
}

display_and_parse_names!(Schedule, "schedule");

impl Schedule {
    /// All values, in the order of their declaration.
    pub const ALL: [Self; 2] = [Self::Constant, Self::Cosine];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Cosine => "cosine",
        }
    }

    /// One line of help on the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::Constant => "The same rate in every epoch",
            Self::Cosine => "From the rate in the first epoch down to almost 0 in the last, along half a cosine",
        }
    }

    pub(crate) fn is_constant(&self) -> bool {
        *self == Self::Constant
    }
}

impl Hyperparameters {
    /// The learning rate of an epoch, counted from 0 and below [`Hyperparameters::epochs`].
    pub fn learning_rate_of_epoch(&self, epoch: usize) -> f64 {
        match self.schedule {
            Schedule::Constant => self.learning_rate,
            Schedule::Cosine => self.learning_rate * 0.5 * (1.0 + (PI * epoch as f64 / self.epochs as f64).cos()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    #[test]
    fn part1_the_cosine_falls_from_the_rate_and_stays_above_0() {
        let rates = |schedule, epochs| -> Vec<f64> {
            let hyperparameters =
                Hyperparameters { learning_rate: 0.2, epochs, schedule, ..Preset::Homework.hyperparameters() };
            (0..epochs).map(|epoch| hyperparameters.learning_rate_of_epoch(epoch)).collect()
        };
        assert_eq!(rates(Schedule::Constant, 3), [0.2; 3]);
        assert_eq!(rates(Schedule::Cosine, 1), [0.2]);
        let four = rates(Schedule::Cosine, 4);
        for (rate, expected) in four.iter().zip([0.2, 0.170_710_678, 0.1, 0.029_289_322]) {
            assert!((rate - expected).abs() < 1e-9, "{four:?}");
        }
        assert!(rates(Schedule::Cosine, 1000).is_sorted_by(|a, b| a > b && *b > 0.0));
    }
}
