//! The one door to whatever does the arithmetic of training and evaluation fast.
//!
//! An engine holds the parameters where it works on them. [`crate::Training`] tells it which samples come in which order
//! and takes the parameters out when they are to be kept.

mod cpu;
mod layer;

use std::ops::ControlFlow;

use ndarray::{Array1, Array2};

use crate::{Network, Real, Samples};

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

/// Does the arithmetic of training on some device.
pub trait Engine<F: Real> {
    /// The device's name, for results.
    fn device(&self) -> String;

    /// Trains on the training samples in the given order, batch by batch, one step each. After each step `observe` is
    /// told the step's number, counted from 0 over `order`, and the batch's summed loss before it; it may stop the
    /// training there.
    ///
    /// # Errors
    /// If the loss of a batch is not finite. The parameters are then useless.
    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), Diverged>;

    /// Evaluates the network on other samples.
    fn evaluate(&mut self, samples: &Samples<F>) -> Evaluation;

    /// Evaluates the network on the training samples.
    fn evaluate_training_samples(&mut self) -> Evaluation;

    /// The parameters as they are now.
    fn parameters(&self) -> Parameters<F>;
}
