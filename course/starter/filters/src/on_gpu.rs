use gpu::{Device, Error, LaunchConfig};
use ndarray::{Array2, ArrayRef2};

use crate::correlation_kernel;

/// The correlation on a device: a GPU, or the simulator of one. An error of the simulator is the kernel's bug with its line.
pub fn correlation_gpu(device: &Device, kernel: &ArrayRef2<f32>, image: &ArrayRef2<f32>) -> Result<Array2<f32>, Error> {
    let ((kernel_rows, kernel_columns), (rows, columns)) = (kernel.dim(), image.dim());
    if image.is_empty() {
        return Ok(Array2::zeros((rows, columns)));
    }
    // Given: the kernel and the image are copied to the device, in rows.
    let [kernel, image] = [kernel, image].map(|matrix| matrix.iter().copied().collect::<Vec<f32>>());
    let (kernel_on_device, image_on_device) = (device.buffer_from_slice(&kernel)?, device.buffer_from_slice(&image)?);
    let mut out = device.uninitialized(image.len())?;
    // The launch: `LaunchConfig::new(blocks, threads)` with a thread for each pixel, and `device.launch(&correlation_kernel, config,
    // (&kernel_on_device, &image_on_device, &mut out, …))?` with the four sizes as u32.
    // write: the launch in correlation_gpu
    const THREADS: usize = 256;
    let config = LaunchConfig::new(image.len().div_ceil(THREADS) as u32, THREADS as u32);
    let [kernel_rows, kernel_columns, rows_on_device, columns_on_device] =
        [kernel_rows, kernel_columns, rows, columns].map(|size| size as u32);
    let arguments =
        (&kernel_on_device, &image_on_device, &mut out, kernel_rows, kernel_columns, rows_on_device, columns_on_device);
    device.launch(&correlation_kernel, config, arguments)?;
    // end
    let values = out.to_vec()?;
    Ok(Array2::from_shape_vec((rows, columns), values).expect("there is a value for each pixel"))
}
