//! The forward and backward pass of a chunk: up to [`CHUNK`](super::CHUNK) samples that are computed together.

use std::ops::Range;

use kernels_cpu::InstructionSet;
use kernels_cpu::nonzero_product::{NonzeroRows, nonzero_product, nonzero_product_of_transpose};
use kernels_cpu::product::{PaddedMatrix, Sink, product, product_of_transpose};
use rayon::prelude::*;

use super::layer::{Backward, Layer, Update, UpdateRule, add_bias, sum_of_rows};
use super::{CHUNK, Model, rows_per_task};
use crate::padded::AddBias;
use crate::{InputRow, Loss, Samples, Scalar};

/// The buffers of a chunk's passes. Vectors have one element for each layer with weights.
#[derive(Clone, Debug)]
pub(super) struct ChunkBuffers<F> {
    /// The number of samples in it.
    count: usize,
    inputs: ChunkInputs<F>,
    /// capacity × units.
    activations: Vec<PaddedMatrix<F>>,
    /// ∂loss/∂z, capacity × units.
    errors: Vec<PaddedMatrix<F>>,
    /// ∂loss/∂b, one row.
    bias_gradients: Vec<PaddedMatrix<F>>,
}

/// The purpose of a forward pass, which decides whether the inputs are indexed by column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A backward pass follows.
    Training,
    /// No backward pass follows.
    Evaluation,
}

/// The first layer's inputs.
#[derive(Clone, Debug)]
enum ChunkInputs<F> {
    /// A dense copy.
    All(PaddedMatrix<F>),
    /// A copy with bitmaps of the nonzero elements.
    Nonzero(NonzeroRows<F>),
}

impl<F: Scalar> ChunkBuffers<F> {
    /// Buffers for `capacity` samples of the kind of `samples`.
    pub(super) fn new(model: &Model<F>, capacity: usize, samples: &Samples<F>) -> Self {
        let sizes = model.architecture.sizes();
        let matrices = |rows| sizes[1..].iter().map(|&size| PaddedMatrix::zeros(rows, size)).collect();
        let inputs = match (model.skips_zeros, samples.byte_values()) {
            (true, None) => ChunkInputs::Nonzero(NonzeroRows::of_floats(sizes[0])),
            (true, Some(values)) if values[0] == F::zero() => {
                ChunkInputs::Nonzero(NonzeroRows::of_bytes(sizes[0], values))
            }
            _ => ChunkInputs::All(PaddedMatrix::zeros(capacity, sizes[0])),
        };
        let (activations, errors) = (matrices(capacity), matrices(capacity));
        Self { count: 0, inputs, activations, errors, bias_gradients: matrices(1) }
    }

    /// The outputs of the sample in row `row`.
    pub(super) fn output(&self, row: usize) -> &[F] {
        self.activations[self.activations.len() - 1].row(row)
    }

    /// Runs both passes; returns the samples' summed loss.
    pub(super) fn run(
        &mut self,
        model: &Model<F>,
        samples: &Samples<F>,
        indices: impl Iterator<Item = usize> + Clone,
        loss: Loss,
    ) -> f64 {
        self.forward(model, samples, indices.clone(), Purpose::Training);
        let activation = model.architecture.output_activation();
        let last = model.layers.len() - 1;
        let mut sum = 0.0;
        for (row, index) in indices.enumerate() {
            let (outputs, targets) = (self.activations[last].row(row), samples.target(index));
            sum += loss.of(activation, outputs, targets);
            loss.output_error(activation, outputs, targets, self.errors[last].row_mut(row));
        }
        self.backward(model);
        sum
    }

