//! A training step as a sequence of launches. It is the same for every step, so it can be replayed.

mod shape;

use gpu::{Buffer, Device, LaunchConfig, Recorder};
use kernels_gpu::network::{
    self, AdamRule, Batches, ByteScale, LAST_THREADS, OutputLayer, ROWS_PER_BLOCK, THREADS, UpdateRule,
};

use self::shape::{
    TileGrid, forward_by_tensor_cores, gradient_by_tensor_cores, is_small_last_layer, parts_of_batch,
    suits_tensor_cores,
};
use super::layout::{LayerLayout, Layout, loss_code};
use super::samples::{Inputs, SamplesOnDevice};
use gpu::Error;
use perceptron::training::{EPSILON, GradientScale, Optimizer, SQUARES_DECAY};
use perceptron::{Hyperparameters, Loss};

/// The update rule in the form of kernel arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule<'a> {
    /// The rule for layers with learning rate factor 1.
    pub(super) common: UpdateRule,
    hyperparameters: &'a Hyperparameters,
}

impl<'a> Rule<'a> {
    pub(super) fn new(hyperparameters: &'a Hyperparameters) -> Self {
        let &Hyperparameters { learning_rate, momentum, weight_decay, gradient, .. } = hyperparameters;
        let common = UpdateRule {
            rate: learning_rate as f32,
            momentum: momentum as f32,
            decay: (learning_rate * weight_decay) as f32,
            is_mean: u32::from(gradient == GradientScale::Mean),
        };
        Self { common, hyperparameters }
    }

    /// The rule for layer `layer`, counted among the layers with weights.
    fn of_layer(self, layer: usize) -> UpdateRule {
        let rate = self.common.rate * self.hyperparameters.learning_rate_factor(layer) as f32;
        UpdateRule { rate, ..self.common }
    }

    /// Adam's rule for layer `layer`, counted among the layers with weights, if Adam is the
    /// optimizer.
    pub(super) fn by_adam(self, layer: usize) -> Option<AdamRule> {
        let UpdateRule { momentum, decay, is_mean, .. } = self.common;
        (self.hyperparameters.optimizer == Optimizer::Adam).then(|| AdamRule {
            beta_1: momentum,
            beta_2: SQUARES_DECAY as f32,
            one_minus_beta_2: (1.0 - SQUARES_DECAY) as f32,
            epsilon: EPSILON as f32,
            scale: self.hyperparameters.learning_rate_factor(layer).sqrt() as f32,
            decay,
            is_mean,
        })
    }
}

/// Constant arguments of a step's launches.
#[derive(Debug)]
pub(super) struct StepKernels {
    /// An empty order, for inputs that are already rows of the batch.
    no_order: Buffer<u32>,
    /// Whether tensor cores multiply the first layer's bytes. Not in the simulator, where they take
    /// six times as long as tiles.
    uses_tensor_cores: bool,
}

impl StepKernels {
    pub(super) fn new(device: &Device, layout: &Layout) -> Result<Self, Error> {
        let shared_bytes = network::tensor_shared_bytes(layout.layers()[0].features);
        let has_kernels = device.ptx().is_some() && device.has(&network::network_gradient_bytes_tensor);
        Ok(Self {
            no_order: device.uninitialized(0)?,
            uses_tensor_cores: has_kernels && shared_bytes <= device.max_shared_bytes(),
        })
    }
}

/// Buffers for a batch's activations and deltas: rows × units for each layer with weights.
#[derive(Debug)]
pub(super) struct StepBuffers {
    rows: usize,
    activations: Vec<Buffer<f32>>,
    /// Empty for evaluations.
    errors: Vec<Buffer<f32>>,
    /// The gradients of a layer in parts. Large enough for the layer with the largest parts. Empty
    /// if no layer has several parts, unless gradients are kept.
    parts: Buffer<f32>,
}

