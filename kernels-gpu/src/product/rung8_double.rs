use cuda_std::{GlobalMut, kernel, thread};

use super::cells::Matrix;
use super::double_tiles::{self, Order, Tiles};
use super::{grid, grid_tiles_before};

/// Warps of an output tile, one below the other and side by side, and sets of 16 rows of each: 64 × 48 cells, as in rung 7.
const DOWN: u32 = 4;
const ACROSS: u32 = 3;
const SETS: usize = 1;

/// Threads per block of [`matmul_tensor_f64`].
pub const DOUBLE_TENSOR_THREADS: u32 = double_tiles::threads(DOWN, ACROSS);
/// Bytes of dynamic shared memory of [`matmul_tensor_f64`].
pub const DOUBLE_TENSOR_SHARED_BYTES: u32 = double_tiles::shared_bytes(DOWN, ACROSS, SETS as u32);

/// Rung 8 in double precision, from sm_80 on. Idea: tensor cores multiply f64 too, with the roundings of multiply-adds, and rung 7's output
/// tiles are distributed over all multiprocessors. Launches have [`DOUBLE_TENSOR_THREADS`] and [`DOUBLE_TENSOR_SHARED_BYTES`], otherwise as
/// [`matmul_grid_f32`](super::matmul_grid_f32).
#[kernel]
pub fn matmul_tensor_f64(x: &[f64], rows: u32, columns: u32, out: GlobalMut<f64>) {
    Tiles::<DOWN, ACROSS, SETS> { x: Matrix::new(x, rows, columns), out }.compute::<OfGrid>();
}

/// The tiles of rung 7.
struct OfGrid;

impl Order for OfGrid {
    #[inline(always)]
    fn first() -> [u32; 2] {
        grid::place_of_tile(thread::block_idx_x()).into()
    }

    #[inline(always)]
    fn next([row, column]: [u32; 2]) -> [u32; 2] {
        grid::place_of_tile(grid_tiles_before(row) + column + thread::grid_dim_x()).into()
    }

    #[inline(always)]
    fn place_of_warp(warp: u32) -> [u32; 2] {
        [warp / ACROSS, warp % ACROSS]
    }
}
