//! The activation's functions, called in the submission's process.

use gpu::Device;
use grader::{call, on_gpu, require_kernels, require_writes, value};

pub use activation_functions::verify;

pub fn normalize(values: &[f32]) -> Vec<f32> {
    value(call("normalize", &values, values.len()))
}

pub fn weigh(values: &[f32], weights: &[f32]) -> Vec<f32> {
    value(call("weigh", &(values, weights), values.len()))
}

pub fn activate(values: &[f32]) -> Vec<f32> {
    value(call("activate", &values, values.len()))
}

/// The device is the submission's simulator.
pub fn activation_gpu(_: &Device, values: &[f32], weights: &[f32]) -> Result<Vec<f32>, String> {
    let results = on_gpu("activation_gpu", &(values, weights), values.len())?;
    require_writes(&["normalize_kernel", "weigh_kernel", "activate_kernel"], values.len())?;
    require_kernels(
        |device| activation_functions::activation_gpu(device, values, weights),
        |own| verify(&own, values, weights),
    )?;
    Ok(results)
}
