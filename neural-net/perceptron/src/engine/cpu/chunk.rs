//! The forward and backward passes of a chunk: up to [`CHUNK`] samples that are computed together.

use std::ops::Range;

use kernels_cpu::InstructionSet;
use kernels_cpu::flush_to_zero::flush_in_place;
use kernels_cpu::nonzero_product::{NonzeroRows, add_nonzero_product};
use kernels_cpu::product::{PaddedMatrix, product};

use super::layer::{Backward, Forward, Layer, Left, add_bias};
use super::model::{CHUNK, Model};
use crate::{Architecture, InputRow, Loss, Samples};

/// The layers of a network, each in one or more parts by inputs.
pub(super) trait LayerParts {
    /// Calls `each` for the parts of layer `layer`, in the order of their inputs.
    fn for_each(&self, layer: usize, each: impl FnMut(&Layer));
}

/// Whole layers.
impl LayerParts for [Layer] {
    fn for_each(&self, layer: usize, mut each: impl FnMut(&Layer)) {
        each(&self[layer]);
    }
}

/// A member's copies of weights from all members.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    /// The transposed weights of all layers but the first, units × inputs, for the backward pass.
    transposed: Vec<PaddedMatrix<f32>>,
    /// The small layers as wholes: for them, a separate product with each part costs more than a copy.
    small: Vec<Option<Layer>>,
}

/// Maximum number of weights of a layer that is copied as a whole: they take half of a 32 KiB L1 cache.
const MAX_COPIED: usize = 4096;

impl Copies {
    /// For a network with one member, which has whole layers.
    pub(super) fn of_transposed(architecture: &Architecture) -> Self {
        let layers = architecture.sizes()[1..].windows(2);
        Self { transposed: layers.map(|pair| PaddedMatrix::zeros(pair[1], pair[0])).collect(), small: Vec::new() }
    }

    /// For a network with these whole layers, split into parts. The first layer is not copied if
    /// zero inputs are skipped, since the inputs are then split into the same parts as its weights.
    pub(super) fn of_parts(model: &Model, layers: &[Layer]) -> Self {
        let is_copied = |index: usize, layer: &Layer| {
            layer.weights.padded().len() <= MAX_COPIED && (index > 0 || model.nonzero_share.is_none())
        };
        let layers = layers.iter().enumerate();
        let small = layers.map(|(index, layer)| is_copied(index, layer).then(|| layer.without_state())).collect();
        Self { small, ..Self::of_transposed(&model.architecture) }
    }

    /// Copies the current weights.
    pub(super) fn copy(&mut self, layers: &(impl LayerParts + ?Sized)) {
        for (before, transposed) in self.transposed.iter_mut().enumerate() {
            layers.for_each(before + 1, |layer| {
                let rows: Vec<&[f32]> = (0..layer.weights.rows()).map(|row| layer.weights.row(row)).collect();
                transposed.copy_transposed(layer.rows.start, &rows);
            });
        }
        for (index, small) in self.small.iter_mut().enumerate() {
            if let Some(small) = small {
                layers.for_each(index, |part| small.copy_part(part));
            }
        }
    }

    /// The transposed weights of layer `layer`. It must not be the first one.
    pub(super) fn transposed(&self, layer: usize) -> &PaddedMatrix<f32> {
        &self.transposed[layer - 1]
    }
}

/// Layers in parts, with copies of the small ones.
#[derive(Debug)]
pub(super) struct WithCopies<'a, P: ?Sized> {
    pub(super) parts: &'a P,
    pub(super) copies: &'a Copies,
}

impl<P: LayerParts + ?Sized> LayerParts for WithCopies<'_, P> {
    fn for_each(&self, layer: usize, mut each: impl FnMut(&Layer)) {
        match self.copies.small.get(layer) {
            Some(Some(small)) => each(small),
            _ => self.parts.for_each(layer, each),
        }
    }
}

/// The first layer's inputs of up to [`CHUNK`] samples.
#[derive(Clone, Debug)]
pub(super) enum ChunkInputs {
    /// A dense copy of some inputs.
    Dense {
        /// The inputs.
        inputs: Range<usize>,
        /// samples × inputs.
        rows: PaddedMatrix<f32>,
    },
    /// A copy with bitmaps of the nonzero elements, in parts: each part's input range and its rows.
    Nonzero(Vec<(Range<usize>, NonzeroRows)>),
}

/// The purpose of a forward pass, which decides whether the inputs are indexed by column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A backward pass follows.
    Training,
    /// No backward pass follows.
    Evaluation,
}

