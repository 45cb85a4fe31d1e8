//! Homework part 3: X·Xᵀ, the product of a matrix with its own transpose.
//!
//! [`matmul_transpose_trivial`] is the definition, written as three loops.
//! [`matmul_transpose_rayon`] is blocked, vectorized and parallel. [`matmul_transpose_gpu`] uses
//! one block of 1024 threads, on a GPU or, without one, on a simulator.

mod on_gpu;
mod parallel;
mod trivial;
mod verify;

use ndarray::{Array2, ArrayRef2, NdFloat};

pub use on_gpu::{MIN_RESIDENT_COLUMNS, MatmulGpu, MatmulGpuError, Rung, label, matmul_transpose_gpu};
pub use parallel::matmul_transpose_rayon;
pub use trivial::matmul_transpose_trivial;
pub use verify::Reference;

/// The element types of the product: `f32` and `f64`.
pub trait MatmulElement: NdFloat + kernels_cpu::Real + on_gpu::OnGpu {
    /// [`matmul_transpose_rayon`], instantiated only in this crate. It contains the kernel for
    /// several instruction sets, and generic code would be compiled again in every program and
    /// test.
    #[doc(hidden)]
    fn product_with_transpose(x: &ArrayRef2<Self>) -> Array2<Self>;

    /// [`matmul_transpose_trivial`], instantiated in this crate and thus with its optimization
    /// level, for timing in other crates.
    #[doc(hidden)]
    fn trivial_product_with_transpose(x: &ArrayRef2<Self>) -> Array2<Self>;
}

macro_rules! compile_for {
    ($real:ty) => {
        impl MatmulElement for $real {
            #[inline(never)]
            fn product_with_transpose(x: &ArrayRef2<Self>) -> Array2<Self> {
                parallel::product_with_transpose(x)
            }

            #[inline(never)]
            fn trivial_product_with_transpose(x: &ArrayRef2<Self>) -> Array2<Self> {
                matmul_transpose_trivial(x)
            }
        }
    };
}

compile_for!(f32);
compile_for!(f64);
