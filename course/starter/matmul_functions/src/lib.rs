//! Homework part 3: X·Xᵀ. X is M × N, the result M × M: element (i, j) is the sum of x(i, k) · x(j, k) over k.

mod check;
mod kernel;
mod on_gpu;
mod parallel;
mod trivial;

pub use check::verify;
pub use kernel::matmul_kernel;
pub use on_gpu::matmul_transpose_gpu;
pub use parallel::matmul_transpose_rayon;
pub use trivial::matmul_transpose_trivial;
