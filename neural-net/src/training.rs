//! Epochs of training: the order of the samples, the history, stopping and going on.

use std::ops::ControlFlow;
use std::time::Instant;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::engine::{DeviceError, Diverged, Engine, EngineError, Parameters};
use crate::network::Initialization;
use crate::{Architecture, Loss, Network, Real, Samples};

/// Whether a batch's gradient is the sum over its samples or their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum GradientScale {
    /// The sum, as the homework has it.
    Sum,
    /// The mean, so that the learning rate does not depend on the batch size.
    Mean,
}

/// How a network is trained. One step on a batch changes each weight w by v and each bias likewise, without decay:
///
/// v ← momentum · v − learning_rate · (∂loss/∂w + weight_decay · w)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hyperparameters {
    /// What is minimised.
    pub loss: Loss,
    /// The step size.
    pub learning_rate: f64,
    /// The share of the last change that is added to the next, 0 … 1.
    pub momentum: f64,
    /// The pull of each weight towards 0.
    pub weight_decay: f64,
    /// Samples in a batch; None takes all of them.
    pub batch_size: Option<usize>,
    /// Sum or mean over a batch.
    pub gradient: GradientScale,
    /// How often each sample is seen.
    pub epochs: usize,
    /// Whether each epoch has a new permutation of the samples; without, they come in their order.
    pub shuffle: bool,
    /// After how many epochs the accuracy is measured and recorded; the last is always.
    pub report_every: usize,
    /// How weights are drawn.
    pub initialization: Initialization,
    /// Seed of the weights and the permutations.
    pub seed: u64,
}

/// On which samples the accuracy after an epoch is measured.
#[derive(Debug)]
pub enum Validation<'a, F> {
    /// On the training samples themselves.
    Training,
    /// On samples that are kept apart.
    Apart(&'a Samples<F>),
}

/// What is known after an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// Seconds spent training since the last record, without the measurement itself.
    pub seconds: f64,
    /// The mean loss of a sample over the epoch, each before its step.
    pub loss: f64,
    /// The share of samples that are classified right, 0 … 1.
    pub accuracy: f64,
}

/// How far a training has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Epochs that are complete.
    pub epoch: usize,
    /// Steps of the next epoch that are done.
    pub step: usize,
    /// The summed loss of those steps.
    pub loss: f64,
    /// Seconds of training since the last record.
    pub seconds: f64,
    /// The records so far.
    pub history: Vec<EpochRecord>,
}

/// Watches a training and may stop it.
pub trait Observer<F: Real, E: Engine<F>> {
    /// Why a training may stop other than by its end.
    type Error;

    /// A step is done: `step` of `steps` in epoch `epoch`, counted from 1. Break stops the training here; it can go on
    /// later.
    fn step(&mut self, epoch: usize, step: usize, steps: usize) -> ControlFlow<()>;

    /// An epoch has been measured and recorded; `training` may be kept on disk here.
    ///
    /// # Errors
    /// Stops the training with that error.
    fn epoch(&mut self, record: &EpochRecord, training: &Training<E>) -> Result<(), Self::Error>;
}

/// How a training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All epochs are done.
    Finished,
    /// The observer stopped it.
    Stopped,
}

/// Why a training ended early.
#[derive(Debug, thiserror::Error)]
pub enum TrainingError<O> {
    /// The steps were too large.
    #[error("training diverged in epoch {epoch}: {diverged}; choose a smaller learning rate")]
    Diverged {
        /// The epoch, counted from 1.
        epoch: usize,
        /// Where in it.
        diverged: Diverged,
    },
    /// The device failed. What was computed since the last checkpoint is lost.
    #[error("the training's device failed in epoch {epoch}: {error}")]
    Device {
        /// The epoch, counted from 1.
        epoch: usize,
        /// What happened.
        error: DeviceError,
    },
    /// The observer's error.
    #[error(transparent)]
    Observer(O),
}

impl<O> TrainingError<O> {
    fn in_epoch(epoch: usize, error: EngineError) -> Self {
        match error {
            EngineError::Diverged(diverged) => Self::Diverged { epoch, diverged },
            EngineError::Device(error) => Self::Device { epoch, error },
        }
    }
}

/// A training on some engine.
#[derive(Debug)]
pub struct Training<E> {
    engine: E,
    hyperparameters: Hyperparameters,
    samples: usize,
    progress: Progress,
}

