//! Homework part 3: X·Xᵀ, the product of a matrix with its own transpose.
//!
//! [`matmul_transpose_trivial`] is the definition as three loops; [`matmul_transpose_rayon`] is what a processor can do;
//! [`matmul_transpose_gpu`] is one block of 1024 threads, on a GPU or, where there is none, in a simulator.

mod on_gpu;
mod parallel;
mod trivial;
mod verify;

use ndarray::NdFloat;

pub use on_gpu::{MatmulGpu, MatmulGpuError, Rung, matmul_transpose_gpu};
pub use parallel::matmul_transpose_rayon;
pub use trivial::matmul_transpose_trivial;
pub use verify::Reference;

/// The element types of the product: `f32` and `f64`.
pub trait Element: NdFloat + kernels_cpu::Real + on_gpu::OnGpu {}

impl Element for f32 {}
impl Element for f64 {}
