use std::mem::MaybeUninit;
use std::ops::Range;

use kernels_cpu::product::{PaddedMatrix, Sink, product};
use kernels_cpu::transpose::transpose_to;
use kernels_cpu::{InstructionSet, Simd, memory, prefetch_for_writing};
use ndarray::{Array2, ArrayRef2};
use rayon::prelude::*;

use crate::Element;

/// The most values of k that are summed before the sums go back to the result: so many rows of a panel fit the caches
/// beside the rows that they are multiplied with.
const DEPTH: usize = 256;

/// Cache lines in a row of a panel: what the widest tile takes.
const LINES_OF_PANEL: usize = 2;

/// Columns of Xᵀ that are packed together.
const fn panel_columns<F: Element>() -> usize {
    LINES_OF_PANEL * F::LINE
}

/// X·Xᵀ in parallel, on rayon's current thread pool: if `x` is *M* × *N*, the result is *M* × *M*.
///
/// Four ideas. Xᵀ is packed into panels of columns, so that tiles of sums can stay in registers while they run down a
/// panel ([`kernels_cpu::product`]). A panel is cut into blocks of rows that stay in the cache; between two blocks the sums
/// wait in the result. Only the lower triangle is computed, since the result is symmetric: half the arithmetic. The upper
/// triangle is mirrored from it, panel by panel, by the same task: its cells are fetched while the panel's are computed, since
/// the product leaves the memory idle, and the transpose stays in registers ([`kernels_cpu::transpose`]).
///
/// Each element is one sum in ascending k, so that the result does not depend on the number of threads, nor on the blocks.
///
/// Roofline: *M*²·*N* floating-point operations, so arithmetic decides. Measured on one core of a Sapphire Rapids server
/// whose peak is 171 · 10⁹ operations a second in f32 and half of it in f64, 784 × 128 takes at least 460 µs in f32 and
/// 919 µs in f64.
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
    let blocks = blocks_of_depth(x.ncols());
    let panels = pack_panels(&rows, &blocks);

    let mut result = memory::vec_with_capacity(size * size);
    let cells = SharedCells { first: result.spare_capacity_mut().as_mut_ptr(), size };
    let rows_per_task = rows_per_task(size);
    // The longest tasks first, so that no thread is left with one at the end.
    rows.par_chunks(rows_per_task).enumerate().rev().with_max_len(1).for_each(|(task, rows)| {
        // SAFETY: each task has its own `first_row`, in steps of `rows_per_task`, and `rows` are the rows from there on.
        unsafe { rows_and_mirrored_columns(task * rows_per_task, rows, &blocks, &panels, &cells) };
    });
    // SAFETY: there is room for size² elements. The task that has row i writes (i, j) for every j of a panel that starts at
    // or before i, and mirrors (i, j) to (j, i) for every j before i's panel. For any cell (i, j): j's panel starts at or
    // before i, or i is before j's panel.
    unsafe { result.set_len(size * size) };
    match Array2::from_shape_vec((size, size), result) {
        Ok(result) => result,
        Err(error) => unreachable!("there are size² elements: {error}"),
    }
}

/// Rows of the result that one task computes: a multiple of every panel's columns, enough to use what it loads often, and
/// few enough that the tasks share out evenly.
fn rows_per_task(size: usize) -> usize {
    (size / 16).next_multiple_of(32).clamp(32, 128)
}

/// The values of k, in ranges of about the same length; one, though empty, where there are none.
fn blocks_of_depth(depth: usize) -> Vec<Range<usize>> {
    let count = depth.div_ceil(DEPTH).max(1);
    (0..count).map(|block| block * depth / count..(block + 1) * depth / count).collect()
}

