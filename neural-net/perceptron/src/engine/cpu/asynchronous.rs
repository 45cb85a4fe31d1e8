//! Asynchronous training: masters own layers, and workers send them gradients and get the
//! parameters back.
//!
//! Other workers may have changed the parameters since a gradient's were read. The number of these
//! changes is the gradient's *staleness*.

use std::ops::ControlFlow;

use kernels_cpu::InstructionSet;

use super::CpuEngine;
use super::gradients::{Passes, values};
use super::layer::{Layer, UpdateRule};
use crate::engine::{DeviceError, Diverged, Engine, EngineError, Evaluation, Parameters, counted};
use crate::{Hyperparameters, Samples};

/// A worker's view of the masters and the other workers.
pub trait Masters {
    /// This worker's index, from 0.
    fn worker(&self) -> usize;

    /// Number of workers.
    fn workers(&self) -> usize;

    /// Sends each layer's gradients over `count` samples and the learning rate to the layer's
    /// master, and replaces the layer's parameters with the updated ones. With 0 samples, the
    /// gradients are not used. With momentum, the parameters are then followed by their velocities.
    ///
    /// # Errors
    /// The reason in one line, if a message cannot be sent or received.
    fn exchange(
        &mut self,
        learning_rate: f64,
        count: usize,
        gradients: &[Vec<f32>],
        parameters: &mut [Vec<f32>],
    ) -> Result<(), String>;

    /// Waits for all workers and returns the greatest of their statuses.
    ///
    /// # Errors
    /// The reason in one line, if a message cannot be sent or received.
    fn meet(&mut self, says: Says) -> Result<Says, String>;
}

/// A worker's status at the end of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Says {
    /// Its batches are trained.
    Done,
    /// Its observer ends the run.
    Ended,
    /// Its loss is not finite.
    Diverged,
}

/// A worker that takes every W-th batch, where W is the number of workers.
#[allow(missing_debug_implementations, reason = "its masters may be anything")]
pub struct WorkerEngine<'a> {
    engine: CpuEngine<'a>,
    masters: Box<dyn Masters + 'a>,
    passes: Passes,
    /// Each layer's gradients and parameters: weights, then biases, padded. Also these with the
    /// velocities of both.
    sent: Vec<Vec<f32>>,
    received: Vec<Vec<f32>>,
    received_states: Vec<Vec<f32>>,
}

/// Number of values of a layer's parameters and velocities.
fn values_of_state(layer: &Layer) -> usize {
    layer.parameters_and_velocities().map(|matrix| matrix.padded().len()).sum()
}

/// Copies a layer's parameters to a message, and its velocities too if the message is long enough.
fn to_message(message: &mut [f32], layer: &Layer) {
    let mut rest = message;
    for matrix in layer.parameters_and_velocities() {
        if rest.is_empty() {
            break;
        }
        let start = rest.split_off_mut(..matrix.padded().len()).expect("a message has whole matrices");
        start.copy_from_slice(matrix.padded());
    }
}

/// Copies a layer's parameters from a message, and its velocities too if the message contains them.
fn from_message(message: &[f32], layer: &mut Layer) {
    let mut rest = message;
    for matrix in layer.parameters_and_velocities_mut() {
        if rest.is_empty() {
            break;
        }
        let start = rest.split_off(..matrix.padded().len()).expect("a message has whole matrices");
        matrix.padded_mut().copy_from_slice(start);
    }
}

impl<'a> WorkerEngine<'a> {
    /// Creates a worker that starts from the given parameters. All workers have the same given samples.
    ///
    /// # Panics
    /// If the samples do not have the network's numbers of inputs and outputs.
    pub fn new(
        samples: &'a Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
        masters: Box<dyn Masters + 'a>,
    ) -> Self {
        let engine = CpuEngine::new(samples, parameters, hyperparameters);
        let buffers = |values: fn(&Layer) -> usize| {
            engine.layers.iter().map(|layer| vec![0.0; values(layer)]).collect::<Vec<_>>()
        };
        let (sent, received, received_states) = (buffers(values), buffers(values), buffers(values_of_state));
        Self { passes: Passes::new(&engine), engine, masters, sent, received, received_states }
    }

    /// Sends the gradients of `count` samples and receives the masters' parameters.
    fn exchange(&mut self, count: usize) -> Result<(), EngineError> {
        let rate = self.engine.hyperparameters.learning_rate;
        let received = if count > 0 { &mut self.received } else { &mut self.received_states };
        let exchanged = self.masters.exchange(rate, count, &self.sent, received);
        exchanged.map_err(|reason| EngineError::Communication { reason })?;
        for (layer, message) in self.engine.layers.iter_mut().zip(received) {
            from_message(message, layer);
        }
        Ok(())
    }
}