impl StepBuffers {
    /// Buffers for training on batches of up to `rows` samples. `keeps_gradients` means that
    /// gradients do not update the parameters directly, as with Adam.
    pub(super) fn for_training(
        device: &Device,
        layout: &Layout,
        rows: usize,
        keeps_gradients: bool,
    ) -> Result<Self, Error> {
        let mut scratch = Self::for_evaluation(device, layout, rows)?;
        let layers = || layout.layers().iter();
        scratch.errors =
            layers().map(|layer| device.uninitialized(rows * layer.units as usize)).collect::<Result<_, _>>()?;
        let parts = layers().map(|layer| {
            let by_tensor_cores = match suits_tensor_cores(rows as u32, layer) {
                true => gradient_by_tensor_cores(layer).grid.y,
                false => 0,
            };
            match parts_of_batch(rows as u32, layer).max(by_tensor_cores) {
                1 if !keeps_gradients && by_tensor_cores == 0 => 0,
                parts => parts as usize * layer.parameters() as usize,
            }
        });
        scratch.parts = device.uninitialized(parts.max().unwrap_or(0))?;
        Ok(scratch)
    }

    /// Buffers for evaluating up to `rows` samples at once.
    pub(super) fn for_evaluation(device: &Device, layout: &Layout, rows: usize) -> Result<Self, Error> {
        let activations = layout.layers().iter().map(|layer| device.uninitialized(rows * layer.units as usize));
        Ok(Self {
            rows,
            activations: activations.collect::<Result<_, _>>()?,
            errors: vec![],
            parts: device.uninitialized(0)?,
        })
    }

    /// The parts of the gradients that [`StepRun::gradient`] last computed.
    pub(super) fn gradient_parts(&self) -> &Buffer<f32> {
        &self.parts
    }

    /// Maximum batch size.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }
}

/// Launches the kernel for this tile size and form of inputs. The inputs are its first argument.
macro_rules! launch_tiles {
    (
        $recorder:expr, $inputs:expr, $tiles:expr, [$small:ident, $large:ident, $small_bytes:ident, $large_bytes:ident],
        ($($argument:expr),*)
    ) => {
        match ($inputs, $tiles) {
            (LayerInputs::Floats(inputs), TileGrid::Small(config)) => {
                $recorder.launch(&network::$small, config, (inputs, $($argument),*))?
            }
            (LayerInputs::Floats(inputs), TileGrid::Large(config)) => {
                $recorder.launch(&network::$large, config, (inputs, $($argument),*))?
            }
            (LayerInputs::Bytes(inputs, scale), TileGrid::Small(config)) => {
                $recorder.launch(&network::$small_bytes, config, (inputs, scale, $($argument),*))?
            }
            (LayerInputs::Bytes(inputs, scale), TileGrid::Large(config)) => {
                $recorder.launch(&network::$large_bytes, config, (inputs, scale, $($argument),*))?
            }
        };
    };
}

/// The engine's data that the launches of steps read and write.
pub(super) struct StepRun<'a> {
    pub(super) device: &'a Device,
    pub(super) kernels: &'a StepKernels,
    pub(super) layout: &'a Layout,
    pub(super) samples: &'a SamplesOnDevice,
    pub(super) order: &'a Buffer<u32>,
    pub(super) parameters: &'a mut Buffer<f32>,
    pub(super) velocities: &'a mut Buffer<f32>,
    pub(super) squares: &'a mut Buffer<f32>,
    pub(super) adam_steps: &'a Buffer<f32>,
    pub(super) state: &'a mut Buffer<u32>,
    pub(super) losses: &'a mut Buffer<f32>,
    pub(super) scratch: &'a mut StepBuffers,
    pub(super) batch_size: u32,
    pub(super) loss: Loss,
}

impl<'a> StepRun<'a> {
    /// Trains `steps` steps, starting at the index in `state`.
    pub(super) fn train(&mut self, steps: usize, rule: Rule) -> Result<(), Error> {
        let device = self.device;
        device.replay(steps, |recorder| self.step(recorder, rule))
    }

