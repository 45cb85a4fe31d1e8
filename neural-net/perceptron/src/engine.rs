//! The interface that implementations of training and evaluation share. The one for the CPU is
//! here, the one for GPUs in `gpu_engine`.
//!
//! An engine owns the parameters, in its device's memory. [`crate::Training`] passes it the order
//! of the samples, and copies the parameters out to save them.

mod cpu;
mod ranks;

use std::error::Error;
use std::fmt;
use std::ops::ControlFlow;

use ndarray::{Array1, Array2};

use crate::{Network, Predictor, Samples};

pub use cpu::{CpuEngine, MasterLayer, Masters, PhaseTimes, Says, Threads, WorkerEngine};
pub use ranks::{Fill, Gradients, Ranks, ShardEngine};

/// "1 thread", "2 threads".
fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The weights and biases of each layer, or other values with these shapes.
pub type LayerArrays<F = f32> = Vec<(Array2<F>, Array1<F>)>;

/// A network and the state of the optimizer that trains it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters<F = f32> {
    /// The network.
    pub network: Network<F>,
    /// With momentum, the last changes of the parameters; with Adam, the mean gradients m.
    pub velocities: Option<LayerArrays<F>>,
    /// With Adam, the mean squared gradients v.
    pub squares: Option<LayerArrays<F>>,
}

impl<F> Parameters<F> {
    /// A network before the first step.
    pub fn new(network: Network<F>) -> Self {
        Self { network, velocities: None, squares: None }
    }
}

/// Loss and accuracy of a network on a set of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// The mean loss per sample.
    pub loss: f64,
    /// Number of samples with the largest output at the index of the largest target.
    pub correct: usize,
    /// Number of samples.
    pub count: usize,
}

impl Evaluation {
    /// The fraction of correct samples, 0 … 1.
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.count.max(1) as f64
    }
}

/// The loss is infinite or NaN: the steps were too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the loss is no longer finite, at step {step}")]
pub struct Diverged {
    /// Index within the epoch of the step before or after which the loss was not finite.
    pub step: usize,
}

/// A device error: device lost, out of memory, or an error in a kernel. The results on the device are lost.
#[derive(Debug)]
pub struct DeviceError {
    error: Box<dyn Error + Send + Sync>,
    is_out_of_memory: bool,
}

impl fmt::Display for DeviceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(formatter)
    }
}

impl Error for DeviceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl DeviceError {
    /// Wraps an error of an engine's device. `is_out_of_memory` says whether the device's memory is
    /// exhausted.
    pub fn new(error: impl Error + Send + Sync + 'static, is_out_of_memory: bool) -> Self {
        Self { error: Box::new(error), is_out_of_memory }
    }

    /// Whether the device's memory is exhausted.
    pub fn is_out_of_memory(&self) -> bool {
        self.is_out_of_memory
    }
}

/// The error of a training step.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The steps were too large.
    #[error(transparent)]
    Diverged(#[from] Diverged),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A message to or from another rank failed.
    #[error("{reason}")]
    Communication {
        /// The operation, the rank and the reason, in one line.
        reason: String,
    },
}

/// An implementation of training and evaluation on a device.
pub trait Engine {
    /// The device's name, for printed results.
    fn device(&self) -> String;

    /// Sets the learning rate for the next epoch's steps, and the number of steps in the epochs
    /// before it. Before the first call, they are the hyperparameters' learning rate and 0.
    fn start_epoch(&mut self, learning_rate: f64, steps_before: usize);

    /// Trains on the training samples in the given order, batch by batch, with one step per batch,
    /// starting at step `first_step`. After each step, `observe` receives the step's index in the
    /// epoch, counted from 0, and the batch's summed loss before the step. It may stop the training
    /// run there.
    ///
    /// An engine that submits several steps to its device at once stops after the last of them and
    /// calls `observe` for every completed step. Training resumes after the last step that
    /// `observe` received.
    ///
    /// # Errors
    /// If the loss of a batch is not finite, or the device fails. The parameters are then unusable.
    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError>;

    /// Evaluates the network on other samples.
    ///
    /// # Errors
    /// If the device fails.
    fn evaluate(&mut self, samples: &Samples) -> Result<Evaluation, DeviceError>;

    /// Evaluates the network on the training samples.
    ///
    /// # Errors
    /// If the device fails.
    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError>;

    /// The network's outputs for other samples, *N* × outputs. An engine with a device that
    /// predicts faster overrides this.
    ///
    /// # Errors
    /// If the device fails.
    fn predict(&mut self, samples: &Samples) -> Result<Array2<f32>, DeviceError> {
        Ok(Predictor::new(&self.parameters()?.network).predict_all(samples.inputs().view()))
    }

    /// A copy of the current parameters.
    ///
    /// # Errors
    /// If the device fails.
    fn parameters(&self) -> Result<Parameters, DeviceError>;
}

impl<E: Engine + ?Sized> Engine for Box<E> {
    fn device(&self) -> String {
        (**self).device()
    }

    fn start_epoch(&mut self, learning_rate: f64, steps_before: usize) {
        (**self).start_epoch(learning_rate, steps_before);
    }

    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        (**self).train(order, first_step, observe)
    }

    fn evaluate(&mut self, samples: &Samples) -> Result<Evaluation, DeviceError> {
        (**self).evaluate(samples)
    }

    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError> {
        (**self).evaluate_training_samples()
    }

    fn predict(&mut self, samples: &Samples) -> Result<Array2<f32>, DeviceError> {
        (**self).predict(samples)
    }

    fn parameters(&self) -> Result<Parameters, DeviceError> {
        (**self).parameters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part1_accuracy_is_the_share_of_correct_samples() {
        let accuracy = |correct, count| Evaluation { loss: 0.5, correct, count }.accuracy();
        assert_eq!((accuracy(0, 8), accuracy(6, 8), accuracy(8, 8)), (0.0, 0.75, 1.0));
        assert_eq!(accuracy(0, 0), 0.0);
    }
}
