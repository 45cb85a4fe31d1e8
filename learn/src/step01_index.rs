//! Step 1: one thread for each element.

use cuda_std::{GlobalMut, kernel, thread};

/// Before: one thread doubles all elements, one after the other.
#[kernel]
pub fn double_by_one_thread(x: GlobalMut<f32>) {
    let mut i = 0;
    while i < x.len() {
        x.set(i, 2.0 * x.get(i));
        i += 1;
    }
}

/// x\[i\] becomes 2·x\[i\]: thread i of the grid doubles element i. A grid has whole blocks, so that its last threads
/// may have no element: they do nothing.
#[kernel]
pub fn double(x: GlobalMut<f32>) {
    // write: double
    let i = thread::index_1d() as usize;
    if i < x.len() {
        x.set(i, 2.0 * x.get(i));
    }
    // end
}
