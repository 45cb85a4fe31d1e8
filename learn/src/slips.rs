//! More mistakes that each step invites: its kernel with one of them, at the line with the mark `wrong`.

use cuda_std::{GlobalMut, kernel, shared_array, thread, warp};

use crate::step04_atomics::{BINS, VALUES};
use crate::step05_shared_memory::{RADIUS, THREADS, element};
use crate::step09_tiles::{self, SIDE, TILE, at};

/// Step 1 with a guard that lets one element too many through.
#[kernel]
pub fn double_with_inclusive_guard(x: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i <= x.len() {
        x.set(i, 2.0 * x.get(i)); // wrong
    }
}

/// Step 1 with the thread's number in its block: every block doubles the same elements.
#[kernel]
pub fn double_by_every_block(x: GlobalMut<f32>) {
    let i = thread::thread_idx_x() as usize;
    if i < x.len() {
        x.set(i, 2.0 * x.get(i)); // wrong
    }
}

/// Step 2 with every block beginning at the first element.
#[kernel]
pub fn saxpy_from_the_first_element(a: f32, x: &[f32], y: GlobalMut<f32>) {
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::thread_idx_x() as usize;
    while i < y.len() {
        y.set(i, a * x[i] + y.get(i)); // wrong
        i += threads;
    }
}

/// Step 2 with a loop that ends one element too late.
#[kernel]
pub fn saxpy_past_the_end(a: f32, x: &[f32], y: GlobalMut<f32>) {
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::index_1d() as usize;
    while i <= y.len() {
        y.set(i, a * x[i] + y.get(i)); // wrong
        i += threads;
    }
}

/// Step 3 without a guard.
#[kernel]
pub fn add_row_without_guard(x: GlobalMut<f32>, b: &[f32], _rows: u32, columns: u32) {
    let t = thread::index_1d();
    let (row, column) = (t / columns, t % columns);
    let i = (row * columns + column) as usize;
    x.set(i, x.get(i) + b[column as usize]); // wrong
}

/// Step 3 with the element of b that the row has, not the column.
#[kernel]
pub fn add_row_by_rows(x: GlobalMut<f32>, b: &[f32], rows: u32, columns: u32) {
    let t = thread::index_1d();
    if t < rows * columns {
        let (row, column) = (t / columns, t % columns);
        let i = (row * columns + column) as usize;
        x.set(i, x.get(i) + b[row as usize]); // wrong
    }
}

/// Step 4 without the barrier after the zeros.
#[kernel]
pub fn histogram_without_first_barrier(values: &[u32], counts: GlobalMut<u32>) {
    let own = shared_array![u32; BINS];
    let t = thread::thread_idx_x() as usize;
    own.set(t, 0);
    let first = thread::block_idx_x() as usize * VALUES;
    let mut i = t;
    while i < VALUES {
        if first + i < values.len() {
            own.atomic(values[first + i] as usize).fetch_add(1); // wrong
        }
        i += BINS;
    }
    thread::sync_threads();
    counts.atomic(t).fetch_add(own.get(t));
}

/// Step 4 without the barrier before the block's counts are added.
#[kernel]
pub fn histogram_without_second_barrier(values: &[u32], counts: GlobalMut<u32>) {
    let own = shared_array![u32; BINS];
    let t = thread::thread_idx_x() as usize;
    own.set(t, 0);
    thread::sync_threads();
    let first = thread::block_idx_x() as usize * VALUES;
    let mut i = t;
    while i < VALUES {
        if first + i < values.len() {
            own.atomic(values[first + i] as usize).fetch_add(1); // wrong
        }
        i += BINS;
    }
    counts.atomic(t).fetch_add(own.get(t));
}

/// Step 5 with its barrier behind the guard.
#[kernel]
pub fn average_with_barrier_in_guard(x: &[f32], out: GlobalMut<f32>) {
    let tile = shared_array![f32; 264];
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * THREADS;
    let mut k = t;
    while k < THREADS + 2 * RADIUS {
        tile.set(k, element(x, first + k));
        k += THREADS;
    }
    if first + t < out.len() {
        thread::sync_threads(); // wrong
        let (mut sum, mut k) = (0.0, 0);
        while k <= 2 * RADIUS {
            sum += tile.get(t + k);
            k += 1;
        }
        out.set(first + t, sum / (2 * RADIUS + 1) as f32);
    }
}

