//! Choice of the engine and its device.

use neural_net::device::TrainingDevice;
use neural_net::engine::{Engine, GpuOptions, Parameters};
use neural_net::{Hyperparameters, Samples};

/// An engine, and one line on why it is on its device, if that was not asked for.
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
    let engine = choice.engine(&device, samples, parameters, hyperparameters, &GpuOptions::default());
    let (engine, times) = engine.map_err(|error| with_hint(&error))?;
    Ok((engine.into_dyn(), times.map(|times| times.to_string()).or(device.remark())))
}
