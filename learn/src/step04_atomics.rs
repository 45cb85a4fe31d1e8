//! Step 4: atomic operations, in global and in shared memory.

use cuda_std::{GlobalMut, kernel, shared_array, thread};

/// Number of different values, and of threads in a block.
pub const BINS: usize = 256;
/// Values of a block.
pub const VALUES: usize = 16 * BINS;

/// Before: every value is an atomic operation on global memory.
#[kernel]
pub fn histogram_in_global_memory(values: &[u32], counts: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    if i < values.len() {
        counts.atomic(values[i] as usize).fetch_add(1);
    }
}

/// Adds to counts\[v\] how often v is among the values, each below 256, by blocks of 256 threads with 16 values each:
/// thread t of a block has the values t, t + 256, t + 512, … of the block's 4096. A block counts in shared memory, and
/// then adds its counts to those in global memory.
#[kernel]
pub fn histogram(values: &[u32], counts: GlobalMut<u32>) {
    let own = shared_array![u32; BINS];
    // write: histogram
    let t = thread::thread_idx_x() as usize;
    own.set(t, 0);
    thread::sync_threads();
    let first = thread::block_idx_x() as usize * VALUES;
    let mut i = t;
    while i < VALUES {
        if first + i < values.len() {
            own.atomic(values[first + i] as usize).fetch_add(1);
        }
        i += BINS;
    }
    thread::sync_threads();
    counts.atomic(t).fetch_add(own.get(t));
    // end
}
