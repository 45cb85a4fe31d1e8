//! The result's cells, shared by all tasks: writing, prefetching and mirroring.

use std::mem::MaybeUninit;
use std::ops::Range;

use kernels_cpu::product::Sink;
use kernels_cpu::transpose::transpose_to;
use kernels_cpu::{InstructionSet, Simd, prefetch_for_writing};

use super::panel_columns;
use crate::MatmulElement;

/// The cells of a row-major `size` × `size` matrix, which tasks write without overlap.
pub(super) struct SharedCells<F> {
    pub(super) first: *mut MaybeUninit<F>,
    pub(super) size: usize,
}

#[allow(unsafe_code)]
// SAFETY: sharing the struct shares only a pointer. Callers of `read` and `write` uphold their
// conditions.
unsafe impl<F: Send> Sync for SharedCells<F> {}

#[allow(unsafe_code)]
impl<F: Copy> SharedCells<F> {
    /// Writes `values` to row `row`, starting at column `column`.
    ///
    /// # Safety
    /// 1. `row` < `size` and `column` + `values.len()` ≤ `size`.
    /// 2. No other thread reads or writes these cells at the same time.
    #[inline(always)]
    pub(super) unsafe fn write(&self, row: usize, column: usize, values: &[F]) {
        // SAFETY: condition 1 keeps the target inside the matrix. Only `read` borrows cells, and it
        // forbids writes to them, so `values` does not overlap the target.
        unsafe {
            let target = self.first.add(row * self.size + column);
            target.copy_from_nonoverlapping(values.as_ptr().cast(), values.len());
        }
    }

    /// The cells of row `row` at the given columns.
    ///
    /// # Safety
    /// 1. `row` < `size` and `columns.end` ≤ `size`.
    /// 2. These cells have been written, and no thread writes them during the lifetime of the slice.
    #[inline(always)]
    unsafe fn read(&self, row: usize, columns: Range<usize>) -> &[F] {
        // SAFETY: condition 1 keeps the slice inside the matrix. Condition 2 makes its elements
        // initialized and unchanged.
        unsafe { std::slice::from_raw_parts(self.first.add(row * self.size + columns.start).cast(), columns.len()) }
    }
}

/// The cells at some rows and columns of the result.
#[derive(Clone)]
pub(super) struct Area {
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

/// Prefetches the mirror image of an area, which [`mirror`] will write. Called during the product,
/// which leaves the memory idle.
pub(super) fn prefetch_mirrored<F: MatmulElement>(area: &Area, cells: &SharedCells<F>) {
    let Some(last) = (area.rows.len() * size_of::<F>()).checked_sub(1) else { return };
    for column in area.columns.clone() {
        let start = cells.first.wrapping_add(column * cells.size + area.rows.start);
        // The start need not be aligned. The last byte may therefore be in a cache line that no
        // step of 64 reaches.
        for byte in (0..last).step_by(64).chain([last]) {
            prefetch_for_writing(start.wrapping_byte_add(byte));
        }
    }
}

/// Writes each cell (i, j) of an area to cell (j, i).
///
/// # Safety
/// 1. The area is inside the matrix, and `columns.end` ≤ `rows.start`: all its cells are below the diagonal.
/// 2. The cells (i, j) have been written, and no thread writes them during the call.
/// 3. No other thread reads or writes the cells (j, i) during the call.
#[allow(unsafe_code)]
pub(super) unsafe fn mirror<F: MatmulElement>(Area { rows, columns }: Area, cells: &SharedCells<F>) {
    // SAFETY: conditions 1 and 2.
    let source: Vec<&[F]> = rows.clone().map(|row| unsafe { cells.read(row, columns.clone()) }).collect();
    let to = cells.first.wrapping_add(columns.start * cells.size + rows.start);
    // SAFETY: the target cells (j, i) are inside the matrix (1). They are above the diagonal, so
    // disjoint from the cells read, and no other thread accesses them (3).
    unsafe { transpose_to(InstructionSet::detect(), &source, to.cast(), cells.size) };
}

/// A sink that writes final sums to the cells of an area, which belongs to one task. Columns of the
/// panel beyond the area are padding; with `FULL`, there are none. With `ACCUMULATES`, the sums
/// start from `partial_sums`, which has rows of a panel's width.
pub(super) struct ResultSink<'a, F, const FULL: bool, const ACCUMULATES: bool> {
    cells: &'a SharedCells<F>,
    area: Area,
    partial_sums: &'a [F],
}