impl ChunkInputs {
    /// Buffers for the inputs of `capacity` samples in adjacent `parts`. Only inputs that are
    /// mostly zeros are kept in these parts.
    pub(super) fn new(model: &Model, samples: &Samples, capacity: usize, parts: &[Range<usize>]) -> Self {
        let nonzero = |rows: &dyn Fn(usize) -> NonzeroRows| {
            Self::Nonzero(parts.iter().map(|part| (part.clone(), rows(part.len()))).collect())
        };
        match samples.byte_values() {
            None if model.nonzero_share.is_some() => nonzero(&NonzeroRows::of_floats),
            Some(values) if model.nonzero_share.is_some() && values[0] == 0.0 => {
                nonzero(&|columns| NonzeroRows::of_bytes(columns, values))
            }
            _ => {
                let bound = |part: Option<&Range<usize>>| part.expect("inputs have a part").clone();
                let inputs = bound(parts.first()).start..bound(parts.last()).end;
                Self::Dense { rows: PaddedMatrix::zeros(capacity, inputs.len()), inputs }
            }
        }
    }

    /// Copies in the inputs of the samples with these indices.
    pub(super) fn copy_in(
        &mut self,
        set: InstructionSet,
        samples: &Samples,
        indices: impl Iterator<Item = usize>,
        purpose: Purpose,
    ) {
        match self {
            Self::Dense { inputs, rows } => {
                for (to, index) in indices.enumerate() {
                    let to = rows.row_mut(to);
                    match samples.input_row(index) {
                        InputRow::Floats(floats) => to.copy_from_slice(&floats[inputs.clone()]),
                        InputRow::Bytes(bytes, values) => {
                            let bytes = &bytes[inputs.clone()];
                            to.iter_mut().zip(bytes).for_each(|(input, &byte)| *input = values[usize::from(byte)]);
                        }
                    }
                }
            }
            Self::Nonzero(parts) => {
                parts.iter_mut().for_each(|(_, part)| part.clear());
                for index in indices {
                    let row = samples.input_row(index);
                    for (columns, part) in parts.iter_mut() {
                        match row {
                            InputRow::Floats(row) => part.push(&row[columns.clone()]),
                            InputRow::Bytes(row, _) => part.push_bytes(&row[columns.clone()]),
                        }
                    }
                }
                for (_, part) in parts {
                    match purpose {
                        Purpose::Training => part.index(set),
                        Purpose::Evaluation => part.index_rows(set),
                    }
                }
            }
        }
    }
}

/// The buffers of a chunk's passes. Vectors have one element for each layer with weights.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    /// The number of samples in it.
    pub(super) count: usize,
    /// capacity × units.
    pub(super) activations: Vec<PaddedMatrix<f32>>,
    /// ∂loss/∂z, capacity × units.
    pub(super) errors: Vec<PaddedMatrix<f32>>,
    /// Each sample's loss.
    pub(super) losses: Vec<f64>,
}

impl Chunk {
    /// Buffers for `capacity` samples.
    pub(super) fn new(architecture: &Architecture, capacity: usize) -> Self {
        let matrices = || architecture.sizes()[1..].iter().map(|&size| PaddedMatrix::zeros(capacity, size)).collect();
        Self { count: 0, activations: matrices(), errors: matrices(), losses: Vec::with_capacity(capacity) }
    }

    /// The outputs of the sample in row `row`.
    pub(super) fn output(&self, row: usize) -> &[f32] {
        self.activations[self.activations.len() - 1].row(row)
    }

    /// The summed loss of its samples, added in their order.
    pub(super) fn loss(&self) -> f64 {
        self.losses.iter().fold(0.0, |sum, loss| sum + loss)
    }

    /// Computes the first layer's activations for `count` samples. The inputs are split into the
    /// same parts as the weights.
    pub(super) fn first_layer(
        &mut self,
        model: &Model,
        layers: &(impl LayerParts + ?Sized),
        inputs: &ChunkInputs,
        count: usize,
    ) {
        self.count = count;
        let set = model.instruction_set;
        match inputs {
            ChunkInputs::Dense { rows, .. } => {
                self.activations_from(0, &first_rows(rows, count)[..count], model, layers);
            }
            ChunkInputs::Nonzero(parts) => {
                let (stride, columns) = (self.activations[0].stride(), self.activations[0].columns());
                let out = &mut self.activations[0].padded_mut()[..count * stride];
                out.fill(0.0);
                let mut parts = parts.iter();
                layers.for_each(0, |layer| {
                    let (rows, part) = parts.next().expect("the inputs have the parts of the weights");
                    debug_assert_eq!(*rows, layer.rows);
                    add_nonzero_product(set, part, 0..count, &layer.weights, 0, out);
                    if layer.owns_biases {
                        add_bias(set, out, layer.biases.padded());
                    }
                });
                model.activate(0, out, stride, columns);
            }
        }
    }

