//! Step 10: double-buffered tiles.

use cuda_std::{GlobalMut, kernel, shared_array, thread};

use crate::step09_tiles::{SIDE, TILE, at, element};

/// Elements of two tiles.
const TWO_TILES: usize = 2 * TILE;

/// As `product_by_tiles`, but with two tiles of each side, used in turn: while the threads multiply one, they write
/// the next 16 columns to the other. One barrier for each tile is enough. Beyond the last column `element` is 0, so that
/// one tile more does no harm.
#[kernel]
pub fn product_double_buffered(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![f32; TWO_TILES], shared_array![f32; TWO_TILES]);
    // write: product_double_buffered
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let fetch = |first_k: u32, tile: usize| {
        left.set(tile + at(ty, tx), element(x, rows, columns, first_i + ty, first_k + tx));
        right.set(tile + at(ty, tx), element(x, rows, columns, first_j + ty, first_k + tx));
    };
    let multiply = |tile: usize| {
        let (mut sum, mut k) = (0.0, 0);
        while k < SIDE {
            sum += left.get(tile + at(ty, k)) * right.get(tile + at(tx, k));
            k += 1;
        }
        sum
    };
    let (mut sum, mut first_k) = (0.0, 0);
    fetch(0, 0);
    thread::sync_threads();
    while first_k < columns {
        fetch(first_k + SIDE, TILE);
        sum += multiply(0);
        thread::sync_threads();
        fetch(first_k + 2 * SIDE, 0);
        sum += multiply(TILE);
        thread::sync_threads();
        first_k += 2 * SIDE;
    }
    if first_i + ty < rows && first_j + tx < rows {
        out.set(((first_i + ty) * rows + first_j + tx) as usize, sum);
    }
    // end
}
