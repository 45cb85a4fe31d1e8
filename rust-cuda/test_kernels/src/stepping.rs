//! Kernels that the debugger's tests step through: with inlined functions, tiles in shared memory, and barriers.

use cuda_std::{Element, Global, GlobalMut, SharedArray, grid, kernel, math, shared_array, thread};

/// The element-wise maximum, by threads that stride over the elements.
#[kernel]
pub fn max_kernel(a: &[i32], b: &[i32], out: GlobalMut<i32>) {
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut i = thread::index_1d() as usize;
    while i < out.len() {
        out.set(i, if a[i] > b[i] { a[i] } else { b[i] });
        i += threads;
    }
}

/// Nothing.
#[kernel]
pub fn empty_kernel() {}

/// Waits `rounds` times at the grid's barrier, in a cooperative launch.
#[kernel]
pub fn grid_barriers(rounds: u32, barrier: GlobalMut<u32>) {
    for _ in 0..rounds {
        grid::sync(barrier);
    }
}

/// Rows and columns of a tile: one cell per thread.
const SIDE: u32 = 32;
/// Row stride of a tile in shared memory, with an element of padding.
const STRIDE: u32 = SIDE + 1;
/// Elements of a tile in shared memory.
const ELEMENTS: usize = (SIDE * STRIDE) as usize;

/// The element types of a product.
trait Scalar: Element + math::Float {
    /// 0, the initial value of a sum.
    const ZERO: Self;
}

impl Scalar for f32 {
    const ZERO: Self = 0.0;
}

/// A matrix of `rows` × `columns`, row by row.
#[derive(Clone, Copy)]
struct Matrix<'a, T: Scalar> {
    values: Global<'a, T>,
    rows: u32,
    columns: u32,
}

impl<T: Scalar> Matrix<'_, T> {
    /// The element, or 0 outside of the matrix.
    #[inline(always)]
    fn get_or_zero(self, row: u32, column: u32) -> T {
        if row < self.rows && column < self.columns {
            self.values[(row * self.columns + column) as usize]
        } else {
            T::ZERO
        }
    }
}

/// Stores `sum` at (i, j) and (j, i), if (i, j) is in the result's lower triangle.
#[inline(always)]
fn store<T: Scalar>(out: GlobalMut<T>, rows: u32, i: u32, j: u32, sum: T) {
    if i < rows && j <= i {
        out.set((i * rows + j) as usize, sum);
        if j < i {
            out.set((j * rows + i) as usize, sum);
        }
    }
}

/// out = x · xᵀ where x is `rows` × `columns`, by one block of 1024 threads.
#[kernel]
pub fn matmul_tiles_f32(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    let x = Matrix { values: x, rows, columns };
    shared_tiles(x, out, shared_array![f32; ELEMENTS], shared_array![f32; ELEMENTS]);
}

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
