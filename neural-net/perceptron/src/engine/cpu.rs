//! Training on the CPU.
//!
//! A batch of up to [`CHUNK`] samples is one chunk: its gradients update the weights directly from registers. A larger
//! batch is cut into chunks, distributed to up to [`GROUPS`] groups. Each group adds its chunks' gradients in order;
//! then the groups' gradients are added in order. The chunks and groups do not depend on the number of threads, and no
//! sum is split between threads, so the weights have the same bits for any number of threads.
//!
//! If most inputs are zero, the first layer's products skip the zeros, which changes no bit of the results
//! ([`kernels_cpu::nonzero_product`]).
//!
//! Full-batch steps have a separate implementation if every layer has few units ([`full_batch`]).

mod chunk;
mod full_batch;
mod groups;
mod layer;

use std::ops::{ControlFlow, Range};

use kernels_cpu::InstructionSet;
use kernels_cpu::product::PaddedMatrix;
use rayon::prelude::*;

use self::chunk::{ChunkBuffers, Purpose};
use self::full_batch::FullBatch;
use self::groups::Group;
use self::layer::{Layer, UpdateRule};
use super::{DeviceError, Diverged, Engine, EngineError, Evaluation, Parameters};
use crate::network::argmax;
use crate::padded::{unpad, unpad_row};
use crate::training::{GradientScale, Hyperparameters};
use crate::{Architecture, InputRow, Network, Samples, Scalar};

/// Number of samples computed together: enough to reuse each weight, few enough that their activations stay in cache.
const CHUNK: usize = 64;
/// Maximum number of parts of a large batch that run in parallel.
const GROUPS: usize = 16;
/// Minimum number of multiply-adds of a parallel task.
const TASK_WORK: usize = 2_000_000;
/// Maximum share of nonzero inputs at which skipping the zeros is faster than dense products.
const NONZERO_SHARE: f64 = 0.4;

/// Trains on the CPU, on rayon's current thread pool.
#[derive(Debug)]
pub struct CpuEngine<'a, F> {
    samples: &'a Samples<F>,
    hyperparameters: Hyperparameters,
    model: Model<F>,
    chunk: ChunkBuffers<F>,
    groups: Vec<Group<F>>,
    /// The samples in the layout of full-batch steps, built at the first such step.
    full_batch: Option<FullBatch<F>>,
}

/// The network in the layout that the passes of a chunk read.
#[derive(Debug)]
struct Model<F> {
    architecture: Architecture,
    layers: Vec<Layer<F>>,
    /// The transposed weights of all layers except the first, for the backward pass.
    transposed: Vec<PaddedMatrix<F>>,
    instruction_set: InstructionSet,
    /// Whether the first layer's products skip zeros.
    skips_zeros: bool,
}

impl<'a, F: Scalar> CpuEngine<'a, F> {
    /// An engine that trains the given parameters on the given samples.
    ///
    /// # Panics
    /// If the samples do not have the network's numbers of inputs and outputs.
    pub fn new(samples: &'a Samples<F>, parameters: &Parameters<F>, hyperparameters: &Hyperparameters) -> Self {
        F::engine(samples, parameters, hyperparameters)
    }

