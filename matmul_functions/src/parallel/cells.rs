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
    for row in rows {
        let (start, bytes) =
            (cells.first.wrapping_add(row * cells.size + columns.start), columns.len() * size_of::<F>());
        for line in (0..bytes + 63).step_by(64) {
            prefetch_for_writing(start.wrapping_byte_add(line.min(bytes - 1)));
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

/// A sink of finished sums: the cells of one task's rows and one panel's columns, from `place`, a row and a column, on.
/// `inside` of the columns are the result's, the others the panel's padding, unless it is `WHOLE`. `GOES_ON`: the sums start
/// from `waiting`, rows of as many as a panel has columns.
pub(super) struct Cells<'a, F, const WHOLE: bool, const GOES_ON: bool> {
    pub(super) cells: &'a SharedCells<F>,
    pub(super) place: (usize, usize),
    pub(super) inside: usize,
    pub(super) waiting: &'a [F],
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
        let inside = if WHOLE { length } else { self.inside.saturating_sub(column).min(length) };
        let (row, first) = (self.place.0 + row, self.place.1 + column);
        if inside == length {
            for (i, sum) in sums.iter().enumerate() {
                let values = F::as_elements::<S>(std::slice::from_ref(sum));
                // SAFETY: the row is one of this task's rows, and a panel's columns are the result's up to `inside`.
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
