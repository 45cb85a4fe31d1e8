//! A histogram that is privatised: each block counts in shared memory.

use cuda_std::{GlobalMut, kernel, shared_array, thread};

/// Number of bins, one for each value.
pub const BINS: usize = 256;

/// bins\[v\] += number of elements of x that equal v.
///
/// A block counts in shared memory, where atomic additions are fast and few threads compete, and adds its counts to
/// those of all blocks once. Launch: any one-dimensional grid.
#[kernel]
pub fn byte_histogram(x: &[u8], bins: GlobalMut<u32>) {
    let counts = shared_array![u32; BINS];
    let (t, of_block) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    for bin in (t..BINS).step_by(of_block) {
        counts.set(bin, 0);
    }
    thread::sync_threads();
    let threads = thread::grid_dim_x() as usize * of_block;
    for i in (thread::index_1d() as usize..x.len()).step_by(threads) {
        counts.atomic(usize::from(x[i])).fetch_add(1);
    }
    thread::sync_threads();
    for bin in (t..BINS).step_by(of_block) {
        bins.atomic(bin).fetch_add(counts.get(bin));
    }
}
