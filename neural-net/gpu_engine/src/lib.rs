//! A multilayer perceptron's engine on a GPU, or in the simulator of one.
//!
//! It is a crate of its own, so that the mathematics depends on no device, and this crate's host code, which waits for the
//! device, is compiled fast rather than optimised.
//!
//! The samples, the parameters and all intermediate results stay in device memory. An epoch copies the sample
//! permutation to the device, and the steps' losses back.

mod at_once;
mod gradients;
mod layout;
mod options;
mod pace;
mod persistent;
mod samples;
mod shared;
mod steps;

use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Instant;

use gpu::{Buffer, Device, Element, Error};
use kernels_gpu::network::ROWS_PER_BLOCK;
use ndarray::Array2;

pub use self::gradients::shard_engine;
use self::layout::Layout;
pub use self::options::{GpuEngineError, GpuOptions, GpuPath, NotPersistent};
use self::pace::Pace;
pub use self::persistent::TrainingKernel;
use self::persistent::{Persistent, PersistentRun};
use self::samples::SamplesOnDevice;
pub use self::shared::{MemberEngine, SharedDevice};
use self::steps::{Rule, StepBuffers, StepKernels, StepRun};
use perceptron::engine::{DeviceError, Diverged, Engine, EngineError, Evaluation, LayerArrays, Parameters};
use perceptron::training::{CorrectedStep, Optimizer};
use perceptron::{Hyperparameters, Network, Samples};

/// Maximum batch size of an evaluation: enough to occupy a large GPU.
const EVALUATED_AT_ONCE: usize = 4096;
/// Maximum number of values in all layers that a prediction has in device memory: 256 MiB. Fewer chunks need fewer copies to the host.
const PREDICTED_VALUES: usize = 1 << 26;

/// Trains on a GPU, in single precision.
///
/// The same input gives the same bits on the same device: the order of every sum depends on the sizes only.
///
/// Steps are submitted to the device in groups of a few tenths of a second, up to a whole epoch. Their losses are
/// copied back after each group; only there does [`Engine::train`] call `observe`, and stop.
#[derive(Debug)]
pub struct GpuEngine {
    device: Device,
    hyperparameters: Hyperparameters,
    /// Number of steps in the epochs before this one.
    steps_before: usize,
    layout: Layout,
    kernels: StepKernels,
    /// The persistent kernel's launch, if it is used.
    persistent: Option<Persistent>,
    parameters: Buffer<f32>,
    /// Empty without momentum; with Adam, the mean gradients.
    velocities: Buffer<f32>,
    /// With Adam, the mean squared gradients; else empty.
    squares: Buffer<f32>,
    /// With Adam, what each step of the epoch makes of the bias correction; else empty.
    adam_steps: Buffer<f32>,
    /// Shared by engines of a [`SharedDevice`].
    samples: Rc<SamplesOnDevice>,
    /// The samples of the last evaluation, kept because the next one usually has the same.
    evaluated: Option<SamplesOnDevice>,
    order: Buffer<u32>,
    state: Buffer<u32>,
    losses: Buffer<f32>,
    /// For training steps, of the batch size.
    scratch: StepBuffers,
    /// For evaluations, created at the first one.
    evaluation_scratch: Option<StepBuffers>,
    pace: Pace,
}

impl GpuEngine {
    /// An engine that trains the given parameters on the given samples, on `device`.
    ///
    /// # Errors
    /// If the network or the samples are too large for the kernels or the device's memory, if `options` cannot be met,
    /// or the device fails.
    ///
    /// # Panics
    /// If the samples do not have the network's numbers of inputs and outputs.
    pub fn new(
        device: &Device,
        samples: &Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
        options: &GpuOptions,
    ) -> Result<Self, GpuEngineError> {
        Self::beside(std::iter::empty(), device, samples, parameters, hyperparameters, options)
    }

