//! The blocking of the product and its distribution over tasks.

use std::ops::Range;

use kernels_cpu::product::{PaddedMatrix, Sink, product_of_panels};
use kernels_cpu::{InstructionSet, Simd, prefetch_for_later};
use rayon::prelude::*;

use super::cells::{ResultSink, SharedCells, load_partial_sums, mirror, prefetch_mirrored};
use super::panel_columns;
use super::panels::Panels;
use crate::MatmulElement;

/// Maximum length of a K-block (BLIS's kc): its rows of a panel fit into L1.
const MAX_K_BLOCK: usize = 256;

/// Maximum rows of a task (BLIS's mc): its rows of X over one K-block fit into L2.
const MAX_ROWS: usize = 256;

/// Maximum columns with partial sums at the same time (BLIS's nc) if X fits into a cache: the partial sums fit into L2,
/// beside the task's rows.
const MAX_COLUMNS: usize = 256;

/// Bytes of X from which most of it is in memory, whatever the size of L3.
const OUT_OF_CACHE_BYTES: usize = 48 << 20;

/// Maximum columns with partial sums at the same time, in bytes of a row, if X is out of cache. A task reads its rows
/// of X once per group of columns, so the groups should be large. The partial sums, 1 MiB, need not stay in L2: each
/// K-block reads and writes every partial sum only once.
const MAX_COLUMN_BYTES_OUT_OF_CACHE: usize = 4096;

/// Stripes of rows per thread: few, since long stripes reuse their data more often, but enough for load balance.
const STRIPES_PER_THREAD: usize = 4;

/// Writes all cells of X·Xᵀ, where `panels` are those of X.
///
/// # Safety
/// `cells.size` is the number of X's rows, and no other thread reads or writes the cells during the call.
#[allow(unsafe_code)]
pub(super) unsafe fn multiply<F: MatmulElement>(panels: &Panels<F>, cells: &SharedCells<F>) {
    let blocks = k_blocks(panels.depth());
    let rows = cells.size.div_ceil(STRIPES_PER_THREAD * rayon::current_num_threads());
    let length = rows.max(1).next_multiple_of(32).min(MAX_ROWS) / panel_columns::<F>();
    // report: begin matmul_rayon
    // The longest tasks first, scheduled dynamically, so that no thread starts a long task at the end.
    (0..panels.count()).step_by(length).rev().par_bridge().for_each(|first| {
        let own = first..(first + length).min(panels.count());
        // SAFETY: the tasks' ranges of panels are disjoint.
        unsafe { rows_and_mirrored_columns(own, &blocks, panels, cells) };
    });
    // report: end matmul_rayon
    // All cells are written: the task of row i writes (i, j) for every j of the panels up to and including i's, and
    // mirrors (i, j) to (j, i) for every j before i's panel.
}

/// Splits the depth K into K-blocks of about equal length; a single empty one if K is 0.
fn k_blocks(depth: usize) -> Vec<Range<usize>> {
    let count = depth.div_ceil(MAX_K_BLOCK).max(1);
    (0..count).map(|block| block * depth / count..(block + 1) * depth / count).collect()
}

/// Computes the rows of the `own` panels up to and including the diagonal blocks, and mirrors the blocks left of the
/// diagonal to the upper triangle.
///
/// # Safety
/// The panels are of a matrix of `cells.size` rows, and no other task has any of the `own` panels.
#[allow(unsafe_code)]
unsafe fn rows_and_mirrored_columns<F: MatmulElement>(
    own: Range<usize>,
    blocks: &[Range<usize>],
    panels: &Panels<F>,
    cells: &SharedCells<F>,
) {
    let (width, size) = (panel_columns::<F>(), cells.size);
    let out_of_cache = panels.bytes() >= OUT_OF_CACHE_BYTES;
    let group = if out_of_cache { MAX_COLUMN_BYTES_OUT_OF_CACHE / size_of::<F>() } else { MAX_COLUMNS } / width;
    let buffer_rows = if blocks.len() > 1 { own.len() * group * width } else { 0 };
    let mut buffer = PaddedMatrix::<F>::zeros(buffer_rows, width);
    for first in (0..own.end).step_by(group) {
        let b_panels = first..(first + group).min(own.end);
        for (block, depth) in blocks.iter().enumerate() {
            let last = block + 1 == blocks.len();
            for panel in b_panels.clone() {
                let b = panels.rows(panel, depth);
                let columns = panel * width..((panel + 1) * width).min(size);
                let below = (own.start.max(panel + 1) * width).min(size)..(own.end * width).min(size);
                if last {
                    prefetch_mirrored(columns.clone(), below.clone(), cells);
                }
                // The rows above the panel's diagonal block are mirrored, not computed.
                let a_panels = own.start.max(panel)..own.end;
                let next = if out_of_cache { next_b_panel(panel, &b_panels, block, blocks, panels) } else { &[] };
                let mut next = next.chunks(next.len().div_ceil(a_panels.len()).max(1));
                for a_panel in a_panels {
                    // A share of the next B panel, prefetched while this one is multiplied.
                    let ahead = next.next().unwrap_or_default();
                    let tile = ((a_panel - own.start) * group + panel - first) * width * width;
                    // With a single K-block there are no partial sums.
                    let partial_sums = match blocks.len() {
                        1 => &mut [],
                        _ => &mut buffer.padded_mut()[tile..tile + width * width],
                    };
                    let rows_and_columns = (a_panel * width..((a_panel + 1) * width).min(size), columns.clone());
                    let a = &panels.rows(a_panel, depth);
                    if last {
                        prefetch_for_later(ahead);
                        // SAFETY: only this task accesses these rows up to the diagonal.
                        unsafe { finish((a, b), partial_sums, block > 0, rows_and_columns, cells) };
                    } else if block == 0 {
                        prefetch_for_later(ahead);
                        multiply_panels(a, width, b, PartialSums::<F, false> { partial_sums });
                    } else if ahead.is_empty() {
                        multiply_panels(a, width, b, PartialSums::<F, true> { partial_sums });
                    } else {
                        let sink = PrefetchingPartialSums { sums: PartialSums { partial_sums }, ahead };
                        multiply_panels(a, width, b, sink);
                    }
                }
                if last {
                    // SAFETY: only this task accesses the rows, whose cells in these columns are complete and below the
                    // diagonal block, and no other task writes their mirror images.
                    unsafe { mirror(below, columns, cells) };
                }
            }
        }
    }
}