impl Engine for WorkerEngine<'_> {
    fn device(&self) -> String {
        let workers = counted(self.masters.workers(), "worker");
        format!("{workers} of one thread, {}", self.engine.model.instruction_set.name())
    }

    fn start_epoch(&mut self, learning_rate: f64, steps_before: usize) {
        self.engine.start_epoch(learning_rate, steps_before);
    }

    /// Trains on this worker's batches. `observe` receives their steps and the epoch's last step.
    /// The losses of the others' batches are not known. All workers wait for each other at the end,
    /// so they evaluate the same network.
    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        let batch_size = self.engine.hyperparameters.batch_size.unwrap_or(order.len()).max(1);
        let (worker, workers) = (self.masters.worker(), self.masters.workers());
        let steps = order.len().div_ceil(batch_size);
        let mut says = Says::Done;
        let mut diverged = Diverged { step: first_step };
        self.exchange(0)?;
        for (step, batch) in order.chunks(batch_size).enumerate().skip(first_step) {
            if step % workers == worker {
                let Self { engine, passes, sent, .. } = self;
                let loss = passes.start(engine, batch, sent.iter_mut().map(Vec::as_mut_slice));
                for (layer, gradients) in sent.iter_mut().enumerate() {
                    passes.finish(engine, layer, gradients);
                }
                if !loss.is_finite() {
                    (says, diverged) = (Says::Diverged, Diverged { step });
                    break;
                }
                self.exchange(batch.len())?;
                // Estimate that the other workers' batches have the same loss.
                if step + 1 < steps && observe(step, loss * workers as f64).is_break() {
                    says = Says::Ended;
                    break;
                }
            }
        }
        let failed = |reason| EngineError::Communication { reason };
        let all_say = self.masters.meet(says).map_err(failed)?;
        if all_say == Says::Diverged {
            return Err(diverged.into());
        }
        self.exchange(0)?;
        if all_say == Says::Done && first_step < steps {
            _ = observe(steps - 1, 0.0);
        }
        // The other workers do not change the parameters until all workers have them.
        self.masters.meet(Says::Done).map_err(failed)?;
        Ok(())
    }

    fn evaluate(&mut self, samples: &Samples) -> Result<Evaluation, DeviceError> {
        self.engine.evaluate(samples)
    }

    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError> {
        self.engine.evaluate_training_samples()
    }

    fn parameters(&self) -> Result<Parameters, DeviceError> {
        self.engine.parameters()
    }
}

/// A layer owned by its master.
#[derive(Debug)]
pub struct MasterLayer {
    layer: Layer,
    hyperparameters: Hyperparameters,
    /// Number of updates.
    version: usize,
    set: InstructionSet,
}

impl MasterLayer {
    /// Creates layer `index`, counting layers with weights.
    ///
    /// # Panics
    /// If there is no such layer.
    pub fn new(parameters: &Parameters, index: usize, hyperparameters: &Hyperparameters) -> Self {
        let layer = Layer::new(parameters, index, hyperparameters);
        Self { layer, hyperparameters: hyperparameters.clone(), version: 0, set: InstructionSet::detect() }
    }

    /// Number of updates.
    pub fn version(&self) -> usize {
        self.version
    }

    /// Number of values that a message has: weights and biases, padded.
    pub fn values(&self) -> usize {
        values(&self.layer)
    }

    /// Number of values of the parameters, plus their velocities if there is momentum.
    pub fn values_of_state(&self) -> usize {
        values_of_state(&self.layer)
    }

    /// Updates the layer with the gradients of `count` samples.
    ///
    /// # Panics
    /// If there are not [`Self::values`] gradients.
    pub fn update(&mut self, learning_rate: f64, count: usize, gradients: &[f32]) {
        let (weights, biases) = gradients.split_at(self.layer.weights.padded().len());
        self.hyperparameters.learning_rate = learning_rate;
        let rule = UpdateRule::new(&self.hyperparameters, self.version, count);
        self.layer.apply(self.set, rule, weights, biases);
        self.version += 1;
    }

    /// Copies the parameters to `out`, and the velocities too if `out` is as long as
    /// [`Self::values_of_state`].
    ///
    /// # Panics
    /// If it is neither that long nor as long as [`Self::values`].
    pub fn copy_to(&self, out: &mut [f32]) {
        assert!([self.values(), self.values_of_state()].contains(&out.len()), "{} values", out.len());
        to_message(out, &self.layer);
    }
}
