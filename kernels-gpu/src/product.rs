//! X·Xᵀ as a ladder: each rung adds one idea to the one before. Rungs 1 to 6 and 9 are one block of 1024 threads, as the
//! homework asks.
//!
//! | rung | idea |
//! |---|---|
//! | 1 naive | one thread computes one element of the result at a time |
//! | 2 symmetric | only the lower triangle is computed |
//! | 3 shared tiles | tiles of X are staged in shared memory |
//! | 4 register tiles | each thread computes a tile of sums in registers |
//! | 5 double-buffered | the next tile is loaded while the current one is multiplied |
//! | 6 resident | columns of all rows stay in shared memory, and warps compute tiles without barriers |
//! | 7 grid | the tiles are distributed over many blocks, which run on all multiprocessors |
//! | 8 tensor cores | a float is the sum of three bf16, which tensor cores multiply |
//! | 9 one block, tensor cores | the three bf16 of columns of all rows stay in shared memory |
//!
//! In double precision tensor cores multiply f64 themselves: rung 8 has the tiles of rung 7, rung 9 tiles of 128 × 128 cells.
//!
//! Every kernel takes `x`, a row-major `rows` × `columns` matrix, and `out`, `rows` × `rows`. `x` and `out` must have
//! fewer than 2³² elements each. Rungs 1 to 5, 8 and 9 exist in single and in double precision, rungs 6
//! and 7 in single precision.

mod cells;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod double_tiles;
mod grid;
mod rung1_naive;
mod rung2_symmetric;
mod rung3_shared_tiles;
mod rung4_register_tiles;
mod rung5_double_buffered;
mod rung6_resident;
mod rung7_grid;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod rung8_double;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod rung8_tensor_cores;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod rung9_double;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod rung9_one_block_tensor;
mod scalar;

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use double_tiles::DOUBLE_TENSOR_DEPTH;
pub use rung1_naive::{matmul_naive_f32, matmul_naive_f64};
pub use rung2_symmetric::{matmul_symmetric_f32, matmul_symmetric_f64};
pub use rung3_shared_tiles::{matmul_tiles_f32, matmul_tiles_f64};
pub use rung4_register_tiles::{matmul_registers_f32, matmul_registers_f64};
pub use rung5_double_buffered::{matmul_kernel_f32, matmul_kernel_f64};
pub use rung6_resident::matmul_resident_f32;
pub use rung7_grid::{GRID_SHARED_BYTES, matmul_grid_f32};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use rung8_double::{DOUBLE_TENSOR_SHARED_BYTES, DOUBLE_TENSOR_THREADS, matmul_tensor_f64};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use rung8_tensor_cores::{TENSOR_SHARED_BYTES, matmul_tensor_f32};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use rung9_double::{DOUBLE_ONE_BLOCK_BYTES, matmul_one_block_tensor_f64};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use rung9_one_block_tensor::{TENSOR_DEPTH, matmul_one_block_tensor_f32, one_block_tensor_bytes};

/// Threads per block of rungs 1 to 6 and 9.
pub const THREADS: u32 = 1024;

/// Rows and columns of an output tile of [`matmul_resident_f32`].
const RESIDENT_TILE: u32 = 32;

/// Quads of shared memory that [`matmul_resident_f32`] needs per column of X: an odd number, so that adjacent lanes, which
/// store adjacent columns, write to different banks.
pub const fn resident_stride(rows: u32) -> u32 {
    rows.div_ceil(RESIDENT_TILE) * (RESIDENT_TILE / 4) + 1
}

/// Threads per block of [`matmul_grid_f32`].
pub const GRID_THREADS: u32 = 128;

/// Threads per block of [`matmul_tensor_f32`].
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub const TENSOR_THREADS: u32 = 256;

/// Rows of an output tile of [`matmul_grid_f32`] and [`matmul_tensor_f32`].
const GRID_ROWS: u32 = 64;
/// Columns of such a tile.
const GRID_COLUMNS: u32 = 48;

/// Number of output tiles of [`matmul_grid_f32`] and [`matmul_tensor_f32`] in the lower triangle for `rows` rows of X: blocks of a launch with one
/// tile each.
pub const fn grid_tiles(rows: u32) -> u32 {
    let rows_of_tiles = rows.div_ceil(GRID_ROWS);
    // The last row of tiles has less than a tile's rows, and may have one tile less.
    let last = grid_tiles_before(rows_of_tiles) - grid_tiles_before(rows_of_tiles.saturating_sub(1));
    grid_tiles_before(rows_of_tiles) - last.saturating_sub(rows.div_ceil(GRID_COLUMNS))
}

/// Number of those tiles in the rows of tiles before row `i`: row k has (k + 1) · 4 / 3, rounded up.
const fn grid_tiles_before(i: u32) -> u32 {
    (i * (2 * i + 3)).div_ceil(3)
}
