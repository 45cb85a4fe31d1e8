use cuda_std::{GlobalMut, kernel, math, thread};

use super::cells::{Matrix, store};
use super::scalar::Scalar;

/// X·Xᵀ by its lower triangle, in single precision.
#[kernel]
pub fn matmul_symmetric_f32(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    symmetric(Matrix::new(x, rows, columns), out);
}

/// X·Xᵀ by its lower triangle, in double precision.
#[kernel]
pub fn matmul_symmetric_f64(x: &[f64], rows: u32, columns: u32, out: GlobalMut<f64>) {
    symmetric(Matrix::new(x, rows, columns), out);
}

/// Rung 2. Idea: the result is symmetric, so only its lower triangle is computed and each sum is stored twice: half the
/// work of rung 1.
///
/// The triangle's cells are assigned to threads cyclically in row-major order: (0, 0), (1, 0), (1, 1), (2, 0), …
#[inline(always)]
fn symmetric<T: Scalar>(x: Matrix<T>, out: GlobalMut<T>) {
    let (mut i, mut j) = (0, thread::thread_idx_x());
    loop {
        // Row i has i + 1 cells in the triangle.
        while j > i {
            j -= i + 1;
            i += 1;
        }
        if i >= x.rows {
            return;
        }
        let mut sum = T::ZERO;
        let mut p = 0;
        while p < x.columns {
            sum = math::fma(x.get(i, p), x.get(j, p), sum);
            p += 1;
        }
        store(out, x.rows, i, j, sum);
        j += thread::block_dim_x();
    }
}
