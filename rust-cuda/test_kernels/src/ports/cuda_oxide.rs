//! Kernels of cuda-oxide's examples: generic kernels, shared memory, shuffles, atomic operations and matrix products. Where
//! cuda-oxide has a `DisjointSlice`, of which a thread gets its own element, these have a `GlobalMut`.

use core::ops::{Add, Mul};

use cuda_std::atomic::Ordering;
use cuda_std::{Element, GlobalMut, kernel, shared_array, thread, warp};

/// `out[i]` = `x[i]` · factor.
#[kernel(f32, i32)]
pub fn scales<T: Element + Mul<Output = T>>(factor: T, x: &[T], out: GlobalMut<T>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out[i] = x[i] * factor;
    }
}

/// `f(x)` by a call that is not inlined.
#[inline(never)]
fn apply<T, F: FnOnce(T) -> T>(f: F, x: T) -> T {
    f(x)
}

/// `out[i]` = (`x[i]` + offset) · factor, by a closure that captures both.
#[kernel(f32, i32)]
pub fn shifts_and_scales<T>(offset: T, factor: T, x: &[T], out: GlobalMut<T>)
where
    T: Element + Add<Output = T> + Mul<Output = T>,
{
    let i = thread::index_1d() as usize;
    if i < out.len() {
        let change = move |value: T| (value + offset) * factor;
        out[i] = apply(change, x[i]);
    }
}

/// Threads of a block of [`adds_neighbours`].
pub const NEIGHBOURS: usize = 256;

/// `out[i]` = the sum of the elements of `a` and `b` that the next thread of the block has loaded; the last thread's next is
/// the first. Both are loaded through shared memory. Blocks have [`NEIGHBOURS`] threads.
#[kernel]
pub fn adds_neighbours(a: &[f32], b: &[f32], out: GlobalMut<f32>) {
    let tile_of_a = shared_array![f32; NEIGHBOURS];
    let tile_of_b = shared_array![f32; NEIGHBOURS];
    let (t, i) = (thread::threadIdx_x() as usize, thread::index_1d() as usize);
    tile_of_a[t] = a[i];
    tile_of_b[t] = b[i];
    thread::sync_threads();
    let next = (t + 1) % NEIGHBOURS;
    if i < out.len() {
        out[i] = tile_of_a[next] + tile_of_b[next];
    }
}

/// C ← alpha · A · B + beta · C, where A is m × k, B is k × n and C is m × n, all row-major. Thread (x, y) of the grid computes
/// the element of row y and column x.
#[kernel]
#[allow(clippy::too_many_arguments)]
pub fn sgemm_by_elements(m: u32, n: u32, k: u32, alpha: f32, a: &[f32], b: &[f32], beta: f32, c: GlobalMut<f32>) {
    let (row, column) = (thread::index_2d().y as usize, thread::index_2d().x as usize);
    if column < n as usize && row < m as usize {
        let (n, k) = (n as usize, k as usize);
        let mut dot = 0.0_f32;
        let mut p = 0;
        while p < k {
            dot += a[row * k + p] * b[p * n + column];
            p += 1;
        }
        c[row * n + column] = alpha * dot + beta * c[row * n + column];
    }
}

/// Side of the tiles and of the blocks of [`sgemm_by_tiles`].
pub const SGEMM_SIDE: usize = 16;

/// The product of [`sgemm_by_elements`] by tiles in shared memory. Blocks have [`SGEMM_SIDE`] × [`SGEMM_SIDE`] threads; block
/// (x, y) computes the tile of rows y and columns x.
#[kernel]
#[allow(clippy::too_many_arguments)]
pub fn sgemm_by_tiles(m: u32, n: u32, k: u32, alpha: f32, a: &[f32], b: &[f32], beta: f32, c: GlobalMut<f32>) {
    let tile_of_a = shared_array![f32; SGEMM_SIDE * SGEMM_SIDE];
    let tile_of_b = shared_array![f32; SGEMM_SIDE * SGEMM_SIDE];
    let (tx, ty) = (thread::threadIdx_x() as usize, thread::threadIdx_y() as usize);
    let row = thread::blockIdx_y() as usize * SGEMM_SIDE + ty;
    let column = thread::blockIdx_x() as usize * SGEMM_SIDE + tx;
    let (m, n, k) = (m as usize, n as usize, k as usize);
    let tiles = k.div_ceil(SGEMM_SIDE);
    let own = ty * SGEMM_SIDE + tx;
    let mut dot = 0.0_f32;
    let mut tile = 0;
    while tile < tiles {
        let column_of_a = tile * SGEMM_SIDE + tx;
        if row < m && column_of_a < k {
            tile_of_a[own] = a[row * k + column_of_a];
        } else {
            tile_of_a[own] = 0.0;
        }
        let row_of_b = tile * SGEMM_SIDE + ty;
        if row_of_b < k && column < n {
            tile_of_b[own] = b[row_of_b * n + column];
        } else {
            tile_of_b[own] = 0.0;
        }
        thread::sync_threads();
        let mut p = 0;
        while p < SGEMM_SIDE {
            dot += tile_of_a[ty * SGEMM_SIDE + p] * tile_of_b[p * SGEMM_SIDE + tx];
            p += 1;
        }
        thread::sync_threads();
        tile += 1;
    }
    if row < m && column < n {
        c[row * n + column] = alpha * dot + beta * c[row * n + column];
    }
}

/// `sums[warp]` = the sum of the elements of x of a warp's lanes, by butterfly shuffles, after which each lane has it.
#[kernel]
pub fn sums_by_butterfly(x: &[f32], sums: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    let mut sum = if i < sums.len() * 32 { x[i] } else { 0.0 };
    sum += warp::shuffle_xor(sum, 16);
    sum += warp::shuffle_xor(sum, 8);
    sum += warp::shuffle_xor(sum, 4);
    sum += warp::shuffle_xor(sum, 2);
    sum += warp::shuffle_xor(sum, 1);
    if warp::lane_id() == 0 {
        sums[i / 32] = sum;
    }
}

/// The first thread to find 0 in `owner` stores 1 + its index in its block there. `is_owner[i]` = 1 for that thread of the grid
/// and 0 for all others.
#[kernel]
pub fn claims_once(owner: GlobalMut<u32>, is_owner: GlobalMut<u32>) {
    let (t, i) = (thread::threadIdx_x(), thread::index_1d() as usize);
    let claim = owner.atomic(0).ordered(Ordering::AcqRel).compare_exchange(0, t + 1);
    if i < is_owner.len() {
        match claim {
            Ok(_) => is_owner[i] = 1,
            Err(_) => is_owner[i] = 0,
        }
    }
}
