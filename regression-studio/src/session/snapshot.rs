//! What the owner of a training run sees of it.

use std::sync::Arc;

use neural_net::Network;
use neural_net::device::TrainingDevice;

use crate::results::{Ending, EpochErrors, Predicted, Results};
use crate::saved_run::SavedRun;

/// The observable state of a training run.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The current phase.
    pub state: State,
    /// Number of complete epochs.
    pub epoch: usize,
    /// Maximum number of epochs.
    pub epochs: usize,
    /// Steps done of the current epoch.
    pub step: usize,
    /// Steps per epoch.
    pub steps: usize,
    /// One record per complete epoch.
    pub history: Arc<Vec<EpochErrors>>,
    /// The epoch with the smallest validation error, counted from 1; 0 before the first.
    pub best_epoch: usize,
    /// Throughput in training samples per second; 0 before the first step.
    pub samples_per_second: f64,
    /// Estimated time until the last epoch in seconds, without early stopping.
    pub seconds_left: Option<f64>,
    /// Name of the device, and why it is this one if that was not asked for; empty during preparation.
    pub device: String,
    /// The choice by which further runs train on the same device, without measuring it again; `None` during preparation.
    pub same_device: Option<TrainingDevice>,
    /// Names of the network's inputs; empty during preparation.
    pub inputs: Arc<[String]>,
    /// Current weights W and biases b, for the drawing.
    pub network: Option<Arc<Network>>,
    /// True and predicted values: of the validation part during training, of the test part after the end.
    pub predicted: Option<Arc<Predicted>>,
    /// What a user should decide before training, one line each.
    pub findings: Arc<[String]>,
    /// Notes on the data, one line each.
    pub notes: Arc<[String]>,
    /// The results, after the end.
    pub results: Option<Arc<Results>>,
    /// The run as [`crate::run_folder::save`] saves it, from the start of training on.
    pub run: Option<Arc<SavedRun>>,
}

/// The phase of a training run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// The table is being prepared.
    #[default]
    Preparing,
    /// Training.
    Running,
    /// Paused, until a request to continue.
    Paused,
    /// The network is trained. Others are trained without a fold each, by whose errors there the intervals are calibrated.
    Calibrating,
    /// Ended, with results.
    Finished(Ending),
    /// Failed, with a one-line message and remedy.
    Failed(String),
    /// Diverged, with a one-line message and remedy. [`Snapshot::run`] is from before the divergence.
    Diverged(String),
}

impl State {
    /// Whether this phase is final.
    pub fn has_ended(&self) -> bool {
        matches!(self, Self::Finished(_) | Self::Failed(_) | Self::Diverged(_))
    }
}
