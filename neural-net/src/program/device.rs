//! The engine on the device that the user chooses.

use anyhow::{Context, Result, bail};
use neural_net::device::{OpenedDevice, TrainingDevice};
use neural_net::engine::{GpuEngineError, GpuPath, Parameters, Ranks, ShardEngine};
use neural_net::{Hyperparameters, Samples};

/// Opens the requested device. With several GPUs, `rank` modulo their number selects one.
pub(super) fn open(choice: TrainingDevice, path: GpuPath, rank: usize) -> Result<OpenedDevice> {
    let device = choice.open(rank);
    let device = match choice {
        TrainingDevice::Auto => device.context("the GPU cannot be used; --device cpu trains without it")?,
        _ => device?,
    };
    if let OpenedDevice::Cpu(reason) = &device
        && path == GpuPath::Persistent
    {
        let reason = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        bail!(
            "--gpu-path persistent needs a GPU, and the device is the CPU{reason}: add --device simulator or --device ptx"
        );
    }
    Ok(device)
}

/// An engine that trains the given parameters on the given samples together with other ranks.
pub(super) fn shard_engine<'a>(
    device: &OpenedDevice,
    samples: &'a Samples,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
    ranks: Box<dyn Ranks + 'a>,
) -> Result<ShardEngine<'a>> {
    match device {
        OpenedDevice::Cpu(_) => Ok(ShardEngine::new(samples, parameters, hyperparameters, ranks)),
        OpenedDevice::Gpu(device) => {
            with_way_out(neural_net::engine::shard_engine(device, samples, parameters, hyperparameters, ranks))
        }
    }
}

/// Returns the engine, or its device's error with advice on how to train without it.
pub(super) fn with_way_out<E>(engine: Result<E, GpuEngineError>) -> Result<E> {
    match engine {
        Err(error @ GpuEngineError::Device(_)) => {
            Err(error).context("the network cannot be trained on the GPU; --device cpu needs none")
        }
        engine => Ok(engine?),
    }
}
