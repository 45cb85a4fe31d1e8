//! Choice of the engine and its device.

use neural_net::device::{OpenedDevice, TrainingDevice};
use neural_net::engine::{CpuEngine, Engine, GpuEngine, GpuOptions, Parameters};
use neural_net::{Hyperparameters, Samples};

/// An engine, and one line on why CUDA is not used, if any.
pub(super) type EngineAndRemark<'a> = (Box<dyn Engine + 'a>, Option<String>);

/// An engine on the chosen device.
///
/// # Errors
/// If the device is unavailable; one line with a remedy.
pub(super) fn engine<'a>(
    choice: TrainingDevice,
    samples: &'a Samples,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
) -> Result<EngineAndRemark<'a>, String> {
    let with_hint = |error: &dyn std::fmt::Display| format!("{error}; the device \"cpu\" needs no GPU");
    let device = choice.open(0).map_err(|error| with_hint(&error))?;
    let engine: Box<dyn Engine> = match &device {
        OpenedDevice::Cpu(_) => Box::new(CpuEngine::new(samples, parameters, hyperparameters)),
        OpenedDevice::Gpu(device) => {
            let engine = GpuEngine::new(device, samples, parameters, hyperparameters, &GpuOptions::default());
            Box::new(engine.map_err(|error| with_hint(&error))?)
        }
    };
    Ok((engine, device.remark()))
}
