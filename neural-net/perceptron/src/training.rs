//! Training runs: epochs, sample permutations, history, stopping and resuming.

mod batches;
mod effective_step;
mod epochs;
mod hyperparameters;
mod optimizer;
mod progress;
mod schedule;
mod steps;
mod stop_at;
mod validate;

use std::ops::ControlFlow;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use crate::engine::{DeviceError, Diverged, Engine, EngineError, Parameters};
use crate::{Architecture, Network, Samples};

pub use self::effective_step::{MAX_EFFECTIVE_STEP, USUAL_EFFECTIVE_STEP};
pub use self::epochs::Epochs;
pub use self::hyperparameters::{CorrectedStep, GradientScale, Hyperparameters};
pub use self::optimizer::{EPSILON, Optimizer, SQUARES_DECAY};
pub use self::progress::{EpochRecord, Progress};
pub use self::schedule::Schedule;
pub use self::steps::{EpochSteps, PartOfEpoch, order_of_epoch};
pub use self::stop_at::StopAt;
pub use self::validate::InvalidValue;

/// The samples for measuring the accuracy after an epoch.
#[derive(Debug)]
pub enum Validation<'a> {
    /// The training samples.
    Training,
    /// A separate validation set.
    Apart(&'a Samples),
}

/// Callbacks of a training run; they may stop it.
pub trait Observer<E: Engine> {
    /// The error of [`Self::epoch`], which ends the training run.
    type Error;

    /// Called after step `step` of `steps` in epoch `epoch`, both counted from 1. Break stops the
    /// training run here. It can be resumed later.
    fn step(&mut self, epoch: usize, step: usize, steps: usize) -> ControlFlow<()>;

    /// Called after an epoch, or the part of it up to the target accuracy, has been measured and
    /// recorded. `training` may be saved here.
    ///
    /// # Errors
    /// An error ends the training run.
    fn epoch(&mut self, record: &EpochRecord, training: &Training<E>) -> Result<(), Self::Error>;
}

/// The reason why a training run ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All epochs are done.
    Finished,
    /// The accuracy reached the target of [`Hyperparameters::stop_at`]. The last record belongs to
    /// this step.
    Reached,
    /// The observer stopped it.
    Stopped,
}

/// The error of a training run.
#[derive(Debug, thiserror::Error)]
pub enum TrainingError<O> {
    /// The steps were too large.
    #[error("training diverged in epoch {epoch}: {diverged}; choose a smaller learning rate")]
    Diverged {
        /// The epoch, counted from 1.
        epoch: usize,
        /// The step in the epoch.
        diverged: Diverged,
    },
    /// The device failed. The steps since the last checkpoint are lost.
    #[error("the training's device failed in epoch {epoch}: {error}")]
    Device {
        /// The epoch, counted from 1.
        epoch: usize,
        /// The device's error.
        error: DeviceError,
    },
    /// Another rank could not be reached.
    #[error("training failed in epoch {epoch}: {reason}")]
    Communication {
        /// The epoch, counted from 1.
        epoch: usize,
        /// The operation, the rank and the reason.
        reason: String,
    },
    /// The observer's error.
    #[error(transparent)]
    Observer(O),
}

impl<O> TrainingError<O> {
    /// Wraps an engine's error in an epoch, counted from 1.
    pub fn in_epoch(epoch: usize, error: EngineError) -> Self {
        match error {
            EngineError::Diverged(diverged) => Self::Diverged { epoch, diverged },
            EngineError::Device(error) => Self::Device { epoch, error },
            EngineError::Communication { reason } => Self::Communication { epoch, reason },
        }
    }
}

/// A training run on an engine.
#[derive(Debug)]
pub struct Training<E> {
    engine: E,
    epochs: Epochs,
    progress: Progress,
}

/// The initial parameters of a training run.
pub fn initial_parameters(architecture: Architecture, hyperparameters: &Hyperparameters) -> Parameters {
    let mut rng = ChaCha8Rng::seed_from_u64(hyperparameters.seed);
    let network = Network::random(architecture, hyperparameters.initialization, &mut rng);
    Parameters::new(network)
}

