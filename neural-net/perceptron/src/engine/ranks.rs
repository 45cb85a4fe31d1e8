//! Data-parallel training: each rank has the network and a shard of every batch, and the gradients
//! are summed over the ranks.
//!
//! The sums, and so the weights, have the same bits on every rank. Their rounding differs from a
//! run on one rank, which adds a batch's samples in another order. In reproducible runs, it does
//! not differ.

use std::ops::{ControlFlow, Range};

use kernels_cpu::product::PaddedMatrix;

use super::cpu::CpuGradients;
use super::{DeviceError, Diverged, Engine, EngineError, Evaluation, Parameters, counted};
use crate::{Hyperparameters, Samples};

/// Fills a buffer, given its index. [`Ranks::sum_each`] calls it for each buffer.
pub type Fill<'a> = &'a mut dyn FnMut(usize, &mut [f32]) -> Result<(), EngineError>;

/// The ranks of a data-parallel training run.
pub trait Ranks {
    /// This rank's index, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// Calls `fill` for each buffer, in order, and adds the ranks' buffers of each index element by
    /// element. They all have the same length, and every rank receives the same bits. A buffer may
    /// be in transit while the next one is filled.
    ///
    /// # Errors
    /// The errors of `fill`, or if a message cannot be sent or received.
    fn sum_each(&mut self, buffers: &mut [&mut [f32]], fill: Fill) -> Result<(), EngineError>;

    /// Adds the `parts` of all ranks one after another: rank 0's first, and each rank's in order.
    /// The bits do not depend on how the parts are distributed. All parts have the length of
    /// `total`, which every rank receives.
    ///
    /// # Errors
    /// If a message cannot be sent or received.
    fn sum_in_order(&mut self, parts: &[&[f32]], total: &mut [f32]) -> Result<(), EngineError>;
}

/// Gradients on a device.
///
/// A layer's gradients are a buffer in the device's own layout, which is the same on all ranks.
pub trait Gradients {
    /// "of one thread, …" or "on …", for printed results.
    fn place(&self) -> String;

    /// The engine, for all other operations.
    fn engine(&self) -> &dyn Engine;

    /// [`Self::engine`], mutable.
    fn engine_mut(&mut self) -> &mut dyn Engine;

    /// Number of values of each layer's gradients.
    fn lengths(&self) -> Vec<usize>;

    /// Starts to compute the gradients of the samples' summed loss, and returns that loss. After
    /// this call and [`Self::finish`] for each layer, the gradients are in `gradients`.
    ///
    /// # Errors
    /// If the device fails.
    fn start(&mut self, samples: &[u32], gradients: &mut [PaddedMatrix<f32>]) -> Result<f64, DeviceError>;

    /// Completes the gradients of a layer.
    ///
    /// # Errors
    /// If the device fails.
    fn finish(&mut self, layer: usize, gradients: &mut [f32]) -> Result<(), DeviceError>;

    /// Updates the network in step `step` of the epoch with the gradients of `count` samples.
    ///
    /// # Errors
    /// If the device fails.
    fn update(&mut self, step: usize, count: usize, gradients: &[PaddedMatrix<f32>]) -> Result<(), DeviceError>;
}

/// Number of values after the first layer's gradients: the loss, in two parts, and whether a rank
/// ends the run.
const END: usize = 3;

/// Number of parts of a batch in reproducible runs, for any number of ranks. Ranks beyond that are idle.
const PARTS: usize = 16;

/// Trains on a rank's shard of every batch. Every rank must have equal samples, parameters and
/// hyperparameters. A single rank trains like its device's engine, unless the run is reproducible.
#[allow(missing_debug_implementations, reason = "its ranks may be anything")]
pub struct ShardEngine<'a> {
    local: Box<dyn Gradients + 'a>,
    ranks: Box<dyn Ranks + 'a>,
    batch_size: Option<usize>,
    /// The buffers' lengths for each layer. The first one has [`END`] more values.
    lengths: Vec<usize>,
    sums: Vec<PaddedMatrix<f32>>,
    /// In reproducible runs, the gradients of this rank's parts of a batch, for each layer.
    parts: Option<Vec<Vec<PaddedMatrix<f32>>>>,
}

impl<'a> ShardEngine<'a> {
    /// Creates an engine that trains the given parameters on the given samples, on one CPU thread.
    ///
    /// # Panics
    /// If the samples do not have the network's numbers of inputs and outputs.
    pub fn new(
        samples: &'a Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
        ranks: Box<dyn Ranks + 'a>,
    ) -> Self {
        let local = Box::new(CpuGradients::new(samples, parameters, hyperparameters));
        Self::of(local, hyperparameters, ranks)
    }

    /// Like [`Self::new`], with gradients from another device.
    pub fn of(local: Box<dyn Gradients + 'a>, hyperparameters: &Hyperparameters, ranks: Box<dyn Ranks + 'a>) -> Self {
        let mut lengths = local.lengths();
        lengths[0] += END;
        let sums = buffers(&lengths);
        Self { local, ranks, batch_size: hyperparameters.batch_size, lengths, sums, parts: None }
    }