    /// Computes all layers' activations for samples of these indices.
    pub(super) fn forward(
        &mut self,
        model: &Model<F>,
        samples: &Samples<F>,
        indices: impl Iterator<Item = usize>,
        purpose: Purpose,
    ) {
        let set = model.instruction_set;
        self.read(set, samples, indices, purpose);
        let count = self.count;
        for (index, layer) in model.layers.iter().enumerate() {
            let (before, out) = self.activations.split_at_mut(index);
            let (stride, columns) = (out[0].stride(), out[0].columns());
            let out = &mut out[0].padded_mut()[..count * stride];
            let activation = model.architecture.activation(index);
            let activate = |out: &mut [F]| activation.apply_to_rows(out, stride, columns);
            let left = match (before.last(), &self.inputs) {
                (None, ChunkInputs::Nonzero(nonzeros)) => {
                    let rows_per_task = rows_per_task(count, nonzeros.count() / count.max(1) * stride);
                    let compute = |(first, out): (usize, &mut [F])| {
                        nonzero_product(set, nonzeros, first..first + out.len() / stride, &layer.weights, out);
                        add_bias(set, out, layer.biases.padded());
                        activate(out);
                    };
                    in_tasks(count, rows_per_task, out, stride, compute);
                    continue;
                }
                (None, ChunkInputs::All(inputs)) => inputs,
                (Some(activations), _) => activations,
            };
            let left = first_rows(left, count);
            let compute = |(first, out): (usize, &mut [F])| {
                let left = &left[first..first + out.len() / stride];
                let sink = AddBias { out, stride, biases: layer.biases.padded() };
                product(set, left, &layer.weights, 0..stride, sink);
                activate(out);
            };
            in_tasks(count, rows_per_task(count, layer.weights.rows() * stride), out, stride, compute);
        }
    }

    /// Copies in the inputs of the samples of these indices.
    fn read(
        &mut self,
        set: InstructionSet,
        samples: &Samples<F>,
        indices: impl Iterator<Item = usize>,
        purpose: Purpose,
    ) {
        self.count = 0;
        if let ChunkInputs::Nonzero(nonzeros) = &mut self.inputs {
            nonzeros.clear();
        }
        for index in indices {
            match (&mut self.inputs, samples.input_row(index)) {
                (ChunkInputs::Nonzero(nonzeros), InputRow::Bytes(row, _)) => nonzeros.push_bytes(row),
                (ChunkInputs::Nonzero(nonzeros), InputRow::Floats(row)) => nonzeros.push(row),
                (ChunkInputs::All(inputs), InputRow::Floats(row)) => inputs.row_mut(self.count).copy_from_slice(row),
                (ChunkInputs::All(inputs), InputRow::Bytes(row, values)) => {
                    let inputs = inputs.row_mut(self.count).iter_mut();
                    inputs.zip(row).for_each(|(input, &byte)| *input = values[usize::from(byte)]);
                }
            }
            self.count += 1;
        }
        if let ChunkInputs::Nonzero(nonzeros) = &mut self.inputs {
            match purpose {
                Purpose::Training => nonzeros.index(set),
                Purpose::Evaluation => nonzeros.index_rows(set),
            }
        }
    }

    /// Computes the errors of all layers except the last, whose errors are already computed.
    fn backward(&mut self, model: &Model<F>) {
        for index in (0..model.layers.len() - 1).rev() {
            let (errors, next) = self.errors.split_at_mut(index + 1);
            let left = first_rows(&next[0], self.count);
            let right = &model.transposed[index];
            let sink = Backward {
                errors: &mut errors[index],
                activations: &self.activations[index],
                activation: model.architecture.activation(index),
            };
            product(model.instruction_set, &left[..self.count], right, 0..right.stride(), sink);
        }
    }

