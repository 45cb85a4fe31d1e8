//! The blocking of the product and its distribution over tasks.

use std::ops::Range;

use kernels_cpu::product::{PaddedMatrix, Sink, product_of_panels};
use kernels_cpu::{InstructionSet, Simd, prefetch_for_later};
use rayon::prelude::*;

use super::cells::{Area, ResultSink, SharedCells, load_partial_sums, mirror, prefetch_mirrored};
use super::panel_columns;
use super::panels::Panels;
use crate::MatmulElement;

/// Maximum length of a K-block (BLIS's kc). Its rows of a panel fit in L1.
const MAX_K_BLOCK: usize = 256;

/// Maximum rows of a task (BLIS's mc). Its rows of X over one K-block fit in L2.
const MAX_ROWS: usize = 256;

/// Maximum columns with partial sums at the same time (BLIS's nc) if X fits in a cache. The partial
/// sums fit in L2 together with the task's rows.
const MAX_COLUMNS: usize = 256;

/// Size of X in bytes from which on most of it is in memory, whatever the size of L3.
const OUT_OF_CACHE_BYTES: usize = 48 << 20;

/// Maximum columns with partial sums at the same time if X is out of cache, in bytes of a row. A
/// task reads its rows of X once per group of columns, so the groups should be large. The partial
/// sums, 1 MiB, need not stay in L2: each K-block reads and writes every partial sum only once.
const MAX_COLUMN_BYTES_OUT_OF_CACHE: usize = 4096;

/// Stripes of rows per thread: few, since long stripes reuse their data more often, but enough for
/// load balancing.
const STRIPES_PER_THREAD: usize = 4;

/// Writes all cells of X·Xᵀ. `panels` must be the panels of X.
///
/// # Safety
/// `cells.size` is the number of X's rows, and no other thread reads or writes the cells during the call.
#[allow(unsafe_code)]
pub(super) unsafe fn multiply<F: MatmulElement>(panels: &Panels<F>, cells: &SharedCells<F>) {
    let blocks = k_blocks(panels.depth());
    let rows = cells.size.div_ceil(STRIPES_PER_THREAD * rayon::current_num_threads());
    let length = rows.max(1).next_multiple_of(32).min(MAX_ROWS) / panel_columns::<F>();
    // report: begin matmul_rayon
    // The longest tasks come first, scheduled dynamically: no thread starts a long task at the end.
    (0..panels.count()).step_by(length).rev().par_bridge().for_each(|first| {
        let own = first..(first + length).min(panels.count());
        // SAFETY: the tasks' ranges of panels are disjoint.
        unsafe { rows_and_mirrored_columns(own, &blocks, panels, cells) };
    });
    // report: end matmul_rayon
    // All cells are written. The task of row i writes (i, j) for every j in the panels up to and
    // including i's, and mirrors (i, j) to (j, i) for every j before i's panel.
}

/// Splits the depth K into K-blocks of about equal length. If K is 0, there is a single empty one.
fn k_blocks(depth: usize) -> Vec<Range<usize>> {
    let count = depth.div_ceil(MAX_K_BLOCK).max(1);
    (0..count).map(|block| block * depth / count..(block + 1) * depth / count).collect()
}

/// Computes the rows of the `own` panels up to and including the diagonal blocks, and mirrors the
/// blocks left of the diagonal to the upper triangle.
///
/// # Safety
/// The panels belong to a matrix with `cells.size` rows, and no other task has any of the `own`
/// panels.
#[allow(unsafe_code)]
unsafe fn rows_and_mirrored_columns<F: MatmulElement>(
    own: Range<usize>,
    blocks: &[Range<usize>],
    panels: &Panels<F>,
    cells: &SharedCells<F>,
) {
    let width = panel_columns::<F>();
    let is_out_of_cache = panels.bytes() >= OUT_OF_CACHE_BYTES;
    let group = if is_out_of_cache { MAX_COLUMN_BYTES_OUT_OF_CACHE / size_of::<F>() } else { MAX_COLUMNS } / width;
    // With a single K-block, there are no partial sums.
    let buffer_rows = if blocks.len() > 1 { own.len() * group * width } else { 0 };
    let mut sums = PaddedMatrix::<F>::zeros(buffer_rows, width);
    let task = Task { own, blocks, panels, cells, group, is_out_of_cache };
    for first in (0..task.own.end).step_by(group) {
        let b_panels = first..(first + group).min(task.own.end);
        for block in 0..blocks.len() {
            for panel in b_panels.clone() {
                // SAFETY: upheld by the caller.
                unsafe { task.multiply_by(Operand { panel, block }, &b_panels, &mut sums) };
            }
        }
    }
}

/// A task: the rows of the `own` panels, up to and including the diagonal blocks.
struct Task<'a, F> {
    own: Range<usize>,
    blocks: &'a [Range<usize>],
    panels: &'a Panels<F>,
    cells: &'a SharedCells<F>,
    /// Maximum number of B panels that have partial sums at the same time.
    group: usize,
    is_out_of_cache: bool,
}

/// One K-block of a B panel.
#[derive(Clone, Copy)]
struct Operand {
    panel: usize,
    block: usize,
}

