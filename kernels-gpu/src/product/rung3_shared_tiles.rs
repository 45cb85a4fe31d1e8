use cuda_std::{GlobalMut, SharedArray, kernel, math, shared_array, thread};

use super::cells::{Matrix, store};
use super::scalar::Scalar;

/// Rows and columns of an output tile: one cell per thread.
const SIDE: u32 = 32;
/// Row stride of a shared-memory tile, in elements: one element of padding, so that the 32 elements of a column are in
/// 32 different banks.
const STRIDE: u32 = SIDE + 1;
/// Elements of a shared-memory tile of X, with padding.
const ELEMENTS: usize = (SIDE * STRIDE) as usize;

/// X·Xᵀ with tiles in shared memory, in single precision.
#[kernel]
pub fn matmul_tiles_f32(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    shared_tiles(Matrix::new(x, rows, columns), out, shared_array![f32; ELEMENTS], shared_array![f32; ELEMENTS]);
}

/// X·Xᵀ with tiles in shared memory, in double precision.
#[kernel]
pub fn matmul_tiles_f64(x: &[f64], rows: u32, columns: u32, out: GlobalMut<f64>) {
    shared_tiles(Matrix::new(x, rows, columns), out, shared_array![f64; ELEMENTS], shared_array![f64; ELEMENTS]);
}

/// Rung 3. Idea: the block computes the result tile by tile. Its threads load each tile of X into shared memory once
/// and read every element from there 32 times.
#[inline(always)]
fn shared_tiles<T: Scalar>(
    x: Matrix<T>,
    out: GlobalMut<T>,
    a_tile: SharedArray<T, ELEMENTS>,
    b_tile: SharedArray<T, ELEMENTS>,
) {
    let (tx, ty) = (thread::thread_idx_x() % SIDE, thread::thread_idx_x() / SIDE);
    let index = |row: u32, p: u32| (row * STRIDE + p) as usize;

    let mut first_row = 0;
    while first_row < x.rows {
        let mut first_column = 0;
        while first_column <= first_row {
            let mut sum = T::ZERO;
            let mut first_p = 0;
            while first_p < x.columns {
                a_tile.set(index(ty, tx), x.get_or_zero(first_row + ty, first_p + tx));
                b_tile.set(index(ty, tx), x.get_or_zero(first_column + ty, first_p + tx));
                thread::sync_threads();
                let mut p = 0;
                while p < SIDE {
                    sum = math::fma(a_tile.get(index(ty, p)), b_tile.get(index(tx, p)), sum);
                    p += 1;
                }
                // No thread overwrites the tiles before every thread has read them.
                thread::sync_threads();
                first_p += SIDE;
            }
            store(out, x.rows, first_row + ty, first_column + tx, sum);
            first_column += SIDE;
        }
        first_row += SIDE;
    }
}