    /// As [`new`](Self::new). If one of `others`, on the same device, trains on the same samples in the same form, both share one copy of them
    /// there.
    fn beside<'o>(
        mut others: impl Iterator<Item = &'o Self>,
        device: &Device,
        samples: &Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
        options: &GpuOptions,
    ) -> Result<Self, GpuEngineError> {
        let architecture = parameters.network.architecture();
        assert_eq!(samples.inputs().ncols(), architecture.inputs(), "samples and network differ in inputs");
        assert_eq!(samples.targets().ncols(), architecture.outputs(), "samples and network differ in outputs");
        let layout = Layout::new(architecture)?;
        let batch_size = hyperparameters.batch_size.unwrap_or(samples.len()).clamp(1, samples.len().max(1));
        layout.require_batch(batch_size, samples.len())?;

        let device = device.clone();
        let is_adam = hyperparameters.optimizer == Optimizer::Adam;
        let has_momentum = is_adam || parameters.velocities.is_some() || hyperparameters.momentum != 0.0;
        let persistent =
            || Persistent::new(&device, samples, &layout, batch_size, hyperparameters, has_momentum, options);
        let persistent = match options.path {
            GpuPath::Steps => None,
            GpuPath::Persistent => Some(persistent()?),
            GpuPath::Auto => match persistent() {
                Ok(persistent) => Some(persistent).filter(Persistent::is_worth_it),
                Err(GpuEngineError::NotPersistent(_)) => None,
                Err(error) => return Err(error),
            },
        };
        let scratch_rows = if persistent.is_some() { 0 } else { batch_size };
        let as_floats = persistent.as_ref().is_some_and(Persistent::reads_floats);
        let packed = |of_layers: &Option<LayerArrays>, is_needed: bool| match of_layers {
            Some(of_layers) if is_needed => layout.pack(of_layers.iter().map(|(weights, biases)| (weights, biases))),
            None if is_needed => vec![0.0; layout.parameters()],
            _ => vec![],
        };
        let velocities = packed(&parameters.velocities, has_momentum);
        let squares = packed(&parameters.squares, is_adam);
        let network = &parameters.network;
        let for_network = GpuEngineError::allocating("the network", "smaller --layers");
        let for_samples = GpuEngineError::allocating("the training images", "fewer --train-images");
        let for_batch = GpuEngineError::allocating("a batch's activations and errors", "a smaller --batch-size");
        let parameters = layout.pack(network.weights().iter().zip(network.biases()));
        Ok(Self {
            kernels: StepKernels::new(&device, &layout)?,
            persistent,
            parameters: device.buffer_from_slice(&parameters).map_err(&for_network)?,
            velocities: device.buffer_from_slice(&velocities).map_err(&for_network)?,
            squares: device.buffer_from_slice(&squares).map_err(&for_network)?,
            adam_steps: device.uninitialized(0)?,
            samples: match others.find(|other| other.samples.can_be(samples, as_floats)) {
                Some(other) => Rc::clone(&other.samples),
                None => Rc::new(SamplesOnDevice::new(&device, samples, as_floats).map_err(for_samples)?),
            },
            evaluated: None,
            order: device.uninitialized(0)?,
            state: device.zeroed(1).map_err(&for_network)?,
            losses: device.uninitialized(0)?,
            scratch: StepBuffers::for_training(&device, &layout, scratch_rows, is_adam).map_err(for_batch)?,
            evaluation_scratch: None,
            pace: Pace::default(),
            hyperparameters: hyperparameters.clone(),
            steps_before: 0,
            layout,
            device,
        })
    }

    /// The kernel that trains many steps in one launch, and the number of its blocks; None if there are launches for each
    /// step.
    pub fn training_kernel(&self) -> Option<(TrainingKernel, u32)> {
        self.persistent.as_ref().map(Persistent::kernel)
    }

    /// The batch size for `samples` samples.
    fn batch_size(&self, samples: usize) -> usize {
        self.hyperparameters.batch_size.unwrap_or(samples).clamp(1, samples.max(1))
    }

    fn is_adam(&self) -> bool {
        self.hyperparameters.optimizer == Optimizer::Adam
    }

    /// The persistent kernel's launch, if it is used for batches of this size.
    fn persistent_for(&self, batch_size: usize) -> Option<&Persistent> {
        self.persistent.as_ref().filter(|persistent| batch_size <= persistent.rows())
    }

    /// Number of partial sums of a step's loss.
    fn parts_of_loss(&self, batch_size: usize) -> usize {
        if self.persistent_for(batch_size).is_some() { 1 } else { parts_of_step(batch_size) }
    }

    /// Copies what an epoch of `steps` steps needs to the device.
    fn begin(&mut self, order: &[u32], steps: usize, batch_size: usize) -> Result<(), Error> {
        fill(&self.device, &mut self.order, order)?;
        if self.persistent_for(batch_size).is_none() && batch_size > self.scratch.rows() {
            self.scratch = StepBuffers::for_training(&self.device, &self.layout, batch_size, self.is_adam())?;
        }
        if self.is_adam() {
            let corrected = (0..steps).map(|step| CorrectedStep::new(&self.hyperparameters, self.steps_before + step));
            let values: Vec<f32> = corrected.flat_map(|step| [step.rate as f32, step.root as f32]).collect();
            fill(&self.device, &mut self.adam_steps, &values)?;
        }
        let losses = steps * self.parts_of_loss(batch_size);
        if self.losses.len() != losses {
            self.losses = self.device.uninitialized(losses)?;
        }
        Ok(())
    }

    /// Passes the losses of the steps from `first` on to `observe`; returns its last answer.
    fn report(
        first: usize,
        losses: Vec<f64>,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Diverged> {
        let mut flow = ControlFlow::Continue(());
        for (step, loss) in (first..).zip(losses) {
            if !loss.is_finite() {
                return Err(Diverged { step });
            }
            flow = observe(step, loss);
        }
        Ok(flow)
    }

    /// Trains `steps` steps from `first_step` on; returns the summed loss of each.
    fn train_group(&mut self, first_step: usize, steps: usize, batch_size: usize) -> Result<Vec<f64>, Error> {
        match self.persistent_run(batch_size) {
            (Some(persistent), run, rule) => persistent.train(run, (first_step, steps), rule)?,
            (None, ..) => {
                let rule = Rule::new(&self.hyperparameters);
                self.state.copy_from(&[first_step as u32])?;
                let mut run = StepRun {
                    device: &self.device,
                    kernels: &self.kernels,
                    layout: &self.layout,
                    samples: &self.samples,
                    order: &self.order,
                    parameters: &mut self.parameters,
                    velocities: &mut self.velocities,
                    squares: &mut self.squares,
                    adam_steps: &self.adam_steps,
                    state: &mut self.state,
                    losses: &mut self.losses,
                    scratch: &mut self.scratch,
                    batch_size: batch_size as u32,
                    loss: self.hyperparameters.loss,
                };
                run.train(steps, rule)?;
            }
        }
        self.losses_of(first_step, steps, batch_size)
    }

    /// The persistent kernel's launch, if it is used for batches of this size, the data that it reads and writes, and the rule of a step.
    fn persistent_run(&mut self, batch_size: usize) -> (Option<&mut Persistent>, PersistentRun<'_>, Rule<'_>) {
        let run = PersistentRun {
            device: &self.device,
            samples: &self.samples,
            order: &self.order,
            parameters: &mut self.parameters,
            velocities: &mut self.velocities,
            squares: &mut self.squares,
            adam_steps: &self.adam_steps,
            losses: &mut self.losses,
            batch_size: batch_size as u32,
            loss: self.hyperparameters.loss,
        };
        let persistent = self.persistent.as_mut().filter(|persistent| batch_size <= persistent.rows());
        (persistent, run, Rule::new(&self.hyperparameters))
    }

    /// The summed loss of each of `steps` steps from `first_step` on, which have been trained. Waits for them.
    fn losses_of(&self, first_step: usize, steps: usize, batch_size: usize) -> Result<Vec<f64>, Error> {
        let parts = self.parts_of_loss(batch_size);
        let losses = self.losses.to_vec_at(first_step * parts..(first_step + steps) * parts)?;
        Ok(losses.chunks_exact(parts).map(|parts| parts.iter().map(|&part| f64::from(part)).sum()).collect())
    }

    /// Evaluates samples in device memory, `at_once` in a chunk; None for the training samples. The outputs are copied to `outputs`, if it is
    /// given.
    fn evaluate_on_device(
        &mut self,
        samples: Option<&SamplesOnDevice>,
        at_once: usize,
        outputs: Option<&mut Vec<f32>>,
    ) -> Result<Evaluation, Error> {
        let samples = samples.unwrap_or(&self.samples);
        let count = samples.len();
        let at_once = at_once.min(count).max(1);
        if self.evaluation_scratch.as_ref().is_none_or(|scratch| scratch.rows() < at_once) {
            self.evaluation_scratch = None;
            self.evaluation_scratch = Some(StepBuffers::for_evaluation(&self.device, &self.layout, at_once)?);
        }
        let Some(scratch) = &mut self.evaluation_scratch else { unreachable!("it was made above") };
        let chunks = count.div_ceil(at_once);
        let mut losses = self.device.uninitialized(chunks * parts_of_step(at_once))?;
        let mut correct = self.device.uninitialized(chunks * parts_of_step(at_once))?;
        self.state.copy_from(&[0])?;
        let mut run = StepRun {
            device: &self.device,
            kernels: &self.kernels,
            layout: &self.layout,
            samples,
            order: samples.in_order(),
            parameters: &mut self.parameters,
            velocities: &mut self.velocities,
            squares: &mut self.squares,
            adam_steps: &self.adam_steps,
            state: &mut self.state,
            losses: &mut losses,
            scratch,
            batch_size: at_once as u32,
            loss: self.hyperparameters.loss,
        };
        match outputs {
            None => run.evaluate(chunks, &mut correct)?,
            Some(outputs) => {
                for chunk in 0..chunks {
                    run.evaluate(1, &mut correct)?;
                    outputs.extend(run.outputs(at_once.min(count - chunk * at_once))?);
                }
            }
        }
        let sum = |parts: Vec<f32>| -> f64 { parts.into_iter().map(f64::from).sum() };
        let loss = sum(losses.to_vec()?) / count.max(1) as f64;
        Ok(Evaluation { loss, correct: sum(correct.to_vec()?) as usize, count })
    }

    /// Calls `work` with the samples on the device. The copy of the last call is used again if it holds the same samples.
    fn with_copy_of<R>(
        &mut self,
        samples: &Samples,
        work: impl FnOnce(&mut Self, &SamplesOnDevice) -> Result<R, Error>,
    ) -> Result<R, DeviceError> {
        let evaluated = match self.evaluated.take() {
            Some(evaluated) if evaluated.is_copy_of(samples) => evaluated,
            // Dropped first, because the device may not have memory for both.
            other => {
                drop(other);
                SamplesOnDevice::new(&self.device, samples, false).map_err(device_error)?
            }
        };
        let result = work(self, &evaluated).map_err(device_error)?;
        self.evaluated = Some(evaluated);
        Ok(result)
    }

    fn predict_on_device(&mut self, samples: &SamplesOnDevice) -> Result<Array2<f32>, Error> {
        let architecture = self.layout.architecture();
        let (of_sample, outputs) = (architecture.sizes().iter().sum::<usize>(), architecture.outputs());
        let mut values = Vec::with_capacity(samples.len() * outputs);
        self.evaluate_on_device(Some(samples), PREDICTED_VALUES / of_sample, Some(&mut values))?;
        Ok(Array2::from_shape_vec((samples.len(), outputs), values).expect("each sample has its outputs"))
    }

    fn read_parameters(&self) -> Result<Parameters, Error> {
        let (weights, biases) = self.layout.unpack(&self.parameters.to_vec()?).into_iter().unzip();
        let network = Network::new(self.layout.architecture().clone(), weights, biases);
        let network = network.expect("the engine keeps every shape");
        let state = |buffer: &Buffer<f32>| match buffer.is_empty() {
            true => Ok(None),
            false => buffer.to_vec().map(|values| Some(self.layout.unpack(&values))),
        };
        Ok(Parameters { network, velocities: state(&self.velocities)?, squares: state(&self.squares)? })
    }
}

