//! Full-batch steps for networks with few units in every layer.
//!
//! The SIMD lanes hold samples instead of units ([`kernels_cpu::lane_per_sample`]): activations and
//! deltas are units × samples. The inputs are packed once for a whole training run, with similar
//! samples together. A step then reads them once. The forward and backward passes of a chunk of up
//! to 848 samples run while the chunk is in L2.
//!
//! Chunks are distributed among at most 16 parts. Each part adds its chunks' gradients in order;
//! then the parts' gradients are added in order. Chunks and parts do not depend on the number of
//! threads.

mod units;

use bytemuck::Pod;
use kernels_cpu::InstructionSet;
use kernels_cpu::flush_to_zero::{flush_in_place, flushed};
use kernels_cpu::lane_per_sample::{
    Chunk, LANES, MAX_INPUT_UNITS, MAX_INPUTS, SAMPLES, Tiles, Value, add_gradients, add_products_of_rows,
    order_by_similarity, products_of_units, weighted_sums,
};
use kernels_cpu::product::PaddedMatrix;
use kernels_cpu::softmax::softmax_cross_entropy;
use rayon::prelude::*;

use self::units::{apply, multiply_by_derivative, squared_error};
use super::chunk::Copies;
use super::layer::{Layer, UpdateRule, add_all};
use super::model::Model;
use crate::{Activation, Architecture, InputRow, Loss, Samples};

/// Maximum number of units per layer. With more, tiles with units in the lanes are full and just as fast.
const MAX_UNITS: usize = MAX_INPUT_UNITS;
/// Minimum number of samples: with fewer, packing is not worthwhile.
const MIN_SAMPLES: usize = 256;
/// Maximum number of parts of a batch that run in parallel.
const PARTS: usize = 16;

/// All samples in packed form, and the buffers of a step on them.
#[derive(Clone, Debug)]
pub(super) struct FullBatch {
    architecture: Architecture,
    loss: Loss,
    inputs: PackedInputs,
    /// The targets of each chunk, outputs × samples.
    targets: Vec<PaddedMatrix<f32>>,
    /// Whether each sample's targets add up to 1.
    targets_are_distributions: bool,
    /// The first layer's weights, multiplied by the inputs' unit.
    weights: Tiles,
    chunks_per_part: usize,
    parts: Vec<Part>,
    copies: Copies,
    /// A row of ones.
    ones: PaddedMatrix<f32>,
    instruction_set: InstructionSet,
}

/// The inputs, chunk by chunk.
#[derive(Clone, Debug)]
enum PackedInputs {
    /// Each input is a byte times `unit`.
    Bytes {
        chunks: Vec<Chunk<u8>>,
        unit: f32,
    },
    Floats(Vec<Chunk<f32>>),
}

/// The buffers of one part of the batch. Vectors have one element for each layer with weights.
#[derive(Clone, Debug)]
struct Part {
    /// units × samples of a chunk.
    activations: Vec<PaddedMatrix<f32>>,
    /// units × samples of a chunk.
    errors: Vec<PaddedMatrix<f32>>,
    /// The gradient of the first layer's weights.
    first_gradient: Tiles,
    /// The gradients of the weights; the first layer's is filled at the end of a step.
    weight_gradients: Vec<PaddedMatrix<f32>>,
    /// One row of units.
    bias_gradients: Vec<PaddedMatrix<f32>>,
    loss: f64,
}

impl FullBatch {
    /// Whether this implementation is possible and fast for a network and samples. It excludes
    /// floats with few zeros: they are stored twice, and memory bandwidth is then the bound.
    pub(super) fn supports(model: &Model, samples: &Samples) -> bool {
        samples.len() >= MIN_SAMPLES
            && model.architecture.inputs() <= MAX_INPUTS
            && model.architecture.sizes()[1..].iter().all(|&units| units <= MAX_UNITS)
            && (byte_unit(samples).is_some() || model.nonzero_share.is_some())
    }

