//! The one door to whatever does the arithmetic of training and evaluation fast.
//!
//! An engine holds the parameters where it works on them. [`crate::Training`] tells it which samples come in which order
//! and takes the parameters out when they are to be kept.

mod cpu;
mod gpu;

use std::ops::ControlFlow;

use ndarray::{Array1, Array2};

use crate::{Network, Real, Samples};

pub use self::gpu::{GpuEngine, GpuEngineError, GpuOptions, GpuPath, NotPersistent};
pub use cpu::CpuEngine;

/// A network and, if it is trained with momentum, the last changes of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters<F> {
    /// The network.
    pub network: Network<F>,
    /// The last changes of each layer's weights and biases.
    pub velocities: Option<Vec<(Array2<F>, Array1<F>)>>,
}

/// How well a network does on some samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// The mean loss of a sample.
    pub loss: f64,
    /// Samples whose largest output is where their largest target is.
    pub correct: usize,
    /// All samples.
    pub count: usize,
}

impl Evaluation {
    /// The share of correct samples, 0 … 1.
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.count.max(1) as f64
    }
}

/// The loss is no longer a finite number: the steps were too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the loss is no longer finite, at step {step}")]
pub struct Diverged {
    /// The step of the epoch, counted from 0, before or after which the loss was not finite.
    pub step: usize,
}

/// The device failed: it is lost, out of memory, or a kernel did something wrong. What was computed on it is lost.
pub type DeviceError = ::gpu::Error;

/// Why a training ended early.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The steps were too large.
    #[error(transparent)]
    Diverged(#[from] Diverged),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Does the arithmetic of training on some device.
pub trait Engine<F: Real> {
    /// The device's name, for results.
    fn device(&self) -> String;

    /// Trains on the training samples in the given order, batch by batch, one step each. After each step `observe` is
    /// told the step's number, counted from 0 over `order`, and the batch's summed loss before it; it may stop the
    /// training there.
    ///
    /// An engine that hands several steps at once to its device stops after the last of these, and tells `observe` of
    /// every step that is done: the last that it was told of is where the training can go on.
    ///
    /// # Errors
    /// If the loss of a batch is not finite, or the device fails. The parameters are then useless.
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
    fn evaluate(&mut self, samples: &Samples<F>) -> Result<Evaluation, DeviceError>;

    /// Evaluates the network on the training samples.
    ///
    /// # Errors
    /// If the device fails.
    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError>;

    /// The parameters as they are now.
    ///
    /// # Errors
    /// If the device fails.
    fn parameters(&self) -> Result<Parameters<F>, DeviceError>;
}
