//! The element-wise maximum.

use cuda_std::{GlobalMut, I32x4, kernel, thread};

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

/// The same result. `a`, `b` and `out` have any common length.
///
/// Idea: four elements per thread. A thread moves 16 bytes per instruction and needs one index for four elements. A
/// million elements need 250,000 threads, and all of them are resident at once: no block waits for another one to end.
/// Up to three elements beyond the last four have a thread each.
#[kernel]
pub fn max_quads_kernel(a: &[i32], b: &[i32], out: GlobalMut<i32>) {
    let (threads, first) = (thread::grid_dim_x() * thread::block_dim_x(), thread::index_1d());
    let quads = (out.len() / 4) as u32;
    let (quads_of_a, quads_of_b) = (a.quads(0, quads), b.quads(0, quads));
    let mut quad = first;
    while quad < quads {
        let (a, b) = (quads_of_a.get(quad), quads_of_b.get(quad));
        out.set_quad(4 * quad as usize, I32x4::new(a.x.max(b.x), a.y.max(b.y), a.z.max(b.z), a.w.max(b.w)));
        quad += threads;
    }
    let mut i = 4 * quads as usize + first as usize;
    while i < out.len() {
        out.set(i, a[i].max(b[i]));
        i += threads as usize;
    }
}