impl<'a, F, const FULL: bool, const ACCUMULATES: bool> ResultSink<'a, F, FULL, ACCUMULATES> {
    /// # Safety
    /// No other thread reads or writes the cells of the area during the sink's lifetime.
    ///
    /// # Panics
    /// If the area is not inside the matrix.
    #[allow(unsafe_code)]
    pub(super) unsafe fn new(cells: &'a SharedCells<F>, area: Area, partial_sums: &'a [F]) -> Self {
        assert!(area.rows.end <= cells.size && area.columns.end <= cells.size, "cells outside the matrix");
        Self { cells, area, partial_sums }
    }
}

impl<F: MatmulElement, const FULL: bool, const ACCUMULATES: bool> Sink<F> for ResultSink<'_, F, FULL, ACCUMULATES> {
    #[inline(always)]
    fn start<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &mut [F::Vector<S>]) {
        if ACCUMULATES {
            load_partial_sums::<F, S>(self.partial_sums, row, column, sums);
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let length = size_of_val(sums) / size_of::<F>();
        let inside = self.area.columns.len().saturating_sub(column).min(length);
        assert!(row < self.area.rows.len() && (inside == length || !FULL), "a sum outside the task's cells");
        let (row, first) = (self.area.rows.start + row, self.area.columns.start + column);
        if inside == length {
            for (i, sum) in sums.iter().enumerate() {
                let values = F::as_elements::<S>(std::slice::from_ref(sum));
                // SAFETY: the assertion above keeps the cells within the sink's area, and `new` has
                // checked that the area is inside the matrix. No other thread accesses the cells,
                // as `new` requires.
                unsafe { self.cells.write(row, first + i * values.len(), values) };
            }
        } else {
            // SAFETY: as above.
            unsafe { self.cells.write(row, first, &F::as_elements::<S>(sums)[..inside]) };
        }
    }
}

/// Loads the partial sums at the given row and column into `sums`.
#[inline(always)]
pub(super) fn load_partial_sums<F: MatmulElement, S: Simd>(
    partial_sums: &[F],
    row: usize,
    column: usize,
    sums: &mut [F::Vector<S>],
) {
    let partial_sums = &partial_sums[row * panel_columns::<F>() + column..][..size_of_val(sums) / size_of::<F>()];
    sums.copy_from_slice(F::as_vectors::<S>(partial_sums));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes one vector of sums to row `row` of a sink for rows 1 and 2, columns 0 and 1 of a 4 ×
    /// 4 matrix.
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
            // SAFETY: no other thread has access to `memory`.
            let mut sink =
                unsafe { ResultSink::<f32, false, false>::new(&cells, Area { rows: 1..3, columns: 0..2 }, &[]) };
            sink.take(simd, self.row, 0, &[simd.splat_f32s(7.0)]);
            // SAFETY: every cell was initialized.
            memory.iter().map(|cell| unsafe { cell.assume_init() }).collect()
        }
    }

    #[test]
    fn part3_sums_are_written_only_to_the_tasks_cells() {
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
        // SAFETY: no other thread accesses the cells, and `new` does not dereference the pointer.
        let _sink = unsafe { ResultSink::<f32, true, false>::new(&cells, Area { rows: 3..5, columns: 0..4 }, &[]) };
    }
}
