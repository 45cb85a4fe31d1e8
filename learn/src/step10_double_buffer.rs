//! Step 10: double-buffered tiles.

use cuda_std::{GlobalMut, kernel, shared_array, thread};

use crate::step09_tiles::{SIDE, TILE, at, element};

/// Elements of two tiles.
const TWO_TILES: usize = 2 * TILE;

/// As `product_by_tiles`, but with two tiles of each side, used in turn: while the threads multiply one, they write
/// the next 16 columns to the other. One barrier for each tile is enough.
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
    let (mut sum, mut first_k, mut tile) = (0.0, 0, 0);
    fetch(0, 0);
    thread::sync_threads();
    while first_k < columns {
        first_k += SIDE;
        if first_k < columns {
            fetch(first_k, TILE - tile);
        }
        let mut k = 0;
        while k < SIDE {
            sum += left.get(tile + at(ty, k)) * right.get(tile + at(tx, k));
            k += 1;
        }
        thread::sync_threads();
        tile = TILE - tile;
    }
    if first_i + ty < rows && first_j + tx < rows {
        out.set(((first_i + ty) * rows + first_j + tx) as usize, sum);
    }
    // end
}
