use cuda_std::{GlobalMut, SharedArray, kernel, shared_array, thread};

use super::cells::{Matrix, multiply_add, store};
use super::number::Number;

/// Threads side by side, and one below the other: 32 × 32 = 1024.
const SIDE: u32 = 32;
/// Cells of a thread, one below the other.
const CELLS: usize = 4;
/// Rows of a tile of the result, and the most columns.
const TILE: u32 = SIDE * CELLS as u32;
/// Columns of X that are fetched at once.
const DEPTH: u32 = 16;
/// Numbers from the start of a fetched column to the start of the next: a few more than it has, so that neighbouring
/// threads, which fetch neighbouring columns, do not all write to one bank of shared memory.
const STRIDE: u32 = TILE + 4;
/// Numbers of a piece of X.
const NUMBERS: usize = (DEPTH * STRIDE) as usize;

/// X·Xᵀ with tiles of sums in registers, in single precision.
#[kernel]
pub fn matmul_registers_f32(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    registers::<f32, 4>(Matrix::new(x, rows, columns), out, shared_array![f32; NUMBERS], shared_array![f32; NUMBERS]);
}

/// X·Xᵀ with tiles of sums in registers, in double precision.
#[kernel]
pub fn matmul_registers_f64(x: &[f64], rows: u32, columns: u32, out: GlobalMut<f64>) {
    registers::<f64, 2>(Matrix::new(x, rows, columns), out, shared_array![f64; NUMBERS], shared_array![f64; NUMBERS]);
}

/// Rung 4. Idea: in rung 3 each multiply-add reads two numbers from shared memory, which cannot keep up. Here a thread
/// computes 4 × 4 cells: 8 numbers read for 16 multiply-adds. In double precision it is 4 × 2, since a thread of 1024 has 64
/// registers and a double takes two.
///
/// A thread's cells lie 32 apart, so that neighbouring threads read neighbouring numbers.
#[inline(always)]
fn registers<T: Number, const ACROSS: usize>(
    x: Matrix<T>,
    out: GlobalMut<T>,
    left: SharedArray<T, NUMBERS>,
    right: SharedArray<T, NUMBERS>,
) {
    let t = thread::thread_idx_x();
    let (tx, ty) = (t % SIDE, t / SIDE);
    let place = |row: u32, p: u32| (p * STRIDE + row) as usize;
    let across = SIDE * ACROSS as u32;

    let mut first_row = 0;
    while first_row < x.rows {
        let mut first_column = 0;
        while first_column < first_row + TILE {
            let mut sums = [[T::ZERO; ACROSS]; CELLS];
            let mut first_p = 0;
            while first_p < x.columns {
                let mut fetched = t;
                while fetched < TILE * DEPTH {
                    let (row, p) = (fetched / DEPTH, fetched % DEPTH);
                    left.set(place(row, p), x.get_or_zero(first_row + row, first_p + p));
                    if row < across {
                        right.set(place(row, p), x.get_or_zero(first_column + row, first_p + p));
                    }
                    fetched += SIDE * SIDE;
                }
                thread::sync_threads();
                let end = DEPTH.min(x.columns - first_p);
                let mut p = 0;
                while p < end {
                    let column: [T; ACROSS] = core::array::from_fn(|j| right.get(place(tx + SIDE * j as u32, p)));
                    for (i, sums) in sums.iter_mut().enumerate() {
                        multiply_add(left.get(place(ty + SIDE * i as u32, p)), &column, sums);
                    }
                    p += 1;
                }
                thread::sync_threads();
                first_p += DEPTH;
            }
            for (i, sums) in sums.iter().enumerate() {
                for (j, &sum) in sums.iter().enumerate() {
                    let (row, column) = (first_row + ty + SIDE * i as u32, first_column + tx + SIDE * j as u32);
                    store(out, x.rows, row, column, sum);
                }
            }
            first_column += across;
        }
        first_row += TILE;
    }
}
