//! X·Xᵀ by one block of 1024 threads, as a ladder: each rung adds one idea to the one before.
//!
//! | rung | idea |
//! |---|---|
//! | 1 naive | one thread computes one element of the result at a time |
//! | 2 symmetric | only the lower triangle is computed |
//! | 3 shared tiles | tiles of X are staged in shared memory |
//! | 4 register tiles | each thread computes a tile of sums in registers |
//! | 5 double-buffered | the next tile is loaded while the current one is multiplied |
//!
//! Every kernel takes `x`, a row-major `rows` × `columns` matrix, and `out`, `rows` × `rows`. `x` and `out` must have
//! fewer than 2³² elements each. All rungs exist in single and in double precision.

mod cells;
mod rung1_naive;
mod rung2_symmetric;
mod rung3_shared_tiles;
mod rung4_register_tiles;
mod rung5_double_buffered;
mod scalar;

pub use rung1_naive::{matmul_naive_f32, matmul_naive_f64};
pub use rung2_symmetric::{matmul_symmetric_f32, matmul_symmetric_f64};
pub use rung3_shared_tiles::{matmul_tiles_f32, matmul_tiles_f64};
pub use rung4_register_tiles::{matmul_registers_f32, matmul_registers_f64};
pub use rung5_double_buffered::{matmul_kernel_f32, matmul_kernel_f64};

/// Threads per block.
pub const THREADS: u32 = 1024;