    /// From now on, the weights have the same bits for any number of ranks: every batch is cut into
    /// 16 parts, and their gradients are added in order ([`Ranks::sum_in_order`]).
    #[must_use]
    pub fn reproducible(mut self) -> Self {
        let own = range_of_part(PARTS, self.ranks.rank(), self.ranks.size());
        self.parts = Some(own.map(|_| buffers(&self.lengths)).collect());
        self
    }

    /// Runs one step: this rank's gradients, their sum over the ranks, and the update. Returns the
    /// batch's loss, and whether a rank ends the run.
    fn step(&mut self, step: usize, batch: &[u32], ends: bool) -> Result<(f64, bool), EngineError> {
        match self.parts {
            Some(_) => self.sum_in_order(batch, ends)?,
            None => self.sum(batch, ends)?,
        }
        self.local.update(step, batch.len(), &self.sums)?;
        let [high, low, ended] = *end_of(&mut self.sums);
        Ok((f64::from(high) + f64::from(low), ended > 0.0))
    }

    /// Sums the gradients of the ranks' shards, from the last layer to the first, which are
    /// computed last.
    fn sum(&mut self, batch: &[u32], ends: bool) -> Result<(), EngineError> {
        let own = &batch[range_of_part(batch.len(), self.ranks.rank(), self.ranks.size())];
        let loss = self.local.start(own, &mut self.sums)?;
        *end_of(&mut self.sums) = end(loss, ends);
        let last = self.sums.len() - 1;
        let mut buffers: Vec<&mut [f32]> = self.sums.iter_mut().rev().map(|sums| sums.row_mut(0)).collect();
        let local = &mut self.local;
        self.ranks.sum_each(&mut buffers, &mut |index, buffer| Ok(local.finish(last - index, buffer)?))
    }

    /// Sums the gradients of the batch's parts, one after another.
    fn sum_in_order(&mut self, batch: &[u32], ends: bool) -> Result<(), EngineError> {
        let parts = self.parts.as_mut().expect("the run is reproducible");
        let own = range_of_part(PARTS, self.ranks.rank(), self.ranks.size());
        for (index, gradients) in own.clone().zip(parts.iter_mut()) {
            let loss = self.local.start(&batch[range_of_part(batch.len(), index, PARTS)], gradients)?;
            *end_of(gradients) = end(loss, ends && index == own.start);
            for (layer, gradients) in gradients.iter_mut().enumerate() {
                self.local.finish(layer, gradients.row_mut(0))?;
            }
        }
        for (layer, total) in self.sums.iter_mut().enumerate() {
            let parts: Vec<&[f32]> = parts.iter().map(|part| part[layer].row(0)).collect();
            self.ranks.sum_in_order(&parts, total.row_mut(0))?;
        }
        Ok(())
    }
}

/// Buffers for the gradients of each layer.
fn buffers(lengths: &[usize]) -> Vec<PaddedMatrix<f32>> {
    lengths.iter().map(|&length| PaddedMatrix::zeros(1, length)).collect()
}

/// The elements of part `index` if `count` elements are split into `parts` parts with sizes that
/// differ by at most 1.
fn range_of_part(count: usize, index: usize, parts: usize) -> Range<usize> {
    count * index / parts..count * (index + 1) / parts
}

fn end(loss: f64, ends: bool) -> [f32; END] {
    let high = loss as f32;
    [high, (loss - f64::from(high)) as f32, f32::from(u8::from(ends))]
}

/// The values after the first layer's gradients.
fn end_of(gradients: &mut [PaddedMatrix<f32>]) -> &mut [f32; END] {
    gradients[0].row_mut(0).last_chunk_mut().expect("the first layer's gradients are followed by them")
}

impl Engine for ShardEngine<'_> {
    fn device(&self) -> String {
        format!("{} {}", counted(self.ranks.size(), "rank"), self.local.place())
    }

    fn start_epoch(&mut self, learning_rate: f64, steps_before: usize) {
        self.local.engine_mut().start_epoch(learning_rate, steps_before);
    }

    /// If `observe` ends the run on one rank, it ends on every rank after the next step.
    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        if self.ranks.size() == 1 && self.parts.is_none() {
            return self.local.engine_mut().train(order, first_step, observe);
        }
        let batch_size = self.batch_size.unwrap_or(order.len()).max(1);
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

    fn evaluate(&mut self, samples: &Samples) -> Result<Evaluation, DeviceError> {
        self.local.engine_mut().evaluate(samples)
    }

    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError> {
        self.local.engine_mut().evaluate_training_samples()
    }

    fn parameters(&self) -> Result<Parameters, DeviceError> {
        self.local.engine().parameters()
    }
}
