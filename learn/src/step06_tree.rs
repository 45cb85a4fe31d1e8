//! Step 6: a reduction by a tree, without divergence.

use cuda_std::{GlobalMut, kernel, shared_array, thread};

/// Threads of a block, and elements of x that it adds.
pub const THREADS: usize = 256;

/// Before: the threads at work are a multiple of 2, 4, 8, … apart, so that every warp has some until the end.
#[kernel]
pub fn sum_interleaved(x: &[f32], out: GlobalMut<f32>) {
    let values = shared_array![f32; THREADS];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    values.set(t, if i < x.len() { x[i] } else { 0.0 });
    thread::sync_threads();
    let mut distance = 1;
    while distance < THREADS {
        if t.is_multiple_of(2 * distance) {
            values.set(t, values.get(t) + values.get(t + distance));
        }
        thread::sync_threads();
        distance *= 2;
    }
    if t == 0 {
        out.set(thread::block_idx_x() as usize, values.get(0));
    }
}

/// out\[b\] is the sum of the 256 elements of x that block b has, by blocks of 256 threads: threads 0 to 127 add the
/// upper half of the values to the lower one, then threads 0 to 63, and so on.
#[kernel]
pub fn sum_by_halves(x: &[f32], out: GlobalMut<f32>) {
    let values = shared_array![f32; THREADS];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    values.set(t, if i < x.len() { x[i] } else { 0.0 });
    // write: sum_by_halves
    thread::sync_threads();
    let mut half = THREADS / 2;
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
