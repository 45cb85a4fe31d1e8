//! A step on a batch of more than one chunk: groups of chunks, whose gradients are added in order.

use kernels_cpu::product::PaddedMatrix;
use rayon::prelude::*;

use super::chunk::ChunkBuffers;
use super::layer::{Accumulate, UpdateRule, add_all};
use super::{CHUNK, GROUPS, Model, TASK_WORK, rows_per_task};
use crate::{Loss, Samples, Scalar};

/// A part of a large batch: the buffers of its current chunk, and its gradients.
#[derive(Clone, Debug)]
pub(super) struct Group<F> {
    chunk: ChunkBuffers<F>,
    gradients: Vec<(PaddedMatrix<F>, PaddedMatrix<F>)>,
    loss: f64,
}

/// One step; returns the batch's summed loss before the step.
pub(super) fn step<F: Scalar>(
    groups: &mut Vec<Group<F>>,
    model: &mut Model<F>,
    samples: &Samples<F>,
    loss: Loss,
    batch: &[u32],
    rule: UpdateRule<F>,
) -> f64 {
    let chunks: Vec<&[u32]> = batch.chunks(CHUNK).collect();
    let chunks_per_group = chunks.len().div_ceil(GROUPS);
    let count = chunks.len().div_ceil(chunks_per_group);
    groups.resize_with(groups.len().max(count), || Group::new(model, samples));

    let shared = &*model;
    let run = |(group, chunks): (&mut Group<F>, &[&[u32]])| {
        group.clear();
        for batch in chunks {
            group.add(shared, samples, loss, batch);
        }
    };
    // The forward pass, the backward pass and the gradients. A small amount of work does not pay for waking other
    // threads.
    let work: usize = model.architecture.sizes().windows(2).map(|pair| 3 * pair[0] * pair[1]).sum();
    match batch.len() * work < TASK_WORK {
        true => groups[..count].iter_mut().zip(chunks.chunks(chunks_per_group)).for_each(run),
        false => groups[..count].par_iter_mut().zip(chunks.par_chunks(chunks_per_group)).for_each(run),
    }

    // In the groups' order for every row, whichever thread adds them.
    let set = model.instruction_set;
    for (index, layer) in model.layers.iter_mut().enumerate() {
        let stride = layer.weights.stride();
        let (first, others) = groups[..count].split_at_mut(1);
        let gradients = &mut first[0].gradients[index];
        let rows_per_task = rows_per_task(layer.weights.rows(), count * stride);
        let add = |(task, total): (usize, &mut [F])| {
            for group in others.iter() {
                let part = &group.gradients[index].0.padded()[task * rows_per_task * stride..][..total.len()];
                add_all(set, total, part);
            }
        };
        gradients.0.padded_mut().par_chunks_mut(rows_per_task * stride).enumerate().for_each(add);
        for group in others.iter() {
            add_all(set, gradients.1.row_mut(0), group.gradients[index].1.row(0));
        }
        layer.apply(set, rule, &gradients.0, &gradients.1);
    }
    groups[..count].iter().map(|group| group.loss).sum()
}

impl<F: Scalar> Group<F> {
    fn new(model: &Model<F>, samples: &Samples<F>) -> Self {
        let gradients = model.architecture.sizes().windows(2);
        let gradients = gradients.map(|pair| (PaddedMatrix::zeros(pair[0], pair[1]), PaddedMatrix::zeros(1, pair[1])));
        Self { chunk: ChunkBuffers::new(model, CHUNK, samples), gradients: gradients.collect(), loss: 0.0 }
    }

    fn clear(&mut self) {
        self.loss = 0.0;
        for (weights, biases) in &mut self.gradients {
            weights.padded_mut().fill(F::zero());
            biases.padded_mut().fill(F::zero());
        }
    }

    /// Adds one chunk's gradients and loss.
    fn add(&mut self, model: &Model<F>, samples: &Samples<F>, loss: Loss, batch: &[u32]) {
        self.loss += self.chunk.run(model, samples, batch.iter().map(|&index| index as usize), loss);
        let set = model.instruction_set;
        for (index, (weights, biases)) in self.gradients.iter_mut().enumerate() {
            let (rows, stride) = (0..weights.rows(), weights.stride());
            let sink = Accumulate { gradients: weights.padded_mut(), stride };
            self.chunk.weight_gradients(set, index, rows, true, sink);
            let sums = self.chunk.bias_gradients(set, index);
            add_all(set, biases.row_mut(0), sums.row(0));
        }
    }
}