    /// [`Self::new`], as generic code.
    pub(crate) fn prepared(
        samples: &'a Samples<F>,
        parameters: &Parameters<F>,
        hyperparameters: &Hyperparameters,
    ) -> Self {
        let network = &parameters.network;
        let architecture = network.architecture().clone();
        assert_eq!(samples.input_count(), architecture.inputs(), "samples and network differ in inputs");
        assert_eq!(samples.targets().ncols(), architecture.outputs(), "samples and network differ in outputs");

        let mut layers: Vec<Layer<F>> = Vec::new();
        for (index, (weights, biases)) in network.weights().iter().zip(network.biases()).enumerate() {
            let velocities = parameters.velocities.as_ref().and_then(|velocities| velocities.get(index));
            let factor = hyperparameters.learning_rate_factor(index);
            let mut layer = Layer::new(weights, biases, velocities, factor);
            if hyperparameters.momentum != 0.0 && layer.velocities.is_none() {
                let zeros = |matrix: &PaddedMatrix<F>| PaddedMatrix::zeros(matrix.rows(), matrix.columns());
                layer.velocities = Some((zeros(&layer.weights), zeros(&layer.biases)));
            }
            layers.push(layer);
        }
        let transposed = layers[1..]
            .iter()
            .map(|layer| PaddedMatrix::zeros(layer.weights.columns(), layer.weights.rows()))
            .collect();
        let skips_zeros = nonzero_share(samples) <= NONZERO_SHARE;
        let model = Model { architecture, layers, transposed, instruction_set: InstructionSet::detect(), skips_zeros };
        let chunk =
            ChunkBuffers::new(&model, hyperparameters.batch_size.unwrap_or(samples.len()).clamp(1, CHUNK), samples);
        Self { samples, hyperparameters: hyperparameters.clone(), model, chunk, groups: Vec::new(), full_batch: None }
    }

    /// [`Engine::train`].
    pub(crate) fn train_in_order(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        let batch_size = self.hyperparameters.batch_size.unwrap_or(order.len()).max(1);
        let mut batches = order.chunks(batch_size).enumerate().skip(first_step).peekable();
        while let Some((step, batch)) = batches.next() {
            if let Some((_, next)) = batches.peek()
                && batch_size <= CHUNK
            {
                next.iter().for_each(|&index| self.samples.prefetch(index as usize));
            }
            let loss = self.step(batch);
            if !loss.is_finite() {
                return Err(Diverged { step }.into());
            }
            if observe(step, loss).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// One step on the samples of these indices; returns their summed loss before the step.
    fn step(&mut self, batch: &[u32]) -> f64 {
        self.model.transpose_weights();
        let rate = self.hyperparameters.learning_rate;
        let scale = match self.hyperparameters.gradient {
            GradientScale::Sum => 1.0,
            GradientScale::Mean => batch.len() as f64,
        };
        let rule = UpdateRule {
            rate: F::from_f64(rate / scale),
            momentum: F::from_f64(self.hyperparameters.momentum),
            decay: F::from_f64(rate * self.hyperparameters.weight_decay),
        };
        let (samples, loss) = (self.samples, self.hyperparameters.loss);
        if self.is_full_batch(batch) {
            let full_batch = self.full_batch.get_or_insert_with(|| FullBatch::new(&self.model, samples, loss));
            return full_batch.step(&mut self.model, rule);
        }
        if batch.len() > CHUNK {
            return groups::step(&mut self.groups, &mut self.model, samples, loss, batch, rule);
        }
        let indices = batch.iter().map(|&index| index as usize);
        let loss = self.chunk.run(&self.model, samples, indices, loss);
        self.chunk.update(&mut self.model, rule);
        loss
    }

    /// Whether a batch has every sample exactly once, and [`FullBatch`] supports the model and the samples.
    fn is_full_batch(&self, batch: &[u32]) -> bool {
        let count = self.samples.len();
        if batch.len() != count || !FullBatch::supports(&self.model, self.samples) {
            return false;
        }
        // The usual, ascending order needs no search for duplicates.
        if batch.iter().zip(0..).all(|(&index, expected)| index == expected) {
            return true;
        }
        let mut seen = vec![false; count];
        batch.iter().all(|&index| seen.get_mut(index as usize).is_some_and(|seen| !std::mem::replace(seen, true)))
    }

    /// [`Engine::evaluate`].
    pub(crate) fn evaluate_all(&self, samples: &Samples<F>) -> Evaluation {
        let starts: Vec<usize> = (0..samples.len()).step_by(CHUNK).collect();
        let evaluate = |chunk: &mut ChunkBuffers<F>, &start: &usize| {
            self.evaluate_range(samples, start..samples.len().min(start + CHUNK), chunk)
        };
        let parts: Vec<(f64, usize)> =
            starts.par_iter().map_init(|| ChunkBuffers::new(&self.model, CHUNK, samples), evaluate).collect();
        let loss: f64 = parts.iter().map(|part| part.0).sum();
        let correct = parts.iter().map(|part| part.1).sum();
        Evaluation { loss: loss / samples.len().max(1) as f64, correct, count: samples.len() }
    }

    fn evaluate_range(&self, samples: &Samples<F>, range: Range<usize>, chunk: &mut ChunkBuffers<F>) -> (f64, usize) {
        chunk.forward(&self.model, samples, range.clone(), Purpose::Evaluation);
        let (mut loss, mut correct) = (0.0, 0);
        for (row, index) in range.enumerate() {
            let (output, target) = (chunk.output(row), samples.target(index));
            loss += self.hyperparameters.loss.of(self.model.architecture.output_activation(), output, target);
            correct += usize::from(argmax(output) == argmax(target));
        }
        (loss, correct)
    }
}

impl<F: Scalar> Engine<F> for CpuEngine<'_, F> {
    fn device(&self) -> String {
        format!("CPU, {} threads, {}", rayon::current_num_threads(), self.model.instruction_set.name())
    }

    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        F::train(self, order, first_step, observe)
    }

