//! The steps of one epoch: the innermost loop of every training run.

use std::ops::ControlFlow;
use std::time::Instant;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use super::batches::Batches;
use super::hyperparameters::Hyperparameters;
use crate::engine::{Engine, EngineError};

/// The sample permutation of an epoch, counted from 0. It depends only on the seed and the epoch,
/// so a training run can be resumed at any step.
pub fn order_of_epoch(hyperparameters: &Hyperparameters, samples: usize, epoch: usize) -> Vec<u32> {
    let samples = u32::try_from(samples).expect("sample indices have 32 bits");
    let mut order: Vec<u32> = (0..samples).collect();
    if hyperparameters.shuffle {
        // Stream 0 belongs to the weights.
        let mut rng = ChaCha8Rng::seed_from_u64(hyperparameters.seed);
        rng.set_stream(epoch as u64 + 1);
        order.shuffle(&mut rng);
    }
    order
}

/// The completed steps of an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartOfEpoch {
    /// Number of steps.
    pub step: usize,
    /// The summed loss of those steps.
    pub loss: f64,
    /// Training time in seconds.
    pub seconds: f64,
}

/// The steps of one epoch, with its sample permutation and learning rate.
#[derive(Clone, Debug)]
pub struct EpochSteps {
    order: Vec<u32>,
    batches: Batches,
    learning_rate: f64,
    /// Number of steps in the previous epochs.
    steps_before: usize,
}

impl EpochSteps {
    /// The steps of an epoch (counted from 0) on this number of samples.
    pub fn new(hyperparameters: &Hyperparameters, samples: usize, epoch: usize) -> Self {
        let batches = Batches::of(samples, hyperparameters.batch_size);
        Self {
            order: order_of_epoch(hyperparameters, samples, epoch),
            batches,
            learning_rate: hyperparameters.learning_rate_of_epoch(epoch),
            steps_before: epoch * batches.steps(),
        }
    }

    /// Number of steps.
    pub fn count(&self) -> usize {
        self.batches.steps()
    }

    /// The sample permutation.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Trains from the first step missing from `done` until step `end`, or until `observe` breaks,
    /// and adds to `done`. After each step, `observe` receives the number of completed steps.
    ///
    /// The engine receives the order only up to `end`, so an engine that submits several steps at
    /// once also stops there.
    ///
    /// # Errors
    /// The errors of [`Engine::train`].
    pub fn train(
        &self,
        engine: &mut (impl Engine + ?Sized),
        done: &mut PartOfEpoch,
        end: usize,
        observe: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        let start = Instant::now();
        engine.start_epoch(self.learning_rate, self.steps_before);
        let PartOfEpoch { step: steps, loss: total, seconds } = done;
        let trained = engine.train(&self.order[..self.batches.seen(end)], *steps, &mut |step, loss| {
            *steps = step + 1;
            *total += loss;
            observe(step + 1)
        });
        *seconds += start.elapsed().as_secs_f64();
        trained
    }
}
