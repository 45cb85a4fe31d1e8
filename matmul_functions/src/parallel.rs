use std::mem::MaybeUninit;

use kernels_cpu::InstructionSet;
use kernels_cpu::Simd;
use kernels_cpu::product::{PaddedMatrix, Sink, product, transpose};
use ndarray::{Array2, ArrayRef2};
use rayon::prelude::*;

use crate::Element;

/// Rows of the result that one task computes: a multiple of a cache line's elements, so that the columns up to the
/// diagonal are whole lines, and few enough that the tasks share out evenly.
const ROWS_PER_TASK: usize = 32;

/// Columns of Xᵀ that are packed together: a panel of 128 rows of them fits the first-level cache.
const PANEL_COLUMNS: usize = 32;

/// X·Xᵀ in parallel, on rayon's current thread pool: if `x` is *M* × *N*, the result is *M* × *M*.
///
/// Three ideas. Xᵀ is packed into panels of columns, so that tiles of sums can stay in registers while they run down a
/// panel ([`kernels_cpu::product`]). Only the lower triangle is computed, since the result is symmetric: half the
/// arithmetic. The upper triangle is mirrored from it, by the same task, while the rows are still in its cache.
///
/// Each element is one sum in ascending k, so that the result does not depend on the number of threads.
///
/// ```
/// use ndarray::array;
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(matmul_functions::matmul_transpose_rayon(&x), array![[5.0, 11.0], [11.0, 25.0]]);
/// ```
#[allow(unsafe_code)]
pub fn matmul_transpose_rayon<F: Element>(x: &ArrayRef2<F>) -> Array2<F> {
    let size = x.nrows();
    let x = x.as_standard_layout();
    let rows: Vec<&[F]> = x.outer_iter().map(|row| row.to_slice().unwrap_or_default()).collect();
    let panels = pack_panels(&rows, x.ncols());

    let mut result = Array2::uninit((size, size));
    let cells = SharedCells { first: result.as_mut_ptr(), size };
    // The longest tasks first, so that no thread is left with one at the end.
    rows.par_chunks(ROWS_PER_TASK).enumerate().rev().for_each(|(task, rows)| {
        // SAFETY: each task has its own `first_row`, in steps of ROWS_PER_TASK, and `rows` are the rows from there on.
        unsafe { rows_and_mirrored_columns(task * ROWS_PER_TASK, rows, &panels, &cells) };
    });
    // SAFETY: task t writes its rows from the first column to its diagonal block's last, and the mirrored cells above
    // that block. Together the tasks write every cell: (i, j) with i's task not before j's in the first way, else in the
    // second.
    unsafe { result.assume_init() }
}

/// Xᵀ in panels of [`PANEL_COLUMNS`] columns, that is of so many rows of X.
fn pack_panels<F: Element>(rows: &[&[F]], depth: usize) -> Vec<PaddedMatrix<F>> {
    let pack = |rows: &[&[F]]| {
        let mut panel = PaddedMatrix::zeros(depth, rows.len());
        panel.copy_transposed(rows);
        panel
    };
    rows.par_chunks(PANEL_COLUMNS).map(pack).collect()
}

/// The cells of a square matrix of `size` × `size`, row by row, that tasks write without overlap.
struct SharedCells<F> {
    first: *mut MaybeUninit<F>,
    size: usize,
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
    unsafe fn write(&self, row: usize, column: usize, values: &[F]) {
        // SAFETY: condition 1 keeps the target inside the matrix; `values` is borrowed, so it is not the target.
        unsafe {
            let target = self.first.add(row * self.size + column);
            target.copy_from_nonoverlapping(values.as_ptr().cast(), values.len());
        }
    }

    /// The first `columns` cells of row `row`.
    ///
    /// # Safety
    /// 1. `row` < `size` and `columns` ≤ `size`.
    /// 2. These cells have been written, and nobody writes them while the slice lives.
    unsafe fn read(&self, row: usize, columns: usize) -> &[F] {
        // SAFETY: condition 1 keeps the slice inside the matrix, condition 2 makes its elements initialised and unchanged.
        unsafe { std::slice::from_raw_parts(self.first.add(row * self.size).cast(), columns) }
    }
}

/// Computes the given rows of the result up to the diagonal block's last column, and mirrors what is left of the block
/// to the columns above it. `first_row` is the rows' place in the matrix.
///
/// # Safety
/// `first_row` + `rows.len()` ≤ `cells.size`, and no other task has these rows, nor ones that overlap them.
#[allow(unsafe_code)]
unsafe fn rows_and_mirrored_columns<F: Element>(
    first_row: usize,
    rows: &[&[F]],
    panels: &[PaddedMatrix<F>],
    cells: &SharedCells<F>,
) {
    let end = first_row + rows.len();
    for (panel, right) in panels.iter().enumerate().take(end.div_ceil(PANEL_COLUMNS)) {
        let first_column = panel * PANEL_COLUMNS;
        let columns = (end - first_column).next_multiple_of(F::LINE).min(right.stride());
        let sink = StoreRows { cells, first_row, first_column, end };
        product(InstructionSet::detect(), rows, right, 0..columns, sink);
    }
    // SAFETY: the rows are this task's; their cells left of the diagonal block were just written and are written no more.
    let left: Vec<&[F]> = (first_row..end).map(|row| unsafe { cells.read(row, first_row) }).collect();
    transpose(&left, |column, row, values| {
        // SAFETY: column < first_row, so the cell is above the diagonal block, at columns that only this task mirrors to.
        unsafe { cells.write(column, first_row + row, values) };
    });
}

/// Stores the sums of one task's rows, up to column `end`; beyond it is a panel's padding.
struct StoreRows<'a, F> {
    cells: &'a SharedCells<F>,
    first_row: usize,
    first_column: usize,
    end: usize,
}

impl<F: Element> Sink<F> for StoreRows<'_, F> {
    #[inline(always)]
    #[allow(unsafe_code)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let sums = F::as_elements::<S>(sums);
        let column = self.first_column + column;
        let inside = self.end.saturating_sub(column).min(sums.len());
        // SAFETY: the row is one of this task's rows and the columns end where its diagonal block does.
        unsafe {
            if inside == sums.len() {
                // The same call, with a length that the compiler knows.
                self.cells.write(self.first_row + row, column, sums);
            } else {
                self.cells.write(self.first_row + row, column, &sums[..inside]);
            }
        }
    }
}
