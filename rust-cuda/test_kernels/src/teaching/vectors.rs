//! The first two kernels: a thread for each element, and a grid-stride loop.

use cuda_std::{GlobalMut, kernel, thread};

/// out\[i\] = a\[i\] + b\[i\].
///
/// Thread i of the grid adds element i. A grid has whole blocks, so that its last threads may have no element. Launch:
/// at least one thread for each element.
#[kernel]
pub fn vector_add(a: &[f32], b: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out.set(i, a[i] + b[i]);
    }
}

/// y ← alpha · x + y (BLAS: saxpy).
///
/// A grid-stride loop: thread t of n computes the elements t, t + n, t + 2n, …. Launch: any one-dimensional grid.
#[kernel]
pub fn saxpy(alpha: f32, x: &[f32], y: GlobalMut<f32>) {
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    for i in (thread::index_1d() as usize..y.len()).step_by(threads) {
        y.set(i, alpha * x[i] + y.get(i));
    }
}
