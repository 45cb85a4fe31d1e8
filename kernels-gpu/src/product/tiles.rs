use cuda_std::{GlobalMut, SharedArray, kernel, math, shared_array, thread};

use super::cells::{Matrix, store};
use super::number::Number;

/// Rows and columns of a tile of the result: one cell for each thread.
const SIDE: u32 = 32;
/// Numbers from the start of a tile's row to the start of the next: one more than a row has, so that the 32 numbers of a
/// column lie in 32 different banks of shared memory.
const STRIDE: u32 = SIDE + 1;
/// Numbers of a piece of X.
const NUMBERS: usize = (SIDE * STRIDE) as usize;

/// X·Xᵀ by tiles in shared memory, in single precision.
#[kernel]
pub fn matmul_tiles_f32(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    tiles(Matrix::new(x, rows, columns), out, shared_array![f32; NUMBERS], shared_array![f32; NUMBERS]);
}

/// X·Xᵀ by tiles in shared memory, in double precision.
#[kernel]
pub fn matmul_tiles_f64(x: &[f64], rows: u32, columns: u32, out: GlobalMut<f64>) {
    tiles(Matrix::new(x, rows, columns), out, shared_array![f64; NUMBERS], shared_array![f64; NUMBERS]);
}

/// Rung 3. Idea: the block computes the result tile by tile. The pieces of X that a tile needs are fetched into shared
/// memory once, by all threads together, and then read from there 32 times.
#[inline(always)]
fn tiles<T: Number>(x: Matrix<T>, out: GlobalMut<T>, left: SharedArray<T, NUMBERS>, right: SharedArray<T, NUMBERS>) {
    let (tx, ty) = (thread::thread_idx_x() % SIDE, thread::thread_idx_x() / SIDE);
    let place = |row: u32, p: u32| (row * STRIDE + p) as usize;

    let mut first_row = 0;
    while first_row < x.rows {
        let mut first_column = 0;
        while first_column <= first_row {
            let mut sum = T::ZERO;
            let mut first_p = 0;
            while first_p < x.columns {
                left.set(place(ty, tx), x.get_or_zero(first_row + ty, first_p + tx));
                right.set(place(ty, tx), x.get_or_zero(first_column + ty, first_p + tx));
                thread::sync_threads();
                let mut p = 0;
                while p < SIDE {
                    sum = math::fma(left.get(place(ty, p)), right.get(place(tx, p)), sum);
                    p += 1;
                }
                // Nobody overwrites the pieces before everybody has read them.
                thread::sync_threads();
                first_p += SIDE;
            }
            store(out, x.rows, first_row + ty, first_column + tx, sum);
            first_column += SIDE;
        }
        first_row += SIDE;
    }
}
