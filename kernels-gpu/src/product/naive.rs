use cuda_std::{GlobalMut, kernel, math, thread};

use super::cells::Matrix;
use super::number::Number;

/// X·Xᵀ as a student would write it, in single precision.
#[kernel]
pub fn matmul_naive_f32(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    naive(Matrix::new(x, rows, columns), out);
}

/// X·Xᵀ as a student would write it, in double precision.
#[kernel]
pub fn matmul_naive_f64(x: &[f64], rows: u32, columns: u32, out: GlobalMut<f64>) {
    naive(Matrix::new(x, rows, columns), out);
}

/// Rung 1. Idea: the cells of the result are dealt out to the threads, and each computes its cells by the definition.
///
/// Every product reads two numbers from global memory: the loads, not the arithmetic, decide.
#[inline(always)]
fn naive<T: Number>(x: Matrix<T>, out: GlobalMut<T>) {
    let rows = x.rows as usize;
    let mut cell = thread::thread_idx_x() as usize; // report: begin matmul_naive
    while cell < rows * rows {
        let (i, j) = ((cell / rows) as u32, (cell % rows) as u32);
        let mut sum = T::ZERO;
        let mut p = 0;
        while p < x.columns {
            sum = math::fma(x.get(i, p), x.get(j, p), sum);
            p += 1;
        }
        out.set(cell, sum);
        cell += thread::block_dim_x() as usize;
    } // report: end matmul_naive
}
