//! Copies gradients to the host, where they are summed over ranks, and back.

use gpu::{Buffer, Device, Error};
use kernels_cpu::product::PaddedMatrix;

use super::steps::{Rule, StepBuffers, StepRun};
use super::{GpuEngine, GpuEngineError, GpuOptions, GpuPath, device_error, fill, parts_of_step};
use perceptron::engine::{DeviceError, Engine, Gradients, Parameters, Ranks, ShardEngine};
use perceptron::training::{CorrectedStep, Optimizer};
use perceptron::{Hyperparameters, Samples};

/// Creates an engine that trains the given parameters on a rank's shard of the given samples, on a
/// GPU. The gradients are copied to the host, and their sums over the ranks are copied back.
///
/// # Errors
/// See [`GpuEngine::new`].
///
/// # Panics
/// If the samples' numbers of inputs and outputs do not match the network.
pub fn shard_engine<'a>(
    device: &Device,
    samples: &Samples,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
    ranks: Box<dyn Ranks + 'a>,
) -> Result<ShardEngine<'a>, GpuEngineError> {
    let local = GpuGradients::new(device, samples, parameters, hyperparameters)?;
    Ok(ShardEngine::of(Box::new(local), hyperparameters, ranks))
}

/// Gradients on a GPU. Each layer's are (inputs + 1) × units; the last row holds the biases'
/// gradients.
pub(super) struct GpuGradients {
    engine: GpuEngine,
    /// Number of samples passed to [`Gradients::start`].
    count: usize,
    scratch: StepBuffers,
    losses: Buffer<f32>,
    /// The gradient sums that update each layer.
    sums: Vec<Buffer<f32>>,
    /// An order with as many elements as the samples behind the sums.
    order_of_sums: Buffer<u32>,
}

impl GpuGradients {
    pub(super) fn new(
        device: &Device,
        samples: &Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
    ) -> Result<Self, GpuEngineError> {
        let options = GpuOptions { path: GpuPath::Steps, ..GpuOptions::default() };
        let engine = GpuEngine::new(device, samples, parameters, hyperparameters, &options)?;
        let sums = engine.layout.layers().iter().map(|layer| device.zeroed(layer.parameters() as usize));
        Ok(Self {
            count: 0,
            scratch: StepBuffers::for_training(device, &engine.layout, 0, true)?,
            losses: device.uninitialized(0)?,
            sums: sums.collect::<Result<_, _>>()?,
            order_of_sums: device.uninitialized(0)?,
            engine,
        })
    }
}

/// The launches of a step on the samples in `order`.
fn launches<'a>(
    engine: &'a mut GpuEngine,
    order: Option<&'a Buffer<u32>>,
    losses: &'a mut Buffer<f32>,
    scratch: &'a mut StepBuffers,
) -> StepRun<'a> {
    let order = order.unwrap_or(&engine.order);
    StepRun {
        device: &engine.device,
        kernels: &engine.kernels,
        layout: &engine.layout,
        samples: &engine.samples,
        order,
        parameters: &mut engine.parameters,
        velocities: &mut engine.velocities,
        squares: &mut engine.squares,
        adam_steps: &engine.adam_steps,
        state: &mut engine.state,
        losses,
        scratch,
        batch_size: order.len() as u32,
        loss: engine.hyperparameters.loss,
    }
}

impl Gradients for GpuGradients {
    fn place(&self) -> String {
        format!("on {}", self.engine.device())
    }

    fn engine(&self) -> &dyn Engine {
        &self.engine
    }

    fn engine_mut(&mut self) -> &mut dyn Engine {
        &mut self.engine
    }

    fn lengths(&self) -> Vec<usize> {
        self.engine.layout.layers().iter().map(|layer| layer.parameters() as usize).collect()
    }

    fn start(&mut self, samples: &[u32], _gradients: &mut [PaddedMatrix<f32>]) -> Result<f64, DeviceError> {
        self.start_step(samples).map_err(device_error)
    }

    fn finish(&mut self, layer: usize, gradients: &mut [f32]) -> Result<(), DeviceError> {
        self.finish_layer(layer, gradients).map_err(device_error)
    }

    fn update(&mut self, step: usize, count: usize, gradients: &[PaddedMatrix<f32>]) -> Result<(), DeviceError> {
        self.update_by(step, count, gradients).map_err(device_error)
    }
}

impl GpuGradients {
    fn start_step(&mut self, samples: &[u32]) -> Result<f64, Error> {
        self.count = samples.len();
        if samples.is_empty() {
            return Ok(0.0);
        }
        let GpuEngine { device, layout, order, state, .. } = &mut self.engine;
        if samples.len() > self.scratch.rows() {
            self.scratch = StepBuffers::for_training(device, layout, samples.len(), true)?;
        }
        let parts = parts_of_step(samples.len());
        if self.losses.len() != parts {
            self.losses = device.uninitialized(parts)?;
        }
        fill(device, order, samples)?;
        state.copy_from(&[0])?;
        launches(&mut self.engine, None, &mut self.losses, &mut self.scratch).passes()?;
        Ok(self.losses.to_vec()?.into_iter().map(f64::from).sum())
    }

    fn finish_layer(&mut self, layer: usize, gradients: &mut [f32]) -> Result<(), Error> {
        let length = self.sums[layer].len();
        let gradients = &mut gradients[..length];
        gradients.fill(0.0);
        if self.count == 0 {
            return Ok(());
        }
        let parts = launches(&mut self.engine, None, &mut self.losses, &mut self.scratch).gradient(layer)?;
        let values = self.scratch.gradient_parts().to_vec_at(0..parts * length)?;
        for part in values.chunks_exact(length) {
            gradients.iter_mut().zip(part).for_each(|(total, &part)| *total += part);
        }
        Ok(())
    }

    fn update_by(&mut self, step: usize, count: usize, gradients: &[PaddedMatrix<f32>]) -> Result<(), Error> {
        let GpuEngine { device, hyperparameters, adam_steps, steps_before, state, .. } = &mut self.engine;
        for (sums, gradients) in self.sums.iter_mut().zip(gradients) {
            sums.copy_from(&gradients.row(0)[..sums.len()])?;
        }
        if hyperparameters.optimizer == Optimizer::Adam {
            let CorrectedStep { rate, root } = CorrectedStep::new(hyperparameters, *steps_before + step);
            fill(device, adam_steps, &[rate as f32, root as f32])?;
        }
        state.copy_from(&[0])?;
        // The kernel only uses the length of the order, as the number of samples. It does not read
        // the elements.
        if self.order_of_sums.len() != count {
            self.order_of_sums = device.zeroed(count)?;
        }
        let hyperparameters = hyperparameters.clone();
        let order = Some(&self.order_of_sums);
        let mut run = launches(&mut self.engine, order, &mut self.losses, &mut self.scratch);
        run.update_all(&self.sums, Rule::new(&hyperparameters))
    }
}
