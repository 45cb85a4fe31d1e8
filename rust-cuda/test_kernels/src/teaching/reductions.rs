//! The sum of x in six forms, each with one idea more than the one before (Harris, "Optimizing Parallel Reduction in
//! CUDA", 2007).
//!
//! The first five write the sum of each block to `sums`, which the same kernel adds up in another launch. Blocks have
//! [`THREADS`] threads; elements beyond the end of x count as zeros.

use cuda_std::{GlobalMut, kernel, shared_array, thread, warp};

/// Threads of a block, a power of two.
pub const THREADS: usize = 128;

/// Warps of a block.
const WARPS: usize = THREADS / 32;

/// Interleaved addressing: in rounds with the distances 1, 2, 4, …, every thread whose index is a multiple of twice the
/// distance adds its neighbour's element to its own. Threads at work are in all warps, so that the lanes diverge in
/// every round.
#[kernel]
pub fn reduce_interleaved_divergent(x: &[f32], sums: GlobalMut<f32>) {
    let values = shared_array![f32; THREADS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    values.set(t, if i < x.len() { x[i] } else { 0.0 });
    thread::sync_threads();
    let mut distance = 1;
    while distance < THREADS {
        if t % (2 * distance) == 0 {
            values.set(t, values.get(t) + values.get(t + distance));
        }
        thread::sync_threads();
        distance *= 2;
    }
    if t == 0 {
        sums.set(thread::block_idx_x() as usize, values.get(0));
    }
}

/// The same additions by the first threads of the block: whole warps have nothing to do, and their lanes do not
/// diverge. The elements that a warp accesses are in the same banks.
#[kernel]
pub fn reduce_interleaved(x: &[f32], sums: GlobalMut<f32>) {
    let values = shared_array![f32; THREADS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    values.set(t, if i < x.len() { x[i] } else { 0.0 });
    thread::sync_threads();
    let mut distance = 1;
    while distance < THREADS {
        let place = 2 * distance * t;
        if place < THREADS {
            values.set(place, values.get(place) + values.get(place + distance));
        }
        thread::sync_threads();
        distance *= 2;
    }
    if t == 0 {
        sums.set(thread::block_idx_x() as usize, values.get(0));
    }
}

/// Sequential addressing: the distances are halved, and the elements that a warp accesses are neighbours, in different
/// banks.
#[kernel]
pub fn reduce_sequential(x: &[f32], sums: GlobalMut<f32>) {
    let values = shared_array![f32; THREADS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    values.set(t, if i < x.len() { x[i] } else { 0.0 });
    thread::sync_threads();
    let mut distance = THREADS / 2;
    while distance > 0 {
        if t < distance {
            values.set(t, values.get(t) + values.get(t + distance));
        }
        thread::sync_threads();
        distance /= 2;
    }
    if t == 0 {
        sums.set(thread::block_idx_x() as usize, values.get(0));
    }
}

/// First addition during the load: a block has 2 · [`THREADS`] elements, so that no thread only loads.
#[kernel]
pub fn reduce_add_during_load(x: &[f32], sums: GlobalMut<f32>) {
    let values = shared_array![f32; THREADS];
    let (t, block) = (thread::thread_idx_x() as usize, thread::block_idx_x() as usize);
    let element = |i: usize| if i < x.len() { x[i] } else { 0.0 };
    let i = block * 2 * THREADS + t;
    values.set(t, element(i) + element(i + THREADS));
    thread::sync_threads();
    let mut distance = THREADS / 2;
    while distance > 0 {
        if t < distance {
            values.set(t, values.get(t) + values.get(t + distance));
        }
        thread::sync_threads();
        distance /= 2;
    }
    if t == 0 {
        sums.set(block, values.get(0));
    }
}

/// Warp shuffles: a warp adds its values in registers, without barriers; the first thread adds the sums of the warps.
#[kernel]
pub fn reduce_by_shuffles(x: &[f32], sums: GlobalMut<f32>) {
    let of_warps = shared_array![f32; WARPS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let mut sum = if i < x.len() { x[i] } else { 0.0 };
    let mut distance = 16;
    while distance > 0 {
        sum += warp::shuffle_down(sum, distance);
        distance /= 2;
    }
    if warp::lane_id() == 0 {
        of_warps.set(t / 32, sum);
    }
    thread::sync_threads();
    if t == 0 {
        let mut of_block = 0.0;
        for warp in 0..WARPS {
            of_block += of_warps.get(warp);
        }
        sums.set(thread::block_idx_x() as usize, of_block);
    }
}

/// Atomic additions: each thread adds its elements in a grid-stride loop, each warp its threads' sums, and the first
/// lane adds that to `sum[0]`, zero at first. No second launch; the order of the additions, and so the last bits,
/// differ from run to run.
#[kernel]
pub fn reduce_by_atomics(x: &[f32], sum: GlobalMut<f32>) {
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut of_thread = 0.0;
    for i in (thread::index_1d() as usize..x.len()).step_by(threads) {
        of_thread += x[i];
    }
    let of_warp = warp::reduce_add(of_thread);
    if warp::lane_id() == 0 {
        sum.atomic(0).fetch_add(of_warp);
    }
}