    /// Packs the samples.
    pub(super) fn new(model: &Model, samples: &Samples, loss: Loss) -> Self {
        let (architecture, instruction_set) = (&model.architecture, model.instruction_set);
        let (inputs, outputs) = (architecture.inputs(), architecture.outputs());
        let zero = 0.0;
        let (order, inputs_of_chunks) = match byte_unit(samples) {
            Some(unit) => {
                let rows: Vec<&[u8]> = (0..samples.len()).map(|sample| bytes_of(samples, sample)).collect();
                let order = order_by_similarity(instruction_set, &rows);
                let chunks = pack(&rows, &chunks_of(&order));
                (order, PackedInputs::Bytes { chunks, unit })
            }
            None => {
                let rows: Vec<&[f32]> = (0..samples.len()).map(|sample| samples.input(sample)).collect();
                let order = order_by_similarity(instruction_set, &rows);
                let chunks = pack(&rows, &chunks_of(&order));
                (order, PackedInputs::Floats(chunks))
            }
        };
        let targets = chunks_of(&order).into_par_iter().map(|order| {
            let mut targets = PaddedMatrix::zeros(outputs, SAMPLES);
            for (column, &sample) in order.iter().enumerate() {
                for (row, &target) in samples.target(sample as usize).iter().enumerate() {
                    targets.row_mut(row)[column] = target;
                }
            }
            targets
        });
        let targets: Vec<_> = targets.collect();
        let is_distribution = |sample| samples.target(sample).iter().fold(zero, |sum, &y| sum + y) == 1.0;
        let chunks_per_part = targets.len().div_ceil(PARTS);
        let mut ones = PaddedMatrix::zeros(1, SAMPLES);
        ones.row_mut(0).fill(1.0);
        Self {
            loss,
            inputs: inputs_of_chunks,
            targets_are_distributions: (0..samples.len()).all(is_distribution),
            weights: Tiles::zeros(inputs, architecture.sizes()[1]),
            chunks_per_part,
            parts: vec![Part::new(architecture); targets.len().div_ceil(chunks_per_part.max(1))],
            targets,
            copies: Copies::of_transposed(architecture),
            ones,
            architecture: architecture.clone(),
            instruction_set,
        }
    }

    /// Runs one step on all samples and returns their summed loss before the step.
    pub(super) fn step(&mut self, layers: &mut [Layer], rule: UpdateRule) -> f64 {
        let scale = match &self.inputs {
            PackedInputs::Bytes { unit, .. } => *unit,
            PackedInputs::Floats(_) => 1.0,
        };
        self.weights.copy_scaled(&layers[0].weights, scale);
        self.copies.copy(&*layers);
        let mut parts = std::mem::take(&mut self.parts);
        let (batch, per_part) = (&*self, self.chunks_per_part);
        let shared = &*layers;
        let run = |(index, part): (usize, &mut Part)| {
            part.clear();
            for chunk in index * per_part..batch.targets.len().min((index + 1) * per_part) {
                batch.add_chunk(chunk, part, shared);
            }
        };
        match rayon::current_num_threads() {
            1 => parts.iter_mut().enumerate().for_each(run),
            _ => parts.par_iter_mut().enumerate().for_each(run),
        }

        let (total, others) = parts.split_first_mut().expect("there is a part for the first chunk");
        let set = self.instruction_set;
        others.iter().for_each(|part| total.add(set, part));
        total.first_gradient.write_scaled(&mut total.weight_gradients[0], scale);
        for (index, layer) in layers.iter_mut().enumerate() {
            let (weights, biases) = (&total.weight_gradients[index], &total.bias_gradients[index]);
            layer.apply(set, rule, weights.padded(), biases.padded());
        }
        let loss = total.loss;
        self.parts = parts;
        loss
    }

