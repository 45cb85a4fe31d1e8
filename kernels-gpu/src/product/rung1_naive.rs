use cuda_std::{GlobalMut, kernel, math, thread};

use super::cells::Matrix;
use super::scalar::Scalar;

/// Naive X·Xᵀ in single precision.
#[kernel]
pub fn matmul_naive_f32(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    naive(Matrix::new(x, rows, columns), out);
}

/// Naive X·Xᵀ in double precision.
#[kernel]
pub fn matmul_naive_f64(x: &[f64], rows: u32, columns: u32, out: GlobalMut<f64>) {
    naive(Matrix::new(x, rows, columns), out);
}

/// Rung 1. Idea: the cells of the result are assigned to threads cyclically in row-major order, and each thread
/// computes its cells by the definition.
///
/// Bound: every multiply-add reads two elements from global memory, so the loads limit the time, not the arithmetic.
#[inline(always)]
fn naive<T: Scalar>(x: Matrix<T>, out: GlobalMut<T>) {
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
