//! The progress of a training run and its records.

use serde::{Deserialize, Serialize};

use super::steps::PartOfEpoch;

/// The measurements after an epoch, or at the step where a training run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpochRecord {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// Number of samples seen in the epoch if the target accuracy was reached within it; `None` for
    /// all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// Seconds of training since the last record, not counting measurements.
    pub seconds: f64,
    /// The mean loss per sample over the epoch so far, measured before each sample's step.
    pub loss: f64,
    /// The fraction of correctly classified samples, 0 … 1.
    pub accuracy: f64,
}

/// The progress of a training run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Number of complete epochs.
    pub epoch: usize,
    /// Number of completed steps of the next epoch.
    pub step: usize,
    /// The summed loss of those steps.
    pub loss: f64,
    /// Seconds of training since the last record.
    pub seconds: f64,
    /// The records so far.
    pub history: Vec<EpochRecord>,
}

impl Progress {
    /// The steps of the next epoch.
    pub(super) fn part_of_epoch(&self) -> PartOfEpoch {
        PartOfEpoch { step: self.step, loss: self.loss, seconds: self.seconds }
    }
}