    /// Adds one chunk's gradients and loss to its part's sums.
    fn add_chunk(&self, chunk: usize, part: &mut Part, layers: &[Layer]) {
        let samples = match &self.inputs {
            PackedInputs::Bytes { chunks, .. } => self.forward(&chunks[chunk], part, layers),
            PackedInputs::Floats(chunks) => self.forward(&chunks[chunk], part, layers),
        };
        part.loss += self.output_errors(chunk, part, samples);
        let (set, columns) = (self.instruction_set, samples.next_multiple_of(LANES));
        for index in (1..layers.len()).rev() {
            let (errors, next) = part.errors.split_at_mut(index);
            let (activations, next) = (&part.activations[index - 1], &next[0]);
            add_products_of_rows(set, activations, next, columns, &mut part.weight_gradients[index]);
            products_of_units(set, &layers[index].weights, next, None, columns, &mut errors[index - 1]);
            let activation = self.architecture.activation(index - 1);
            multiply_by_derivative(set, activation, activations, columns, &mut errors[index - 1]);
        }
        for (errors, gradients) in part.errors.iter().zip(&mut part.bias_gradients) {
            add_products_of_rows(set, &self.ones, errors, columns, gradients);
        }
        match &self.inputs {
            PackedInputs::Bytes { chunks, .. } => {
                add_gradients(set, &chunks[chunk], &part.errors[0], &mut part.first_gradient);
            }
            PackedInputs::Floats(chunks) => {
                add_gradients(set, &chunks[chunk], &part.errors[0], &mut part.first_gradient);
            }
        }
    }

    /// Computes all activations except the output layer's softmax. Returns the number of samples in
    /// the chunk.
    fn forward<E: Value>(&self, chunk: &Chunk<E>, part: &mut Part, layers: &[Layer]) -> usize {
        let set = self.instruction_set;
        let columns = chunk.samples().next_multiple_of(LANES);
        weighted_sums(set, chunk, &self.weights, layers[0].biases.row(0), &mut part.activations[0]);
        for (index, layer) in layers.iter().enumerate() {
            let (before, rest) = part.activations.split_at_mut(index);
            if let Some(inputs) = before.last() {
                let biases = Some(layer.biases.row(0));
                products_of_units(set, self.copies.transposed(index), inputs, biases, columns, &mut rest[0]);
            }
            let activation = self.architecture.activation(index);
            if activation != Activation::Softmax {
                apply(set, activation, columns, &mut rest[0]);
            }
            if index + 1 < layers.len() {
                flush_in_place(set, rest[0].padded_mut());
            }
        }
        chunk.samples()
    }

    /// Computes the output layer's softmax, if it has one, and its deltas. Returns the chunk's loss.
    fn output_errors(&self, chunk: usize, part: &mut Part, samples: usize) -> f64 {
        let last = part.errors.len() - 1;
        let (outputs, errors) = (&mut part.activations[last], &mut part.errors[last]);
        let (targets, activation) = (&self.targets[chunk], self.architecture.output_activation());
        match (self.loss, activation) {
            (Loss::CrossEntropy, Activation::Softmax) if self.targets_are_distributions => {
                softmax_cross_entropy(self.instruction_set, outputs, targets, errors, samples)
            }
            (Loss::SquaredError, activation) if activation != Activation::Softmax => {
                squared_error(activation, outputs, targets, errors, samples)
            }
            _ => self.output_errors_by_sample(outputs, targets, errors, samples),
        }
    }

