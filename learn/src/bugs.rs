//! The puzzles' kernels with one mistake each. The mark `wrong` is at the line where it shows.

use cuda_std::math::exp;
use cuda_std::{GlobalMut, kernel, shared_array, thread, warp};

use crate::puzzles::{
    BINS, CELLS, RADIUS, ROW, SIDE, SQUARE, THREADS, TILE, TREE, TWO_TILES, WEIGHTS, WINDOWS, WITH_NEIGHBORS, at, cell,
    element, shifted,
};

/// `thread_idx_x` is a thread's number in its block and begins at 0 in every block: all blocks write the same four elements,
/// and no thread writes the others. The number in the grid is `thread::index_1d()`.
#[kernel]
pub fn map_bug_1(x: &[i32], out: GlobalMut<i32>) {
    let i = thread::thread_idx_x() as usize; // wrong
    out.set(i, x[i] + 10);
}

/// A grid has whole blocks: 3 blocks have 12 threads for 10 elements. Without a guard the last two access memory beyond the
/// end of x.
#[kernel]
pub fn double_bug_1(x: GlobalMut<i32>) {
    let i = thread::index_1d() as usize;
    x.set(i, 2 * x.get(i)); // wrong
}

/// The guard lets thread `x.len()` through, one too many: the last element has the index `x.len() - 1`.
#[kernel]
pub fn double_bug_2(x: GlobalMut<i32>) {
    let i = thread::index_1d() as usize;
    if i <= x.len() {
        x.set(i, 2 * x.get(i)); // wrong
    }
}

/// The guard is around the write only. A read beyond the end is as wrong as a write: guard both.
#[kernel]
pub fn zip_bug_1(a: &[i32], b: &[i32], out: GlobalMut<i32>) {
    let i = thread::index_1d() as usize;
    let sum = a[i] + b[i]; // wrong
    if i < out.len() {
        out.set(i, sum);
    }
}

/// The stride is the number of threads in one block: two blocks update the same elements. It must be the number of threads
/// in the grid.
#[kernel]
pub fn saxpy_bug_1(a: i32, x: &[i32], y: GlobalMut<i32>) {
    let threads = thread::block_dim_x() as usize;
    let mut i = thread::index_1d() as usize;
    while i < y.len() {
        y.set(i, a * x[i] + y.get(i)); // wrong
        i += threads;
    }
}

/// The loop runs once too often for the thread that reaches `i == y.len()`. The last element has the index `y.len() - 1`.
#[kernel]
pub fn saxpy_bug_2(a: i32, x: &[i32], y: GlobalMut<i32>) {
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::index_1d() as usize;
    while i <= y.len() {
        y.set(i, a * x[i] + y.get(i)); // wrong
        i += threads;
    }
}

/// Rows and columns are swapped in the index, which is in bounds all the same: no check finds this, only a comparison with
/// the expected result. In a matrix stored by rows, element (row, column) is at `row * columns + column`.
#[kernel]
pub fn broadcast_bug_1(a: &[i32], b: &[i32], out: GlobalMut<i32>) {
    let row = (thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y()) as usize;
    let column = (thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
    if row < a.len() && column < b.len() {
        out.set(column * a.len() + row, a[row] + b[column]); // wrong
    }
}

/// The row selects the element of b, which has one for each column. With more rows than columns, the read is out of bounds;
/// otherwise only the result is wrong.
#[kernel]
pub fn add_row_bug_1(x: GlobalMut<i32>, b: &[i32], rows: u32, columns: u32) {
    let t = thread::index_1d();
    if t < rows * columns {
        let (i, row) = (t as usize, (t / columns) as usize);
        x.set(i, x.get(i) + b[row]); // wrong
    }
}

/// The last element of an odd number has no partner: its thread reads beyond the end of x.
#[kernel]
pub fn pool_bug_1(x: &[i32], out: GlobalMut<i32>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out.set(i, x[2 * i].max(x[2 * i + 1])); // wrong
    }
}

/// The pairs overlap: thread i takes the elements i and i + 1 in place of 2i and 2i + 1. All accesses are in bounds:
/// only the result shows the mistake.
#[kernel]
pub fn pool_bug_2(x: &[i32], out: GlobalMut<i32>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        let mut largest = x[i]; // wrong
        if i + 1 < x.len() {
            largest = largest.max(x[i + 1]);
        }
        out.set(i, largest);
    }
}

