//! Training on the CPU.
//!
//! A batch of up to [`CHUNK`] samples is one chunk: its gradients go from the registers straight into the weights. A
//! larger batch is cut into chunks, shared out to [`GROUPS`] groups, each of which adds its chunks' gradients in order;
//! then the groups' gradients are added in order. Neither number depends on the threads, and no sum is split between
//! them: the weights have the same bits for any number of threads.

use std::ops::{ControlFlow, Range};

use kernels_cpu::InstructionSet;
use kernels_cpu::product::{PaddedMatrix, product, product_of_transpose};
use rayon::prelude::*;

use super::layer::{Accumulate, AddBias, Backward, Layer, Update, UpdateRule, unpad, unpad_row};
use super::{DeviceError, Diverged, Engine, EngineError, Evaluation, Parameters};
use crate::network::argmax;
use crate::training::{GradientScale, Hyperparameters};
use crate::{Architecture, Network, Real, Samples};

/// Samples that are computed together: enough to reuse each weight, few enough that their activations stay in cache.
const CHUNK: usize = 64;
/// Parts of a large batch that may run in parallel.
const GROUPS: usize = 16;
/// Multiply-adds that are worth a task of their own.
const TASK_WORK: usize = 2_000_000;

/// Trains on the CPU, on rayon's current thread pool.
#[derive(Debug)]
pub struct CpuEngine<'a, F> {
    samples: &'a Samples<F>,
    architecture: Architecture,
    hyperparameters: Hyperparameters,
    layers: Vec<Layer<F>>,
    /// The weights of all layers but the first, transposed, as the backward pass reads them.
    transposed: Vec<PaddedMatrix<F>>,
    workspace: Workspace<F>,
    groups: Vec<Group<F>>,
    instruction_set: InstructionSet,
}

/// What one chunk's computation writes: activations and errors of each layer with weights, [`CHUNK`] × units.
#[derive(Clone, Debug)]
struct Workspace<F> {
    activations: Vec<PaddedMatrix<F>>,
    errors: Vec<PaddedMatrix<F>>,
}

/// A part of a large batch: its workspace and its gradients.
#[derive(Clone, Debug)]
struct Group<F> {
    workspace: Workspace<F>,
    gradients: Vec<(PaddedMatrix<F>, PaddedMatrix<F>)>,
    loss: f64,
}