    fn output_errors_by_sample(
        &self,
        outputs: &mut PaddedMatrix<f32>,
        targets: &PaddedMatrix<f32>,
        errors: &mut PaddedMatrix<f32>,
        samples: usize,
    ) -> f64 {
        let (units, activation) = (outputs.rows(), self.architecture.output_activation());
        let (mut output, mut target, mut error) = ([0.0; MAX_UNITS], [0.0; MAX_UNITS], [0.0; MAX_UNITS]);
        let (output, target, error) = (&mut output[..units], &mut target[..units], &mut error[..units]);
        let mut loss = 0.0;
        for column in 0..samples.next_multiple_of(LANES) {
            for row in 0..units {
                output[row] = outputs.row(row)[column];
                target[row] = targets.row(row)[column];
            }
            if activation == Activation::Softmax {
                activation.apply(output);
            }
            if column < samples {
                loss += self.loss.of_sample(activation, output, target);
                // As in a chunk's backward pass: after the loss, before the products.
                output.iter_mut().for_each(|output| *output = flushed(*output));
                self.loss.output_error(activation, output, target, error);
                error.iter_mut().for_each(|error| *error = flushed(*error));
            } else {
                error.fill(0.0);
            }
            for row in 0..units {
                errors.row_mut(row)[column] = error[row];
                outputs.row_mut(row)[column] = output[row];
            }
        }
        loss
    }
}

impl Part {
    fn new(architecture: &Architecture) -> Self {
        let sizes = architecture.sizes();
        let of_samples = || sizes[1..].iter().map(|&units| PaddedMatrix::zeros(units, SAMPLES)).collect();
        Self {
            activations: of_samples(),
            errors: of_samples(),
            first_gradient: Tiles::zeros(sizes[0], sizes[1]),
            weight_gradients: sizes.windows(2).map(|pair| PaddedMatrix::zeros(pair[0], pair[1])).collect(),
            bias_gradients: sizes[1..].iter().map(|&units| PaddedMatrix::zeros(1, units)).collect(),
            loss: 0.0,
        }
    }

    fn clear(&mut self) {
        self.first_gradient.values_mut().fill(0.0);
        for gradients in self.weight_gradients[1..].iter_mut().chain(&mut self.bias_gradients) {
            gradients.padded_mut().fill(0.0);
        }
        self.loss = 0.0;
    }

    /// Adds another part's gradients and loss.
    fn add(&mut self, set: InstructionSet, other: &Self) {
        add_all(set, self.first_gradient.values_mut(), other.first_gradient.values());
        for (total, part) in self.weight_gradients[1..].iter_mut().zip(&other.weight_gradients[1..]) {
            add_all(set, total.padded_mut(), part.padded());
        }
        for (total, part) in self.bias_gradients.iter_mut().zip(&other.bias_gradients) {
            add_all(set, total.padded_mut(), part.padded());
        }
        self.loss += other.loss;
    }
}

/// Splits the samples in the given order into chunks. The first chunks alternate with the last
/// ones. The first ones have more nonzero inputs, so alternating balances the work of threads that
/// take contiguous halves.
fn chunks_of(order: &[u32]) -> Vec<&[u32]> {
    let chunks: Vec<&[u32]> = order.chunks(SAMPLES).collect();
    let last = chunks.len().saturating_sub(1);
    (0..chunks.len()).map(|index| chunks[if index % 2 == 0 { index / 2 } else { last - index / 2 }]).collect()
}

/// Packs the samples, chunk by chunk.
fn pack<E: Pod + PartialEq + Send + Sync>(rows: &[&[E]], chunks: &[&[u32]]) -> Vec<Chunk<E>> {
    let chunk = |order: &&[u32]| {
        let rows: Vec<&[E]> = order.iter().map(|&sample| rows[sample as usize]).collect();
        Chunk::new(&rows)
    };
    chunks.par_iter().map(chunk).collect()
}

/// The value of byte 1, if the inputs are bytes and byte 0 has the value zero.
fn byte_unit(samples: &Samples) -> Option<f32> {
    let values = samples.byte_values()?;
    (values[0] == 0.0 && values[1].is_normal()).then_some(values[1])
}

/// A sample's inputs, which must be bytes.
fn bytes_of(samples: &Samples, sample: usize) -> &[u8] {
    match samples.input_row(sample) {
        InputRow::Bytes(row, _) => row,
        InputRow::Floats(_) => unreachable!("all inputs are bytes, or none"),
    }
}
