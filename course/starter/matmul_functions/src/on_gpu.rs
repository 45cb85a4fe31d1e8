use gpu::{Device, Error, LaunchConfig};
use ndarray::{Array2, ArrayRef2};

use crate::matmul_kernel;

/// X·Xᵀ on a device: a GPU, or the simulator of one, whose error is the kernel's bug with its line.
pub fn matmul_transpose_gpu(device: &Device, x: &ArrayRef2<f32>) -> Result<Array2<f32>, Error> {
    let (rows, columns) = x.dim();
    if rows == 0 {
        return Ok(Array2::zeros((0, 0)));
    }
    // Given: the matrix is copied to the device, in rows.
    let values: Vec<f32> = x.iter().copied().collect();
    let x_on_device = device.buffer_from_slice(&values)?;
    let mut out = device.uninitialized(rows * rows)?;
    // The launch of one block of 1024 threads: `LaunchConfig::new(blocks, threads)`, and
    // `device.launch(&matmul_kernel, config, (&x_on_device, &mut out, rows as u32, columns as u32))?`.
    // write: the launch in matmul_transpose_gpu
    let config = LaunchConfig::new(1, 1024);
    device.launch(&matmul_kernel, config, (&x_on_device, &mut out, rows as u32, columns as u32))?;
    // end
    let values = out.to_vec()?;
    Ok(Array2::from_shape_vec((rows, rows), values).expect("there is a value for each element"))
}