/// The parameters that a training begins with.
pub fn initial_parameters<F: Real>(architecture: Architecture, hyperparameters: &Hyperparameters) -> Parameters<F> {
    let mut rng = ChaCha8Rng::seed_from_u64(hyperparameters.seed);
    let network = Network::random(architecture, hyperparameters.initialization, &mut rng);
    Parameters { network, velocities: None }
}

/// The order of the samples in an epoch, counted from 0. It depends on the seed and the epoch only, so that a training
/// can go on anywhere.
pub fn order_of_epoch(hyperparameters: &Hyperparameters, samples: usize, epoch: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..u32::try_from(samples).unwrap_or(u32::MAX)).collect();
    if hyperparameters.shuffle {
        // Stream 0 belongs to the weights.
        let mut rng = ChaCha8Rng::seed_from_u64(hyperparameters.seed);
        rng.set_stream(epoch as u64 + 1);
        order.shuffle(&mut rng);
    }
    order
}

impl<E> Training<E> {
    /// A training of `samples` samples on an engine that holds them, from `progress` on.
    pub fn new(engine: E, samples: usize, hyperparameters: Hyperparameters, progress: Progress) -> Self {
        Self { engine, hyperparameters, samples, progress }
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// The engine, for evaluations.
    pub fn engine_mut(&mut self) -> &mut E {
        &mut self.engine
    }

    /// How the network is trained.
    pub fn hyperparameters(&self) -> &Hyperparameters {
        &self.hyperparameters
    }

    /// How far it has come.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Trains until all epochs are done or the observer stops it.
    ///
    /// # Errors
    /// If the loss is no longer finite, the device fails, or with the observer's error.
    pub fn run<F: Real, O: Observer<F, E>>(
        &mut self,
        validation: &Validation<F>,
        observer: &mut O,
    ) -> Result<Outcome, TrainingError<O::Error>>
    where
        E: Engine<F>,
    {
        while self.progress.epoch < self.hyperparameters.epochs {
            if self.train_epoch(observer)? == Outcome::Stopped {
                return Ok(Outcome::Stopped);
            }
            let epoch = self.progress.epoch;
            if epoch.is_multiple_of(self.hyperparameters.report_every.max(1)) || epoch == self.hyperparameters.epochs {
                let record = self.record(validation).map_err(|error| TrainingError::in_epoch(epoch, error))?;
                observer.epoch(&record, self).map_err(TrainingError::Observer)?;
            } else {
                self.progress.loss = 0.0;
            }
        }
        Ok(Outcome::Finished)
    }

    fn train_epoch<F: Real, O: Observer<F, E>>(&mut self, observer: &mut O) -> Result<Outcome, TrainingError<O::Error>>
    where
        E: Engine<F>,
    {
        let epoch = self.progress.epoch + 1;
        let order = order_of_epoch(&self.hyperparameters, self.samples, self.progress.epoch);
        let steps = order.len().div_ceil(self.hyperparameters.batch_size.unwrap_or(order.len()).max(1));
        let start = Instant::now();
        let progress = &mut self.progress;
        let trained = self.engine.train(&order, progress.step, &mut |step, loss| {
            progress.step = step + 1;
            progress.loss += loss;
            observer.step(epoch, step + 1, steps)
        });
        progress.seconds += start.elapsed().as_secs_f64();
        trained.map_err(|error| TrainingError::in_epoch(epoch, error))?;
        if progress.step < steps {
            return Ok(Outcome::Stopped);
        }
        progress.epoch = epoch;
        progress.step = 0;
        // Stopped at an epoch's last step: the epoch is complete, and is recorded before the observer is asked again.
        Ok(Outcome::Finished)
    }

    /// Measures and records an epoch. Its last step may have been the one that was too large.
    fn record<F: Real>(&mut self, validation: &Validation<F>) -> Result<EpochRecord, EngineError>
    where
        E: Engine<F>,
    {
        let evaluation = match validation {
            Validation::Training => self.engine.evaluate_training_samples()?,
            Validation::Apart(samples) => self.engine.evaluate(samples)?,
        };
        if !evaluation.loss.is_finite() {
            let batch_size = self.hyperparameters.batch_size.unwrap_or(self.samples).max(1);
            return Err(Diverged { step: self.samples.div_ceil(batch_size).saturating_sub(1) }.into());
        }
        let record = EpochRecord {
            epoch: self.progress.epoch,
            seconds: self.progress.seconds,
            loss: self.progress.loss / self.samples.max(1) as f64,
            accuracy: evaluation.accuracy(),
        };
        self.progress.seconds = 0.0;
        self.progress.loss = 0.0;
        self.progress.history.push(record);
        Ok(record)
    }
}