/// Step 5 with the elements from the block's first one on, also beyond the end.
#[kernel]
pub fn average_without_zeros(x: &[f32], out: GlobalMut<f32>) {
    let tile = shared_array![f32; 264];
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * THREADS;
    let mut k = t;
    while k < THREADS + 2 * RADIUS {
        tile.set(k, x[first + k]); // wrong
        k += THREADS;
    }
    thread::sync_threads();
    if first + t < out.len() {
        let (mut sum, mut k) = (0.0, 0);
        while k <= 2 * RADIUS {
            sum += tile.get(t + k);
            k += 1;
        }
        out.set(first + t, sum / (2 * RADIUS + 1) as f32);
    }
}

/// Step 6 without the barrier in its loop.
#[kernel]
pub fn sum_without_barriers(x: &[f32], out: GlobalMut<f32>) {
    let values = shared_array![f32; THREADS];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    values.set(t, if i < x.len() { x[i] } else { 0.0 });
    thread::sync_threads();
    let mut half = THREADS / 2;
    while half > 0 {
        if t < half {
            values.set(t, values.get(t) + values.get(t + half)); // wrong
        }
        half /= 2;
    }
    if t == 0 {
        out.set(thread::block_idx_x() as usize, values.get(0));
    }
}

/// Step 6 with a loop that begins with all threads.
#[kernel]
pub fn sum_beyond_the_array(x: &[f32], out: GlobalMut<f32>) {
    let values = shared_array![f32; THREADS];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    values.set(t, if i < x.len() { x[i] } else { 0.0 });
    thread::sync_threads();
    let mut half = THREADS;
    while half > 0 {
        if t < half {
            values.set(t, values.get(t) + values.get(t + half)); // wrong
        }
        thread::sync_threads();
        half /= 2;
    }
    if t == 0 {
        out.set(thread::block_idx_x() as usize, values.get(0));
    }
}

/// Step 7 with 32 lanes that read the sums of 8 warps.
#[kernel]
pub fn sum_of_too_many_warps(x: &[f32], out: GlobalMut<f32>) {
    let sums = shared_array![f32; 8];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    let mut value = if i < x.len() { x[i] } else { 0.0 };
    let mut delta = 16;
    while delta > 0 {
        value += warp::shuffle_down(value, delta);
        delta /= 2;
    }
    if warp::lane_id() == 0 {
        sums.set(t / 32, value);
    }
    thread::sync_threads();
    if t < 32 {
        value = sums.get(t); // wrong
        delta = 4;
        while delta > 0 {
            value += warp::shuffle_down(value, delta);
            delta /= 2;
        }
        if t == 0 {
            out.set(thread::block_idx_x() as usize, value);
        }
    }
}

/// Step 7 without the barrier between the warps' sums and the first warp that adds them.
#[kernel]
pub fn sum_without_waiting_for_warps(x: &[f32], out: GlobalMut<f32>) {
    let sums = shared_array![f32; 8];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    let mut value = if i < x.len() { x[i] } else { 0.0 };
    let mut delta = 16;
    while delta > 0 {
        value += warp::shuffle_down(value, delta);
        delta /= 2;
    }
    if warp::lane_id() == 0 {
        sums.set(t / 32, value);
    }
    if t < 32 {
        value = if t < 8 { sums.get(t) } else { 0.0 }; // wrong
        delta = 4;
        while delta > 0 {
            value += warp::shuffle_down(value, delta);
            delta /= 2;
        }
        if t == 0 {
            out.set(thread::block_idx_x() as usize, value);
        }
    }
}

/// Step 8 without its barrier.
#[kernel]
pub fn transpose_without_barrier(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let tile = shared_array![f32; 1056];
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_column) = (thread::block_idx_y() * 32, thread::block_idx_x() * 32);
    let (row, column) = (first_row + ty, first_column + tx);
    if row < rows && column < columns {
        tile.set((ty * 33 + tx) as usize, x[(row * columns + column) as usize]);
    }
    let (row, column) = (first_row + tx, first_column + ty);
    if row < rows && column < columns {
        out.set((column * rows + row) as usize, tile.get((tx * 33 + ty) as usize)); // wrong
    }
}

