//! Gradients that are stored, to be summed over ranks or sent.

use kernels_cpu::product::PaddedMatrix;

use super::CpuEngine;
use super::chunk::{Chunk, ChunkInputs, Copies, Purpose, WithCopies};
use super::layer::{Accumulate, Layer, add_sum_of_rows};
use super::model::CHUNK;
use crate::engine::ranks::Gradients;
use crate::engine::{DeviceError, Engine, Parameters};
use crate::{Hyperparameters, Samples};

/// The forward and backward passes of some samples, and their gradients: for each layer, first the
/// weights', then the biases', padded.
#[derive(Debug)]
pub(super) struct Passes {
    inputs: ChunkInputs,
    chunk: Chunk,
    copies: Copies,
}

/// Number of values of a layer's gradients, and of its parameters in the same layout.
pub(super) fn values(layer: &Layer) -> usize {
    layer.weights.padded().len() + layer.biases.padded().len()
}

impl Passes {
    pub(super) fn new(engine: &CpuEngine) -> Self {
        let architecture = &engine.model.architecture;
        let whole = 0..architecture.inputs();
        Self {
            inputs: ChunkInputs::new(&engine.model, engine.samples, CHUNK, std::slice::from_ref(&whole)),
            chunk: Chunk::new(architecture, CHUNK),
            copies: Copies::of_transposed(architecture),
        }
    }

    /// Computes the gradients of the samples' summed loss, and returns that loss. [`Self::finish`]
    /// adds the last chunk's gradients.
    pub(super) fn start<'b>(
        &mut self,
        engine: &CpuEngine,
        samples: &[u32],
        gradients: impl IntoIterator<Item = &'b mut [f32]>,
    ) -> f64 {
        let CpuEngine { samples: all, hyperparameters, model, layers, .. } = engine;
        let (set, layers) = (model.instruction_set, layers.as_slice());
        let mut gradients: Vec<&mut [f32]> = gradients.into_iter().collect();
        gradients.iter_mut().for_each(|gradients| gradients.fill(0.0));
        self.chunk.count = 0;
        self.copies.copy(layers);
        let mut loss = 0.0;
        for batch in samples.chunks(CHUNK) {
            for (index, gradients) in gradients.iter_mut().enumerate() {
                self.finish(engine, index, gradients);
            }
            let indices = || batch.iter().map(|&index| index as usize);
            self.inputs.copy_in(set, all, indices(), Purpose::Training);
            let with_copies = WithCopies { parts: layers, copies: &self.copies };
            self.chunk.first_layer(model, &with_copies, &self.inputs, batch.len());
            self.chunk.later_layers(model, &with_copies);
            self.chunk.backward(model, &self.copies, all, indices(), hyperparameters.loss);
            loss += self.chunk.loss();
        }
        loss
    }

    /// Adds the last chunk's gradients for one layer.
    pub(super) fn finish(&self, engine: &CpuEngine, index: usize, gradients: &mut [f32]) {
        if self.chunk.count == 0 {
            return;
        }
        let (set, layer) = (engine.model.instruction_set, &engine.layers[index]);
        let (weights, biases) = split(layer, gradients);
        let (errors, stride) = (&self.chunk.errors[index], layer.weights.stride());
        self.chunk.with_left(&self.inputs, index, 0, &layer.rows, |left| {
            left.gradient(set, errors, true, Accumulate { gradients: weights, stride });
        });
        add_sum_of_rows(set, errors, self.chunk.count, biases);
    }
}

/// Splits a layer's values into the weights' and the biases'.
fn split<'b>(layer: &Layer, values: &'b mut [f32]) -> (&'b mut [f32], &'b mut [f32]) {
    let (weights, rest) = values.split_at_mut(layer.weights.padded().len());
    (weights, &mut rest[..layer.biases.padded().len()])
}

/// Gradients on one thread of the CPU.
pub(in crate::engine) struct CpuGradients<'a> {
    engine: CpuEngine<'a>,
    passes: Passes,
}

impl<'a> CpuGradients<'a> {
    pub(in crate::engine) fn new(
        samples: &'a Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
    ) -> Self {
        let engine = CpuEngine::new(samples, parameters, hyperparameters);
        Self { passes: Passes::new(&engine), engine }
    }
}

impl Gradients for CpuGradients<'_> {
    fn place(&self) -> String {
        format!("of one thread, {}", self.engine.model.instruction_set.name())
    }

    fn engine(&self) -> &dyn Engine {
        &self.engine
    }

    fn engine_mut(&mut self) -> &mut dyn Engine {
        &mut self.engine
    }

    fn lengths(&self) -> Vec<usize> {
        self.engine.layers.iter().map(values).collect()
    }

    fn start(&mut self, samples: &[u32], gradients: &mut [PaddedMatrix<f32>]) -> Result<f64, DeviceError> {
        Ok(self.passes.start(&self.engine, samples, gradients.iter_mut().map(|gradients| gradients.row_mut(0))))
    }

    fn finish(&mut self, layer: usize, gradients: &mut [f32]) -> Result<(), DeviceError> {
        self.passes.finish(&self.engine, layer, gradients);
        Ok(())
    }

    fn update(&mut self, step: usize, count: usize, gradients: &[PaddedMatrix<f32>]) -> Result<(), DeviceError> {
        let rule = self.engine.rules().of_step(step, count);
        let CpuEngine { model, layers, .. } = &mut self.engine;
        for (layer, gradients) in layers.iter_mut().zip(gradients) {
            let (weights, rest) = gradients.row(0).split_at(layer.weights.padded().len());
            let biases = &rest[..layer.biases.padded().len()];
            layer.apply(model.instruction_set, rule, weights, biases);
        }
        Ok(())
    }
}
