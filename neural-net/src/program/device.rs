//! The device that a network is trained on.

use anyhow::{Context, Result, bail};
use gpu::{Device, DeviceChoice, InterpreterOptions, PtxVariant};
use neural_net::engine::{
    CpuEngine, GpuEngine, GpuEngineError, GpuOptions, GpuPath, Parameters, Ranks, ShardEngine, shard_engine,
};
use neural_net::{Hyperparameters, Samples};

use super::arguments::DeviceArgument;

/// An available device.
pub(super) enum TrainingDevice {
    /// The CPU; with `--device auto`, also the reason why no GPU is used.
    Cpu(Option<String>),
    /// A GPU, the simulator or the interpreter.
    Gpu(Device),
}

/// An engine on one of the devices.
pub(super) enum ChosenEngine<'a> {
    Cpu(Box<CpuEngine<'a>>),
    Gpu(Box<GpuEngine>),
}

impl TrainingDevice {
    /// Opens the requested device; of several GPUs, `rank` modulo their number.
    pub(super) fn open(argument: DeviceArgument, path: GpuPath, rank: usize) -> Result<Self> {
        let device = Self::open_any(argument, rank)?;
        if let Self::Cpu(reason) = &device
            && path == GpuPath::Persistent
        {
            let reason = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
            bail!(
                "--gpu-path persistent needs a GPU, and the device is the CPU{reason}: add --device simulator or --device ptx"
            );
        }
        Ok(device)
    }

    fn open_any(argument: DeviceArgument, rank: usize) -> Result<Self> {
        match argument {
            DeviceArgument::Cpu => Ok(Self::Cpu(None)),
            DeviceArgument::Cuda => {
                Ok(Self::Gpu(Device::open_one(DeviceChoice::Cuda, &kernels_gpu::ptx::NETWORK, rank)?))
            }
            DeviceArgument::Simulator => Ok(Self::Gpu(Device::simulator())),
            DeviceArgument::Ptx => {
                let newest =
                    PtxVariant::newest(&kernels_gpu::ptx::NETWORK).context("there is no PTX of the kernels")?;
                // The tests check for races; here the check would make training several times slower.
                let options = InterpreterOptions { check_races: false, ..InterpreterOptions::default() };
                Ok(Self::Gpu(Device::interpreter(newest, options)?))
            }
            DeviceArgument::Auto => {
                let device = Device::open(DeviceChoice::Auto, &kernels_gpu::ptx::NETWORK)
                    .context("the GPU cannot be used; --device cpu trains without it")?;
                match device.why_not_cuda() {
                    Some(reason) => Ok(Self::Cpu(Some(reason.to_string()))),
                    None => Ok(Self::Gpu(device)),
                }
            }
        }
    }

    /// One line on why CUDA is not used, if `--device auto` chose the CPU.
    pub(super) fn remark(&self) -> Option<String> {
        match self {
            Self::Cpu(reason) => reason.as_ref().map(|reason| format!("CUDA: not used: {reason}")),
            Self::Gpu(_) => None,
        }
    }

    /// An engine that trains the given parameters on the given samples.
    pub(super) fn engine<'a>(
        &self,
        samples: &'a Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
        path: GpuPath,
    ) -> Result<ChosenEngine<'a>> {
        Ok(match self {
            Self::Cpu(_) => ChosenEngine::Cpu(Box::new(CpuEngine::new(samples, parameters, hyperparameters))),
            Self::Gpu(device) => {
                let options = GpuOptions { path, ..GpuOptions::default() };
                let engine = GpuEngine::new(device, samples, parameters, hyperparameters, &options);
                ChosenEngine::Gpu(Box::new(with_way_out(engine)?))
            }
        })
    }

    /// An engine that trains them with other ranks.
    pub(super) fn shard_engine<'a>(
        &self,
        samples: &'a Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
        ranks: Box<dyn Ranks + 'a>,
    ) -> Result<ShardEngine<'a>> {
        match self {
            Self::Cpu(_) => Ok(ShardEngine::new(samples, parameters, hyperparameters, ranks)),
            Self::Gpu(device) => with_way_out(shard_engine(device, samples, parameters, hyperparameters, ranks)),
        }
    }
}

/// Adds to a device's error how to train without it.
fn with_way_out<E>(engine: Result<E, GpuEngineError>) -> Result<E> {
    match engine {
        Err(error @ GpuEngineError::Device(_)) => {
            Err(error).context("the network cannot be trained on the GPU; --device cpu needs none")
        }
        engine => Ok(engine?),
    }
}
