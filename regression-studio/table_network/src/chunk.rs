//! Samples of a batch that are computed together: forward, and backward to the gradients of every
//! layer.
//!
//! A chunk is a few samples with all members, sized to keep its matrices in a core's cache. Chunks
//! are independent of each other.

use kernels_cpu::InstructionSet;
use kernels_cpu::product::{PaddedMatrix, product};

use crate::dropout::Mask;
use crate::encoder::Rows;
use crate::kernels::{self, BiasRelu, Masked, Store};
use crate::parameters::{ADAPTERS, HEAD_BIASES, HEADS, INDICATORS, Layout, OFFSETS, PIECES, SLOPES, biases, weights};

/// Approximate number of samples times members in a chunk.
const ROWS: usize = 128;

/// Values derived from the parameters once for all chunks.
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    /// For each piece, the sum of the weights of the number's earlier pieces: pieces of all numbers
    /// × embedding.
    pub(crate) bases: PaddedMatrix<f32>,
    /// The transposed weights of each hidden layer; empty if the network is not trained.
    pub(crate) transposed: Vec<PaddedMatrix<f32>>,
}

impl Derived {
    /// For predictions.
    pub(crate) fn new(layout: &Layout, parameters: &[PaddedMatrix<f32>]) -> Self {
        let bases = PaddedMatrix::zeros(layout.pieces[layout.numbers], layout.embedding);
        let mut derived = Self { bases, transposed: vec![] };
        derived.update(layout, parameters);
        derived
    }

    /// For training.
    pub(crate) fn for_training(layout: &Layout, parameters: &[PaddedMatrix<f32>]) -> Self {
        let transposed = |layer: usize| PaddedMatrix::zeros(layout.hidden[layer], layout.units_before(layer));
        let mut derived = Self::new(layout, parameters);
        derived.transposed = (0..layout.hidden.len()).map(transposed).collect();
        derived.update(layout, parameters);
        derived
    }

    /// Recomputes all derived values.
    pub(crate) fn update(&mut self, layout: &Layout, parameters: &[PaddedMatrix<f32>]) {
        for pieces in layout.pieces.windows(2) {
            for piece in pieces[0] + 1..pieces[1] {
                for value in 0..layout.embedding {
                    let before = self.bases.row(piece - 1)[value] + parameters[PIECES].row(piece - 1)[value];
                    self.bases.row_mut(piece)[value] = before;
                }
            }
        }
        for (layer, transposed) in self.transposed.iter_mut().enumerate() {
            let weights = &parameters[weights(layer)];
            let rows: Vec<&[f32]> = (0..weights.rows()).map(|row| weights.row(row)).collect();
            transposed.copy_transposed(0, &rows);
        }
    }
}

/// A network's parameters and the values derived from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) parameters: &'a [PaddedMatrix<f32>],
    pub(crate) derived: &'a Derived,
}

/// The activations of a chunk. Each row is one sample, or one sample and one member.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    /// The chunk's samples, as rows of the data.
    pub(crate) samples: Vec<u32>,
    /// Index of the first sample in the batch.
    first: usize,
    /// samples × width.
    pub(crate) embedded: PaddedMatrix<f32>,
    /// samples · members × width.
    pub(crate) inputs: PaddedMatrix<f32>,
    /// For each hidden layer, samples · members × units.
    pub(crate) hidden: Vec<PaddedMatrix<f32>>,
    /// Standardized predictions, samples × members.
    pub(crate) outputs: Vec<f32>,
}

impl Chunk {
    /// Maximum number of samples in a chunk.
    pub(crate) fn capacity(layout: &Layout) -> usize {
        (ROWS / layout.members).max(1)
    }

    pub(crate) fn new(layout: &Layout) -> Self {
        let samples = Self::capacity(layout);
        let rows = samples * layout.members;
        Self {
            samples: Vec::with_capacity(samples),
            first: 0,
            embedded: PaddedMatrix::zeros(samples, layout.width()),
            inputs: PaddedMatrix::zeros(rows, layout.width()),
            hidden: layout.hidden.iter().map(|&units| PaddedMatrix::zeros(rows, units)).collect(),
            outputs: vec![0.0; rows],
        }
    }

    /// Computes the outputs of `samples`, which are rows of the data. The first of them is sample
    /// `first` of the batch.
    pub(crate) fn forward(
        &mut self,
        model: Model,
        rows: &Rows,
        samples: impl Iterator<Item = u32>,
        first: usize,
        mask: impl Fn(usize) -> Option<Mask>,
    ) {
        let Model { layout, parameters, .. } = model;
        self.samples.clear();
        self.samples.extend(samples);
        self.first = first;
        let (count, members) = (self.samples.len(), layout.members);
        for (place, &sample) in self.samples.iter().enumerate() {
            embed(model, rows, sample as usize, self.embedded.row_mut(place));
        }
        let (adapters, stride) = (&parameters[ADAPTERS], self.embedded.stride());
        let embedded = &self.embedded.padded()[..count * stride];
        kernels::adapt(embedded, adapters.padded(), stride, &mut self.inputs.padded_mut()[..count * members * stride]);
        for layer in 0..layout.hidden.len() {
            let (before, from) = self.hidden.split_at_mut(layer);
            let input = before.last().unwrap_or(&self.inputs);
            let stride = from[0].stride();
            let out = &mut from[0];
            let left: Vec<&[f32]> = (0..count * members).map(|row| input.row(row)).collect();
            let bias = &parameters[biases(layer)];
            let sink = BiasRelu { bias: bias.padded(), out: out.padded_mut(), stride };
            product(InstructionSet::detect(), &left, &parameters[weights(layer)], 0..stride, sink);
            if let Some(mask) = mask(layer) {
                let values = &mut out.padded_mut()[..count * members * stride];
                kernels::drop_out(values, mask, (first * members * stride) as u32);
            }
        }
        let last = &self.hidden[self.hidden.len() - 1];
        let (heads, stride) = (&parameters[HEADS], last.stride());
        kernels::heads(
            &last.padded()[..count * members * stride],
            heads.padded(),
            parameters[HEAD_BIASES].row(0),
            stride,
            &mut self.outputs[..count * members],
        );
    }
}