impl<E> Training<E> {
    /// A training run that continues from `progress`, on an engine that holds the `samples`
    /// training samples.
    pub fn new(engine: E, samples: usize, hyperparameters: Hyperparameters, progress: Progress) -> Self {
        Self { engine, epochs: Epochs::new(hyperparameters, samples), progress }
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// The engine, mutable for evaluations.
    pub fn engine_mut(&mut self) -> &mut E {
        &mut self.engine
    }

    /// The hyperparameters.
    pub fn hyperparameters(&self) -> &Hyperparameters {
        self.epochs.hyperparameters()
    }

    /// The progress so far.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The last record, if it belongs to the current step and reaches the target accuracy.
    pub fn reached(&self) -> Option<&EpochRecord> {
        let (target, Progress { epoch, step, history, .. }) =
            (self.hyperparameters().stop_at?.accuracy, &self.progress);
        let here = match step {
            0 => (*epoch, None),
            _ => (epoch.saturating_add(1), Some(self.epochs.batches().seen(*step))),
        };
        history.last().filter(|record| (record.epoch, record.samples) == here && record.accuracy >= target)
    }

    /// Trains until all epochs are done, the accuracy reaches the target, or the observer stops it.
    ///
    /// # Errors
    /// If the loss is not finite, the device fails, or the observer returns an error.
    pub fn run<O: Observer<E>>(
        &mut self,
        validation: &Validation,
        observer: &mut O,
    ) -> Result<Outcome, TrainingError<O::Error>>
    where
        E: Engine,
    {
        if self.reached().is_some() {
            return Ok(Outcome::Reached);
        }
        while self.progress.epoch < self.hyperparameters().epochs {
            match self.train_epoch(validation, observer)? {
                Outcome::Finished => {}
                outcome => return Ok(outcome),
            }
        }
        Ok(Outcome::Finished)
    }

    /// Trains the rest of an epoch, from one measurement to the next. [`Outcome::Finished`] refers to the epoch.
    fn train_epoch<O: Observer<E>>(
        &mut self,
        validation: &Validation,
        observer: &mut O,
    ) -> Result<Outcome, TrainingError<O::Error>>
    where
        E: Engine,
    {
        let steps = self.epochs.steps(self.progress.epoch);
        let Hyperparameters { epochs, report_every, stop_at, .. } = *self.hyperparameters();
        let (batches, epoch) = (self.epochs.batches(), self.progress.epoch);
        loop {
            let check = stop_at.and_then(|stop_at| stop_at.next_check(batches, epoch, self.progress.step));
            let end = check.unwrap_or(batches.steps());
            self.train_steps(&steps, end, observer)?;
            if self.progress.step < end {
                return Ok(Outcome::Stopped);
            }
            // If the observer stops at the last step before a measurement, the measurement still
            // takes place.
            let is_complete = end == batches.steps();
            if is_complete {
                self.progress.epoch += 1;
                self.progress.step = 0;
            }
            let done = self.progress.epoch;
            let is_reported = is_complete && (done.is_multiple_of(report_every.max(1)) || done == epochs);
            let measured = (is_reported || check.is_some()).then(|| self.measure(validation, end, is_complete));
            let measured = measured.transpose().map_err(|error| TrainingError::in_epoch(epoch + 1, error))?;
            if is_complete {
                self.progress.loss = 0.0;
            }
            let is_reached = |record: &EpochRecord| stop_at.is_some_and(|stop_at| record.accuracy >= stop_at.accuracy);
            if let Some(record) = measured.filter(|record| is_reported || is_reached(record)) {
                self.progress.seconds = 0.0;
                self.progress.history.push(record);
                observer.epoch(&record, self).map_err(TrainingError::Observer)?;
                if is_reached(&record) {
                    return Ok(Outcome::Reached);
                }
            }
            if is_complete {
                return Ok(Outcome::Finished);
            }
        }
    }

    /// Trains until step `end` of the epoch or until the observer stops it.
    fn train_steps<O: Observer<E>>(
        &mut self,
        epoch: &EpochSteps,
        end: usize,
        observer: &mut O,
    ) -> Result<(), TrainingError<O::Error>>
    where
        E: Engine,
    {
        let number = self.progress.epoch + 1;
        let mut part = self.progress.part_of_epoch();
        let mut observe = |step| observer.step(number, step, epoch.count());
        let trained = epoch.train(&mut self.engine, &mut part, end, &mut observe);
        let PartOfEpoch { step, loss, seconds } = part;
        self.progress = Progress { step, loss, seconds, ..std::mem::take(&mut self.progress) };
        trained.map_err(|error| TrainingError::in_epoch(number, error))
    }

    /// Measures the network after `step` steps of an epoch. A loss that is not finite is attributed to the last step.
    fn measure(&mut self, validation: &Validation, step: usize, is_complete: bool) -> Result<EpochRecord, EngineError>
    where
        E: Engine,
    {
        let evaluation = match validation {
            Validation::Training => self.engine.evaluate_training_samples()?,
            Validation::Apart(samples) => self.engine.evaluate(samples)?,
        };
        if !evaluation.loss.is_finite() {
            return Err(Diverged { step: step.saturating_sub(1) }.into());
        }
        let seen = self.epochs.batches().seen(step);
        Ok(EpochRecord {
            epoch: self.progress.epoch + usize::from(!is_complete),
            samples: (!is_complete).then_some(seen),
            seconds: self.progress.seconds,
            loss: self.progress.loss / seen.max(1) as f64,
            accuracy: evaluation.accuracy(),
        })
    }
}
