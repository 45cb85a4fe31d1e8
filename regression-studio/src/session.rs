//! A training in its own thread.
//!
//! Whoever started it looks at snapshots, which never wait for it, and tells it to pause, to go on, to do one epoch, or to
//! stop. It is the same on any number of threads and after any interruption: [`Snapshot::run`] has all it needs to go on.

mod control;
mod device;
mod trainer;

use std::sync::Arc;
use std::thread::JoinHandle;

use neural_net::Network;
use serde::{Deserialize, Serialize};

use self::control::Shared;
use crate::results::{Predicted, Results};
use crate::run_folder::Run;
use crate::{Settings, Table};

/// A training in its own thread. Dropped, it stops the training after the current step and waits for that.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
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
    /// All that is to be kept of it, from the beginning of the training on: what [`crate::run_folder::save`] saves.
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
    /// The steps were too large; one line that says where, and the way out. [`Snapshot::run`] is of before.
    Diverged(String),
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
#[serde(deny_unknown_fields)]
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
    #[serde(deserialize_with = "crate::results::or_nan")]
    pub train_rmse_in_unit: f64,
    /// The same as `validation_rmse` in the target's unit.
    #[serde(deserialize_with = "crate::results::or_nan")]
    pub validation_rmse_in_unit: f64,
}

impl Session {
    /// Prepares the samples and trains. Errors arrive in the snapshot.
    pub fn start(table: Arc<Table>, settings: Settings) -> Self {
        Self::spawn(table, settings, None, control::Wish::Run)
    }

    /// The same for one epoch, after which it is paused.
    pub fn start_epoch(table: Arc<Table>, settings: Settings) -> Self {
        Self::spawn(table, settings, None, control::Wish::Epoch)
    }

    /// Goes on where a run was stopped, with the same table; epochs and patience may be others than then. Errors arrive in the
    /// snapshot.
    pub fn resume(table: Arc<Table>, run: Run) -> Self {
        Self::spawn(table, run.settings.clone(), Some(run), control::Wish::Run)
    }

    fn spawn(table: Arc<Table>, settings: Settings, run: Option<Run>, wish: control::Wish) -> Self {
        let shared = Arc::new(Shared::default());
        // Before the thread begins: a short training would be over before a wish that comes later.
        shared.wish(wish);
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("training".to_owned()).spawn(move || {
            // A bug must not leave a session that seems to go on for ever.
            let work = std::panic::AssertUnwindSafe(|| trainer::run(table, settings, run, &of_thread));
            let state = match std::panic::catch_unwind(work) {
                Ok(Ok(())) => return,
                Ok(Err(state)) => state,
                Err(_) => State::Failed("the training met a bug of this program and cannot go on".to_owned()),
            };
            of_thread.publish(Snapshot { state, ..(*of_thread.snapshot()).clone() });
        });
        if let Err(error) = &thread {
            let state = State::Failed(format!("no thread can be started for the training: {error}"));
            shared.publish(Snapshot { state, ..Snapshot::default() });
        }
        Self { shared, thread: thread.ok() }
    }

    /// Waits after the current step, until [`Session::go_on`] or [`Session::step_epoch`].
    pub fn pause(&self) {
        self.shared.wish(control::Wish::Pause);
    }

    /// Trains on after a pause.
    pub fn go_on(&self) {
        self.shared.wish(control::Wish::Run);
    }

    /// Trains to the end of the current epoch, then pauses.
    pub fn step_epoch(&self) {
        self.shared.wish(control::Wish::Epoch);
    }

    /// Ends the training after the current step; results follow.
    pub fn stop(&self) {
        self.shared.wish(control::Wish::Stop);
    }

    /// What is known now. Never waits for the training.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.snapshot()
    }

    /// Has `wake` called, from the training's thread, when there is something new.
    pub fn set_wake(&self, wake: Box<dyn Fn() + Send + Sync>) {
        self.shared.set_wake(wake);
    }

    /// Waits until the training has ended or failed, and returns the last snapshot.
    pub fn wait(mut self) -> Arc<Snapshot> {
        self.join();
        self.snapshot()
    }

    fn join(&mut self) {
        // Its panics are caught inside.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}

impl State {
    /// Whether nothing more will happen.
    pub fn has_ended(&self) -> bool {
        matches!(self, Self::Finished(_) | Self::Failed(_) | Self::Diverged(_))
    }
}
