//! Each step's kernel with one mistake, at the line with the mark `wrong`.

use cuda_std::{GlobalMut, kernel, shared_array, thread, warp};

use crate::step05_shared_memory::{RADIUS, THREADS, element};
use crate::step09_tiles::{self, SIDE, TILE, at};

/// Step 1 without a guard.
#[kernel]
pub fn double_without_guard(x: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    x.set(i, 2.0 * x.get(i)); // wrong
}

/// Step 2 with the block's number of threads as its stride.
#[kernel]
pub fn saxpy_by_blocks(a: f32, x: &[f32], y: GlobalMut<f32>) {
    let threads = thread::block_dim_x() as usize;
    let mut i = thread::index_1d() as usize;
    while i < y.len() {
        y.set(i, a * x[i] + y.get(i)); // wrong
        i += threads;
    }
}

/// Step 3 with rows and columns swapped.
#[kernel]
pub fn add_row_swapped(x: GlobalMut<f32>, b: &[f32], rows: u32, columns: u32) {
    let t = thread::index_1d();
    if t < rows * columns {
        let (row, column) = (t % columns, t / columns);
        let i = (row * columns + column) as usize;
        x.set(i, x.get(i) + b[column as usize]); // wrong
    }
}

/// Step 4 without atomic operations.
#[kernel]
pub fn histogram_without_atomics(values: &[u32], counts: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    if i < values.len() {
        let bin = values[i] as usize;
        counts.set(bin, counts.get(bin) + 1); // wrong
    }
}

/// Step 5 without its barrier.
#[kernel]
pub fn average_without_barrier(x: &[f32], out: GlobalMut<f32>) {
    let tile = shared_array![f32; 264];
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * THREADS;
    let mut k = t;
    while k < THREADS + 2 * RADIUS {
        tile.set(k, element(x, first + k));
        k += THREADS;
    }
    if first + t < out.len() {
        let (mut sum, mut k) = (0.0, 0);
        while k <= 2 * RADIUS {
            sum += tile.get(t + k); // wrong
            k += 1;
        }
        out.set(first + t, sum / (2 * RADIUS + 1) as f32);
    }
}

/// Step 6 with its barrier in a branch.
#[kernel]
pub fn sum_with_barrier_in_branch(x: &[f32], out: GlobalMut<f32>) {
    let values = shared_array![f32; THREADS];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    values.set(t, if i < x.len() { x[i] } else { 0.0 });
    thread::sync_threads();
    let mut half = THREADS / 2;
    while half > 0 {
        if t < half {
            values.set(t, values.get(t) + values.get(t + half));
            thread::sync_threads(); // wrong
        }
        half /= 2;
    }
    if t == 0 {
        out.set(thread::block_idx_x() as usize, values.get(0));
    }
}

/// Step 7 with a shuffle that lanes beyond the end of x do not reach.
#[kernel]
pub fn sum_with_lanes_missing(x: &[f32], out: GlobalMut<f32>) {
    let sums = shared_array![f32; 8];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    let mut value = 0.0;
    if i < x.len() {
        value = x[i];
        let mut delta = 16;
        while delta > 0 {
            value += warp::shuffle_down(value, delta); // wrong
            delta /= 2;
        }
    }
    if t.is_multiple_of(32) {
        sums.set(t / 32, value);
    }
    thread::sync_threads();
    if t == 0 {
        let (mut sum, mut warp) = (0.0, 0);
        while warp < 8 {
            sum += sums.get(warp);
            warp += 1;
        }
        out.set(thread::block_idx_x() as usize, sum);
    }
}

/// Step 8 with the block's row and column swapped when it writes.
#[kernel]
pub fn transpose_tiles_in_place(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let tile = shared_array![f32; 1056];
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_column) = (thread::block_idx_y() * 32, thread::block_idx_x() * 32);
    let (row, column) = (first_row + ty, first_column + tx);
    if row < rows && column < columns {
        tile.set((ty * 33 + tx) as usize, x[(row * columns + column) as usize]);
    }
    thread::sync_threads();
    let (row, column) = (first_column + tx, first_row + ty);
    if row < rows && column < columns {
        out.set((column * rows + row) as usize, tile.get((tx * 33 + ty) as usize)); // wrong
    }
}

/// Step 9 without its second barrier.
#[kernel]
pub fn product_with_one_barrier(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![f32; TILE], shared_array![f32; TILE]);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let (mut sum, mut first_k) = (0.0, 0);
    while first_k < columns {
        let own = at(ty, tx);
        left.set(own, step09_tiles::element(x, rows, columns, first_i + ty, first_k + tx)); // wrong
        right.set(at(ty, tx), step09_tiles::element(x, rows, columns, first_j + ty, first_k + tx));
        thread::sync_threads();
        let mut k = 0;
        while k < SIDE {
            sum += left.get(at(ty, k)) * right.get(at(tx, k));
            k += 1;
        }
        first_k += SIDE;
    }
    if first_i + ty < rows && first_j + tx < rows {
        out.set(((first_i + ty) * rows + first_j + tx) as usize, sum);
    }
}

/// Step 10 with a fetch into the tile that is being read.
#[kernel]
pub fn product_into_the_same_buffer(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![f32; 544], shared_array![f32; 544]);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let fetch = |first_k: u32, tile: usize| {
        let own = tile + at(ty, tx);
        left.set(own, step09_tiles::element(x, rows, columns, first_i + ty, first_k + tx)); // wrong
        right.set(tile + at(ty, tx), step09_tiles::element(x, rows, columns, first_j + ty, first_k + tx));
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
        fetch(first_k + SIDE, 0);
        sum += multiply(0);
        thread::sync_threads();
        fetch(first_k + 2 * SIDE, TILE);
        sum += multiply(TILE);
        thread::sync_threads();
        first_k += 2 * SIDE;
    }
    if first_i + ty < rows && first_j + tx < rows {
        out.set(((first_i + ty) * rows + first_j + tx) as usize, sum);
    }
}
