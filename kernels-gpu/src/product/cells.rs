//! Access to the operand and the result, shared by all rungs.

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
use cuda_std::SharedView;
use cuda_std::{Global, GlobalMut, math};

use super::scalar::Scalar;

/// X, row-major. Indices are 32 bits wide, which take half the registers of 64-bit ones.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a, T: Scalar> {
    values: Global<'a, T>,
    pub(super) rows: u32,
    pub(super) columns: u32,
}

impl<'a, T: Scalar> Matrix<'a, T> {
    /// The matrix of `rows` × `columns` in `values`.
    #[inline(always)]
    pub(super) fn new(values: Global<'a, T>, rows: u32, columns: u32) -> Self {
        Self { values, rows, columns }
    }

    /// The element at row `row` and column `p`.
    #[inline(always)]
    pub(super) fn get(self, row: u32, p: u32) -> T {
        self.values[(row * self.columns + p) as usize]
    }

    /// Begins to copy the element at row `row` and column `p` to an element of shared memory.
    #[inline(always)]
    #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
    pub(super) fn copy_async(self, view: SharedView<T, 1>, to: u32, row: u32, p: u32) {
        view.copy_element_async([to], self.values, (row * self.columns + p) as usize);
    }

    /// The element at row `row` and column `p`, or 0 out of bounds: a tile across the matrix's edge is padded with
    /// zeros.
    #[inline(always)]
    pub(super) fn get_or_zero(self, row: u32, p: u32) -> T {
        if row < self.rows && p < self.columns { self.get(row, p) } else { T::ZERO }
    }
}

/// Stores `sum` at (i, j) and (j, i) of the `rows` × `rows` result, if (i, j) is in its lower triangle.
#[inline(always)]
pub(super) fn store<T: Scalar>(out: GlobalMut<T>, rows: u32, i: u32, j: u32, sum: T) {
    if i < rows && j <= i {
        out.set((i * rows + j) as usize, sum);
        if j < i {
            out.set((j * rows + i) as usize, sum);
        }
    }
}

/// sums\[j\] += left · right\[j\].
#[inline(always)]
pub(super) fn multiply_add<T: Scalar, const N: usize>(left: T, right: &[T; N], sums: &mut [T; N]) {
    for (&right, sum) in right.iter().zip(sums) {
        *sum = math::fma(left, right, *sum);
    }
}
