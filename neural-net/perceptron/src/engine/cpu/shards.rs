//! Data-parallel training: each rank has the network and a share of every batch, and the gradients are summed over the
//! ranks.
//!
//! The sums have the same bits on every rank, and so have the weights. They differ in rounding from those of one rank,
//! since a batch's samples are added in another order.

use std::ops::ControlFlow;

use kernels_cpu::product::PaddedMatrix;

use super::chunk::{Chunk, Copies, Inputs, Purpose, WithCopies};
use super::layer::{Accumulate, add_sum_of_rows};
use super::{CHUNK, CpuEngine};
use crate::engine::{DeviceError, Diverged, Engine, EngineError, Evaluation, Parameters};
use crate::{Hyperparameters, Samples};

/// The ranks of a data-parallel training run.
pub trait Ranks {
    /// This rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// Adds the ranks' buffers, all of the same length, element by element; every rank receives the same bits.
    ///
    /// # Errors
    /// The reason in one line, if a message cannot be sent or received.
    fn sum(&mut self, buffer: &mut [f32]) -> Result<(), String>;
}

/// Trains on a rank's share of every batch, on one thread. Every rank must have equal samples, parameters and
/// hyperparameters. A single rank trains as [`CpuEngine`] does.
#[allow(missing_debug_implementations, reason = "its ranks may be anything")]
pub struct ShardEngine<'a> {
    engine: CpuEngine<'a, f32>,
    ranks: Box<dyn Ranks + 'a>,
    gradients: Gradients,
    /// The gradients of all biases, and [`END`] values more.
    small: Vec<f32>,
}

/// Values after the biases' gradients: the loss, in two parts, and whether a rank ends the run.
const END: usize = 3;

impl<'a> ShardEngine<'a> {
    /// An engine that trains the given parameters on the given samples.
    ///
    /// # Panics
    /// If the samples do not have the network's numbers of inputs and outputs.
    pub fn new(
        samples: &'a Samples<f32>,
        parameters: &Parameters<f32>,
        hyperparameters: &Hyperparameters,
        ranks: Box<dyn Ranks + 'a>,
    ) -> Self {
        let engine = CpuEngine::new(samples, parameters, hyperparameters);
        let gradients = Gradients::new(&engine);
        let biases: usize = gradients.values.iter().map(|[_, biases]| biases.padded().len()).sum();
        Self { ranks, gradients, small: vec![0.0; biases + END], engine }
    }

    /// One step: this rank's gradients, their sum over the ranks, and the update. Returns the batch's loss, and whether
    /// a rank ends the run.
    fn step(&mut self, step: usize, batch: &[u32], ends: bool) -> Result<(f64, bool), EngineError> {
        let (rank, size) = (self.ranks.rank(), self.ranks.size());
        let own = &batch[batch.len() * rank / size..batch.len() * (rank + 1) / size];
        let loss = self.gradients.compute(&self.engine, own);
        let gradients = &mut self.gradients.values;

        // The most first: the first layer has most weights.
        let failed = |reason: String| EngineError::Communication { reason };
        for [weights, _] in gradients.iter_mut() {
            self.ranks.sum(weights.padded_mut()).map_err(failed)?;
        }
        let mut rest = &mut self.small[..];
        for [_, biases] in gradients.iter() {
            let (start, end) = rest.split_at_mut(biases.padded().len());
            start.copy_from_slice(biases.padded());
            rest = end;
        }
        let high = loss as f32;
        rest.copy_from_slice(&[high, (loss - f64::from(high)) as f32, f32::from(u8::from(ends))]);
        self.ranks.sum(&mut self.small).map_err(failed)?;
        let mut rest = &self.small[..];
        for [_, biases] in gradients.iter_mut() {
            let (start, end) = rest.split_at(biases.padded().len());
            biases.padded_mut().copy_from_slice(start);
            rest = end;
        }

        let rule = self.engine.rules().of_step(step, batch.len());
        let CpuEngine { model, layers, .. } = &mut self.engine;
        for (layer, [weights, biases]) in layers.iter_mut().zip(gradients.iter()) {
            layer.apply(model.instruction_set, rule, weights, biases);
        }
        Ok((f64::from(rest[0]) + f64::from(rest[1]), rest[2] > 0.0))
    }
}

