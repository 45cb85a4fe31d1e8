//! Twenty small kernels to complete, with about ten elements each: `docs/lab` shows what their threads read and write.

use cuda_std::math::exp;
use cuda_std::{Global, GlobalMut, kernel, shared_array, thread, warp};

/// Threads of a block, where a kernel does not say otherwise.
pub const THREADS: usize = 4;
/// Different values that `histogram` counts.
pub const BINS: usize = 4;
/// Elements on each side that `neighbors` adds.
pub const RADIUS: usize = 1;
/// Elements that a block of `neighbors` needs.
pub const WITH_NEIGHBORS: usize = THREADS + 2 * RADIUS;
/// Weights of `convolve`.
pub const WEIGHTS: usize = 3;
/// Elements that a block of `convolve` needs.
pub const WINDOWS: usize = THREADS + WEIGHTS - 1;
/// Threads of a block of `tree` and `prefix_sum`.
pub const TREE: usize = 8;
/// Rows and columns of a tile of `transpose`.
pub const SIDE: u32 = 4;
/// Elements of a tile of `transpose`.
pub const SQUARE: usize = (SIDE * SIDE) as usize;
/// Rows and columns of a tile of the matrix products.
pub const TILE: u32 = 2;
/// Elements of a tile of the matrix products.
pub const CELLS: usize = (TILE * TILE) as usize;
/// Elements of two tiles of the matrix products.
pub const TWO_TILES: usize = 2 * CELLS;
/// Maximum number of columns of `softmax`.
pub const ROW: usize = 8;

/// `x[i]`, or 0 beyond the end.
#[inline(always)]
pub(crate) fn element(x: Global<i32>, i: usize) -> i32 {
    if i < x.len() { x[i] } else { 0 }
}

/// `x[i - RADIUS]`, or 0 beyond both ends.
#[inline(always)]
pub(crate) fn shifted(x: Global<i32>, i: usize) -> i32 {
    if i < RADIUS { 0 } else { element(x, i - RADIUS) }
}

/// Index of an element in a tile of the matrix products.
#[inline(always)]
pub(crate) fn at(row: u32, column: u32) -> usize {
    (row * TILE + column) as usize
}

/// Element (row, column) of the `rows` × `columns` matrix x, or 0 outside of it.
#[inline(always)]
pub(crate) fn cell(x: Global<i32>, rows: u32, columns: u32, row: u32, column: u32) -> i32 {
    if row < rows && column < columns { x[(row * columns + column) as usize] } else { 0 }
}

/// Set `out[i]` to `x[i] + 10`. There is a thread for each element: thread i of the grid has element i.
#[kernel]
pub fn map(x: &[i32], out: GlobalMut<i32>) {
    let i = thread::index_1d() as usize;
    // write: map
    out.set(i, x[i] + 10);
    // end
}

/// Double each element of x. The grid has whole blocks of 4 threads: those beyond the end of x do nothing.
#[kernel]
pub fn double(x: GlobalMut<i32>) {
    // write: double
    let i = thread::index_1d() as usize;
    if i < x.len() {
        x.set(i, 2 * x.get(i));
    }
    // end
}

/// Set `out[i]` to `a[i] + b[i]`. The three buffers have the same length.
#[kernel]
pub fn zip(a: &[i32], b: &[i32], out: GlobalMut<i32>) {
    let i = thread::index_1d() as usize;
    // write: zip
    if i < out.len() {
        out.set(i, a[i] + b[i]);
    }
    // end
}

/// Add `a * x[i]` to `y[i]`, by two blocks of 4 threads however many elements there are. Thread t has the elements t, t + 8,
/// t + 16 and so on: the stride is the number of threads in the grid.
#[kernel]
pub fn saxpy(a: i32, x: &[i32], y: GlobalMut<i32>) {
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    // write: saxpy
    let mut i = thread::index_1d() as usize;
    while i < y.len() {
        y.set(i, a * x[i] + y.get(i));
        i += threads;
    }
    // end
}