/// Step 8 with a guard for reading alone.
#[kernel]
pub fn transpose_without_second_guard(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let tile = shared_array![f32; 1056];
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_column) = (thread::block_idx_y() * 32, thread::block_idx_x() * 32);
    let (row, column) = (first_row + ty, first_column + tx);
    if row < rows && column < columns {
        tile.set((ty * 33 + tx) as usize, x[(row * columns + column) as usize]);
    }
    thread::sync_threads();
    let (row, column) = (first_row + tx, first_column + ty);
    out.set((column * rows + row) as usize, tile.get((tx * 33 + ty) as usize)); // wrong
}

/// Step 9 without its first barrier.
#[kernel]
pub fn product_before_the_tile_is_there(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![f32; TILE], shared_array![f32; TILE]);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let (mut sum, mut first_k) = (0.0, 0);
    while first_k < columns {
        left.set(at(ty, tx), step09_tiles::element(x, rows, columns, first_i + ty, first_k + tx));
        right.set(at(ty, tx), step09_tiles::element(x, rows, columns, first_j + ty, first_k + tx));
        let mut k = 0;
        while k < SIDE {
            sum += left.get(at(ty, k)) * right.get(at(tx, k)); // wrong
            k += 1;
        }
        thread::sync_threads();
        first_k += SIDE;
    }
    if first_i + ty < rows && first_j + tx < rows {
        out.set(((first_i + ty) * rows + first_j + tx) as usize, sum);
    }
}

/// Step 9 without its last guard.
#[kernel]
pub fn product_without_guard(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![f32; TILE], shared_array![f32; TILE]);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let (mut sum, mut first_k) = (0.0, 0);
    while first_k < columns {
        left.set(at(ty, tx), step09_tiles::element(x, rows, columns, first_i + ty, first_k + tx));
        right.set(at(ty, tx), step09_tiles::element(x, rows, columns, first_j + ty, first_k + tx));
        thread::sync_threads();
        let mut k = 0;
        while k < SIDE {
            sum += left.get(at(ty, k)) * right.get(at(tx, k));
            k += 1;
        }
        thread::sync_threads();
        first_k += SIDE;
    }
    out.set(((first_i + ty) * rows + first_j + tx) as usize, sum); // wrong
}

/// Step 10 without the barrier after the first tile.
#[kernel]
pub fn product_without_waiting_for_the_first_tile(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![f32; 544], shared_array![f32; 544]);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let fetch = |first_k: u32, tile: usize| {
        left.set(tile + at(ty, tx), step09_tiles::element(x, rows, columns, first_i + ty, first_k + tx));
        right.set(tile + at(ty, tx), step09_tiles::element(x, rows, columns, first_j + ty, first_k + tx));
    };
    let multiply = |tile: usize| {
        let (mut sum, mut k) = (0.0, 0);
        while k < SIDE {
            sum += left.get(tile + at(ty, k)) * right.get(tile + at(tx, k)); // wrong
            k += 1;
        }
        sum
    };
    let (mut sum, mut first_k) = (0.0, 0);
    fetch(0, 0);
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
}

/// Step 10 without the barrier between its two tiles.
#[kernel]
pub fn product_with_half_the_barriers(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![f32; 544], shared_array![f32; 544]);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let fetch = |first_k: u32, tile: usize| {
        left.set(tile + at(ty, tx), step09_tiles::element(x, rows, columns, first_i + ty, first_k + tx));
        right.set(tile + at(ty, tx), step09_tiles::element(x, rows, columns, first_j + ty, first_k + tx));
    };
    let multiply = |tile: usize| {
        let (mut sum, mut k) = (0.0, 0);
        while k < SIDE {
            sum += left.get(tile + at(ty, k)) * right.get(tile + at(tx, k)); // wrong
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
        fetch(first_k + 2 * SIDE, 0);
        sum += multiply(TILE);
        thread::sync_threads();
        first_k += 2 * SIDE;
    }
    if first_i + ty < rows && first_j + tx < rows {
        out.set(((first_i + ty) * rows + first_j + tx) as usize, sum);
    }
}