    /// Evaluates `chunks` batches. Partial sums of the number of correct samples are written to
    /// `correct`.
    pub(super) fn evaluate(&mut self, chunks: usize, correct: &mut Buffer<f32>) -> Result<(), Error> {
        let (device, last) = (self.device, self.layout.layers().len() - 1);
        let config = LaunchConfig::new(self.batch_size.div_ceil(ROWS_PER_BLOCK), THREADS);
        device.replay(chunks, |recorder| {
            self.forward(recorder, last + 1)?;
            let (layer, batches) = (self.output_layer(), self.batches());
            let arguments = (
                self.samples.targets(),
                self.order,
                &*self.state,
                &mut self.scratch.activations[last],
                &mut *self.losses,
                &mut *correct,
                layer,
                batches,
            );
            recorder.launch(&network::network_evaluate, config, arguments)?;
            self.next_step(recorder)
        })
    }

    /// The outputs for the first `rows` samples of the last evaluated batch.
    pub(super) fn outputs(&self, rows: usize) -> Result<Vec<f32>, Error> {
        let outputs = self.output_layer().units as usize;
        self.scratch.activations[self.layout.layers().len() - 1].to_vec_at(0..rows * outputs)
    }

    /// Runs the forward and backward pass of the batch, without changing the parameters.
    pub(super) fn passes(&mut self) -> Result<(), Error> {
        self.record_passes(&Recorder::run_on(self.device))
    }

    /// Computes the gradients of layer `index` after [`Self::passes`], in parts of the batch
    /// ([`StepBuffers`]). Returns the number of parts.
    pub(super) fn gradient(&mut self, index: usize) -> Result<usize, Error> {
        self.record_gradient(&Recorder::run_on(self.device), index)?;
        Ok(self.parts(index) as usize)
    }

    /// Updates all layers with their gradients.
    pub(super) fn update_all(&mut self, gradients: &[Buffer<f32>], rule: Rule) -> Result<(), Error> {
        let recorder = Recorder::run_on(self.device);
        let mut layers = gradients.iter().enumerate();
        layers.try_for_each(|(index, gradients)| self.update_from(&recorder, index, Some(gradients), rule))
    }

    fn record_passes(&mut self, recorder: &Recorder) -> Result<(), Error> {
        let mut layers = self.layout.layers().len();
        if is_small_last_layer(self.layout.layers()) {
            layers -= 1;
            self.forward(recorder, layers)?;
            self.last_layer(recorder)?;
        } else {
            self.forward(recorder, layers)?;
            self.output(recorder)?;
        }
        (1..layers).rev().try_for_each(|index| self.backward(recorder, index))
    }

    fn step(&mut self, recorder: &Recorder, rule: Rule) -> Result<(), Error> {
        self.record_passes(recorder)?;
        for index in 0..self.layout.layers().len() {
            self.update(recorder, index, rule)?;
        }
        self.next_step(recorder)
    }

    /// Computes the activations of the first `count` layers.
    fn forward(&mut self, recorder: &Recorder, count: usize) -> Result<(), Error> {
        let batches = self.batches();
        for (index, layer) in self.layout.layers()[..count].iter().enumerate() {
            let for_tensor_cores = self.for_tensor_cores(index);
            let (before, after) = self.scratch.activations.split_at_mut(index);
            let (inputs, order) = inputs_of((self.samples, self.order), before, self.kernels);
            if let Some((inputs, scale)) = for_tensor_cores {
                let config = forward_by_tensor_cores(self.batch_size, layer);
                let (state, parameters, shape) = (&*self.state, &*self.parameters, layer.shape());
                let arguments =
                    (inputs, scale, order, state, parameters, &mut after[0], shape, batches, layer.activation);
                recorder.launch(&network::network_forward_bytes_tensor, config, arguments)?;
                continue;
            }
            launch_tiles!(
                recorder,
                inputs,
                TileGrid::of(self.batch_size, layer.units),
                [network_forward_16, network_forward_64, network_forward_bytes_16, network_forward_bytes_64],
                (order, &*self.state, &*self.parameters, &mut after[0], layer.shape(), batches, layer.activation)
            );
        }
        Ok(())
    }

    fn output(&mut self, recorder: &Recorder) -> Result<(), Error> {
        let (layer, batches, index) = (self.output_layer(), self.batches(), self.layout.layers().len() - 1);
        let arguments = (
            self.samples.targets(),
            self.order,
            &*self.state,
            &mut self.scratch.activations[index],
            &mut self.scratch.errors[index],
            &mut *self.losses,
            layer,
            batches,
        );
        let config = LaunchConfig::new(self.batch_size.div_ceil(ROWS_PER_BLOCK), THREADS);
        recorder.launch(&network::network_output, config, arguments)?;
        Ok(())
    }

