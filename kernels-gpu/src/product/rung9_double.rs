use cuda_std::{GlobalMut, kernel};

use super::THREADS;
use super::cells::Matrix;
use super::double_tiles::{self, Order, Tiles};

/// Warps of an output tile, one below the other and side by side, and sets of 16 rows of each: 128 × 128 cells.
const DOWN: u32 = 4;
const ACROSS: u32 = 8;
const SETS: usize = 2;

const _: () = core::assert!(double_tiles::threads(DOWN, ACROSS) == THREADS);

/// Bytes of dynamic shared memory of [`matmul_one_block_tensor_f64`].
pub const DOUBLE_ONE_BLOCK_BYTES: u32 = double_tiles::shared_bytes(DOWN, ACROSS, SETS as u32);

/// Rung 9 in double precision, from sm_80 on. Idea: tensor cores multiply f64 too, and the sums of an output tile of 128 × 128 cells fit into
/// the registers of one block: each element that is copied to shared memory is in 128 products, and no sum is in memory before it is
/// whole. Launches have one block of [`THREADS`] and [`DOUBLE_ONE_BLOCK_BYTES`].
#[kernel]
pub fn matmul_one_block_tensor_f64(x: &[f64], rows: u32, columns: u32, out: GlobalMut<f64>) {
    Tiles::<DOWN, ACROSS, SETS> { x: Matrix::new(x, rows, columns), out }.compute::<OfOneBlock>();
}

/// The squares of the lower triangle, row by row.
struct OfOneBlock;

impl Order for OfOneBlock {
    #[inline(always)]
    fn first() -> [u32; 2] {
        [0, 0]
    }

    #[inline(always)]
    fn next([row, column]: [u32; 2]) -> [u32; 2] {
        if column < row { [row, column + 1] } else { [row + 1, 0] }
    }

    /// Each of the four schedulers, which warps go to in turn, has five of the 20 warps with cells of a square on the diagonal.
    #[inline(always)]
    fn place_of_warp(warp: u32) -> [u32; 2] {
        let row = warp / ACROSS;
        [row, (warp % ACROSS) ^ (row & 2)]
    }
}
