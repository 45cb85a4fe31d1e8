//! The filters' functions, for the judge.

use filters::{correlation_gpu, correlation_rayon, correlation_trivial, sobel_operator};
use grader::{COUNTING_ALLOCATOR, CountingAllocator, Functions, Matrix, allocations_of, by_simulator};
use ndarray::Array2;

#[global_allocator]
static ALLOCATOR: &CountingAllocator = &COUNTING_ALLOCATOR;

/// A kernel and an image.
type Both = (Matrix<f32>, Matrix<f32>);

/// The number of allocations of a function.
fn allocations(function: fn(&Array2<f32>, &Array2<f32>) -> Array2<f32>, (kernel, image): Both) -> Result<u64, String> {
    Ok(allocations_of(|| function(&kernel.0, &image.0)).1)
}

fn main() -> std::io::Result<()> {
    Functions::default()
        .with("correlation_trivial", |(kernel, image): Both| Ok(Matrix(correlation_trivial(&kernel.0, &image.0))))
        .with("correlation_rayon", |(kernel, image): Both| Ok(Matrix(correlation_rayon(&kernel.0, &image.0))))
        .with("sobel_operator", |(filter, image): Both| Ok(Matrix(sobel_operator(&filter.0, &image.0))))
        .with("correlation_gpu", |(kernel, image): Both| {
            by_simulator(|device| {
                correlation_gpu(device, &kernel.0, &image.0).map(Matrix).map_err(|error| error.to_string())
            })
        })
        .with("allocations of correlation_trivial", |both: Both| {
            allocations(|kernel, image| correlation_trivial(kernel, image), both)
        })
        .with("allocations of correlation_rayon", |both: Both| {
            allocations(|kernel, image| correlation_rayon(kernel, image), both)
        })
        .with("allocations of sobel_operator", |both: Both| {
            allocations(|filter, image| sobel_operator(filter, image), both)
        })
        .serve()
}
