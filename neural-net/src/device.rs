//! The device for training a network: the CPU, a GPU, or a simulated GPU.

mod step_times;

use std::time::Instant;

use gpu::{Device, DeviceChoice, InterpreterOptions, OpenError, PtxVariant};
use gpu_engine::{EngineDevice, GpuEngineError, GpuOptions, GpuPath};
use perceptron::engine::{CpuEngine, Engine, Parameters};
use perceptron::{Hyperparameters, Samples};
use serde::{Deserialize, Serialize};

pub use self::step_times::StepTimes;
pub use gpu_engine::SharedDevice;

use crate::names::display_and_parse_names;

/// The user's choice. [`gpu::DeviceChoice`] is the choice for kernels: it lacks the CPU, which
/// `auto` chooses here if there is no GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrainingDevice {
    /// CUDA if there is a usable GPU and its training steps are faster, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// CUDA. It is an error if there is no usable GPU.
    Cuda,
    /// A slow simulator of a GPU, which checks the kernels.
    Simulator,
    /// A slow interpreter of the kernels' PTX, which checks the compiled kernels but not races.
    Ptx,
}

display_and_parse_names!(TrainingDevice, "device");

/// An available device. With a [`SharedDevice`], clones refer to the same device, and engines of
/// several threads train on it at once.
#[derive(Clone, Debug)]
pub enum OpenedDevice<D = Device> {
    /// The CPU. If [`TrainingDevice::Auto`] chose it, also the reason why no GPU is used.
    Cpu(Option<String>),
    /// A GPU, the simulator or the interpreter.
    Gpu(D),
}

/// An engine on a device.
#[allow(missing_debug_implementations, reason = "its engine may be any")]
pub struct OnDevice<'a> {
    /// The engine.
    pub engine: Box<dyn Engine + 'a>,
    /// The device, never [`TrainingDevice::Auto`].
    pub device: TrainingDevice,
    /// The times on which [`TrainingDevice::Auto`] based its choice, if it measured any.
    pub times: Option<StepTimes>,
}

impl TrainingDevice {
    /// All values, in declaration order.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Cpu, Self::Cuda, Self::Simulator, Self::Ptx];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Simulator => "simulator",
            Self::Ptx => "ptx",
        }
    }

    /// One line of help for the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::Auto => "CUDA if there is a usable GPU, one process, and a step is faster there; otherwise the CPU",
            Self::Cpu => "The CPU",
            Self::Cuda => "CUDA; an error if there is no usable GPU",
            Self::Simulator => "A slow simulator of a GPU, which checks the kernels",
            Self::Ptx => "A slow interpreter of the kernels' PTX, which checks the compiled kernels, except for races",
        }
    }

    /// Runs `work` while another thread starts the GPU that [`open`](Self::open) may open with the
    /// same index.
    pub fn prepare_beside<R>(self, index: usize, work: impl FnOnce() -> R) -> R {
        std::thread::scope(|scope| {
            if matches!(self, Self::Auto | Self::Cuda) {
                scope.spawn(move || Device::prepare(index));
            }
            work()
        })
    }

    /// Opens the device. With several GPUs, `index` modulo their number selects one.
    ///
    /// # Errors
    /// If a GPU is present but fails, if CUDA is chosen and there is no GPU, or if the interpreter
    /// cannot load the PTX.
    pub fn open(self, index: usize) -> Result<OpenedDevice, OpenError> {
        let device = match self {
            Self::Cpu => return Ok(OpenedDevice::Cpu(None)),
            Self::Cuda => Device::open_one(DeviceChoice::Cuda, &kernels_gpu::ptx::NETWORK, index)?,
            Self::Simulator => Device::simulator(),
            Self::Ptx => {
                let newest = PtxVariant::newest(&kernels_gpu::ptx::NETWORK).ok_or(OpenError::NoPtx)?;
                // The tests check for races. Here, the check would make training several times slower.
                Device::interpreter(newest, InterpreterOptions { check_races: false, ..InterpreterOptions::default() })?
            }
            Self::Auto => {
                let device = Device::open_one(DeviceChoice::Auto, &kernels_gpu::ptx::NETWORK, index)?;
                if let Some(reason) = device.why_not_cuda() {
                    return Ok(OpenedDevice::Cpu(Some(reason.to_string())));
                }
                device
            }
        };
        Ok(OpenedDevice::Gpu(device))
    }

    /// [`open`](Self::open), for engines of several threads.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_shared(self, index: usize) -> Result<OpenedDevice<SharedDevice>, OpenError> {
        let shared = SharedDevice::open(move || match self.open(index) {
            Ok(OpenedDevice::Gpu(device)) => Ok(device),
            Ok(OpenedDevice::Cpu(reason)) => Err(Ok(OpenedDevice::Cpu(reason))),
            Err(error) => Err(Err(error)),
        });
        shared.map_or_else(|other| other, |device| Ok(OpenedDevice::Gpu(device)))
    }

    /// Creates an engine on the device that was opened for this choice, or on the CPU if this is
    /// [`Cpu`](Self::Cpu). With a GPU, [`Auto`](Self::Auto) measures a few steps there and on the CPU
    /// and takes the faster one, unless the options ask for a GPU-only path.
    ///
    /// # Errors
    /// If the network or the samples are too large for the GPU, the options cannot be met, or the device fails.
    pub fn engine<'a, D: EngineDevice>(
        self,
        opened: &OpenedDevice<D>,
        samples: &'a Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
        options: &GpuOptions,
    ) -> Result<OnDevice<'a>, GpuEngineError> {
        let on_cpu = || CpuEngine::new(samples, parameters, hyperparameters);
        let with_cpu = |times| OnDevice { engine: Box::new(on_cpu()), device: Self::Cpu, times };
        let device = match opened {
            OpenedDevice::Gpu(device) if self != Self::Cpu => device,
            _ => return Ok(with_cpu(None)),
        };
        let on_gpu = || device.engine(samples, parameters, hyperparameters, options);
        let of_gpu = if self == Self::Auto { Self::Cuda } else { self };
        let with_gpu = |engine, times| OnDevice { engine: Box::new(engine), device: of_gpu, times };
        let mut gpu = on_gpu()?;
        if self != Self::Auto || !device.is_gpu() || options.path != GpuPath::Auto {
            return Ok(with_gpu(gpu, None));
        }
        let start = Instant::now();
        let (mut cpu, clock) = (on_cpu(), || start.elapsed());
        let times = StepTimes::measure([&mut gpu, &mut cpu], hyperparameters, samples.len(), &clock);
        drop((gpu, cpu));
        match times {
            Ok(times) if !times.is_gpu_faster() => Ok(with_cpu(Some(times))),
            // If the measurement fails, training fails too and reports why.
            times => Ok(with_gpu(on_gpu()?, times.ok())),
        }
    }
}

impl<D> OpenedDevice<D> {
    /// One line that says why CUDA is not used, if [`TrainingDevice::Auto`] chose the CPU.
    pub fn remark(&self) -> Option<String> {
        match self {
            Self::Cpu(reason) => reason.as_ref().map(|reason| format!("CUDA: not used: {reason}")),
            Self::Gpu(_) => None,
        }
    }
}