/// Writes the embeddings of a row's numbers, then its indicators or their embedding.
fn embed(Model { layout, parameters, derived }: Model, rows: &Rows, row: usize, out: &mut [f32]) {
    let Layout { numbers, embedding, .. } = *layout;
    for number in 0..numbers {
        let place = row * numbers + number;
        let (value, part) = (rows.values[place], rows.parts[place]);
        let out = &mut out[number * embedding..][..embedding];
        let (slopes, offsets) = (parameters[SLOPES].row(number), parameters[OFFSETS].row(number));
        for ((out, &slope), &offset) in out.iter_mut().zip(slopes).zip(offsets) {
            *out = value * slope + offset;
        }
        let first = layout.pieces[number];
        if first < layout.pieces[number + 1] {
            let piece = first + usize::from(rows.pieces[place]);
            for ((out, &base), &piece) in
                out.iter_mut().zip(derived.bases.row(piece)).zip(parameters[PIECES].row(piece))
            {
                *out += base + part * piece;
            }
        }
    }
    let out = &mut out[numbers * embedding..];
    out.fill(0.0);
    for &indicator in rows.active(row) {
        if layout.embeds_indicators() {
            let embedding = parameters[INDICATORS].row(indicator as usize);
            out.iter_mut().zip(embedding).for_each(|(out, &value)| *out += value);
        } else {
            out[indicator as usize] = 1.0;
        }
    }
}

/// A chunk, and the gradients of the loss with respect to its values.
#[derive(Clone, Debug)]
pub(crate) struct TrainedChunk {
    pub(crate) chunk: Chunk,
    /// With respect to the outputs, samples × members.
    pub(crate) output_errors: Vec<f32>,
    /// With respect to each hidden layer's pre-activations, samples · members × units.
    pub(crate) errors: Vec<PaddedMatrix<f32>>,
    /// With respect to the inputs, samples · members × width.
    pub(crate) input_errors: PaddedMatrix<f32>,
    /// With respect to the embedded values, samples × width.
    pub(crate) embedded_errors: PaddedMatrix<f32>,
    /// The sum of the squared errors of all outputs.
    pub(crate) loss: f64,
}

impl TrainedChunk {
    pub(crate) fn new(layout: &Layout) -> Self {
        let chunk = Chunk::new(layout);
        Self {
            output_errors: chunk.outputs.clone(),
            errors: chunk.hidden.clone(),
            input_errors: chunk.inputs.clone(),
            embedded_errors: chunk.embedded.clone(),
            loss: 0.0,
            chunk,
        }
    }

    /// Computes all gradients after [`Chunk::forward`]. The loss is the mean of (output − target)²
    /// over the batch's samples and the members; `batch` is the number of these samples.
    pub(crate) fn backward(
        &mut self,
        model: Model,
        targets: &[f32],
        batch: usize,
        mask: impl Fn(usize) -> Option<Mask>,
    ) {
        let Model { layout, parameters, derived } = model;
        let Self { chunk, output_errors, errors, input_errors, embedded_errors, loss } = self;
        let members = layout.members;
        let rows = chunk.samples.len() * members;
        let factor = 2.0 / (batch * members) as f32;
        *loss = 0.0;
        for (sample, errors) in chunk.samples.iter().zip(output_errors.chunks_exact_mut(members).enumerate()) {
            let (place, errors) = errors;
            let outputs = &chunk.outputs[place * members..][..members];
            for (error, &output) in errors.iter_mut().zip(outputs) {
                let difference = output - targets[*sample as usize];
                *loss += f64::from(difference) * f64::from(difference);
                *error = factor * difference;
            }
        }
        let scale = |layer: usize| mask(layer).map_or(1.0, |mask| mask.scale);
        let last = layout.hidden.len() - 1;
        let (hidden, heads, stride) = (&chunk.hidden[last], &parameters[HEADS], chunk.hidden[last].stride());
        kernels::head_errors(
            &output_errors[..rows],
            heads.padded(),
            &hidden.padded()[..rows * stride],
            scale(last),
            stride,
            &mut errors[last].padded_mut()[..rows * stride],
        );
        for layer in (0..=last).rev() {
            let (before, from) = errors.split_at_mut(layer);
            let left: Vec<&[f32]> = (0..rows).map(|row| from[0].row(row)).collect();
            let (set, right) = (InstructionSet::detect(), &derived.transposed[layer]);
            let stride = right.stride();
            match before.last_mut() {
                Some(out) => {
                    let active = chunk.hidden[layer - 1].padded();
                    let sink = Masked { active, scale: scale(layer - 1), out: out.padded_mut(), stride };
                    product(set, &left, right, 0..stride, sink);
                }
                None => product(set, &left, right, 0..stride, Store { out: input_errors.padded_mut(), stride }),
            }
        }
        let stride = input_errors.stride();
        kernels::gather(
            &input_errors.padded()[..rows * stride],
            parameters[ADAPTERS].padded(),
            stride,
            &mut embedded_errors.padded_mut()[..chunk.samples.len() * stride],
        );
    }
}