    /// Runs both passes through the last layer at once, after the activations of the layer below.
    /// Computes the deltas of both layers.
    fn last_layer(&mut self, recorder: &Recorder) -> Result<(), Error> {
        let (output, batches, index) = (self.output_layer(), self.batches(), self.layout.layers().len() - 1);
        let (below, layer) = (self.layout.layers()[index - 1], self.layout.layers()[index]);
        let (errors_below, errors) = self.scratch.errors.split_at_mut(index);
        let arguments = (
            self.samples.targets(),
            self.order,
            &*self.state,
            &*self.parameters,
            &self.scratch.activations[index - 1],
            &mut errors[0],
            &mut errors_below[index - 1],
            &mut *self.losses,
            layer.shape(),
            output,
            batches,
            below.activation,
        );
        let config = LaunchConfig::new(self.batch_size.div_ceil(ROWS_PER_BLOCK), LAST_THREADS);
        recorder.launch(&network::network_last_layer, config, arguments)?;
        Ok(())
    }

    /// Computes the deltas of layer `index` − 1 from the deltas of layer `index`.
    fn backward(&mut self, recorder: &Recorder, index: usize) -> Result<(), Error> {
        let (below, layer) = (self.layout.layers()[index - 1], self.layout.layers()[index]);
        let batches = self.batches();
        let (errors_below, errors) = self.scratch.errors.split_at_mut(index);
        let arguments = (
            &errors[0],
            &self.kernels.no_order,
            &*self.state,
            &*self.parameters,
            &self.scratch.activations[index - 1],
            &mut errors_below[index - 1],
            layer.shape(),
            batches,
            below.activation,
        );
        match TileGrid::of(self.batch_size, layer.features) {
            TileGrid::Small(config) => recorder.launch(&network::network_backward_16, config, arguments)?,
            TileGrid::Large(config) => recorder.launch(&network::network_backward_64, config, arguments)?,
        };
        Ok(())
    }

    fn update(&mut self, recorder: &Recorder, index: usize, rule: Rule) -> Result<(), Error> {
        let layer = self.layout.layers()[index];
        if self.for_tensor_cores(index).is_some() || self.parts(index) > 1 || rule.by_adam(index).is_some() {
            self.record_gradient(recorder, index)?;
            return self.update_from(recorder, index, None, rule);
        }
        let (shape, batches, rule) = (layer.shape(), self.batches(), rule.of_layer(index));
        let before = &self.scratch.activations[..index];
        let (inputs, order) = inputs_of((self.samples, self.order), before, self.kernels);
        let (errors, state) = (&self.scratch.errors[index], &*self.state);
        launch_tiles!(
            recorder,
            inputs,
            TileGrid::of(shape.features + 1, shape.units),
            [network_update_16, network_update_64, network_update_bytes_16, network_update_bytes_64],
            (order, state, errors, &mut *self.parameters, &mut *self.velocities, shape, batches, rule)
        );
        Ok(())
    }

    /// Computes the gradients of layer `index`, in [parts](Self::parts) of the batch.
    fn record_gradient(&mut self, recorder: &Recorder, index: usize) -> Result<(), Error> {
        let (shape, batches) = (self.layout.layers()[index].shape(), self.batches());
        let (for_tensor_cores, parts) = (self.for_tensor_cores(index), self.parts(index));
        let before = &self.scratch.activations[..index];
        let (inputs, order) = inputs_of((self.samples, self.order), before, self.kernels);
        let (errors, state) = (&self.scratch.errors[index], &*self.state);
        if let Some((inputs, scale)) = for_tensor_cores {
            let config = gradient_by_tensor_cores(&self.layout.layers()[index]);
            let arguments = (inputs, scale, order, state, errors, &mut self.scratch.parts, shape, batches);
            recorder.launch(&network::network_gradient_bytes_tensor, config, arguments)?;
            return Ok(());
        }
        launch_tiles!(
            recorder,
            inputs,
            TileGrid::of(shape.features + 1, shape.units).in_parts(parts),
            [network_gradient_16, network_gradient_64, network_gradient_bytes_16, network_gradient_bytes_64],
            (order, state, errors, &mut self.scratch.parts, shape, batches)
        );
        Ok(())
    }

