//! Correct kernels for the tests of `cuda_std`, in the simulator and as PTX.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

// `panic!` and its kind in functions that kernels call.
#[macro_use]
extern crate cuda_std;

use cuda_std::{F32x4, GlobalMut, dynamic_shared, grid, kernel, math, shared_array, thread, warp};

pub mod atomics;
pub mod brackets;
pub mod control_flow;
pub mod copies;
pub mod floats;
pub mod groups;
pub mod half_precision;
pub mod integers;
pub mod language;
pub mod memory;
pub mod others;
pub mod panicking;
pub mod ports;
#[cfg(not(target_arch = "nvptx64"))]
mod ptx;
pub mod speaking;
pub mod stepping;
pub mod teaching;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod tensor_cores;

#[cfg(not(target_arch = "nvptx64"))]
pub use ptx::PTX;

/// `out[i]` = the larger of `a[i]` and `b[i]`.
#[kernel]
pub fn vector_max(a: &[f32], b: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out.set(i, a[i].max(b[i]));
    }
}

/// Side of a tile of [`matmul_transpose`].
pub const TILE: usize = 32;

/// Elements of a tile. Rows are padded by one element, so that the elements of a column are in different banks.
const TILE_ELEMENTS: usize = TILE * (TILE + 1);

/// out = x · xᵀ where x is `rows` × `columns`. Blocks have [`TILE`] × [`TILE`] threads; the tiles of out are assigned
/// to blocks cyclically.
#[kernel]
pub fn matmul_transpose(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    let left = shared_array![f32; TILE_ELEMENTS];
    let right = shared_array![f32; TILE_ELEMENTS];
    let (rows, columns) = (rows as usize, columns as usize);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let tiles = rows.div_ceil(TILE);
    let mut tile = thread::block_idx_x() as usize;
    while tile < tiles * tiles {
        let (first_row, first_column) = (tile / tiles * TILE, tile % tiles * TILE);
        let mut sum = 0.0;
        let mut first = 0;
        while first < columns {
            let k = first + tx;
            let load = |row: usize| if row < rows && k < columns { x[row * columns + k] } else { 0.0 };
            left.set(ty * (TILE + 1) + tx, load(first_row + ty));
            right.set(ty * (TILE + 1) + tx, load(first_column + ty));
            thread::sync_threads();
            for k in 0..TILE {
                sum = math::fma(left.get(ty * (TILE + 1) + k), right.get(tx * (TILE + 1) + k), sum);
            }
            thread::sync_threads();
            first += TILE;
        }
        let (row, column) = (first_row + ty, first_column + tx);
        if row < rows && column < rows {
            out.set(row * rows + column, sum);
        }
        tile += thread::grid_dim_x() as usize;
    }
}

/// `out[block]` = the sum of the block's elements of x, by warp reductions. Blocks are whole warps.
#[kernel]
pub fn block_sum(x: &[f32], out: GlobalMut<f32>) {
    let sums = shared_array![f32; 32];
    let i = thread::index_1d() as usize;
    let sum = warp::reduce_add(if i < x.len() { x[i] } else { 0.0 });
    let t = thread::thread_idx_x();
    if warp::lane_id() == 0 {
        sums.set((t / 32) as usize, sum);
    }
    thread::sync_threads();
    if t < 32 {
        let warps = thread::block_dim_x() / 32;
        let sum = warp::reduce_add(if t < warps { sums.get(t as usize) } else { 0.0 });
        if t == 0 {
            out.set(thread::block_idx_x() as usize, sum);
        }
    }
}

/// The results of six other warp operations, in six elements of out per thread.
#[kernel]
pub fn warp_operations(x: &[i32], out: GlobalMut<i32>) {
    let t = thread::thread_idx_x() as usize;
    let value = x[t];
    let ballot = warp::ballot(value % 2 == 0) as i32;
    out.set(t * 6, warp::shuffle_up(value, 1));
    out.set(t * 6 + 1, warp::shuffle_idx(value, 0));
    out.set(t * 6 + 2, ballot);
    out.set(t * 6 + 3, i32::from(warp::any(value == 7)));
    out.set(t * 6 + 4, i32::from(warp::all(value > 0)));
    out.set(t * 6 + 5, warp::lane_id() as i32);
}

/// Bins of [`histogram`].
pub const BINS: usize = 64;

/// `bins[b]` += the number of elements of x equal to b, counted in shared memory first; `largest[0]` = the largest
/// − 100.
#[kernel]
pub fn histogram(x: &[u8], bins: GlobalMut<u32>, largest: GlobalMut<f32>) {
    let counts = shared_array![u32; BINS];
    let (t, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    for bin in (t..BINS).step_by(threads) {
        counts.set(bin, 0);
    }
    thread::sync_threads();
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let value = x[i];
        counts.atomic(value as usize % BINS).fetch_add(1);
        largest.atomic(0).fetch_max(f32::from(value) - 100.0);
    }
    thread::sync_threads();
    for bin in (t..BINS).step_by(threads) {
        bins.atomic(bin).fetch_add(counts.get(bin));
    }
}