impl<'a, F: Real> CpuEngine<'a, F> {
    /// An engine that trains the given parameters on the given samples.
    ///
    /// # Panics
    /// If the samples do not have the network's numbers of inputs and outputs.
    pub fn new(samples: &'a Samples<F>, parameters: &Parameters<F>, hyperparameters: &Hyperparameters) -> Self {
        let network = &parameters.network;
        let architecture = network.architecture().clone();
        assert_eq!(samples.inputs().ncols(), architecture.inputs(), "samples and network differ in inputs");
        assert_eq!(samples.targets().ncols(), architecture.outputs(), "samples and network differ in outputs");

        let mut layers: Vec<Layer<F>> = Vec::new();
        for (index, (weights, biases)) in network.weights().iter().zip(network.biases()).enumerate() {
            let velocities = parameters.velocities.as_ref().and_then(|velocities| velocities.get(index));
            let mut layer = Layer::new(weights, biases, velocities);
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
        Self {
            samples,
            workspace: Workspace::new(&architecture),
            groups: Vec::new(),
            hyperparameters: hyperparameters.clone(),
            architecture,
            layers,
            transposed,
            instruction_set: InstructionSet::detect(),
        }
    }

    /// One step on the samples of these indices; returns their summed loss before it.
    fn step(&mut self, batch: &[u32]) -> f64 {
        for (transposed, layer) in self.transposed.iter_mut().zip(&self.layers[1..]) {
            let rows: Vec<&[F]> = (0..layer.weights.rows()).map(|row| layer.weights.row(row)).collect();
            transposed.copy_transposed(&rows);
        }
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
        if batch.len() <= CHUNK { self.step_on_chunk(batch, rule) } else { self.step_on_groups(batch, rule) }
    }

    fn step_on_chunk(&mut self, batch: &[u32], rule: UpdateRule<F>) -> f64 {
        let inputs: Vec<&[F]> = batch.iter().map(|&index| self.samples.input(index as usize)).collect();
        let mut workspace = std::mem::replace(&mut self.workspace, Workspace { activations: vec![], errors: vec![] });
        self.forward(&inputs, &mut workspace, true);
        let loss = self.backward(batch, &mut workspace);

        let set = self.instruction_set;
        for (index, layer) in self.layers.iter_mut().enumerate() {
            let left = workspace.inputs_of_layer(index, &inputs);
            let errors = &workspace.errors[index];
            let (rows, stride) = (layer.weights.rows(), layer.weights.stride());
            let update = |(first_row, (weights, velocities)): (usize, (&mut [F], Option<&mut [F]>))| {
                let rows = first_row..first_row + weights.len() / stride;
                let sink = Update { weights, velocities, stride, first_row, rule };
                product_of_transpose(set, &left, rows, errors, sink);
            };
            let rows_per_task = rows_per_task(rows, batch.len() * stride);
            let (mut weight_velocities, mut bias_velocities) = match &mut layer.velocities {
                Some((weights, biases)) => (Some(weights), Some(biases)),
                None => (None, None),
            };
            let weights = layer.weights.padded_mut();
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
            let gradients = sum_of_rows(errors, batch.len());
            let velocities = bias_velocities.as_mut().map(|velocities| velocities.padded_mut());
            rule.without_decay().apply(set, layer.biases.padded_mut(), velocities, gradients.padded());
        }
        self.workspace = workspace;
        loss
    }

    fn step_on_groups(&mut self, batch: &[u32], rule: UpdateRule<F>) -> f64 {
        let chunks: Vec<&[u32]> = batch.chunks(CHUNK).collect();
        let chunks_per_group = chunks.len().div_ceil(GROUPS);
        let count = chunks.len().div_ceil(chunks_per_group);
        let mut groups = std::mem::take(&mut self.groups);
        groups.resize_with(groups.len().max(count), || Group::new(&self.architecture));

        let engine = &*self;
        groups[..count].par_iter_mut().zip(chunks.par_chunks(chunks_per_group)).for_each(|(group, chunks)| {
            group.clear();
            for batch in chunks {
                engine.accumulate(batch, group);
            }
        });

        // In the groups' order, row by row, whoever does it.
        for (index, layer) in self.layers.iter_mut().enumerate() {
            let stride = layer.weights.stride();
            let (first, others) = groups[..count].split_at_mut(1);
            let gradients = &mut first[0].gradients[index];
            let rows_per_task = rows_per_task(layer.weights.rows(), count * stride);
            let add = |(task, total): (usize, &mut [F])| {
                for group in others.iter() {
                    let part = &group.gradients[index].0.padded()[task * rows_per_task * stride..][..total.len()];
                    total.iter_mut().zip(part).for_each(|(total, &part)| *total += part);
                }
            };
            gradients.0.padded_mut().par_chunks_mut(rows_per_task * stride).enumerate().for_each(add);
            for group in others.iter() {
                let part = group.gradients[index].1.row(0);
                gradients.1.row_mut(0).iter_mut().zip(part).for_each(|(total, &part)| *total += part);
            }
            let (mut weight_velocities, mut bias_velocities) = match &mut layer.velocities {
                Some((weights, biases)) => (Some(weights.padded_mut()), Some(biases.padded_mut())),
                None => (None, None),
            };
            let set = self.instruction_set;
            rule.apply(set, layer.weights.padded_mut(), weight_velocities.take(), gradients.0.padded());
            rule.without_decay().apply(set, layer.biases.padded_mut(), bias_velocities.take(), gradients.1.padded());
        }
        let loss = groups[..count].iter().map(|group| group.loss).sum();
        self.groups = groups;
        loss
    }

    /// Adds one chunk's gradients and loss to its group's.
    fn accumulate(&self, batch: &[u32], group: &mut Group<F>) {
        let inputs: Vec<&[F]> = batch.iter().map(|&index| self.samples.input(index as usize)).collect();
        self.forward(&inputs, &mut group.workspace, false);
        group.loss += self.backward(batch, &mut group.workspace);
        for (index, (weights, biases)) in group.gradients.iter_mut().enumerate() {
            let left = group.workspace.inputs_of_layer(index, &inputs);
            let errors = &group.workspace.errors[index];
            let (rows, stride) = (0..weights.rows(), weights.stride());
            let sink = Accumulate { gradients: weights.padded_mut(), stride };
            product_of_transpose(self.instruction_set, &left, rows, errors, sink);
            let sums = sum_of_rows(errors, batch.len());
            biases.row_mut(0).iter_mut().zip(sums.row(0)).for_each(|(total, &sum)| *total += sum);
        }
    }

    /// Computes all layers' activations for up to [`CHUNK`] samples.
    fn forward(&self, inputs: &[&[F]], workspace: &mut Workspace<F>, parallel: bool) {
        for (index, layer) in self.layers.iter().enumerate() {
            let (before, out) = workspace.activations.split_at_mut(index);
            let left: Vec<&[F]> = match before.last() {
                None => inputs.to_vec(),
                Some(activations) => (0..inputs.len()).map(|row| activations.row(row)).collect(),
            };
            let (stride, columns) = (out[0].stride(), out[0].columns());
            let activation = self.architecture.activation(index);
            let compute = |(left, out): (&[&[F]], &mut [F])| {
                let sink = AddBias { out, stride, biases: layer.biases.padded() };
                product(self.instruction_set, left, &layer.weights, 0..stride, sink);
                out.chunks_exact_mut(stride).for_each(|row| activation.apply(&mut row[..columns]));
            };
            let out = &mut out[0].padded_mut()[..inputs.len() * stride];
            let rows_per_task = rows_per_task(inputs.len(), layer.weights.rows() * stride);
            if parallel && rows_per_task < inputs.len() {
                left.par_chunks(rows_per_task).zip(out.par_chunks_mut(rows_per_task * stride)).for_each(compute);
            } else {
                compute((&left, out));
            }
        }
    }

    /// Computes all layers' errors, given their activations, and returns the summed loss.
    fn backward(&self, batch: &[u32], workspace: &mut Workspace<F>) -> f64 {
        let Workspace { activations, errors } = workspace;
        let last = self.layers.len() - 1;
        let activation = self.architecture.output_activation();
        let mut loss = 0.0;
        for (row, &index) in batch.iter().enumerate() {
            let (outputs, targets) = (activations[last].row(row), self.samples.target(index as usize));
            loss += self.hyperparameters.loss.of(activation, outputs, targets);
            self.hyperparameters.loss.output_error(activation, outputs, targets, errors[last].row_mut(row));
        }
        for index in (0..last).rev() {
            let (errors, next) = errors.split_at_mut(index + 1);
            let left: Vec<&[F]> = (0..batch.len()).map(|row| next[0].row(row)).collect();
            let right = &self.transposed[index];
            let sink = Backward {
                errors: &mut errors[index],
                activations: &activations[index],
                activation: self.architecture.activation(index),
            };
            product(self.instruction_set, &left, right, 0..right.stride(), sink);
        }
        loss
    }

    fn evaluate_range(&self, samples: &Samples<F>, range: Range<usize>, workspace: &mut Workspace<F>) -> (f64, usize) {
        let inputs: Vec<&[F]> = range.clone().map(|index| samples.input(index)).collect();
        self.forward(&inputs, workspace, false);
        let outputs = &workspace.activations[self.layers.len() - 1];
        let (mut loss, mut correct) = (0.0, 0);
        for (row, index) in range.enumerate() {
            let (output, target) = (outputs.row(row), samples.target(index));
            loss += self.hyperparameters.loss.of(self.architecture.output_activation(), output, target);
            correct += usize::from(argmax(output) == argmax(target));
        }
        (loss, correct)
    }
}

impl<F: Real> Engine<F> for CpuEngine<'_, F> {
    fn device(&self) -> String {
        format!("CPU, {} threads, {}", rayon::current_num_threads(), self.instruction_set.name())
    }

    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        let batch_size = self.hyperparameters.batch_size.unwrap_or(order.len()).max(1);
        for (step, batch) in order.chunks(batch_size).enumerate().skip(first_step) {
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

    fn evaluate(&mut self, samples: &Samples<F>) -> Result<Evaluation, DeviceError> {
        let starts: Vec<usize> = (0..samples.len()).step_by(CHUNK).collect();
        let evaluate = |workspace: &mut Workspace<F>, &start: &usize| {
            self.evaluate_range(samples, start..samples.len().min(start + CHUNK), workspace)
        };
        let parts: Vec<(f64, usize)> =
            starts.par_iter().map_init(|| Workspace::new(&self.architecture), evaluate).collect();
        let loss: f64 = parts.iter().map(|part| part.0).sum();
        let correct = parts.iter().map(|part| part.1).sum();
        Ok(Evaluation { loss: loss / samples.len().max(1) as f64, correct, count: samples.len() })
    }

    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError> {
        self.evaluate(self.samples)
    }

    fn parameters(&self) -> Result<Parameters<F>, DeviceError> {
        let weights = self.layers.iter().map(|layer| unpad(&layer.weights)).collect();
        let biases = self.layers.iter().map(|layer| unpad_row(&layer.biases)).collect();
        let network = match Network::new(self.architecture.clone(), weights, biases) {
            Ok(network) => network,
            Err(error) => unreachable!("the engine keeps every shape: {error}"),
        };
        let velocities = self.layers.iter().map(|layer| {
            let (weights, biases) = layer.velocities.as_ref()?;
            Some((unpad(weights), unpad_row(biases)))
        });
        Ok(Parameters { network, velocities: velocities.collect() })
    }
}

impl<F: Real> Workspace<F> {
    fn new(architecture: &Architecture) -> Self {
        let matrices = || architecture.sizes()[1..].iter().map(|&size| PaddedMatrix::zeros(CHUNK, size)).collect();
        Self { activations: matrices(), errors: matrices() }
    }

