//! The result's cells, which tasks share: written, fetched and mirrored.

use std::mem::MaybeUninit;
use std::ops::Range;

use kernels_cpu::product::Sink;
use kernels_cpu::transpose::transpose_to;
use kernels_cpu::{InstructionSet, Simd, prefetch_for_writing};

use super::panel_columns;
use crate::Element;

/// The cells of a square matrix of `size` × `size`, row by row, that tasks write without overlap.
pub(super) struct SharedCells<F> {
    pub(super) first: *mut MaybeUninit<F>,
    pub(super) size: usize,
}

#[allow(unsafe_code)]
// SAFETY: sharing the struct shares only a pointer; whoever writes through it keeps to `write`'s conditions.
unsafe impl<F: Send> Sync for SharedCells<F> {}

#[allow(unsafe_code)]
impl<F: Copy> SharedCells<F> {
    /// Writes `values` to row `row` from column `column` on.
    ///
    /// # Safety
    /// 1. `row` < `size` and `column` + `values.len()` ≤ `size`.
    /// 2. No other thread reads or writes these cells at the same time.
    #[inline(always)]
    pub(super) unsafe fn write(&self, row: usize, column: usize, values: &[F]) {
        // SAFETY: condition 1 keeps the target inside the matrix; `values` is borrowed, so it is not the target.
        unsafe {
            let target = self.first.add(row * self.size + column);
            target.copy_from_nonoverlapping(values.as_ptr().cast(), values.len());
        }
    }

    /// The cells of row `row` at the given columns.
    ///
    /// # Safety
    /// 1. `row` < `size` and `columns.end` ≤ `size`.
    /// 2. These cells have been written, and nobody writes them while the slice lives.
    #[inline(always)]
    unsafe fn read(&self, row: usize, columns: Range<usize>) -> &[F] {
        // SAFETY: condition 1 keeps the slice inside the matrix, condition 2 makes its elements initialised and unchanged.
        unsafe { std::slice::from_raw_parts(self.first.add(row * self.size + columns.start).cast(), columns.len()) }
    }
}

/// Has the cells fetched that [`mirror`] will write, while others are computed: the product leaves the memory idle.
pub(super) fn prefetch_mirrored<F: Element>(rows: Range<usize>, columns: Range<usize>, cells: &SharedCells<F>) {
    let Some(last) = (columns.len() * size_of::<F>()).checked_sub(1) else { return };
    for row in rows {
        let start = cells.first.wrapping_add(row * cells.size + columns.start);
        // The last byte may be in a line that no other 64th is in.
        for byte in (0..last).step_by(64).chain([last]) {
            prefetch_for_writing(start.wrapping_byte_add(byte));
        }
    }
}

/// Writes cell (i, j), for the given rows i and columns j, to cell (j, i).
///
/// # Safety
/// 1. `rows` and `columns` are inside the matrix, and `columns.end` ≤ `rows.start`: all cells are below the diagonal.
/// 2. The cells (i, j) have been written and nobody writes them meanwhile.
/// 3. Nobody else reads or writes the cells (j, i) meanwhile.
#[allow(unsafe_code)]
pub(super) unsafe fn mirror<F: Element>(rows: Range<usize>, columns: Range<usize>, cells: &SharedCells<F>) {
    // SAFETY: conditions 1 and 2.
    let left: Vec<&[F]> = rows.clone().map(|row| unsafe { cells.read(row, columns.clone()) }).collect();
    let to = cells.first.wrapping_add(columns.start * cells.size + rows.start);
    // SAFETY: the transpose's cells (j, i) are in the matrix (1), above the diagonal and so not the ones read, and nobody
    // else's (3).
    unsafe { transpose_to(InstructionSet::detect(), &left, to.cast(), cells.size) };
}

/// A sink of finished sums: some rows and columns of the cells, which one task writes. Of a panel's columns those beyond are
/// its padding; `WHOLE` says that there are none. `GOES_ON`: the sums start from `waiting`, rows of as many as a panel has
/// columns.
pub(super) struct Cells<'a, F, const WHOLE: bool, const GOES_ON: bool> {
    cells: &'a SharedCells<F>,
    rows: Range<usize>,
    columns: Range<usize>,
    waiting: &'a [F],
}