/// A device that engines are made on.
pub trait EngineDevice {
    /// The engines.
    type Engine: Engine + 'static;

    /// Whether it is a GPU, not a model of one.
    fn is_gpu(&self) -> bool;

    /// An engine that trains the given parameters on the given samples.
    ///
    /// # Errors
    /// The errors of [`GpuEngine::new`].
    ///
    /// # Panics
    /// As [`GpuEngine::new`].
    fn engine(
        &self,
        samples: &Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
        options: &GpuOptions,
    ) -> Result<Self::Engine, GpuEngineError>;
}

impl EngineDevice for Device {
    type Engine = GpuEngine;

    fn is_gpu(&self) -> bool {
        self.is_gpu()
    }

    fn engine(
        &self,
        samples: &Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
        options: &GpuOptions,
    ) -> Result<GpuEngine, GpuEngineError> {
        GpuEngine::new(self, samples, parameters, hyperparameters, options)
    }
}

fn device_error(error: Error) -> DeviceError {
    let is_out_of_memory = matches!(error, Error::OutOfMemory { .. });
    DeviceError::new(error, is_out_of_memory)
}

/// Copies values to a buffer, or to a new one if their number has changed.
fn fill<T: Element>(device: &Device, buffer: &mut Buffer<T>, values: &[T]) -> Result<(), Error> {
    match buffer.len() == values.len() {
        true => buffer.copy_from(values)?,
        false => *buffer = device.buffer_from_slice(values)?,
    }
    Ok(())
}

