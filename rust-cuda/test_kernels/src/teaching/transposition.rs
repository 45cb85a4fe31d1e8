//! Transposition: out\[column, row\] = x\[row, column\], where x has `rows` × `columns` elements, row-major.
//!
//! Launch: blocks of [`TILE`] × [`TILE`] threads, in a grid that covers the columns along x and the rows along y.

use cuda_std::{GlobalMut, kernel, shared_array, thread};

/// Side of a block.
pub const TILE: usize = 16;

/// Length of a tile's row in shared memory: one more than [`TILE`], so that the elements of a column are in different
/// banks.
const PITCH: usize = TILE + 1;

/// Each thread moves an element. A warp's loads are coalesced, its stores are not.
#[kernel]
pub fn transpose_naive(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    let index = thread::index_2d();
    let (rows, columns) = (rows as usize, columns as usize);
    let (row, column) = (index.y as usize, index.x as usize);
    if row < rows && column < columns {
        out.set(column * rows + row, x[row * columns + column]);
    }
}

/// Each block moves a tile through shared memory: a warp reads rows of the tile from x and writes columns of it as rows
/// of out, so that both are coalesced.
#[kernel]
pub fn transpose_tiled(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    let tile = shared_array![f32; TILE * PITCH];
    let (rows, columns) = (rows as usize, columns as usize);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let first_row = thread::block_idx_y() as usize * TILE;
    let first_column = thread::block_idx_x() as usize * TILE;
    let (row, column) = (first_row + ty, first_column + tx);
    if row < rows && column < columns {
        tile.set(ty * PITCH + tx, x[row * columns + column]);
    }
    thread::sync_threads();
    let (row, column) = (first_row + tx, first_column + ty);
    if row < rows && column < columns {
        out.set(column * rows + row, tile.get(tx * PITCH + ty));
    }
}