    /// Updates the model by the gradients, directly from registers.
    pub(super) fn update(&mut self, model: &mut Model<F>, rule: UpdateRule<F>) {
        let set = model.instruction_set;
        for index in 0..model.layers.len() {
            let Layer { weights, biases, velocities, rate_factor } = &mut model.layers[index];
            let rule = rule.for_layer(*rate_factor);
            let (rows, stride) = (weights.rows(), weights.stride());
            let update = |(first_row, (weights, velocities)): (usize, (&mut [F], Option<&mut [F]>))| {
                let rows = first_row..first_row + weights.len() / stride;
                // Without momentum and decay, a zero gradient changes nothing.
                let only_nonzero = velocities.is_none() && rule.decay == F::zero();
                let sink = Update { weights, velocities, stride, first_row, rule };
                self.weight_gradients(model.instruction_set, index, rows, only_nonzero, sink);
            };
            let rows_per_task = rows_per_task(rows, self.inputs_of_layer(index) / rows.max(1) * stride);
            let (mut weight_velocities, mut bias_velocities) = match velocities {
                Some((weights, biases)) => (Some(weights), Some(biases)),
                None => (None, None),
            };
            let weights = weights.padded_mut();
            if rows_per_task >= rows {
                update((0, (weights, weight_velocities.as_mut().map(|velocities| velocities.padded_mut()))));
            } else {
                let first_rows = (0..rows).into_par_iter().step_by(rows_per_task);
                let size = rows_per_task * stride;
                match weight_velocities {
                    None => {
                        first_rows.zip(weights.par_chunks_mut(size).map(|weights| (weights, None))).for_each(update);
                    }
                    Some(velocities) => first_rows
                        .zip(weights.par_chunks_mut(size).zip(velocities.padded_mut().par_chunks_mut(size).map(Some)))
                        .for_each(update),
                }
            }
            let gradients = &mut self.bias_gradients[index];
            sum_of_rows(set, &self.errors[index], self.count, gradients);
            let velocities = bias_velocities.as_mut().map(|velocities| velocities.padded_mut());
            rule.without_decay().apply(set, biases.padded_mut(), velocities, gradients.padded());
        }
    }

    /// Passes the weight gradients of a layer, for the given rows, to the sink; rows of zeros may be skipped if
    /// `only_nonzero`.
    pub(super) fn weight_gradients(
        &self,
        set: InstructionSet,
        layer: usize,
        rows: Range<usize>,
        only_nonzero: bool,
        sink: impl Sink<F>,
    ) {
        let errors = &self.errors[layer];
        let left = match (layer.checked_sub(1), &self.inputs) {
            (None, ChunkInputs::Nonzero(nonzeros)) => {
                return nonzero_product_of_transpose(set, nonzeros, rows, errors, only_nonzero, sink);
            }
            (None, ChunkInputs::All(inputs)) => inputs,
            (Some(before), _) => &self.activations[before],
        };
        product_of_transpose(set, &first_rows(left, self.count)[..self.count], rows, errors, sink);
    }

    /// The errors of a layer, summed over the samples: the gradients of its biases.
    pub(super) fn bias_gradients(&mut self, set: InstructionSet, layer: usize) -> &PaddedMatrix<F> {
        let gradients = &mut self.bias_gradients[layer];
        sum_of_rows(set, &self.errors[layer], self.count, gradients);
        gradients
    }

    /// The number of a layer's inputs in all samples, without zeros if they are skipped.
    fn inputs_of_layer(&self, layer: usize) -> usize {
        match (layer.checked_sub(1), &self.inputs) {
            (None, ChunkInputs::Nonzero(nonzeros)) => nonzeros.count(),
            (None, ChunkInputs::All(inputs)) => self.count * inputs.columns(),
            (Some(before), _) => self.count * self.activations[before].columns(),
        }
    }
}

/// The first `count` rows, in an array without a heap allocation.
fn first_rows<F: Scalar>(matrix: &PaddedMatrix<F>, count: usize) -> [&[F]; CHUNK] {
    let mut rows: [&[F]; CHUNK] = [&[]; CHUNK];
    for (row, slice) in rows[..count].iter_mut().enumerate() {
        *slice = matrix.row(row);
    }
    rows
}

/// Computes `out`, `count` rows of `stride` elements, in tasks of `rows_per_task` rows; `compute` receives the index of
/// a task's first row and the task's rows.
fn in_tasks<F: Scalar>(
    count: usize,
    rows_per_task: usize,
    out: &mut [F],
    stride: usize,
    compute: impl Fn((usize, &mut [F])) + Send + Sync,
) {
    if rows_per_task >= count {
        compute((0, out));
    } else {
        let first_rows = (0..count).into_par_iter().step_by(rows_per_task);
        first_rows.zip(out.par_chunks_mut(rows_per_task * stride)).for_each(compute);
    }
}
