//! Step 8: a transposition through shared memory, without bank conflicts.

use cuda_std::{GlobalMut, kernel, shared_array, thread};

/// Rows and columns of a tile: a block is 32 × 32 threads.
pub const SIDE: u32 = 32;
/// Elements of a tile, and of one whose rows have one element more.
const TILE: usize = (SIDE * SIDE) as usize;
const PADDED: usize = (SIDE * (SIDE + 1)) as usize;

/// Before: 32 rows of 32 elements. A column has all its elements in one bank, so that a warp that reads one waits 32
/// times.
#[kernel]
pub fn transpose_with_conflicts(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let tile = shared_array![f32; TILE];
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_column) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let (row, column) = (first_row + ty, first_column + tx);
    if row < rows && column < columns {
        tile.set((ty * SIDE + tx) as usize, x[(row * columns + column) as usize]);
    }
    thread::sync_threads();
    let (row, column) = (first_row + tx, first_column + ty);
    if row < rows && column < columns {
        out.set((column * rows + row) as usize, tile.get((tx * SIDE + ty) as usize));
    }
}

/// `out` is xᵀ, x a `rows` × `columns` matrix. A block reads a tile of x by rows, and writes it by rows of `out`, through
/// shared memory: a row of its array has 33 elements, so that a column's are in 32 different banks. Tile (i, j) begins
/// at row 32·i, `thread::block_idx_y()`, and column 32·j.
#[kernel]
pub fn transpose(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let tile = shared_array![f32; PADDED];
    // write: transpose
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_column) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let (row, column) = (first_row + ty, first_column + tx);
    if row < rows && column < columns {
        tile.set((ty * (SIDE + 1) + tx) as usize, x[(row * columns + column) as usize]);
    }
    thread::sync_threads();
    let (row, column) = (first_row + tx, first_column + ty);
    if row < rows && column < columns {
        out.set((column * rows + row) as usize, tile.get((tx * (SIDE + 1) + ty) as usize));
    }
    // end
}
