use cuda_std::{GlobalMut, kernel, thread};

/// X·Xᵀ by one block of 1024 threads. `x` has `rows` × `columns` elements, row after row, and `out` `rows` × `rows`. There
/// are more elements than threads: thread t computes the elements t, t + 1024, t + 2048, … of `out`.
/// `thread::thread_idx_x()` is t, `thread::block_dim_x()` the number of threads.
#[kernel]
pub fn matmul_kernel(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    // write: matmul_kernel
    let (rows, columns) = (rows as usize, columns as usize);
    let threads = thread::block_dim_x() as usize;
    let mut cell = thread::thread_idx_x() as usize;
    while cell < rows * rows {
        let (i, j) = (cell / rows, cell % rows);
        let mut sum = 0.0;
        let mut k = 0;
        while k < columns {
            sum += x[i * columns + k] * x[j * columns + k];
            k += 1;
        }
        out.set(cell, sum);
        cell += threads;
    }
    // end
}
