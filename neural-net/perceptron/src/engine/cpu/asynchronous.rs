//! Asynchronous training: masters own layers; workers send them gradients, and get the parameters back.
//!
//! A gradient is of parameters that other workers may have changed since: the number of these changes is its
//! *staleness*.

use std::ops::ControlFlow;

use kernels_cpu::InstructionSet;
use kernels_cpu::product::PaddedMatrix;

use super::CpuEngine;
use super::layer::{Layer, UpdateRule};
use super::shards::Gradients;
use crate::engine::{DeviceError, Diverged, Engine, EngineError, Evaluation, Parameters};
use crate::{Hyperparameters, Samples};

/// The masters, and the other workers, as a worker sees them.
pub trait Masters {
    /// This worker, from 0.
    fn worker(&self) -> usize;

    /// Number of workers.
    fn workers(&self) -> usize;

    /// Sends each layer's gradients over `count` samples and the learning rate to the layer's master, and replaces the
    /// layer's parameters by those after the update. With 0 samples the gradients are not used.
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

    /// Waits for all workers; returns the greatest of what they say.
    ///
    /// # Errors
    /// The reason in one line, if a message cannot be sent or received.
    fn meet(&mut self, says: Says) -> Result<Says, String>;
}

/// What a worker says at the end of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Says {
    /// Its batches are trained.
    Done,
    /// Its observer ends the run.
    Ended,
    /// Its loss is not finite.
    Diverged,
}

/// A worker: of every W batches it takes one, where W is the number of workers.
#[allow(missing_debug_implementations, reason = "its masters may be anything")]
pub struct WorkerEngine<'a> {
    engine: CpuEngine<'a, f32>,
    masters: Box<dyn Masters + 'a>,
    gradients: Gradients,
    /// Each layer's gradients and parameters: weights, then biases, padded.
    sent: Vec<Vec<f32>>,
    received: Vec<Vec<f32>>,
}

/// Number of a layer's values as they are sent: weights, then biases, padded.
fn values(layer: &Layer<f32>) -> usize {
    layer.weights.padded().len() + layer.biases.padded().len()
}

/// Copies a layer's values to a message.
fn to_message(message: &mut [f32], weights: &PaddedMatrix<f32>, biases: &PaddedMatrix<f32>) {
    let (of_weights, of_biases) = message.split_at_mut(weights.padded().len());
    of_weights.copy_from_slice(weights.padded());
    of_biases.copy_from_slice(biases.padded());
}

/// Copies a layer's values from a message.
fn from_message(message: &[f32], weights: &mut PaddedMatrix<f32>, biases: &mut PaddedMatrix<f32>) {
    let (of_weights, of_biases) = message.split_at(weights.padded().len());
    weights.padded_mut().copy_from_slice(of_weights);
    biases.padded_mut().copy_from_slice(of_biases);
}

impl<'a> WorkerEngine<'a> {
    /// A worker that starts from the given parameters, on the given samples, which are those of all workers.
    ///
    /// # Panics
    /// If the samples do not have the network's numbers of inputs and outputs.
    pub fn new(
        samples: &'a Samples<f32>,
        parameters: &Parameters<f32>,
        hyperparameters: &Hyperparameters,
        masters: Box<dyn Masters + 'a>,
    ) -> Self {
        let engine = CpuEngine::new(samples, parameters, hyperparameters);
        let buffers = || engine.layers.iter().map(|layer| vec![0.0; values(layer)]).collect();
        let (sent, received) = (buffers(), buffers());
        Self { gradients: Gradients::new(&engine), engine, masters, sent, received }
    }

    /// Sends the gradients of `count` samples, and takes the masters' parameters.
    fn exchange(&mut self, count: usize) -> Result<(), EngineError> {
        if count > 0 {
            for (message, [weights, biases]) in self.sent.iter_mut().zip(&self.gradients.values) {
                to_message(message, weights, biases);
            }
        }
        let rate = self.engine.hyperparameters.learning_rate;
        let exchanged = self.masters.exchange(rate, count, &self.sent, &mut self.received);
        exchanged.map_err(|reason| EngineError::Communication { reason })?;
        for (layer, message) in self.engine.layers.iter_mut().zip(&self.received) {
            from_message(message, &mut layer.weights, &mut layer.biases);
        }
        Ok(())
    }
}

impl Engine<f32> for WorkerEngine<'_> {
    fn device(&self) -> String {
        let workers = self.masters.workers();
        let plural = if workers == 1 { "" } else { "s" };
        format!("{workers} worker{plural} of one thread, {}", self.engine.model.instruction_set.name())
    }

    fn start_epoch(&mut self, learning_rate: f64, steps_before: usize) {
        self.engine.start_epoch(learning_rate, steps_before);
    }

    /// Trains on this worker's batches. `observe` gets their steps, and the last step of all; the others' losses are
    /// not known. All workers wait for each other at the end, so that they measure the same network.
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
                let loss = self.gradients.compute(&self.engine, batch);
                if !loss.is_finite() {
                    (says, diverged) = (Says::Diverged, Diverged { step });
                    break;
                }
                self.exchange(batch.len())?;
                // The other workers' batches are estimated to have the same loss.
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
        // The other workers do not change the parameters before all have them.
        self.masters.meet(Says::Done).map_err(failed)?;
        Ok(())
    }

    fn evaluate(&mut self, samples: &Samples<f32>) -> Result<Evaluation, DeviceError> {
        self.engine.evaluate(samples)
    }

    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError> {
        self.engine.evaluate_training_samples()
    }

    fn parameters(&self) -> Result<Parameters<f32>, DeviceError> {
        self.engine.parameters()
    }
}

/// A layer at its master.
#[derive(Debug)]
pub struct MasterLayer {
    layer: Layer<f32>,
    hyperparameters: Hyperparameters,
    /// Number of updates.
    version: usize,
    gradients: [PaddedMatrix<f32>; 2],
    set: InstructionSet,
}

impl MasterLayer {
    /// Layer `index` with weights of a network.
    ///
    /// # Panics
    /// If there is no such layer.
    pub fn new(parameters: &Parameters<f32>, index: usize, hyperparameters: &Hyperparameters) -> Self {
        let layer = Layer::new(parameters, index, hyperparameters);
        let (rows, columns) = (layer.weights.rows(), layer.weights.columns());
        Self {
            layer,
            hyperparameters: hyperparameters.clone(),
            version: 0,
            gradients: [PaddedMatrix::zeros(rows, columns), PaddedMatrix::zeros(1, columns)],
            set: InstructionSet::detect(),
        }
    }

    /// Number of updates.
    pub fn version(&self) -> usize {
        self.version
    }

    /// Number of values that are sent: weights and biases, padded.
    pub fn values(&self) -> usize {
        values(&self.layer)
    }

    /// Updates the layer by the gradients of `count` samples.
    ///
    /// # Panics
    /// If their number is not [`Self::values`].
    pub fn update(&mut self, learning_rate: f64, count: usize, gradients: &[f32]) {
        let [weights, biases] = &mut self.gradients;
        from_message(gradients, weights, biases);
        self.hyperparameters.learning_rate = learning_rate;
        let rule = UpdateRule::new(&self.hyperparameters, self.version, count);
        self.layer.apply(self.set, rule, weights, biases);
        self.version += 1;
    }

    /// Copies the parameters to `out`, which is as long as [`Self::values`].
    ///
    /// # Panics
    /// If it is not.
    pub fn copy_to(&self, out: &mut [f32]) {
        to_message(out, &self.layer.weights, &self.layer.biases);
    }
}
