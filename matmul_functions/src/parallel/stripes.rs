//! The order of the work: which sums are computed when, and by which task.

use std::ops::Range;

use kernels_cpu::product::{PaddedMatrix, Sink, product_of_panels};
use kernels_cpu::{InstructionSet, Simd, prefetch_for_later};
use rayon::prelude::*;

use super::cells::{Cells, SharedCells, mirror, prefetch_mirrored, start_from};
use super::panel_columns;
use super::panels::Panels;
use crate::Element;

/// The most values of k that are summed before the sums are put aside: so many rows of a panel fit the first-level cache.
const DEPTH: usize = 256;

/// The most rows of a task: as many rows of X over one block of k fit the second-level cache.
const ROWS: usize = 256;

/// The most columns whose sums wait at the same time, where X stays in a cache: the sums fit the second level, beside the rows.
const COLUMNS: usize = 256;

/// Bytes of X from which on most of it lies in the memory, whatever the third-level cache.
const FAR: usize = 48 << 20;

/// The bytes of the most columns whose sums wait at the same time, where X is far. A task reads its rows of X anew for each so
/// many columns, so they should be many. What waits, 1 MiB, need not stay in the second level: a block of k reads and writes each
/// of these sums once.
const BYTES_OF_COLUMNS_IF_FAR: usize = 4096;

/// Stripes of rows for each thread: few, since long stripes use what they load often, but enough to share out evenly.
const STRIPES_PER_THREAD: usize = 4;

/// Writes all cells of X·Xᵀ, for the matrix of which `panels` are.
///
/// # Safety
/// `cells.size` is the number of X's rows, and nobody else reads or writes the cells meanwhile.
#[allow(unsafe_code)]
pub(super) unsafe fn multiply<F: Element>(panels: &Panels<F>, cells: &SharedCells<F>) {
    let blocks = blocks_of_depth(panels.depth());
    let rows = cells.size.div_ceil(STRIPES_PER_THREAD * rayon::current_num_threads());
    let length = rows.max(1).next_multiple_of(32).min(ROWS) / panel_columns::<F>();
    // report: begin matmul_rayon
    // The longest tasks first, each taken when a thread is free, so that no thread is left with one at the end.
    (0..panels.count()).step_by(length).rev().par_bridge().for_each(|first| {
        let own = first..(first + length).min(panels.count());
        // SAFETY: each task has panels of its own.
        unsafe { rows_and_mirrored_columns(own, &blocks, panels, cells) };
    });
    // report: end matmul_rayon
    // All cells are written: the task that has row i writes (i, j) for every j of a panel up to i's own, and mirrors (i, j)
    // to (j, i) for every j before i's panel.
}

/// The values of k, in ranges of about the same length; one, though empty, where there are none.
fn blocks_of_depth(depth: usize) -> Vec<Range<usize>> {
    let count = depth.div_ceil(DEPTH).max(1);
    (0..count).map(|block| block * depth / count..(block + 1) * depth / count).collect()
}

/// Computes the rows of the `own` panels up to the diagonal, by whole panels, and mirrors what is left of each row's panel
/// to the columns above it.
///
/// # Safety
/// The panels are of a matrix of `cells.size` rows, and no other task has any of the `own` ones.
#[allow(unsafe_code)]
unsafe fn rows_and_mirrored_columns<F: Element>(
    own: Range<usize>,
    blocks: &[Range<usize>],
    panels: &Panels<F>,
    cells: &SharedCells<F>,
) {
    let (width, size) = (panel_columns::<F>(), cells.size);
    let far = panels.bytes() >= FAR;
    let group = if far { BYTES_OF_COLUMNS_IF_FAR / size_of::<F>() } else { COLUMNS } / width;
    let waiting_rows = if blocks.len() > 1 { own.len() * group * width } else { 0 };
    let mut waiting = PaddedMatrix::<F>::zeros(waiting_rows, width);
    for first in (0..own.end).step_by(group) {
        let rights = first..(first + group).min(own.end);
        for (block, depth) in blocks.iter().enumerate() {
            let last = block + 1 == blocks.len();
            for panel in rights.clone() {
                let right = panels.rows(panel, depth);
                let columns = panel * width..((panel + 1) * width).min(size);
                let below = (own.start.max(panel + 1) * width).min(size)..(own.end * width).min(size);
                if last {
                    prefetch_mirrored(columns.clone(), below.clone(), cells);
                }
                // The rows above the panel's diagonal block are mirrored to, not computed.
                let lefts = own.start.max(panel)..own.end;
                let next = if far { next_right(panel, &rights, block, blocks, panels) } else { &[] };
                let mut next = next.chunks(next.len().div_ceil(lefts.len()).max(1));
                for left in lefts {
                    // A part of the panel that is the next right one, so that it comes while this one is used.
                    let ahead = next.next().unwrap_or_default();
                    let tile = ((left - own.start) * group + panel - first) * width * width;
                    // Where there is one block only, no sum waits.
                    let waiting = match blocks.len() {
                        1 => &mut [],
                        _ => &mut waiting.padded_mut()[tile..tile + width * width],
                    };
                    let place = (left * width..((left + 1) * width).min(size), columns.clone());
                    let left = &panels.rows(left, depth);
                    if last {
                        prefetch_for_later(ahead);
                        // SAFETY: the rows are this task's.
                        unsafe { finish((left, right), waiting, block > 0, place, cells) };
                    } else if block == 0 {
                        prefetch_for_later(ahead);
                        multiply_panels(left, width, right, Waiting::<F, false> { waiting });
                    } else if ahead.is_empty() {
                        multiply_panels(left, width, right, Waiting::<F, true> { waiting });
                    } else {
                        multiply_panels(left, width, right, WaitingAndAhead { waiting: Waiting { waiting }, ahead });
                    }
                }
                if last {
                    // SAFETY: the rows are this task's, and these of their cells are complete; they are below the
                    // diagonal block.
                    unsafe { mirror(below, columns, cells) };
                }
            }
        }
    }
}

