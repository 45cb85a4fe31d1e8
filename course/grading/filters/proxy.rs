//! The filters' functions, called in the submission's process.

use gpu::Device;
use grader::{Matrix, call, on_gpu, require_kernels, require_writes, value};
use ndarray::Array2;

pub use filters::{EDGES, NEIGHBOURS, SOBEL, verify, verify_edges};

fn both(a: &Array2<f32>, b: &Array2<f32>) -> (Matrix<f32>, Matrix<f32>) {
    (Matrix(a.clone()), Matrix(b.clone()))
}

pub fn correlation_trivial(kernel: &Array2<f32>, image: &Array2<f32>) -> Array2<f32> {
    value(call("correlation_trivial", &both(kernel, image), image.len()).map(|Matrix(result)| result))
}

pub fn correlation_rayon(kernel: &Array2<f32>, image: &Array2<f32>) -> Array2<f32> {
    value(call("correlation_rayon", &both(kernel, image), image.len()).map(|Matrix(result)| result))
}

pub fn sobel_operator(filter: &Array2<f32>, image: &Array2<f32>) -> Array2<f32> {
    value(call("sobel_operator", &both(filter, image), image.len()).map(|Matrix(result)| result))
}

/// The device is the submission's simulator.
pub fn correlation_gpu(_: &Device, kernel: &Array2<f32>, image: &Array2<f32>) -> Result<Array2<f32>, String> {
    let Matrix(result) = on_gpu("correlation_gpu", &both(kernel, image), image.len())?;
    require_writes(&["correlation_kernel"], image.len())?;
    require_kernels(|device| filters::correlation_gpu(device, kernel, image), |result| verify(&result, kernel, image))?;
    Ok(result)
}