/// Set each element of out, a matrix with a row for each element of a and a column for each element of b, to
/// `a[row] + b[column]`. A block has 2 × 2 threads; element (row, column) has the index `row * b.len() + column`.
#[kernel]
pub fn broadcast(a: &[i32], b: &[i32], out: GlobalMut<i32>) {
    let row = (thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y()) as usize;
    let column = (thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
    // write: broadcast
    if row < a.len() && column < b.len() {
        out.set(row * b.len() + column, a[row] + b[column]);
    }
    // end
}

/// Add the row b to each row of x, a `rows` × `columns` matrix. Neighboring threads have neighboring columns: thread t of
/// the grid has the element with index t.
#[kernel]
pub fn add_row(x: GlobalMut<i32>, b: &[i32], rows: u32, columns: u32) {
    let t = thread::index_1d();
    // write: add_row
    if t < rows * columns {
        let (i, column) = (t as usize, (t % columns) as usize);
        x.set(i, x.get(i) + b[column]);
    }
    // end
}

/// Set `out[i]` to the larger of `x[2 * i]` and `x[2 * i + 1]`. If x has an odd length, the last element has no partner.
#[kernel]
pub fn pool(x: &[i32], out: GlobalMut<i32>) {
    let i = thread::index_1d() as usize;
    // write: pool
    if i < out.len() {
        let mut largest = x[2 * i];
        if 2 * i + 1 < x.len() {
            largest = largest.max(x[2 * i + 1]);
        }
        out.set(i, largest);
    }
    // end
}

/// Add to `counts[v]` how often v, from 0 to 3, is among the values. The 4 threads of a block count their values in
/// shared memory by atomic operations, and then thread t adds the block's count of t to `counts[t]`.
#[kernel]
pub fn histogram(values: &[u32], counts: GlobalMut<u32>) {
    let own = shared_array![u32; BINS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // write: histogram
    own.set(t, 0);
    thread::sync_threads();
    if i < values.len() {
        own.atomic(values[i] as usize).fetch_add(1);
    }
    thread::sync_threads();
    counts.atomic(t).fetch_add(own.get(t));
    // end
}

/// Set `out[i]` to `x[i - 1] + x[i] + x[i + 1]`, with zeros beyond both ends. A block first copies the 6 elements that it
/// needs to shared memory: `tile[k]` is `shifted(x, first + k)`.
#[kernel]
pub fn neighbors(x: &[i32], out: GlobalMut<i32>) {
    let tile = shared_array![i32; WITH_NEIGHBORS];
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * THREADS;
    // write: neighbors
    tile.set(t, shifted(x, first + t));
    if t < 2 * RADIUS {
        tile.set(THREADS + t, shifted(x, first + THREADS + t));
    }
    thread::sync_threads();
    if first + t < out.len() {
        out.set(first + t, tile.get(t) + tile.get(t + 1) + tile.get(t + 2));
    }
    // end
}

/// Set `out[b]` to the sum of the products `x[i] * y[i]` of the 4 elements of block b. Each thread writes a product to
/// shared memory, 0 beyond the end, and then thread 0 adds the four.
#[kernel]
pub fn dot(x: &[i32], y: &[i32], out: GlobalMut<i32>) {
    let products = shared_array![i32; THREADS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // write: dot
    products.set(t, element(x, i) * element(y, i));
    thread::sync_threads();
    if t == 0 {
        let sum = products.get(0) + products.get(1) + products.get(2) + products.get(3);
        out.set(thread::block_idx_x() as usize, sum);
    }
    // end
}

/// Set `out[i]` to `w[0] * x[i] + w[1] * x[i + 1] + w[2] * x[i + 2]`, with zeros beyond the end. A block first copies the
/// 6 elements that it needs to shared memory.
#[kernel]
pub fn convolve(x: &[i32], w: &[i32], out: GlobalMut<i32>) {
    let tile = shared_array![i32; WINDOWS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // write: convolve
    tile.set(t, element(x, i));
    if t < WEIGHTS - 1 {
        tile.set(THREADS + t, element(x, i + THREADS));
    }
    thread::sync_threads();
    if i < out.len() {
        out.set(i, w[0] * tile.get(t) + w[1] * tile.get(t + 1) + w[2] * tile.get(t + 2));
    }
    // end
}

/// Set `out[b]` to the sum of the 8 elements of block b, by 8 threads. Threads 0 to 3 add the upper half of the values to
/// the lower half, then threads 0 and 1 do the same with what is left, then thread 0.
#[kernel]
pub fn tree(x: &[i32], out: GlobalMut<i32>) {
    let values = shared_array![i32; TREE];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    values.set(t, element(x, i));
    let mut half = TREE / 2;
    // write: tree
    thread::sync_threads();
    while half > 0 {
        if t < half {
            values.set(t, values.get(t) + values.get(t + half));
        }
        thread::sync_threads();
        half /= 2;
    }
    // end
    if t == 0 {
        out.set(thread::block_idx_x() as usize, values.get(0));
    }
}

/// Set each element of out to the sum of x from the first element of its block up to its own, by blocks of 8 threads. In
/// three steps, with the distances 1, 2 and 4, each thread adds the sum that is so far before its own.
#[kernel]
pub fn prefix_sum(x: &[i32], out: GlobalMut<i32>) {
    let sums = shared_array![i32; TREE];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    sums.set(t, element(x, i));
    let mut distance = 1;
    // write: prefix_sum
    while distance < TREE {
        thread::sync_threads();
        let before = if t < distance { 0 } else { sums.get(t - distance) };
        thread::sync_threads();
        sums.set(t, sums.get(t) + before);
        distance *= 2;
    }
    // end
    if i < out.len() {
        out.set(i, sums.get(t));
    }
}

/// Set `out[row]` to the sum of that row of x, a matrix with `columns` columns. Each row has a block of 4 threads: thread t
/// adds the columns t, t + 4, t + 8 and so on, and thread 0 adds the four sums.
#[kernel]
pub fn row_sums(x: &[i32], out: GlobalMut<i32>, columns: u32) {
    let sums = shared_array![i32; THREADS];
    let (row, t) = (thread::block_idx_x(), thread::thread_idx_x());
    let (mut sum, mut column) = (0, t);
    // write: row_sums
    while column < columns {
        sum += x[(row * columns + column) as usize];
        column += THREADS as u32;
    }
    sums.set(t as usize, sum);
    thread::sync_threads();
    // end
    if t == 0 {
        out.set(row as usize, sums.get(0) + sums.get(1) + sums.get(2) + sums.get(3));
    }
}

/// Set `out[b]` to the sum of the 32 elements of block b, which is one warp. `warp::shuffle_down(value, delta)` is the value
/// of the lane that is delta further; all lanes take part, and those beyond the end of x add 0.
#[kernel]
pub fn shuffle_sum(x: &[i32], out: GlobalMut<i32>) {
    let i = thread::index_1d() as usize;
    let (mut value, mut delta) = (element(x, i), 16);
    // write: shuffle_sum
    while delta > 0 {
        value += warp::shuffle_down(value, delta);
        delta /= 2;
    }
    // end
    if warp::lane_id() == 0 {
        out.set(thread::block_idx_x() as usize, value);
    }
}

/// Set out to xᵀ, x a `rows` × `columns` matrix. A block of 4 × 4 threads copies a tile of x by rows to shared memory, with
/// zeros outside of x, and writes it by rows of out. `cell` reads an element of x.
#[kernel]
pub fn transpose(x: &[i32], out: GlobalMut<i32>, rows: u32, columns: u32) {
    let tile = shared_array![i32; SQUARE];
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_column) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let (row, column) = (first_row + ty, first_column + tx);
    // write: transpose
    tile.set((ty * SIDE + tx) as usize, cell(x, rows, columns, row, column));
    thread::sync_threads();
    let (row, column) = (first_row + tx, first_column + ty);
    if row < rows && column < columns {
        out.set((column * rows + row) as usize, tile.get((tx * SIDE + ty) as usize));
    }
    // end
}

/// Set out to the product of a, a `rows` × `inner` matrix, and b, an `inner` × `columns` matrix. Each element has a thread,
/// in blocks of 2 × 2 threads.
#[kernel]
pub fn product(a: &[i32], b: &[i32], out: GlobalMut<i32>, rows: u32, inner: u32, columns: u32) {
    let row = thread::block_idx_y() * TILE + thread::thread_idx_y();
    let column = thread::block_idx_x() * TILE + thread::thread_idx_x();
    let (mut sum, mut k) = (0, 0);
    // write: product
    if row < rows && column < columns {
        while k < inner {
            sum += a[(row * inner + k) as usize] * b[(k * columns + column) as usize];
            k += 1;
        }
        out.set((row * columns + column) as usize, sum);
    }
    // end
}

/// Set out to X·Xᵀ, X a `rows` × `columns` matrix: element (i, j) is the product of rows i and j. For two columns at a time,
/// a block copies its rows i to `left` and its rows j to `right`, and each thread adds two products.
#[kernel]
pub fn product_by_tiles(x: &[i32], out: GlobalMut<i32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![i32; CELLS], shared_array![i32; CELLS]);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * TILE, thread::block_idx_x() * TILE);
    let (mut sum, mut first_k) = (0, 0);
    while first_k < columns {
        // write: product_by_tiles
        left.set(at(ty, tx), cell(x, rows, columns, first_i + ty, first_k + tx));
        right.set(at(ty, tx), cell(x, rows, columns, first_j + ty, first_k + tx));
        thread::sync_threads();
        sum += left.get(at(ty, 0)) * right.get(at(tx, 0)) + left.get(at(ty, 1)) * right.get(at(tx, 1));
        thread::sync_threads();
        // end
        first_k += TILE;
    }
    if first_i + ty < rows && first_j + tx < rows {
        out.set(((first_i + ty) * rows + first_j + tx) as usize, sum);
    }
}

/// Set out to X·Xᵀ as `product_by_tiles` does, with two tiles of each side. While the threads multiply the tile at `own`,
/// which is 0 or `CELLS`, they fill the other one with the next two columns: one barrier for each tile is enough.
#[kernel]
pub fn product_double_buffered(x: &[i32], out: GlobalMut<i32>, rows: u32, columns: u32) {
    let (left, right) = (shared_array![i32; TWO_TILES], shared_array![i32; TWO_TILES]);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_i, first_j) = (thread::block_idx_y() * TILE, thread::block_idx_x() * TILE);
    let fetch = |first_k: u32, tile: usize| {
        left.set(tile + at(ty, tx), cell(x, rows, columns, first_i + ty, first_k + tx));
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
    // write: product_double_buffered
    fetch(0, own);
    while first_k < columns {
        thread::sync_threads();
        first_k += TILE;
        fetch(first_k, CELLS - own);
        sum += multiply(own);
        own = CELLS - own;
    }
    // end
    if first_i + ty < rows && first_j + tx < rows {
        out.set(((first_i + ty) * rows + first_j + tx) as usize, sum);
    }
}

/// Set each element of out to `exp(value - largest)` divided by the sum of these in its row; `largest` is the row's largest
/// value. Each row has a block of 4 threads, which copy it to shared memory; it has at most 8 columns.
#[kernel]
pub fn softmax(x: &[f32], out: GlobalMut<f32>, columns: u32) {
    let values = shared_array![f32; ROW];
    let (first, t) = ((thread::block_idx_x() * columns) as usize, thread::thread_idx_x() as usize);
    let (mut largest, mut sum) = (f32::NEG_INFINITY, 0.0);
    let mut column = t;
    while column < columns as usize {
        values.set(column, x[first + column]);
        column += THREADS;
    }
    // write: softmax
    thread::sync_threads();
    for k in 0..columns as usize {
        largest = largest.max(values.get(k));
    }
    for k in 0..columns as usize {
        sum += exp(values.get(k) - largest);
    }
    // end
    column = t;
    while column < columns as usize {
        out.set(first + column, exp(values.get(column) - largest) / sum);
        column += THREADS;
    }
}
