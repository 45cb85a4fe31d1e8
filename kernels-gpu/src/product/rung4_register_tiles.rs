use cuda_std::{GlobalMut, SharedArray, kernel, shared_array, thread};

use super::cells::{Matrix, multiply_add, store};
use super::scalar::Scalar;

/// The 1024 threads form a 32 × 32 grid over an output tile.
const SIDE: u32 = 32;
/// Cells of a thread per column.
const CELLS: usize = 4;
/// Rows of an output tile, and its maximum number of columns.
const TILE: u32 = SIDE * CELLS as u32;
/// Depth of a K-block: columns of X loaded at once.
const DEPTH: u32 = 16;
/// Column stride of a shared-memory tile, in elements: padded by four, so that adjacent threads, which load adjacent
/// columns, do not all write to one bank.
const STRIDE: u32 = TILE + 4;
/// Elements of a shared-memory tile of X, with padding.
const ELEMENTS: usize = (DEPTH * STRIDE) as usize;

/// X·Xᵀ with register tiles, in single precision.
#[kernel]
pub fn matmul_registers_f32(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    register_tiles::<f32, 4>(
        Matrix::new(x, rows, columns),
        out,
        shared_array![f32; ELEMENTS],
        shared_array![f32; ELEMENTS],
    );
}

/// X·Xᵀ with register tiles, in double precision.
#[kernel]
pub fn matmul_registers_f64(x: &[f64], rows: u32, columns: u32, out: GlobalMut<f64>) {
    register_tiles::<f64, 2>(
        Matrix::new(x, rows, columns),
        out,
        shared_array![f64; ELEMENTS],
        shared_array![f64; ELEMENTS],
    );
}

/// Rung 4. Idea: in rung 3 each multiply-add reads two elements from shared memory, whose bandwidth is the bound. Here
/// a thread computes a register tile of 4 × 4 cells: 8 elements read for 16 multiply-adds. In double precision the
/// register tile is 4 × 2, since each of 1024 threads has 64 registers and a double takes two.
///
/// A thread's cells are 32 apart, so that adjacent threads read adjacent elements.
#[inline(always)]
fn register_tiles<T: Scalar, const ACROSS: usize>(
    x: Matrix<T>,
    out: GlobalMut<T>,
    a_tile: SharedArray<T, ELEMENTS>,
    b_tile: SharedArray<T, ELEMENTS>,
) {
    let t = thread::thread_idx_x();
    let (tx, ty) = (t % SIDE, t / SIDE);
    let index = |row: u32, p: u32| (p * STRIDE + row) as usize;
    let across = SIDE * ACROSS as u32;

    let mut first_row = 0;
    while first_row < x.rows {
        let mut first_column = 0;
        while first_column < first_row + TILE {
            let mut sums = [[T::ZERO; ACROSS]; CELLS];
            let mut first_p = 0;
            while first_p < x.columns {
                let mut loaded = t;
                while loaded < TILE * DEPTH {
                    let (row, p) = (loaded / DEPTH, loaded % DEPTH);
                    a_tile.set(index(row, p), x.get_or_zero(first_row + row, first_p + p));
                    if row < across {
                        b_tile.set(index(row, p), x.get_or_zero(first_column + row, first_p + p));
                    }
                    loaded += SIDE * SIDE;
                }
                thread::sync_threads();
                let end = DEPTH.min(x.columns - first_p);
                let mut p = 0;
                while p < end {
                    let column: [T; ACROSS] = core::array::from_fn(|j| b_tile.get(index(tx + SIDE * j as u32, p)));
                    for (i, sums) in sums.iter_mut().enumerate() {
                        multiply_add(a_tile.get(index(ty + SIDE * i as u32, p)), &column, sums);
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