/// The gradients of some samples, and the buffers of their computation.
#[derive(Debug)]
pub(super) struct Gradients {
    inputs: Inputs<f32>,
    chunk: Chunk<f32>,
    copies: Copies<f32>,
    /// The gradients of each layer's weights and biases.
    pub(super) values: Vec<[PaddedMatrix<f32>; 2]>,
}

impl Gradients {
    pub(super) fn new(engine: &CpuEngine<f32>) -> Self {
        let architecture = &engine.model.architecture;
        let whole = 0..architecture.inputs();
        let sizes = architecture.sizes().windows(2);
        let values = sizes.map(|pair| [PaddedMatrix::zeros(pair[0], pair[1]), PaddedMatrix::zeros(1, pair[1])]);
        Self {
            inputs: Inputs::new(&engine.model, engine.samples, CHUNK, std::slice::from_ref(&whole)),
            chunk: Chunk::new(architecture, CHUNK),
            copies: Copies::of_transposed(architecture),
            values: values.collect(),
        }
    }

    /// Computes the gradients of the samples' summed loss, which is returned.
    pub(super) fn compute(&mut self, engine: &CpuEngine<f32>, samples: &[u32]) -> f64 {
        let CpuEngine { samples: all, hyperparameters, model, layers, .. } = engine;
        let (set, layers) = (model.instruction_set, layers.as_slice());
        self.values.iter_mut().flatten().for_each(|gradients| gradients.padded_mut().fill(0.0));
        self.copies.copy(layers);
        let mut loss = 0.0;
        for batch in samples.chunks(CHUNK) {
            let indices = || batch.iter().map(|&index| index as usize);
            self.inputs.read(set, all, indices(), Purpose::Training);
            let with_copies = WithCopies { parts: layers, copies: &self.copies };
            self.chunk.first_layer(model, &with_copies, &self.inputs, batch.len());
            self.chunk.later_layers(model, &with_copies);
            self.chunk.backward(model, &self.copies, all, indices(), hyperparameters.loss);
            for (index, (layer, [weights, biases])) in layers.iter().zip(&mut self.values).enumerate() {
                let errors = &self.chunk.errors[index];
                self.chunk.with_left(&self.inputs, index, 0, &layer.rows, |left| {
                    let stride = weights.stride();
                    left.gradient(set, errors, true, Accumulate { gradients: weights.padded_mut(), stride });
                });
                add_sum_of_rows(set, errors, batch.len(), biases);
            }
            loss += self.chunk.loss();
        }
        loss
    }
}

impl Engine<f32> for ShardEngine<'_> {
    fn device(&self) -> String {
        let size = self.ranks.size();
        let plural = if size == 1 { "" } else { "s" };
        format!("{size} rank{plural} of one thread, {}", self.engine.model.instruction_set.name())
    }

    fn start_epoch(&mut self, learning_rate: f64, steps_before: usize) {
        self.engine.start_epoch(learning_rate, steps_before);
    }

    /// If `observe` ends the run on a rank, it ends on every rank after the next step.
    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        if self.ranks.size() == 1 {
            return self.engine.train(order, first_step, observe);
        }
        let batch_size = self.engine.hyperparameters.batch_size.unwrap_or(order.len()).max(1);
        let mut ends = false;
        for (step, batch) in order.chunks(batch_size).enumerate().skip(first_step) {
            let (loss, has_ended) = self.step(step, batch, ends)?;
            if !loss.is_finite() {
                return Err(Diverged { step }.into());
            }
            ends |= observe(step, loss).is_break();
            if has_ended {
                break;
            }
        }
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