    /// Computes the first layer's activations for `count` samples from sums without biases. `layer`
    /// has the biases.
    pub(super) fn finish_first_layer(&mut self, model: &Model, layer: &Layer, sums: &PaddedMatrix<f32>, count: usize) {
        self.count = count;
        let (stride, columns) = (sums.stride(), sums.columns());
        let out = &mut self.activations[0].padded_mut()[..count * stride];
        out.copy_from_slice(&sums.padded()[..count * stride]);
        add_bias(model.instruction_set, out, layer.biases.padded());
        model.activate(0, out, stride, columns);
    }

    /// Computes the activations of all layers but the first.
    pub(super) fn later_layers(&mut self, model: &Model, layers: &(impl LayerParts + ?Sized)) {
        for index in 1..self.activations.len() {
            let left = std::mem::replace(&mut self.activations[index - 1], PaddedMatrix::zeros(0, 0));
            self.activations_from(index, &first_rows(&left, self.count)[..self.count], model, layers);
            self.activations[index - 1] = left;
        }
    }

    /// Computes the activations of layer `index` from its input rows.
    fn activations_from(&mut self, index: usize, left: &[&[f32]], model: &Model, layers: &(impl LayerParts + ?Sized)) {
        let (stride, columns) = (self.activations[index].stride(), self.activations[index].columns());
        let out = &mut self.activations[index].padded_mut()[..left.len() * stride];
        let mut continues = false;
        layers.for_each(index, |layer| {
            let biases = layer.owns_biases.then(|| layer.biases.padded());
            let sink = Forward { out, stride, continues, biases };
            with_part(left, &layer.rows, |left| product(model.instruction_set, left, &layer.weights, 0..stride, sink));
            continues = true;
        });
        model.activate(index, out, stride, columns);
    }

    /// Computes the losses and the deltas of all layers from the activations.
    pub(super) fn backward(
        &mut self,
        model: &Model,
        copies: &Copies,
        samples: &Samples,
        indices: impl Iterator<Item = usize> + Clone,
        loss: Loss,
    ) {
        let (activation, last) = (model.architecture.output_activation(), self.errors.len() - 1);
        self.losses.clear();
        let (set, stride) = (model.instruction_set, self.errors[last].stride());
        for (row, index) in indices.clone().enumerate() {
            self.losses.push(loss.of_sample(activation, self.activations[last].row(row), samples.target(index)));
        }
        // After the losses, which need the logarithms of small outputs, and before the deltas,
        // which multiply them.
        flush_in_place(set, &mut self.activations[last].padded_mut()[..self.count * stride]);
        for (row, index) in indices.enumerate() {
            let outputs = self.activations[last].row(row);
            loss.output_error(activation, outputs, samples.target(index), self.errors[last].row_mut(row));
        }
        flush_in_place(set, &mut self.errors[last].padded_mut()[..self.count * stride]);
        for index in (1..=last).rev() {
            let (errors, next) = self.errors.split_at_mut(index);
            let left = first_rows(&next[0], self.count);
            let right = copies.transposed(index);
            let sink = Backward {
                errors: &mut errors[index - 1],
                activations: &self.activations[index - 1],
                activation: model.architecture.activation(index - 1),
            };
            product(set, &left[..self.count], right, 0..right.stride(), sink);
            let stride = errors[index - 1].stride();
            flush_in_place(set, &mut errors[index - 1].padded_mut()[..self.count * stride]);
        }
    }

    /// Calls `then` with the inputs `rows` of layer `layer` with weights. `part` is the index of
    /// those rows among the parts of `inputs`.
    pub(super) fn with_left<R>(
        &self,
        inputs: &ChunkInputs,
        layer: usize,
        part: usize,
        rows: &Range<usize>,
        then: impl FnOnce(Left) -> R,
    ) -> R {
        let matrix = match (layer.checked_sub(1), inputs) {
            (None, ChunkInputs::Nonzero(parts)) => return then(Left::Nonzero(&parts[part].1)),
            (None, ChunkInputs::Dense { rows, .. }) => rows,
            (Some(before), _) => &self.activations[before],
        };
        with_part(&first_rows(matrix, self.count)[..self.count], rows, |left| then(Left::Dense(left)))
    }
}

/// The first `count` rows, in an array without heap allocation.
pub(super) fn first_rows(matrix: &PaddedMatrix<f32>, count: usize) -> [&[f32]; CHUNK] {
    let mut rows: [&[f32]; CHUNK] = [&[]; CHUNK];
    for (row, slice) in rows[..count].iter_mut().enumerate() {
        *slice = matrix.row(row);
    }
    rows
}

/// Calls `then` with the elements `part` of each row.
fn with_part<R>(rows: &[&[f32]], part: &Range<usize>, then: impl FnOnce(&[&[f32]]) -> R) -> R {
    if rows.first().is_none_or(|row| row.len() == part.len()) {
        return then(rows);
    }
    let mut parts: [&[f32]; CHUNK] = [&[]; CHUNK];
    for (to, from) in parts.iter_mut().zip(rows) {
        *to = &from[part.clone()];
    }
    then(&parts[..rows.len()])
}
