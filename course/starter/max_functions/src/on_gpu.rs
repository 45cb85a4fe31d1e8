use gpu::{Device, Error, LaunchConfig};
use ndarray::{Array2, ArrayRef2};

use crate::{ShapeMismatch, max_kernel};

/// The errors of [`max_gpu`].
#[derive(Debug, thiserror::Error)]
pub enum MaxGpuError {
    /// The matrices' shapes differ.
    #[error(transparent)]
    Shape(#[from] ShapeMismatch),
    /// The device failed: on the simulator, the kernel's bug with its line.
    #[error(transparent)]
    Device(#[from] Error),
}

/// The element-wise maximum on a device: a GPU, or the simulator of one.
pub fn max_gpu(device: &Device, a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<Array2<i32>, MaxGpuError> {
    ShapeMismatch::check(a.dim(), b.dim())?;
    if a.is_empty() {
        return Ok(Array2::zeros(a.dim()));
    }
    // Given: the matrices are copied to the device, in rows.
    let [a_values, b_values] = [a, b].map(|matrix| matrix.iter().copied().collect::<Vec<i32>>());
    let (a_on_device, b_on_device) = (device.buffer_from_slice(&a_values)?, device.buffer_from_slice(&b_values)?);
    let mut out = device.uninitialized(a.len())?;
    // The launch: `LaunchConfig::new(blocks, threads)`, for 1000 × 1000 elements 1000 blocks of 1000 threads, and
    // `device.launch(&max_kernel, config, (&a_on_device, &b_on_device, &mut out))?`.
    // write: the launch in max_gpu
    const THREADS: usize = 1000;
    let config = LaunchConfig::new(a.len().div_ceil(THREADS) as u32, THREADS as u32);
    device.launch(&max_kernel, config, (&a_on_device, &b_on_device, &mut out))?;
    // end
    let values = out.to_vec()?;
    Ok(Array2::from_shape_vec(a.dim(), values).expect("there is a value for each element"))
}
