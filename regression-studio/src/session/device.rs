//! Choice of the engine and its device.

use neural_net::device::{ChosenEngine, TrainingDevice};
use neural_net::engine::{Engine, GpuOptions, Parameters};
use neural_net::{Hyperparameters, Samples};

/// An engine on a device.
pub(super) struct OnDevice<'a> {
    pub(super) engine: Box<dyn Engine + 'a>,
    /// The device, never [`TrainingDevice::Auto`].
    pub(super) device: TrainingDevice,
    /// One line on why it is this device, if that was not asked for.
    pub(super) remark: Option<String>,
}

/// An engine on the chosen device.
///
/// # Errors
/// If the device is unavailable; one line with a remedy.
pub(super) fn engine<'a>(
    choice: TrainingDevice,
    samples: &'a Samples,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
) -> Result<OnDevice<'a>, String> {
    let with_hint = |error: &dyn std::fmt::Display| format!("{error}; the device \"cpu\" needs no GPU");
    let opened = choice.open(0).map_err(|error| with_hint(&error))?;
    let engine = choice.engine(&opened, samples, parameters, hyperparameters, &GpuOptions::default());
    let (engine, times) = engine.map_err(|error| with_hint(&error))?;
    let device = match (choice, &engine) {
        (TrainingDevice::Auto, ChosenEngine::Cpu(_)) => TrainingDevice::Cpu,
        (TrainingDevice::Auto, ChosenEngine::Gpu(_)) => TrainingDevice::Cuda,
        _ => choice,
    };
    let remark = times.map(|times| times.to_string()).or(opened.remark());
    Ok(OnDevice { engine: engine.into_dyn(), device, remark })
}
