//! Step 5: shared memory and a barrier.

use cuda_std::{Global, GlobalMut, kernel, shared_array, thread};

/// Threads of a block.
pub const THREADS: usize = 256;
/// Neighbours on each side.
pub const RADIUS: usize = 4;
/// Elements that a block needs.
const TILE: usize = THREADS + 2 * RADIUS;

/// x\[i\], where x\[0\] is at `i = RADIUS`; 0 beyond both ends.
#[inline(always)]
pub(crate) fn element(x: Global<f32>, i: usize) -> f32 {
    if i >= RADIUS && i < x.len() + RADIUS { x[i - RADIUS] } else { 0.0 }
}

/// Before: every thread reads its nine elements from global memory.
#[kernel]
pub fn average_from_global_memory(x: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        let (mut sum, mut k) = (0.0, 0);
        while k <= 2 * RADIUS {
            sum += element(x, i + k);
            k += 1;
        }
        out.set(i, sum / (2 * RADIUS + 1) as f32);
    }
}

/// out\[i\] is the average of x\[i − 4\] to x\[i + 4\], with zeros beyond both ends, by blocks of 256 threads. A block
/// copies what it needs to shared memory: `tile[k]` is `element(x, first + k)`, for k below 264. `out` has the length
/// of x.
#[kernel]
pub fn average(x: &[f32], out: GlobalMut<f32>) {
    let tile = shared_array![f32; TILE];
    // write: average
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * THREADS;
    let mut k = t;
    while k < TILE {
        tile.set(k, element(x, first + k));
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
    // end
}
