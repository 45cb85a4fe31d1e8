use gpu::{Device, Error, LaunchConfig};

use crate::{activate_kernel, normalize_kernel, weigh_kernel};

/// All three steps on a device: a GPU, or the simulator of one. The values are copied to the device once, stay there
/// between the steps, and are copied back once.
pub fn activation_gpu(device: &Device, values: &[f32], weights: &[f32]) -> Result<Vec<f32>, Error> {
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let mut x = device.buffer_from_slice(values)?;
    let w = device.buffer_from_slice(weights)?;
    // Three launches with enough threads for all values, such as
    // `device.launch(&weigh_kernel, LaunchConfig::for_elements(values.len(), 256), (&mut x, &w))?`.
    // write: the launches in activation_gpu
    let config = LaunchConfig::for_elements(values.len(), 256);
    device.launch(&normalize_kernel, config, (&mut x,))?;
    device.launch(&weigh_kernel, config, (&mut x, &w))?;
    device.launch(&activate_kernel, config, (&mut x,))?;
    // end
    x.to_vec()
}
