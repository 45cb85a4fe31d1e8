//! Records of the runs of a search.

use serde::{Deserialize, Serialize};

use crate::results::or_nan;

/// A finished run of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// Number of the run, counted from 1.
    pub run: usize,
    /// Units of each hidden layer.
    pub hidden: Vec<usize>,
    /// The learning rate of the first epoch.
    pub learning_rate: f64,
    /// Weight decay λ.
    pub regularization: f64,
    /// Number of epochs trained.
    pub epochs: usize,
    /// Training time in seconds, without evaluation.
    pub seconds: f64,
    /// The errors on the validation part; `None` if training diverged.
    pub validation: Option<Validation>,
}

/// The errors of a run's best epoch on the validation part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    /// The epoch, counted from 1.
    pub best_epoch: usize,
    /// Root mean squared error of the standardized target. Runs are compared by it.
    pub rmse: f64,
    /// Root mean squared error in the target's unit.
    #[serde(deserialize_with = "or_nan")]
    pub rmse_in_unit: f64,
    /// R² of the target, or of its logarithm if that is learned; NaN if the target is constant in
    /// the validation part.
    #[serde(deserialize_with = "or_nan")]
    pub r2: f64,
}

impl Tried {
    /// The error that runs are compared by: infinite if training diverged.
    pub fn error(&self) -> f64 {
        self.validation.map_or(f64::INFINITY, |validation| validation.rmse)
    }
}