/// Reverses each block's elements of x through dynamic shared memory, whose second half holds their negatives:
/// out = 2 · the value + its negative.
#[kernel]
pub fn reverse_blocks(x: &[f32], out: GlobalMut<f32>) {
    let (values, negatives) = dynamic_shared::<f32>().split_at(thread::block_dim_x() as usize);
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let value = if i < x.len() { x[i] } else { 0.0 };
    values.set(t, value);
    negatives.set(t, -value);
    thread::sync_threads();
    let mirrored = values.len() - 1 - t;
    if i < out.len() {
        out.set(i, 2.0 * values.get(mirrored) + negatives.get(mirrored));
    }
}

/// `out[n]` = the indices of thread n of the grid, as decimal digits: block z, y, x, thread z, y, x.
#[kernel]
pub fn indices(out: GlobalMut<u32>) {
    use thread::*;
    let block = (block_idx_z() * grid_dim_y() + block_idx_y()) * grid_dim_x() + block_idx_x();
    let in_block = (thread_idx_z() * block_dim_y() + thread_idx_y()) * block_dim_x() + thread_idx_x();
    let i = block * block_dim_x() * block_dim_y() * block_dim_z() + in_block;
    let blocks = (block_idx_z() * 10 + block_idx_y()) * 10 + block_idx_x();
    let threads = (thread_idx_z() * 10 + thread_idx_y()) * 10 + thread_idx_x();
    out.set(i as usize, blocks * 1000 + threads);
}

/// `out[i]` = scale · `x[i]`, in vectors of four.
#[kernel]
pub fn scale_vectors(x: &[F32x4], scale: f32, out: GlobalMut<F32x4>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        let F32x4 { x, y, z, w } = x.get(i);
        out.set(i, F32x4::new(scale * x, scale * y, scale * z, scale * w));
    }
}

/// The functions of `math`, eight for each x: exp, tanh, √|x|, 1/x, then the same from `math::fast`.
#[kernel]
pub fn functions(x: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let x = x[i];
        out.set(i * 8, math::exp(x));
        out.set(i * 8 + 1, math::tanh(x));
        out.set(i * 8 + 2, math::sqrt(x.abs()));
        out.set(i * 8 + 3, math::recip(x));
        out.set(i * 8 + 4, math::fast::exp(x));
        out.set(i * 8 + 5, math::fast::tanh(x));
        out.set(i * 8 + 6, math::fast::sqrt(x.abs()));
        out.set(i * 8 + 7, math::fast::recip(x));
    }
}

/// y ← √(a · x + y) in f64, with a line from the first thread.
#[kernel]
pub fn double_precision(a: f64, x: &[f64], y: GlobalMut<f64>) {
    let i = thread::index_1d() as usize;
    if i == usize::MAX {
        cuda_std::println!("never: {a}");
    }
    if i < x.len() {
        y.set(i, math::sqrt(math::fma(a, x[i], y.get(i))));
    }
}

/// Combines the sum and the maximum of x, as integers and as floats, into elements 0 and 1 of `integers` and `floats`.
/// Each block reduces in shared memory first; the floats need dynamic shared memory for two f32.
#[kernel]
pub fn sums_and_maxima(x: &[f32], integers: GlobalMut<i32>, floats: GlobalMut<f32>) {
    let block_integers = shared_array![i32; 2];
    let block_floats = dynamic_shared::<f32>();
    let (t, i) = (thread::thread_idx_x(), thread::index_1d() as usize);
    if t == 0 {
        block_integers.set(0, 0);
        block_integers.set(1, i32::MIN);
        block_floats.set(0, 0.0);
        block_floats.set(1, f32::NEG_INFINITY);
    }
    thread::sync_threads();
    if i < x.len() {
        let value = x[i];
        block_integers.atomic(0).fetch_add(value as i32);
        block_integers.atomic(1).fetch_max(value as i32);
        block_floats.atomic(0).fetch_add(value);
        block_floats.atomic(1).fetch_max(value);
    }
    thread::sync_threads();
    if t == 0 {
        integers.atomic(0).fetch_add(block_integers.get(0));
        integers.atomic(1).fetch_max(block_integers.get(1));
        floats.atomic(0).fetch_add(block_floats.get(0));
        floats.atomic(1).fetch_max(block_floats.get(1));
    }
}

/// Each of the first `repeats` elements of sums = the sum of x. `values` has the length of x and is halved in rounds
/// with a grid barrier after each; every repeat reuses it. `barrier` holds one zero.
#[kernel]
pub fn grid_sums(x: &[f32], repeats: u32, values: GlobalMut<f32>, barrier: GlobalMut<u32>, sums: GlobalMut<f32>) {
    let first = thread::index_1d() as usize;
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    for repeat in 0..repeats as usize {
        for i in (first..x.len()).step_by(threads) {
            values.set(i, x[i]);
        }
        grid::sync(barrier);
        let mut count = x.len();
        while count > 1 {
            let half = count.div_ceil(2);
            for i in (first..count - half).step_by(threads) {
                values.set(i, values.get(i) + values.get(i + half));
            }
            grid::sync(barrier);
            count = half;
        }
        // Only the first thread writes `values[0]` in the next repeat before another barrier.
        if first == 0 {
            sums.set(repeat, values.get(0));
        }
    }
}
