//! Step 7: a reduction by shuffles, in registers.

use cuda_std::{GlobalMut, kernel, shared_array, thread, warp};

/// Threads of a block, and elements of x that it adds.
pub const THREADS: usize = 256;
/// Warps of a block.
const WARPS: usize = THREADS / 32;

/// out\[b\] is the sum of the 256 elements of x that block b has, by blocks of 256 threads. Each warp adds its 32 values
/// by `warp::shuffle_down(value, delta)`, which is the value of the lane that is `delta` further: with 16, 8, 4, 2 and 1,
/// lane 0 has the sum. The first warp does the same with the sums of the eight warps.
#[kernel]
pub fn sum_by_shuffles(x: &[f32], out: GlobalMut<f32>) {
    let sums = shared_array![f32; WARPS];
    // write: sum_by_shuffles
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
        value = if t < WARPS { sums.get(t) } else { 0.0 };
        delta = WARPS as u32 / 2;
        while delta > 0 {
            value += warp::shuffle_down(value, delta);
            delta /= 2;
        }
        if t == 0 {
            out.set(thread::block_idx_x() as usize, value);
        }
    }
    // end
}
