//! What the rungs share: how a matrix is read and how a thread's cells are stored.

use cuda_std::{Global, GlobalMut, math};

use super::number::Number;

/// X, row by row. Its elements, and the result's, are counted in 32 bits, which take half the registers of 64.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a, T: Number> {
    values: Global<'a, T>,
    pub(super) rows: u32,
    pub(super) columns: u32,
}

impl<'a, T: Number> Matrix<'a, T> {
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

    /// The same, or 0 outside of the matrix: a piece that reaches over the edge is filled up with zeros.
    #[inline(always)]
    pub(super) fn get_or_zero(self, row: u32, p: u32) -> T {
        if row < self.rows && p < self.columns { self.get(row, p) } else { T::ZERO }
    }
}

/// Stores `sum` at (i, j) and (j, i) of the result of rows × rows, if (i, j) is in its lower triangle.
#[inline(always)]
pub(super) fn store<T: Number>(out: GlobalMut<T>, rows: u32, i: u32, j: u32, sum: T) {
    if i < rows && j <= i {
        out.set((i * rows + j) as usize, sum);
        if j < i {
            out.set((j * rows + i) as usize, sum);
        }
    }
}

/// sums\[j\] += left · right\[j\].
#[inline(always)]
pub(super) fn multiply_add<T: Number, const N: usize>(left: T, right: &[T; N], sums: &mut [T; N]) {
    for (&right, sum) in right.iter().zip(sums) {
        *sum = math::fma(left, right, *sum);
    }
}