impl<'a, F, const WHOLE: bool, const GOES_ON: bool> Cells<'a, F, WHOLE, GOES_ON> {
    /// # Safety
    /// No other thread reads or writes the cells at these rows and columns while the sink lives.
    ///
    /// # Panics
    /// If they are not all in the matrix.
    #[allow(unsafe_code)]
    pub(super) unsafe fn new(
        cells: &'a SharedCells<F>,
        (rows, columns): (Range<usize>, Range<usize>),
        waiting: &'a [F],
    ) -> Self {
        assert!(rows.end <= cells.size && columns.end <= cells.size, "cells outside the matrix");
        Self { cells, rows, columns, waiting }
    }
}

impl<F: Element, const WHOLE: bool, const GOES_ON: bool> Sink<F> for Cells<'_, F, WHOLE, GOES_ON> {
    #[inline(always)]
    fn start<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &mut [F::Vector<S>]) {
        if GOES_ON {
            start_from::<F, S>(self.waiting, row, column, sums);
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let length = size_of_val(sums) / size_of::<F>();
        let inside = self.columns.len().saturating_sub(column).min(length);
        assert!(row < self.rows.len() && (inside == length || !WHOLE), "a sum outside the task's cells");
        let (row, first) = (self.rows.start + row, self.columns.start + column);
        if inside == length {
            for (i, sum) in sums.iter().enumerate() {
                let values = F::as_elements::<S>(std::slice::from_ref(sum));
                // SAFETY: the cells are among the sink's rows and columns, as was just checked; those are in the matrix and no
                // other thread's, as `new` asks.
                unsafe { self.cells.write(row, first + i * values.len(), values) };
            }
        } else {
            // SAFETY: as above.
            unsafe { self.cells.write(row, first, &F::as_elements::<S>(sums)[..inside]) };
        }
    }
}

/// Puts what `waiting` holds at the given row and columns into `sums`.
#[inline(always)]
pub(super) fn start_from<F: Element, S: Simd>(waiting: &[F], row: usize, column: usize, sums: &mut [F::Vector<S>]) {
    let waiting = &waiting[row * panel_columns::<F>() + column..][..size_of_val(sums) / size_of::<F>()];
    sums.copy_from_slice(F::as_vectors::<S>(waiting));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes one register's sums to row `row` of a sink of rows 1 and 2, columns 0 and 1, of a matrix of 4 × 4.
    struct Take {
        row: usize,
    }

    impl kernels_cpu::WithSimd for Take {
        type Output = Vec<f32>;

        #[inline(always)]
        #[allow(unsafe_code)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
            let mut memory = vec![MaybeUninit::new(0.0_f32); 16];
            let cells = SharedCells { first: memory.as_mut_ptr(), size: 4 };
            // SAFETY: there is no other thread.
            let mut sink = unsafe { Cells::<f32, false, false>::new(&cells, (1..3, 0..2), &[]) };
            sink.take(simd, self.row, 0, &[simd.splat_f32s(7.0)]);
            // SAFETY: every cell was initialised.
            memory.iter().map(|cell| unsafe { cell.assume_init() }).collect()
        }
    }

    #[test]
    fn part3_sums_go_to_the_tasks_cells_alone() {
        let mut expected = [0.0; 16];
        expected[8..10].fill(7.0);
        assert_eq!(InstructionSet::Portable.dispatch(Take { row: 1 }), expected);
    }

    #[test]
    #[should_panic(expected = "a sum outside the task's cells")]
    fn part3_a_sum_outside_the_tasks_cells_is_not_written() {
        InstructionSet::Portable.dispatch(Take { row: 2 });
    }

    #[test]
    #[should_panic(expected = "cells outside the matrix")]
    #[allow(unsafe_code)]
    fn part3_a_sink_is_inside_the_matrix() {
        let cells = SharedCells { first: std::ptr::null_mut::<MaybeUninit<f32>>(), size: 4 };
        // SAFETY: there is no other thread.
        let _sink = unsafe { Cells::<f32, true, false>::new(&cells, (3..5, 0..4), &[]) };
    }
}
