//! Step 2: a grid-stride loop.

use cuda_std::{GlobalMut, kernel, thread};

/// Before: a thread for each element.
#[kernel]
pub fn saxpy_an_element_each(a: f32, x: &[f32], y: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i < y.len() {
        y.set(i, a * x[i] + y.get(i));
    }
}

/// y\[i\] becomes a·x\[i\] + y\[i\], by a grid of any size: thread t computes the elements t, t + n, t + 2n, … where n is
/// the number of threads in the grid, `grid_dim_x() · block_dim_x()`.
#[kernel]
pub fn saxpy(a: f32, x: &[f32], y: GlobalMut<f32>) {
    // write: saxpy
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::index_1d() as usize;
    while i < y.len() {
        y.set(i, a * x[i] + y.get(i));
        i += threads;
    }
    // end
}
