//! The element-wise maximum.

use cuda_std::{GlobalMut, kernel, thread};

/// out\[i\] = max(a\[i\], b\[i\]) for every i of `out`; `a` and `b` have the length of `out`.
///
/// Idea: one thread per element, adjacent elements in adjacent threads, so that a warp's accesses are coalesced. The
/// homework launches 1000 blocks of 1000 threads for 1,000,000 elements; a grid-stride loop covers any other length.
#[kernel] // report: begin max_kernel
pub fn max_kernel(a: &[i32], b: &[i32], out: GlobalMut<i32>) {
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut i = thread::index_1d() as usize;
    while i < out.len() {
        out.set(i, if a[i] > b[i] { a[i] } else { b[i] });
        i += threads;
    }
} // report: end max_kernel