/// Number of partial sums of a batch's loss if it has launches for each step: one per block.
fn parts_of_step(batch_size: usize) -> usize {
    batch_size.div_ceil(ROWS_PER_BLOCK as usize)
}

impl Engine for GpuEngine {
    fn device(&self) -> String {
        let path = match self.training_kernel() {
            Some((kernel, _)) => format!("one launch for many steps, {}", kernel.name()),
            None => "launches for each step".to_owned(),
        };
        match (self.device.is_gpu(), self.device.is_simulator()) {
            (true, _) => format!("CUDA, {}, {path}", self.device.name()),
            (false, true) => format!("GPU simulator, {path}"),
            (false, false) => format!("{}, {path}", self.device.name()),
        }
    }

    fn start_epoch(&mut self, learning_rate: f64, steps_before: usize) {
        self.hyperparameters.learning_rate = learning_rate;
        self.steps_before = steps_before;
    }

    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        let batch_size = self.batch_size(order.len());
        let steps = order.len().div_ceil(batch_size);
        if first_step >= steps {
            return Ok(());
        }
        self.begin(order, steps, batch_size).map_err(device_error)?;
        let mut first = first_step;
        while first < steps {
            let count = self.pace.steps().min(steps - first);
            let start = Instant::now();
            let losses = self.train_group(first, count, batch_size).map_err(device_error)?;
            self.pace.record(count, start.elapsed());
            let flow = Self::report(first, losses, observe)?;
            if flow.is_break() {
                break;
            }
            first += count;
        }
        Ok(())
    }

    fn evaluate(&mut self, samples: &Samples) -> Result<Evaluation, DeviceError> {
        self.with_copy_of(samples, |engine, samples| engine.evaluate_on_device(Some(samples), EVALUATED_AT_ONCE, None))
    }

    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError> {
        self.evaluate_on_device(None, EVALUATED_AT_ONCE, None).map_err(device_error)
    }

    fn predict(&mut self, samples: &Samples) -> Result<Array2<f32>, DeviceError> {
        self.with_copy_of(samples, Self::predict_on_device)
    }

    fn parameters(&self) -> Result<Parameters, DeviceError> {
        self.read_parameters().map_err(device_error)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Array2};
    use perceptron::preset::Preset;
    use perceptron::{Activation, Architecture};

    use super::*;

    /// A prediction of more values than the device may have at once.
    #[test]
    fn part1_outputs_are_the_same_in_chunks() {
        let device = Device::simulator();
        let of_sizes =
            |rows, columns| Array2::from_shape_fn((rows, columns), |(i, j)| (i * 7 + j * 3) as f32 % 5.0 - 2.0);
        let samples = Samples::new(of_sizes(20, 3), of_sizes(20, 2)).unwrap();
        let architecture = Architecture::new(vec![3, 4, 2], Activation::Tanh, Activation::Identity).unwrap();
        let weights = vec![of_sizes(3, 4), of_sizes(4, 2)];
        let network = Network::new(architecture, weights, vec![Array1::zeros(4), Array1::ones(2)]).unwrap();
        let (parameters, hyperparameters) = (Parameters::new(network), Preset::Homework.hyperparameters());
        let mut engine =
            GpuEngine::new(&device, &samples, &parameters, &hyperparameters, &GpuOptions::default()).unwrap();
        let mut outputs = |at_once| {
            let mut outputs = Vec::new();
            engine.evaluate_on_device(None, at_once, Some(&mut outputs)).unwrap();
            outputs
        };
        let at_once = outputs(20);
        assert_eq!(at_once.len(), 40);
        for chunk in [1, 7, 10, 19] {
            assert_eq!(outputs(chunk), at_once, "in chunks of {chunk}");
        }
    }
}