    /// Updates layer `index` with the given gradients, or with the parts computed by
    /// [`Self::record_gradient`].
    fn update_from(
        &mut self,
        recorder: &Recorder,
        index: usize,
        gradients: Option<&Buffer<f32>>,
        rule: Rule,
    ) -> Result<(), Error> {
        let layer = self.layout.layers()[index];
        let (shape, batches) = (layer.shape(), self.batches());
        let parts = if gradients.is_some() { 1 } else { self.parts(index) };
        let gradients = gradients.unwrap_or(&self.scratch.parts);
        let (order, state) = (self.order, &*self.state);
        let (parameters, velocities) = (&mut *self.parameters, &mut *self.velocities);
        let config = LaunchConfig::for_elements(layer.parameters() as usize, THREADS);
        if let Some(rule) = rule.by_adam(index) {
            let (steps, squares) = (self.adam_steps, &mut *self.squares);
            let arguments =
                (gradients, order, state, steps, parameters, velocities, squares, parts, shape, batches, rule);
            recorder.launch(&network::network_update_by_adam, config, arguments)?;
        } else {
            let rule = rule.of_layer(index);
            let arguments = (gradients, order, state, parameters, velocities, parts, shape, batches, rule);
            recorder.launch(&network::network_update_from_parts, config, arguments)?;
        }
        Ok(())
    }

    /// The number of parts that the batch is split into for the gradients of layer `index`.
    fn parts(&self, index: usize) -> u32 {
        let layer = &self.layout.layers()[index];
        match self.for_tensor_cores(index) {
            Some(_) => gradient_by_tensor_cores(layer).grid.y,
            None => parts_of_batch(self.batch_size, layer),
        }
    }

    /// The inputs of layer `index` and their scale, if tensor cores multiply them. This requires a
    /// large batch of samples stored as bytes.
    fn for_tensor_cores(&self, index: usize) -> Option<(&'a Buffer<u8>, ByteScale)> {
        let is_suited = index == 0
            && self.kernels.uses_tensor_cores
            && suits_tensor_cores(self.batch_size, &self.layout.layers()[index]);
        match self.samples.inputs() {
            Inputs::Bytes(bytes, scale) if is_suited => Some((bytes, *scale)),
            _ => None,
        }
    }

    fn next_step(&mut self, recorder: &Recorder) -> Result<(), Error> {
        recorder.launch(&network::network_next_step, LaunchConfig::new(1, 1), (&mut *self.state,))?;
        Ok(())
    }

    fn output_layer(&self) -> OutputLayer {
        let LayerLayout { units, activation, .. } = self.layout.layers()[self.layout.layers().len() - 1];
        OutputLayer { units, activation, loss: loss_code(self.loss) }
    }

    fn batches(&self) -> Batches {
        Batches { size: self.batch_size, samples: self.order.len() as u32 }
    }
}

/// A layer's inputs, in one of the forms that the kernels accept.
#[derive(Clone, Copy)]
enum LayerInputs<'a> {
    Floats(&'a Buffer<f32>),
    Bytes(&'a Buffer<u8>, ByteScale),
}

/// The inputs of the layer after the layers with these activations, and the order of their rows.
/// The order is empty if the rows are in batch order.
fn inputs_of<'a>(
    (samples, order): (&'a SamplesOnDevice, &'a Buffer<u32>),
    before: &'a [Buffer<f32>],
    kernels: &'a StepKernels,
) -> (LayerInputs<'a>, &'a Buffer<u32>) {
    match (before.last(), samples.inputs()) {
        (Some(activations), _) => (LayerInputs::Floats(activations), &kernels.no_order),
        (None, Inputs::Floats(floats)) => (LayerInputs::Floats(floats), order),
        (None, Inputs::Bytes(bytes, scale)) => (LayerInputs::Bytes(bytes, *scale), order),
    }
}