/// The right panel's rows that are used after those of `panel` in block `block`, where the `rights` are gone through for each
/// block; none after the last.
fn next_right<'a, F: Element>(
    panel: usize,
    rights: &Range<usize>,
    block: usize,
    blocks: &[Range<usize>],
    panels: &'a Panels<F>,
) -> &'a [F] {
    match blocks.get(block + 1) {
        _ if panel + 1 < rights.end => panels.rows(panel + 1, &blocks[block]),
        Some(depth) => panels.rows(rights.start, depth),
        None => &[],
    }
}

/// Writes two panels' sums over the last block to the cells at the given rows and columns. Where it `goes_on`, the sums start
/// from `waiting`.
///
/// # Safety
/// No other thread reads or writes these cells meanwhile.
#[allow(unsafe_code)]
unsafe fn finish<F: Element>(
    (left, right): (&[F], &[F]),
    waiting: &[F],
    goes_on: bool,
    place: (Range<usize>, Range<usize>),
    cells: &SharedCells<F>,
) {
    let rows = place.0.len();
    // Four kernels, so that the usual ones hold no branch and their sums never leave the registers.
    match (place.1.len() == panel_columns::<F>(), goes_on) {
        (true, false) => {
            // SAFETY: the caller's promise.
            let sink = unsafe { Cells::<F, true, false>::new(cells, place, waiting) };
            multiply_panels(left, rows, right, sink);
        }
        (true, true) => {
            // SAFETY: the caller's promise.
            let sink = unsafe { Cells::<F, true, true>::new(cells, place, waiting) };
            multiply_panels(left, rows, right, sink);
        }
        (false, false) => {
            // SAFETY: the caller's promise.
            let sink = unsafe { Cells::<F, false, false>::new(cells, place, waiting) };
            multiply_panels(left, rows, right, sink);
        }
        (false, true) => {
            // SAFETY: the caller's promise.
            let sink = unsafe { Cells::<F, false, true>::new(cells, place, waiting) };
            multiply_panels(left, rows, right, sink);
        }
    }
}

fn multiply_panels<F: Element, S: Sink<F>>(left: &[F], rows: usize, right: &[F], sink: S) {
    product_of_panels(InstructionSet::detect(), left, rows, right, panel_columns::<F>(), sink);
}

/// A sink of sums that wait for the next block: rows of as many as a panel has columns. `GOES_ON`: they start from there, too.
struct Waiting<'a, F, const GOES_ON: bool> {
    waiting: &'a mut [F],
}

impl<F: Element, const GOES_ON: bool> Sink<F> for Waiting<'_, F, GOES_ON> {
    #[inline(always)]
    fn start<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &mut [F::Vector<S>]) {
        if GOES_ON {
            start_from::<F, S>(self.waiting, row, column, sums);
        }
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let sums = F::as_elements::<S>(sums);
        self.waiting[row * panel_columns::<F>() + column..][..sums.len()].copy_from_slice(sums);
    }
}

/// As [`Waiting`] that goes on, but each row of sums asks for a share of what is `ahead`: many lines at once keep the product
/// waiting, a few between two tiles do not. A sink of its own, since asking for nothing costs 3 % where all is in the cache.
struct WaitingAndAhead<'a, F> {
    waiting: Waiting<'a, F, true>,
    ahead: &'a [F],
}

impl<F: Element> Sink<F> for WaitingAndAhead<'_, F> {
    #[inline(always)]
    fn start<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &mut [F::Vector<S>]) {
        let share = self.ahead.len() / panel_columns::<F>();
        prefetch_for_later(&self.ahead[row * share..(row + 1) * share]);
        self.waiting.start(simd, row, column, sums);
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        self.waiting.take(simd, row, column, sums);
    }
}
