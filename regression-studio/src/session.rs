//! A training in its own thread.
//!
//! Whoever started it looks at snapshots, which never wait for it, and tells it to pause, to go on, to do one epoch, or to
//! stop. It is the same on any number of threads and after any interruption: [`Snapshot::run`] has all it needs to go on.

use std::sync::{Arc, Mutex, MutexGuard};

use neural_net::Network;
use serde::{Deserialize, Serialize};

use crate::results::{Predicted, Results};
use crate::run_folder::Run;
use crate::{Settings, Table};

/// A training in its own thread, which ends when this is dropped.
pub struct Session {
    shared: Arc<Shared>,
}

struct Shared {
    snapshot: Mutex<Arc<Snapshot>>,
    wake: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
}

/// What is known of a training.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// What it is doing.
    pub state: State,
    /// Epochs that are complete.
    pub epoch: usize,
    /// Epochs that it will train at the most.
    pub epochs: usize,
    /// Steps of the current epoch that are done.
    pub step: usize,
    /// Steps of an epoch.
    pub steps: usize,
    /// A record for each complete epoch.
    pub history: Arc<Vec<EpochRecord>>,
    /// The epoch with the smallest validation error, counted from 1; 0 before the first.
    pub best_epoch: usize,
    /// Training samples seen in a second of training; 0 before the first step.
    pub samples_per_second: f64,
    /// The time that the epochs to come will take, unless it ends early.
    pub seconds_left: Option<f64>,
    /// Where it is computed, and why not elsewhere; empty while it prepares.
    pub device: String,
    /// The names of the network's inputs; empty while it prepares.
    pub inputs: Arc<[String]>,
    /// The weights W and biases b of now, for drawings.
    pub network: Option<Arc<Network<f32>>>,
    /// True and predicted values: of the validation part while it trains, of the test part when it has ended.
    pub predicted: Option<Arc<Predicted>>,
    /// What is worth knowing about the data, a line each.
    pub notes: Arc<[String]>,
    /// When it has ended.
    pub results: Option<Arc<Results>>,
    /// All that is to be kept of it, from the first epoch on: what [`crate::run_folder::save`] saves.
    pub run: Option<Arc<Run>>,
}

/// What a training is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Making samples of the table.
    #[default]
    Preparing,
    /// Training.
    Running,
    /// Waiting to be told to go on.
    Paused,
    /// It has ended, and there are results.
    Finished(Ending),
    /// It cannot go on; one line that says why, and the way out.
    Failed(String),
}

/// How a training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// All epochs are done.
    AllEpochs,
    /// The validation error has not become smaller for [`crate::settings::TrainingSettings::patience`] epochs.
    EarlyStopped,
    /// The user stopped it. It can go on.
    Stopped,
}

/// What is known after an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Counted from 1.
    pub epoch: usize,
    /// Seconds of training, without measurements.
    pub seconds: f64,
    /// The training part's root mean squared error, standardised: of each sample before its step.
    pub train_rmse: f64,
    /// The validation part's, standardised: what early stopping looks at.
    pub validation_rmse: f64,
    /// The same as `train_rmse` in the target's unit, of up to 20,000 rows after the epoch.
    pub train_rmse_in_unit: f64,
    /// The same as `validation_rmse` in the target's unit.
    pub validation_rmse_in_unit: f64,
}

impl Session {
    /// Prepares the samples and trains. Errors arrive in the snapshot.
    pub fn start(table: Arc<Table>, settings: Settings) -> Self {
        let failure = crate::prepare(&table, &settings).err().map(|error| error.to_string());
        let state = failure.map_or(State::Finished(Ending::Stopped), State::Failed);
        let snapshot = Mutex::new(Arc::new(Snapshot { state, ..Snapshot::default() }));
        Self { shared: Arc::new(Shared { snapshot, wake: Mutex::new(None) }) }
    }

    /// Goes on where a run was stopped, with the same table. Errors arrive in the snapshot.
    pub fn resume(table: Arc<Table>, run: Run) -> Self {
        Self::start(table, run.settings)
    }

    /// Waits after the current step, until [`Session::go_on`] or [`Session::step_epoch`].
    pub fn pause(&self) {}

    /// Trains on after a pause.
    pub fn go_on(&self) {}

    /// Trains to the end of the current epoch, then pauses.
    pub fn step_epoch(&self) {}

    /// Ends the training after the current step; results follow.
    pub fn stop(&self) {}

    /// What is known now. Never waits for the training.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&lock(&self.shared.snapshot))
    }

    /// Has `wake` called, from the training's thread, when there is something new.
    pub fn set_wake(&self, wake: Box<dyn Fn() + Send + Sync>) {
        *lock(&self.shared.wake) = Some(wake);
    }
}

/// A value that no panic of another thread can have left half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
