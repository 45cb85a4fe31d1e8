//! Step 9: a matrix product by tiles in shared memory.

use cuda_std::{Global, GlobalMut, kernel, shared_array, thread};

/// Rows and columns of a tile: a block is 16 × 16 threads.
pub const SIDE: u32 = 16;
/// Elements of a tile, whose rows have one element more, against bank conflicts.
pub(crate) const TILE: usize = (SIDE * (SIDE + 1)) as usize;

/// The index in a tile.
#[inline(always)]
pub(crate) fn at(row: u32, column: u32) -> usize {
    (row * (SIDE + 1) + column) as usize
}

/// x(row, k), or 0 outside of x.
#[inline(always)]
pub(crate) fn element(x: Global<f32>, rows: u32, columns: u32, row: u32, k: u32) -> f32 {
    if row < rows && k < columns { x[(row * columns + k) as usize] } else { 0.0 }
}

/// Before: every thread reads two rows of x.
#[kernel]
pub fn product_from_global_memory(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let i = thread::block_idx_y() * SIDE + thread::thread_idx_y();
    let j = thread::block_idx_x() * SIDE + thread::thread_idx_x();
    if i < rows && j < rows {
        let (mut sum, mut k) = (0.0, 0);
        while k < columns {
            sum += x[(i * columns + k) as usize] * x[(j * columns + k) as usize];
            k += 1;
        }
        out.set((i * rows + j) as usize, sum);
    }
}

/// `out` is X·Xᵀ, X a `rows` × `columns` matrix. Thread (x, y) of a block computes element (i, j), where
/// i = 16·`block_idx_y` + y and j = 16·`block_idx_x` + x. For 16 columns at a time, the block copies those of its rows i
/// to `left`, those of its rows j to `right` (`element(x, rows, columns, row, k)` is 0 outside of X, `at(y, x)` the index
/// in a tile), and each thread adds 16 products.
#[kernel]
pub fn product_by_tiles(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![f32; TILE], shared_array![f32; TILE]);
    // write: product_by_tiles
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let (mut sum, mut first_k) = (0.0, 0);
    while first_k < columns {
        left.set(at(ty, tx), element(x, rows, columns, first_i + ty, first_k + tx));
        right.set(at(ty, tx), element(x, rows, columns, first_j + ty, first_k + tx));
        thread::sync_threads();
        let mut k = 0;
        while k < SIDE {
            sum += left.get(at(ty, k)) * right.get(at(tx, k));
            k += 1;
        }
        thread::sync_threads();
        first_k += SIDE;
    }
    if first_i + ty < rows && first_j + tx < rows {
        out.set(((first_i + ty) * rows + first_j + tx) as usize, sum);
    }
    // end
}