/// Two threads with the same value may both read the old count, and then one of their additions is lost. An atomic operation
/// reads, adds and writes with no other thread in between.
#[kernel]
pub fn histogram_bug_1(values: &[u32], counts: GlobalMut<u32>) {
    let own = shared_array![u32; BINS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    own.set(t, 0);
    thread::sync_threads();
    if i < values.len() {
        let bin = values[i] as usize;
        own.set(bin, own.get(bin) + 1); // wrong
    }
    thread::sync_threads();
    counts.atomic(t).fetch_add(own.get(t));
}

/// A thread may count before another one has set that count to zero: a barrier must stand between the zeros and the counting.
#[kernel]
pub fn histogram_bug_2(values: &[u32], counts: GlobalMut<u32>) {
    let own = shared_array![u32; BINS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    own.set(t, 0);
    if i < values.len() {
        own.atomic(values[i] as usize).fetch_add(1); // wrong
    }
    thread::sync_threads();
    counts.atomic(t).fetch_add(own.get(t));
}

/// A thread may read a count while others still add to it: a barrier must stand between the counting and the last line.
#[kernel]
pub fn histogram_bug_3(values: &[u32], counts: GlobalMut<u32>) {
    let own = shared_array![u32; BINS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    own.set(t, 0);
    thread::sync_threads();
    if i < values.len() {
        own.atomic(values[i] as usize).fetch_add(1); // wrong
    }
    counts.atomic(t).fetch_add(own.get(t));
}

/// A block needs 6 elements, and its 4 threads copy only 4. The last two are read before anything is written to them: on a
/// GPU they hold whatever was in shared memory before.
#[kernel]
pub fn neighbors_bug_1(x: &[i32], out: GlobalMut<i32>) {
    let tile = shared_array![i32; WITH_NEIGHBORS];
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * THREADS;
    tile.set(t, shifted(x, first + t));
    thread::sync_threads();
    if first + t < out.len() {
        out.set(first + t, tile.get(t) + tile.get(t + RADIUS) + tile.get(t + 2 * RADIUS)); // wrong
    }
}

/// Thread 0 may read the products of the other threads before they are written: a barrier is missing.
#[kernel]
pub fn dot_bug_1(x: &[i32], y: &[i32], out: GlobalMut<i32>) {
    let products = shared_array![i32; THREADS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    products.set(t, element(x, i) * element(y, i));
    if t == 0 {
        let sum = products.get(0) + products.get(1) + products.get(2) + products.get(3); // wrong
        out.set(thread::block_idx_x() as usize, sum);
    }
}

/// Threads beyond the end of x leave their products unwritten, and thread 0 adds them all the same. A thread without an
/// element must write 0.
#[kernel]
pub fn dot_bug_2(x: &[i32], y: &[i32], out: GlobalMut<i32>) {
    let products = shared_array![i32; THREADS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    if i < x.len() {
        products.set(t, x[i] * y[i]);
    }
    thread::sync_threads();
    if t == 0 {
        let sum = products.get(0) + products.get(1) + products.get(2) + products.get(3); // wrong
        out.set(thread::block_idx_x() as usize, sum);
    }
}

/// The barrier is inside the guard: in the last block, threads without an element never reach it, and the others wait for
/// them. All threads of a block must reach a barrier.
#[kernel]
pub fn convolve_bug_1(x: &[i32], w: &[i32], out: GlobalMut<i32>) {
    let tile = shared_array![i32; WINDOWS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    tile.set(t, element(x, i));
    if t < WEIGHTS - 1 {
        tile.set(THREADS + t, element(x, i + THREADS));
    }
    if i < out.len() {
        thread::sync_threads(); // wrong
        out.set(i, w[0] * tile.get(t) + w[1] * tile.get(t + 1) + w[2] * tile.get(t + 2));
    }
}

/// Three threads copy what is needed after the block's own elements, and there are only two: the third one writes beyond the
/// end of the shared array.
#[kernel]
pub fn convolve_bug_2(x: &[i32], w: &[i32], out: GlobalMut<i32>) {
    let tile = shared_array![i32; WINDOWS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    tile.set(t, element(x, i));
    if t < WEIGHTS {
        tile.set(THREADS + t, element(x, i + THREADS)); // wrong
    }
    thread::sync_threads();
    if i < out.len() {
        out.set(i, w[0] * tile.get(t) + w[1] * tile.get(t + 1) + w[2] * tile.get(t + 2));
    }
}

/// The barrier is in a branch that only some threads take. Threads that add nothing must reach it, too.
#[kernel]
pub fn tree_bug_1(x: &[i32], out: GlobalMut<i32>) {
    let values = shared_array![i32; TREE];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    values.set(t, element(x, i));
    let mut half = TREE / 2;
    thread::sync_threads();
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

/// Without a barrier between two steps, a thread may read a sum of the step before that another one has not written yet.
#[kernel]
pub fn tree_bug_2(x: &[i32], out: GlobalMut<i32>) {
    let values = shared_array![i32; TREE];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    values.set(t, element(x, i));
    let mut half = TREE / 2;
    thread::sync_threads();
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

/// A thread may write its new sum before its neighbor has read the old one: between the reads and the writes of a step, a
/// second barrier is needed.
#[kernel]
pub fn prefix_sum_bug_1(x: &[i32], out: GlobalMut<i32>) {
    let sums = shared_array![i32; TREE];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    sums.set(t, element(x, i));
    let mut distance = 1;
    while distance < TREE {
        thread::sync_threads();
        let before = if t < distance { 0 } else { sums.get(t - distance) }; // wrong
        sums.set(t, sums.get(t) + before);
        distance *= 2;
    }
    if i < out.len() {
        out.set(i, sums.get(t));
    }
}

/// Thread t takes all columns from t on: most elements are added several times. If the stride is the number of threads, each
/// element is added once.
#[kernel]
pub fn row_sums_bug_1(x: &[i32], out: GlobalMut<i32>, columns: u32) {
    let sums = shared_array![i32; THREADS];
    let (row, t) = (thread::block_idx_x(), thread::thread_idx_x());
    let (mut sum, mut column) = (0, t);
    while column < columns {
        sum += x[(row * columns + column) as usize];
        column += 1; // wrong
    }
    sums.set(t as usize, sum);
    thread::sync_threads();
    if t == 0 {
        out.set(row as usize, sums.get(0) + sums.get(1) + sums.get(2) + sums.get(3));
    }
}

/// Lanes beyond the end of x do not reach the shuffle, though others read their values. All lanes must take part: those
/// without an element add 0.
#[kernel]
pub fn shuffle_sum_bug_1(x: &[i32], out: GlobalMut<i32>) {
    let i = thread::index_1d() as usize;
    let (mut value, mut delta) = (element(x, i), 16);
    if i < x.len() {
        while delta > 0 {
            value += warp::shuffle_down(value, delta); // wrong
            delta /= 2;
        }
    }
    if warp::lane_id() == 0 {
        out.set(thread::block_idx_x() as usize, value);
    }
}

/// Each thread reads an element of the tile that another one writes, and nothing makes it wait: a barrier is missing.
#[kernel]
pub fn transpose_bug_1(x: &[i32], out: GlobalMut<i32>, rows: u32, columns: u32) {
    let tile = shared_array![i32; SQUARE];
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_column) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let (row, column) = (first_row + ty, first_column + tx);
    tile.set((ty * SIDE + tx) as usize, cell(x, rows, columns, row, column));
    let (row, column) = (first_row + tx, first_column + ty);
    if row < rows && column < columns {
        out.set((column * rows + row) as usize, tile.get((tx * SIDE + ty) as usize)); // wrong
    }
}

/// The write has no guard: threads beyond the last row or column write outside of the result, or over another element.
#[kernel]
pub fn transpose_bug_2(x: &[i32], out: GlobalMut<i32>, rows: u32, columns: u32) {
    let tile = shared_array![i32; SQUARE];
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_column) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let (row, column) = (first_row + ty, first_column + tx);
    tile.set((ty * SIDE + tx) as usize, cell(x, rows, columns, row, column));
    thread::sync_threads();
    let (row, column) = (first_row + tx, first_column + ty);
    out.set((column * rows + row) as usize, tile.get((tx * SIDE + ty) as usize)); // wrong
}

/// The index goes along a row of b where the product needs a column. It is in bounds: only the result is wrong.
#[kernel]
pub fn product_bug_1(a: &[i32], b: &[i32], out: GlobalMut<i32>, rows: u32, inner: u32, columns: u32) {
    let row = thread::block_idx_y() * TILE + thread::thread_idx_y();
    let column = thread::block_idx_x() * TILE + thread::thread_idx_x();
    let (mut sum, mut k) = (0, 0);
    if row < rows && column < columns {
        while k < inner {
            sum += a[(row * inner + k) as usize] * b[(column * inner + k) as usize]; // wrong
            k += 1;
        }
        out.set((row * columns + column) as usize, sum);
    }
}

/// The second barrier of a round is missing: a thread may fill its part of the next tiles while others still multiply these.
#[kernel]
pub fn product_by_tiles_bug_1(x: &[i32], out: GlobalMut<i32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![i32; CELLS], shared_array![i32; CELLS]);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * TILE, thread::block_idx_x() * TILE);
    let (mut sum, mut first_k) = (0, 0);
    while first_k < columns {
        left.set(at(ty, tx), cell(x, rows, columns, first_i + ty, first_k + tx));
        right.set(at(ty, tx), cell(x, rows, columns, first_j + ty, first_k + tx));
        thread::sync_threads();
        sum += left.get(at(ty, 0)) * right.get(at(tx, 0)) + left.get(at(ty, 1)) * right.get(at(tx, 1)); // wrong
        first_k += TILE;
    }
    if first_i + ty < rows && first_j + tx < rows {
        out.set(((first_i + ty) * rows + first_j + tx) as usize, sum);
    }
}

/// Threads outside of the result leave at the guard and never reach the barriers, though they have to fill their parts of the
/// tiles. Only the write belongs inside the guard.
#[kernel]
pub fn product_by_tiles_bug_2(x: &[i32], out: GlobalMut<i32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![i32; CELLS], shared_array![i32; CELLS]);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * TILE, thread::block_idx_x() * TILE);
    let (mut sum, mut first_k) = (0, 0);
    if first_i + ty < rows && first_j + tx < rows {
        while first_k < columns {
            left.set(at(ty, tx), cell(x, rows, columns, first_i + ty, first_k + tx));
            right.set(at(ty, tx), cell(x, rows, columns, first_j + ty, first_k + tx));
            thread::sync_threads(); // wrong
            sum += left.get(at(ty, 0)) * right.get(at(tx, 0)) + left.get(at(ty, 1)) * right.get(at(tx, 1));
            thread::sync_threads();
            first_k += TILE;
        }
        out.set(((first_i + ty) * rows + first_j + tx) as usize, sum);
    }
}

/// The next columns go into the tile that other threads are still multiplying. With two tiles, one is filled while the other
/// is read.
#[kernel]
pub fn product_double_buffered_bug_1(x: &[i32], out: GlobalMut<i32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![i32; TWO_TILES], shared_array![i32; TWO_TILES]);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * TILE, thread::block_idx_x() * TILE);
    let fetch = |first_k: u32, tile: usize| {
        left.set(tile + at(ty, tx), cell(x, rows, columns, first_i + ty, first_k + tx)); // wrong
        right.set(tile + at(ty, tx), cell(x, rows, columns, first_j + ty, first_k + tx));
    };
    let multiply = |tile: usize| {
        let (mut sum, mut k) = (0, 0);
        while k < TILE {
            sum += left.get(tile + at(ty, k)) * right.get(tile + at(tx, k));
            k += 1;
        }
        sum
    };
    let (mut sum, mut first_k, mut own) = (0, 0, 0);
    fetch(0, own);
    while first_k < columns {
        thread::sync_threads();
        first_k += TILE;
        fetch(first_k, own);
        sum += multiply(own);
        own = CELLS - own;
    }
    if first_i + ty < rows && first_j + tx < rows {
        out.set(((first_i + ty) * rows + first_j + tx) as usize, sum);
    }
}

/// The threads read a row to which others are still writing: before the first read of another thread's element, there must be
/// a barrier.
#[kernel]
pub fn softmax_bug_1(x: &[f32], out: GlobalMut<f32>, columns: u32) {
    let values = shared_array![f32; ROW];
    let (first, t) = ((thread::block_idx_x() * columns) as usize, thread::thread_idx_x() as usize);
    let (mut largest, mut sum) = (f32::NEG_INFINITY, 0.0);
    let mut column = t;
    while column < columns as usize {
        values.set(column, x[first + column]);
        column += THREADS;
    }
    for k in 0..columns as usize {
        largest = largest.max(values.get(k)); // wrong
    }
    for k in 0..columns as usize {
        sum += exp(values.get(k) - largest);
    }
    column = t;
    while column < columns as usize {
        out.set(first + column, exp(values.get(column) - largest) / sum);
        column += THREADS;
    }
}