/// Xᵀ in panels of columns, that is of so many rows of X, each in the given blocks of rows.
fn pack_panels<F: Element>(rows: &[&[F]], blocks: &[Range<usize>]) -> Vec<Vec<PaddedMatrix<F>>> {
    let pack = |rows: &[&[F]], block: &Range<usize>| {
        let part: Vec<&[F]> = rows.iter().map(|row| &row[block.clone()]).collect();
        let mut panel = PaddedMatrix::zeros(block.len(), rows.len());
        panel.copy_transposed(&part);
        panel
    };
    let pack_all = |rows: &[&[F]]| blocks.iter().map(|block| pack(rows, block)).collect();
    rows.par_chunks(panel_columns::<F>()).map(pack_all).collect()
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

/// Computes the given rows of the result up to the diagonal, by whole panels, and mirrors what is left of each row's panel
/// to the columns above it. `first_row` is the rows' place in the matrix.
///
/// # Safety
/// `first_row` + `rows.len()` ≤ `cells.size`, and no other task has these rows, nor ones that overlap them.
#[allow(unsafe_code)]
unsafe fn rows_and_mirrored_columns<F: Element>(
    first_row: usize,
    rows: &[&[F]],
    blocks: &[Range<usize>],
    panels: &[Vec<PaddedMatrix<F>>],
    cells: &SharedCells<F>,
) {
    let (width, end) = (panel_columns::<F>(), first_row + rows.len());
    let last_block = blocks.len() - 1;
    for (block, depth) in blocks.iter().enumerate() {
        let left: Vec<&[F]> = rows.iter().map(|row| &row[depth.clone()]).collect();
        for (panel, right) in panels[..end.div_ceil(width)].iter().enumerate() {
            let (first_column, below) = (panel * width, ((panel + 1) * width).max(first_row));
            let mirrors = block == last_block && below < end;
            if mirrors {
                prefetch_mirrored(first_column..first_column + width, below..end, cells);
            }
            // The rows above the panel's diagonal block are mirrored to, not computed.
            let above = first_column.saturating_sub(first_row);
            multiply(&left[above..], &right[block], cells, (first_row + above, first_column), block > 0);
            if mirrors {
                // SAFETY: the rows are this task's, and these of their cells are complete; they are below the diagonal block.
                unsafe { mirror(below..end, first_column..first_column + width, cells) };
            }
        }
    }
}

/// Has the cells fetched that [`mirror`] will write, while others are computed: the product leaves the memory idle.
fn prefetch_mirrored<F: Element>(rows: Range<usize>, columns: Range<usize>, cells: &SharedCells<F>) {
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
unsafe fn mirror<F: Element>(rows: Range<usize>, columns: Range<usize>, cells: &SharedCells<F>) {
    // SAFETY: conditions 1 and 2.
    let left: Vec<&[F]> = rows.clone().map(|row| unsafe { cells.read(row, columns.clone()) }).collect();
    let to = cells.first.wrapping_add(columns.start * cells.size + rows.start);
    // SAFETY: the transpose's cells (j, i) are in the matrix (1), above the diagonal and so not the ones read, and nobody
    // else's (3).
    unsafe { transpose_to(InstructionSet::detect(), &left, to.cast(), cells.size) };
}

/// Adds one block's products to the cells from `place`, a row and a column, on; where they do not go on, to zeros.
fn multiply<F: Element>(
    left: &[&[F]],
    right: &PaddedMatrix<F>,
    cells: &SharedCells<F>,
    place: (usize, usize),
    goes_on: bool,
) {
    let (set, columns, inside) = (InstructionSet::detect(), 0..right.stride(), right.columns());
    // Four kernels, so that the usual ones hold no branch and their sums never leave the registers.
    match (inside == right.stride(), goes_on) {
        (true, false) => product(set, left, right, columns, Cells::<F, true, false> { cells, place, inside }),
        (true, true) => product(set, left, right, columns, Cells::<F, true, true> { cells, place, inside }),
        (false, false) => product(set, left, right, columns, Cells::<F, false, false> { cells, place, inside }),
        (false, true) => product(set, left, right, columns, Cells::<F, false, true> { cells, place, inside }),
    }
}

/// The cells of one task's rows and one panel's columns, from `place` on. `inside` of the columns are the result's, the
/// others the panel's padding, unless it is `WHOLE`. `GOES_ON`: the sums start from what the cells hold.
struct Cells<'a, F, const WHOLE: bool, const GOES_ON: bool> {
    cells: &'a SharedCells<F>,
    place: (usize, usize),
    inside: usize,
}

impl<F: Element, const WHOLE: bool, const GOES_ON: bool> Cells<'_, F, WHOLE, GOES_ON> {
    /// How many of `length` columns from `column` on are the result's.
    #[inline(always)]
    fn inside(&self, column: usize, length: usize) -> usize {
        if WHOLE { length } else { self.inside.saturating_sub(column).min(length) }
    }
}

impl<F: Element, const WHOLE: bool, const GOES_ON: bool> Sink<F> for Cells<'_, F, WHOLE, GOES_ON> {
    #[inline(always)]
    #[allow(unsafe_code)]
    fn start<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &mut [F::Vector<S>]) {
        if !GOES_ON {
            return;
        }
        let length = size_of_val(sums) / size_of::<F>();
        let inside = self.inside(column, length);
        let (row, first) = (self.place.0 + row, self.place.1 + column);
        // SAFETY: these rows are one task's, which wrote these cells for the block before; a panel's columns are the result's
        // up to `inside`.
        let cells = unsafe { self.cells.read(row, first..first + inside) };
        if inside == length {
            for (sum, cells) in sums.iter_mut().zip(cells.chunks_exact(size_of::<F::Vector<S>>() / size_of::<F>())) {
                *sum = F::load_vector::<S>(cells);
            }
        } else {
            F::as_elements_mut::<S>(sums)[..inside].copy_from_slice(cells);
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let inside = self.inside(column, size_of_val(sums) / size_of::<F>());
        let (row, first) = (self.place.0 + row, self.place.1 + column);
        if inside * size_of::<F>() == size_of_val(sums) {
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
