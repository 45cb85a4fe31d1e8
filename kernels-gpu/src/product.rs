//! X·Xᵀ by one block of 1024 threads, as a ladder: each rung adds one idea to the one before.
//!
//! | rung | idea |
//! |---|---|
//! | 1 naive | one thread computes one element of the result at a time |
//! | 2 symmetric | only the lower triangle is computed |
//! | 3 shared tiles | tiles of X are staged in shared memory |
//! | 4 register tiles | each thread computes a tile of sums in registers |
//! | 5 double-buffered | the next tile is loaded while the current one is multiplied |
//! | 6 resident | columns of all rows stay in shared memory, and warps compute tiles without barriers |
//!
//! Every kernel takes `x`, a row-major `rows` × `columns` matrix, and `out`, `rows` × `rows`. `x` and `out` must have
//! fewer than 2³² elements each. Rungs 1 to 5 exist in single and in double precision, rung 6 in single precision.

mod cells;
mod rung1_naive;
mod rung2_symmetric;
mod rung3_shared_tiles;
mod rung4_register_tiles;
mod rung5_double_buffered;
mod rung6_resident;
mod scalar;

pub use rung1_naive::{matmul_naive_f32, matmul_naive_f64};
pub use rung2_symmetric::{matmul_symmetric_f32, matmul_symmetric_f64};
pub use rung3_shared_tiles::{matmul_tiles_f32, matmul_tiles_f64};
pub use rung4_register_tiles::{matmul_registers_f32, matmul_registers_f64};
pub use rung5_double_buffered::{matmul_kernel_f32, matmul_kernel_f64};
pub use rung6_resident::matmul_resident_f32;

/// Threads per block.
pub const THREADS: u32 = 1024;

/// Rows and columns of an output tile of [`matmul_resident_f32`].
const RESIDENT_TILE: u32 = 32;

/// Quads of shared memory that [`matmul_resident_f32`] needs per column of X: an odd number, so that adjacent lanes, which
/// store adjacent columns, write to different banks.
pub const fn resident_stride(rows: u32) -> u32 {
    rows.div_ceil(RESIDENT_TILE) * (RESIDENT_TILE / 4) + 1
}
