//! Choice of the engine and its device.

use gpu::Device;
use neural_net::engine::{CpuEngine, Engine, GpuEngine, GpuOptions, Parameters};
use neural_net::{Hyperparameters, Samples};

use crate::settings::DeviceSetting;

/// An engine, and one line on why CUDA is not used, if any.
pub(super) type EngineAndRemark<'a> = (Box<dyn Engine + 'a>, Option<String>);

/// An engine on the chosen device.
///
/// # Errors
/// If the device is unavailable; one line with a remedy.
pub(super) fn engine<'a>(
    choice: DeviceSetting,
    samples: &'a Samples,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
) -> Result<EngineAndRemark<'a>, String> {
    let on_cpu = |remark| {
        let engine: Box<dyn Engine> = Box::new(CpuEngine::new(samples, parameters, hyperparameters));
        Ok((engine, remark))
    };
    let with_hint = |error: &dyn std::fmt::Display| format!("{error}; the device \"cpu\" needs no GPU");
    let device = match choice {
        DeviceSetting::Cpu => return on_cpu(None),
        DeviceSetting::Simulator => Device::simulator(),
        DeviceSetting::Cuda => {
            Device::open(gpu::DeviceChoice::Cuda, &kernels_gpu::ptx::NETWORK).map_err(|error| with_hint(&error))?
        }
        DeviceSetting::Auto => {
            let device =
                Device::open(gpu::DeviceChoice::Auto, &kernels_gpu::ptx::NETWORK).map_err(|error| with_hint(&error))?;
            match device.why_not_cuda() {
                Some(reason) => return on_cpu(Some(format!("CUDA: not used: {reason}"))),
                None => device,
            }
        }
    };
    let engine = GpuEngine::new(&device, samples, parameters, hyperparameters, &GpuOptions::default());
    Ok((Box::new(engine.map_err(|error| with_hint(&error))?), None))
}
