//! Epochs of training: the order of the samples, the history, stopping and going on.

mod stop_at;
mod validate;

use std::ops::ControlFlow;
use std::time::Instant;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::engine::{DeviceError, Diverged, Engine, EngineError, Parameters};
use crate::network::Initialization;
use crate::{Architecture, Loss, Network, Real, Samples};

use self::stop_at::Batches;
pub use self::stop_at::StopAt;
pub use self::validate::InvalidValue;

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
/// v ← momentum · v − learning_rate · (factor · ∂loss/∂w + weight_decay · w)
///
/// where factor is the layer's of [`Hyperparameters::learning_rate_factors`], most often 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hyperparameters {
    /// What is minimised.
    pub loss: Loss,
    /// The step size.
    pub learning_rate: f64,
    /// By what the gradients of each layer with weights are multiplied, from the inputs on; 1 where the list ends. Weight decay and
    /// momentum stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learning_rate_factors: Vec<f64>,
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
    /// Whether the training ends before that if it is accurate enough.
    #[serde(default)]
    pub stop_at: Option<StopAt>,
    /// How weights are drawn.
    pub initialization: Initialization,
    /// Seed of the weights and the permutations.
    pub seed: u64,
}

impl Hyperparameters {
    /// By what the gradients of layer `layer` with weights, counted from 0, are multiplied.
    pub fn learning_rate_factor(&self, layer: usize) -> f64 {
        self.learning_rate_factors.get(layer).copied().unwrap_or(1.0)
    }
}

/// On which samples the accuracy after an epoch is measured.
#[derive(Debug)]
pub enum Validation<'a, F> {
    /// On the training samples themselves.
    Training,
    /// On samples that are kept apart.
    Apart(&'a Samples<F>),
}

/// What is known after an epoch, or where a training stopped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpochRecord {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// How many samples of the epoch were seen, where the training stopped within it at its mark; None for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// Seconds spent training since the last record, without measurements.
    pub seconds: f64,
    /// The mean loss of a sample over the epoch so far, each before its step.
    pub loss: f64,
    /// The share of samples that are classified right, 0 … 1.
    pub accuracy: f64,
}

/// How far a training has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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

    /// An epoch, or what is done of it where the training stops at its mark, has been measured and recorded; `training` may be kept on disk here.
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
    /// The accuracy has reached the mark of [`Hyperparameters::stop_at`]. The last record is of this moment.
    Reached,
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
    let samples = u32::try_from(samples).expect("samples are numbered by 32 bits");
    let mut order: Vec<u32> = (0..samples).collect();
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

    /// The record of the training's end, if it has reached its mark there.
    pub fn reached(&self) -> Option<&EpochRecord> {
        let (mark, Progress { epoch, step, history, .. }) = (self.hyperparameters.stop_at?.accuracy, &self.progress);
        let here = match step {
            0 => (*epoch, None),
            _ => (epoch.saturating_add(1), Some(self.batches().seen(*step))),
        };
        history.last().filter(|record| (record.epoch, record.samples) == here && record.accuracy >= mark)
    }

    /// Trains until all epochs are done, the accuracy reaches its mark, or the observer stops it.
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
        if self.reached().is_some() {
            return Ok(Outcome::Reached);
        }
        while self.progress.epoch < self.hyperparameters.epochs {
            match self.train_epoch(validation, observer)? {
                Outcome::Finished => {}
                outcome => return Ok(outcome),
            }
        }
        Ok(Outcome::Finished)
    }

    fn batches(&self) -> Batches {
        Batches { samples: self.samples, size: self.hyperparameters.batch_size.unwrap_or(self.samples).max(1) }
    }

    /// Trains what is left of an epoch, from one measurement to the next. Finished is the epoch.
    fn train_epoch<F: Real, O: Observer<F, E>>(
        &mut self,
        validation: &Validation<F>,
        observer: &mut O,
    ) -> Result<Outcome, TrainingError<O::Error>>
    where
        E: Engine<F>,
    {
        let order = order_of_epoch(&self.hyperparameters, self.samples, self.progress.epoch);
        let Hyperparameters { epochs, report_every, stop_at, .. } = self.hyperparameters;
        let (batches, epoch) = (self.batches(), self.progress.epoch);
        loop {
            let check = stop_at.and_then(|stop_at| stop_at.next_check(batches, epoch, self.progress.step));
            let end = check.unwrap_or(batches.steps());
            self.train_steps(&order, end, observer)?;
            if self.progress.step < end {
                return Ok(Outcome::Stopped);
            }
            // Where the observer stops it at the end of such a stretch, it is measured before the observer is asked again.
            let is_complete = end == batches.steps();
            if is_complete {
                self.progress.epoch += 1;
                self.progress.step = 0;
            }
            let done = self.progress.epoch;
            let is_reported = is_complete && (done.is_multiple_of(report_every.max(1)) || done == epochs);
            let measured = match is_reported || check.is_some() {
                true => Some(self.measure(validation, end, is_complete)),
                false => None,
            };
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

    /// Trains until step `end` of the epoch or until the observer stops it. The engine gets the order up to there only, so
    /// that one that hands several steps at once to its device stops there too.
    fn train_steps<F: Real, O: Observer<F, E>>(
        &mut self,
        order: &[u32],
        end: usize,
        observer: &mut O,
    ) -> Result<(), TrainingError<O::Error>>
    where
        E: Engine<F>,
    {
        let (batches, epoch) = (self.batches(), self.progress.epoch + 1);
        let start = Instant::now();
        let progress = &mut self.progress;
        let trained = self.engine.train(&order[..batches.seen(end)], progress.step, &mut |step, loss| {
            progress.step = step + 1;
            progress.loss += loss;
            observer.step(epoch, step + 1, batches.steps())
        });
        progress.seconds += start.elapsed().as_secs_f64();
        trained.map_err(|error| TrainingError::in_epoch(epoch, error))
    }

    /// Measures the network after `step` steps of an epoch. The last of them may have been the one that was too large.
    fn measure<F: Real>(
        &mut self,
        validation: &Validation<F>,
        step: usize,
        is_complete: bool,
    ) -> Result<EpochRecord, EngineError>
    where
        E: Engine<F>,
    {
        let evaluation = match validation {
            Validation::Training => self.engine.evaluate_training_samples()?,
            Validation::Apart(samples) => self.engine.evaluate(samples)?,
        };
        if !evaluation.loss.is_finite() {
            return Err(Diverged { step: step.saturating_sub(1) }.into());
        }
        let seen = self.batches().seen(step);
        Ok(EpochRecord {
            epoch: self.progress.epoch + usize::from(!is_complete),
            samples: (!is_complete).then_some(seen),
            seconds: self.progress.seconds,
            loss: self.progress.loss / seen.max(1) as f64,
            accuracy: evaluation.accuracy(),
        })
    }
}