    fn evaluate(&mut self, samples: &Samples<F>) -> Result<Evaluation, DeviceError> {
        Ok(F::evaluate(self, samples))
    }

    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError> {
        self.evaluate(self.samples)
    }

    fn parameters(&self) -> Result<Parameters<F>, DeviceError> {
        let layers = &self.model.layers;
        let weights = layers.iter().map(|layer| unpad(&layer.weights)).collect();
        let biases = layers.iter().map(|layer| unpad_row(&layer.biases)).collect();
        let network = match Network::new(self.model.architecture.clone(), weights, biases) {
            Ok(network) => network,
            Err(error) => unreachable!("the engine keeps every shape: {error}"),
        };
        let velocities = layers.iter().map(|layer| {
            let (weights, biases) = layer.velocities.as_ref()?;
            Some((unpad(weights), unpad_row(biases)))
        });
        Ok(Parameters { network, velocities: velocities.collect() })
    }
}

impl<F: Scalar> Model<F> {
    fn transpose_weights(&mut self) {
        for (transposed, layer) in self.transposed.iter_mut().zip(&self.layers[1..]) {
            let rows: Vec<&[F]> = (0..layer.weights.rows()).map(|row| layer.weights.row(row)).collect();
            transposed.copy_transposed(&rows);
        }
    }
}

/// The share of nonzero inputs, 0 … 1, in up to 256 evenly spaced samples.
fn nonzero_share<F: Scalar>(samples: &Samples<F>) -> f64 {
    const MAX_INSPECTED: usize = 256;
    let (mut nonzero, mut all) = (0, 0);
    for index in (0..samples.len()).step_by(samples.len().div_ceil(MAX_INSPECTED).max(1)) {
        let (count, length) = match samples.input_row(index) {
            InputRow::Floats(row) => (row.iter().filter(|value| **value != F::zero()).count(), row.len()),
            InputRow::Bytes(row, _) => (row.iter().filter(|&&byte| byte != 0).count(), row.len()),
        };
        nonzero += count;
        all += length;
    }
    nonzero as f64 / all.max(1) as f64
}

/// The number of rows per task, if each of `rows` takes `work` multiply-adds: all rows for one thread or little work.
/// Rounded up to a multiple of 8, the height of the largest tile.
fn rows_per_task(rows: usize, work: usize) -> usize {
    let tasks = (rows * work / TASK_WORK).clamp(1, rayon::current_num_threads());
    rows.div_ceil(tasks).next_multiple_of(8)
}
