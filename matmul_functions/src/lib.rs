//! Homework part 3: X·Xᵀ, the product of a matrix with its own transpose.
//!
//! [`matmul_transpose_trivial`] is the definition as three loops; [`matmul_transpose_rayon`] is what a processor can do.

mod parallel;
mod trivial;
mod verify;

use ndarray::NdFloat;

pub use parallel::matmul_transpose_rayon;
pub use trivial::matmul_transpose_trivial;
pub use verify::Reference;

/// The element types of the product: `f32` and `f64`.
pub trait Element: NdFloat + kernels_cpu::Real {}

impl Element for f32 {}
impl Element for f64 {}