impl<F: MatmulElement> Task<'_, F> {
    /// Multiplies the task's A panels by one K-block of a panel of `b_panels`. Its partial sums are
    /// in `sums`. After the last K-block, writes the sums to the cells and mirrors them.
    ///
    /// # Safety
    /// The panels belong to a matrix with `cells.size` rows, and no other task has any of this
    /// task's panels.
    #[allow(unsafe_code)]
    unsafe fn multiply_by(&self, b: Operand, b_panels: &Range<usize>, sums: &mut PaddedMatrix<F>) {
        let Self { own, blocks, panels, cells, group, is_out_of_cache } = self;
        let (width, size) = (panel_columns::<F>(), cells.size);
        let (depth, is_last) = (&blocks[b.block], b.block + 1 == blocks.len());
        let b_values = panels.rows(b.panel, depth);
        let columns = b.panel * width..((b.panel + 1) * width).min(size);
        let below = (own.start.max(b.panel + 1) * width).min(size)..(own.end * width).min(size);
        let below = Area { rows: below, columns: columns.clone() };
        if is_last {
            prefetch_mirrored(&below, cells);
        }
        // The rows above the panel's diagonal block are mirrored instead of computed.
        let a_panels = own.start.max(b.panel)..own.end;
        let next = if *is_out_of_cache { self.values_after(b, b_panels) } else { &[] };
        let mut next = next.chunks(next.len().div_ceil(a_panels.len()).max(1));
        for a_panel in a_panels {
            // A chunk of the next B panel, prefetched while this one is multiplied.
            let ahead = next.next().unwrap_or_default();
            let a = panels.rows(a_panel, depth);
            let partial_sums = match blocks.len() {
                1 => &mut [],
                _ => {
                    let tile = (a_panel - own.start) * group + b.panel - b_panels.start;
                    &mut sums.padded_mut()[tile * width * width..][..width * width]
                }
            };
            if is_last {
                prefetch_for_later(ahead);
                let area = Area { rows: a_panel * width..((a_panel + 1) * width).min(size), columns: columns.clone() };
                // SAFETY: only this task accesses these rows up to the diagonal.
                unsafe { finish(a, b_values, partial_sums, area, cells) };
            } else if b.block == 0 {
                prefetch_for_later(ahead);
                multiply_panels(a, width, b_values, PartialSums::<F, false> { partial_sums });
            } else if ahead.is_empty() {
                multiply_panels(a, width, b_values, PartialSums::<F, true> { partial_sums });
            } else {
                let sink = PrefetchingPartialSums { sums: PartialSums { partial_sums }, ahead };
                multiply_panels(a, width, b_values, sink);
            }
        }
        if is_last {
            // SAFETY: only this task accesses the rows. Their cells in these columns are complete
            // and below the diagonal block, and no other task writes their mirror images.
            unsafe { mirror(below, cells) };
        }
    }

    /// The values of the operand used after `b`. The loop over `b_panels` is inside the loop over
    /// the K-blocks. Empty after the last operand.
    fn values_after(&self, b: Operand, b_panels: &Range<usize>) -> &[F] {
        match self.blocks.get(b.block + 1) {
            _ if b.panel + 1 < b_panels.end => self.panels.rows(b.panel + 1, &self.blocks[b.block]),
            Some(depth) => self.panels.rows(b_panels.start, depth),
            None => &[],
        }
    }
}

/// Multiplies the last K-block of two panels and writes the sums to the cells of the area. The sums
/// start from `partial_sums` if there are any.
///
/// # Safety
/// No other thread reads or writes these cells during the call.
#[allow(unsafe_code)]
unsafe fn finish<F: MatmulElement>(a: &[F], b: &[F], partial_sums: &[F], area: Area, cells: &SharedCells<F>) {
    // Four instances: the common ones have no branches and keep their sums in registers.
    let write = match (area.columns.len() == panel_columns::<F>(), partial_sums.is_empty()) {
        (true, true) => write_product::<F, true, false>,
        (true, false) => write_product::<F, true, true>,
        (false, true) => write_product::<F, false, false>,
        (false, false) => write_product::<F, false, true>,
    };
    // SAFETY: upheld by the caller.
    unsafe { write(a, b, partial_sums, area, cells) };
}

/// Runs [`finish`] with the sink for these constants.
///
/// # Safety
/// As [`finish`].
#[allow(unsafe_code)]
unsafe fn write_product<F: MatmulElement, const FULL: bool, const ACCUMULATES: bool>(
    a: &[F],
    b: &[F],
    partial_sums: &[F],
    area: Area,
    cells: &SharedCells<F>,
) {
    let rows = area.rows.len();
    // SAFETY: upheld by the caller.
    let sink = unsafe { ResultSink::<F, FULL, ACCUMULATES>::new(cells, area, partial_sums) };
    multiply_panels(a, rows, b, sink);
}

fn multiply_panels<F: MatmulElement, S: Sink<F>>(a: &[F], rows: usize, b: &[F], sink: S) {
    product_of_panels(InstructionSet::detect(), a, rows, b, panel_columns::<F>(), sink);
}

/// A sink that keeps partial sums until the next K-block, in rows of a panel's width. With
/// `ACCUMULATES`, the sums also start from there.
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

/// Accumulating [`PartialSums`] that also prefetch a part of `ahead` with each row of sums.
/// Prefetching many lines at once would stall the product, while a few between two tiles do not.
/// This is a separate sink because even empty prefetches cost time if all data is in cache.
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
