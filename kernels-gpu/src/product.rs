//! X·Xᵀ by one block of 1024 threads, as a ladder: each rung has one idea more than the one before.
//!
//! Every kernel takes `x`, the matrix row by row, its number of `rows` and `columns`, and `out` of rows × rows. Any shape
//! works for which `x` and `out` have less than 2³² elements each. All rungs exist in single and in double precision.

mod buffered;
mod cells;
mod naive;
mod number;
mod registers;
mod symmetric;
mod tiles;

pub use buffered::{matmul_kernel_f32, matmul_kernel_f64};
pub use naive::{matmul_naive_f32, matmul_naive_f64};
pub use registers::{matmul_registers_f32, matmul_registers_f64};
pub use symmetric::{matmul_symmetric_f32, matmul_symmetric_f64};
pub use tiles::{matmul_tiles_f32, matmul_tiles_f64};

/// The threads of the one block.
pub const THREADS: u32 = 1024;