    /// The inputs of layer `index`, row by row: the samples' or the activations of the layer before.
    fn inputs_of_layer<'a>(&'a self, index: usize, inputs: &[&'a [F]]) -> Vec<&'a [F]> {
        match index.checked_sub(1) {
            None => inputs.to_vec(),
            Some(before) => (0..inputs.len()).map(|row| self.activations[before].row(row)).collect(),
        }
    }
}

impl<F: Real> Group<F> {
    fn new(architecture: &Architecture) -> Self {
        let gradients = architecture.sizes().windows(2);
        let gradients = gradients.map(|pair| (PaddedMatrix::zeros(pair[0], pair[1]), PaddedMatrix::zeros(1, pair[1])));
        Self { workspace: Workspace::new(architecture), gradients: gradients.collect(), loss: 0.0 }
    }

    fn clear(&mut self) {
        self.loss = 0.0;
        for (weights, biases) in &mut self.gradients {
            weights.padded_mut().fill(F::zero());
            biases.padded_mut().fill(F::zero());
        }
    }
}

impl<F: Real> UpdateRule<F> {
    /// The rule for biases, which do not decay.
    fn without_decay(self) -> Self {
        Self { decay: F::zero(), ..self }
    }
}

/// How many of `rows`, each of which costs `work` multiply-adds, make a task: all of them where there is one thread or
/// little to do, else a multiple of a tile's height.
fn rows_per_task(rows: usize, work: usize) -> usize {
    let tasks = (rows * work / TASK_WORK).clamp(1, rayon::current_num_threads());
    rows.div_ceil(tasks).next_multiple_of(8)
}

/// The sum of the first `count` rows, in order.
fn sum_of_rows<F: Real>(matrix: &PaddedMatrix<F>, count: usize) -> PaddedMatrix<F> {
    let mut sums = PaddedMatrix::zeros(1, matrix.columns());
    for row in 0..count {
        sums.row_mut(0).iter_mut().zip(matrix.row(row)).for_each(|(sum, &value)| *sum += value);
    }
    sums
}
