//! Kernels on the rows of a matrix, whose elements are combined by a warp or a block. x and out have rows of `columns`
//! elements.

use cuda_std::{GlobalMut, SharedArray, kernel, math, shared_array, thread, warp};

/// Softmax of each row: out\[j\] = e^(x\[j\] − m) / Σₖ e^(x\[k\] − m), where m is the row's maximum, so that no power
/// overflows.
///
/// A warp for each row; lane l has the columns l, l + 32, …. Launch: blocks of whole warps.
#[kernel]
pub fn softmax_rows(x: &[f32], columns: u32, out: GlobalMut<f32>) {
    let (row, lane, columns) = (thread::index_1d() as usize / 32, warp::lane_id() as usize, columns as usize);
    let first = row * columns;
    if first >= x.len() {
        return;
    }
    let mut maximum = f32::NEG_INFINITY;
    for column in (lane..columns).step_by(32) {
        maximum = maximum.max(x[first + column]);
    }
    let maximum = warp::reduce_max(maximum);
    let mut sum = 0.0;
    for column in (lane..columns).step_by(32) {
        sum += math::exp(x[first + column] - maximum);
    }
    let sum = warp::reduce_add(sum);
    for column in (lane..columns).step_by(32) {
        out.set(first + column, math::exp(x[first + column] - maximum) / sum);
    }
}

/// Threads of a block of [`layer_norm`].
pub const THREADS: usize = 64;

/// Layer normalisation of each row (Ba, Kiros and Hinton, 2016): out\[j\] = scale\[j\] · (x\[j\] − μ) / √(σ² + epsilon)
/// + shift\[j\], where μ and σ² are the mean and the variance of the row.
///
/// Launch: a block of [`THREADS`] threads for each row.
#[kernel]
pub fn layer_norm(x: &[f32], scale: &[f32], shift: &[f32], epsilon: f32, out: GlobalMut<f32>) {
    let sums = shared_array![f32; THREADS];
    let (t, columns) = (thread::thread_idx_x() as usize, scale.len());
    let first = thread::block_idx_x() as usize * columns;
    let mut sum = 0.0;
    for column in (t..columns).step_by(THREADS) {
        sum += x[first + column];
    }
    let mean = sum_of_block(&sums, sum) / columns as f32;
    let mut squares = 0.0;
    for column in (t..columns).step_by(THREADS) {
        let difference = x[first + column] - mean;
        squares += difference * difference;
    }
    let variance = sum_of_block(&sums, squares) / columns as f32;
    let deviation = math::sqrt(variance + epsilon);
    for column in (t..columns).step_by(THREADS) {
        out.set(first + column, scale[column] * (x[first + column] - mean) / deviation + shift[column]);
    }
}

/// The sum of all threads' values, in every thread of the block.
fn sum_of_block(sums: &SharedArray<f32, THREADS>, value: f32) -> f32 {
    let t = thread::thread_idx_x() as usize;
    // All threads have read the sum of the call before this one.
    thread::sync_threads();
    sums.set(t, value);
    thread::sync_threads();
    let mut distance = THREADS / 2;
    while distance > 0 {
        if t < distance {
            sums.set(t, sums.get(t) + sums.get(t + distance));
        }
        thread::sync_threads();
        distance /= 2;
    }
    sums.get(0)
}