/// The K-block of the B panel that is used after K-block `block` of `panel`; the loop over `b_panels` is inside that
/// over the K-blocks. Empty after the last.
fn next_b_panel<'a, F: MatmulElement>(
    panel: usize,
    b_panels: &Range<usize>,
    block: usize,
    blocks: &[Range<usize>],
    panels: &'a Panels<F>,
) -> &'a [F] {
    match blocks.get(block + 1) {
        _ if panel + 1 < b_panels.end => panels.rows(panel + 1, &blocks[block]),
        Some(depth) => panels.rows(b_panels.start, depth),
        None => &[],
    }
}

/// Multiplies the last K-block of two panels and writes the sums to the cells at the given rows and columns. If it
/// `accumulates`, the sums start from `partial_sums`.
///
/// # Safety
/// No other thread reads or writes these cells during the call.
#[allow(unsafe_code)]
unsafe fn finish<F: MatmulElement>(
    (a, b): (&[F], &[F]),
    partial_sums: &[F],
    accumulates: bool,
    rows_and_columns: (Range<usize>, Range<usize>),
    cells: &SharedCells<F>,
) {
    let rows = rows_and_columns.0.len();
    // Four instances, so that the common ones have no branches and keep their sums in registers.
    match (rows_and_columns.1.len() == panel_columns::<F>(), accumulates) {
        (true, false) => {
            // SAFETY: upheld by the caller.
            let sink = unsafe { ResultSink::<F, true, false>::new(cells, rows_and_columns, partial_sums) };
            multiply_panels(a, rows, b, sink);
        }
        (true, true) => {
            // SAFETY: upheld by the caller.
            let sink = unsafe { ResultSink::<F, true, true>::new(cells, rows_and_columns, partial_sums) };
            multiply_panels(a, rows, b, sink);
        }
        (false, false) => {
            // SAFETY: upheld by the caller.
            let sink = unsafe { ResultSink::<F, false, false>::new(cells, rows_and_columns, partial_sums) };
            multiply_panels(a, rows, b, sink);
        }
        (false, true) => {
            // SAFETY: upheld by the caller.
            let sink = unsafe { ResultSink::<F, false, true>::new(cells, rows_and_columns, partial_sums) };
            multiply_panels(a, rows, b, sink);
        }
    }
}

fn multiply_panels<F: MatmulElement, S: Sink<F>>(a: &[F], rows: usize, b: &[F], sink: S) {
    product_of_panels(InstructionSet::detect(), a, rows, b, panel_columns::<F>(), sink);
}

/// A sink of partial sums, kept until the next K-block, in rows with the width of a panel. With `ACCUMULATES` the sums
/// also start from there.
struct PartialSums<'a, F, const ACCUMULATES: bool> {
    partial_sums: &'a mut [F],
}

impl<F: MatmulElement, const ACCUMULATES: bool> Sink<F> for PartialSums<'_, F, ACCUMULATES> {
    #[inline(always)]
    fn start<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &mut [F::Vector<S>]) {
        if ACCUMULATES {
            load_partial_sums::<F, S>(self.partial_sums, row, column, sums);
        }
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let sums = F::as_elements::<S>(sums);
        self.partial_sums[row * panel_columns::<F>() + column..][..sums.len()].copy_from_slice(sums);
    }
}

/// Accumulating [`PartialSums`] that prefetch a share of `ahead` with each row of sums: prefetching many lines at once
/// would stall the product, a few between two tiles do not. A separate sink, since even empty prefetches cost time if
/// all data is in cache.
struct PrefetchingPartialSums<'a, F> {
    sums: PartialSums<'a, F, true>,
    ahead: &'a [F],
}

impl<F: MatmulElement> Sink<F> for PrefetchingPartialSums<'_, F> {
    #[inline(always)]
    fn start<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &mut [F::Vector<S>]) {
        let share = self.ahead.len() / panel_columns::<F>();
        prefetch_for_later(&self.ahead[row * share..(row + 1) * share]);
        self.sums.start(simd, row, column, sums);
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        self.sums.take(simd, row, column, sums);
    }
}
