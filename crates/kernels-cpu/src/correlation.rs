//! Correlates an image with a small kernel of coefficients; pixels outside the image count as zero.
//!
//! For a kernel of *R* × *C*, out\[i\]\[j\] = Σ kernel\[u\]\[v\] · image\[i + u − ⌊R/2⌋\]\[j + v − ⌊C/2⌋\].
//!
//! Ideas:
//! - A tile of four rows and up to four vectors of sums stays in registers. Each image row that the
//!   tile needs is read once per kernel column and serves all sums that it contributes to. Each
//!   coefficient is broadcast once.
//! - Borders are handled separately. Columns with windows that extend beyond the image are computed
//!   from copies of the rows' ends, padded with zeros. Rows above and below the image are rows of
//!   zeros. The interior needs no bounds check per pixel.
//! - A kernel of rank one is a column times a row ([`Coefficients::factors`]): two passes of *R*
//!   and *C* multiply-adds replace *R* · *C*. A strip of four rows goes through both passes while
//!   it is in L1.
//!
//! Each sum uses one accumulator and runs over the coefficients in row-major order; with two
//! passes, it runs over the column and then over the row. Its bits do not depend on the vector
//! width or on how rows are distributed among threads. They are the same on all instruction sets
//! with a fused multiply-add.
//!
//! Roofline: *R* · *C* multiply-adds for 4 bytes read and 4 written. From 5 × 5 on, the arithmetic
//! units are the bound. For 3 × 3 and for two passes, memory is about equally limiting.
//! docs/performance.md has the times.

use std::mem::MaybeUninit;
use std::ops::Range;

use bytemuck::Zeroable;
use pulp::{Simd, WithSimd};

use crate::{InstructionSet, Real};

/// Number of rows in a tile of sums.
const STRIP: usize = 4;
/// Minimum image width for two passes: the widest vector's width, so all instruction sets choose alike.
const MIN_SEPARABLE_WIDTH: usize = 16;

/// A kernel's coefficients, with its factors if it has rank one.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    rows: usize,
    columns: usize,
    /// The coefficients in the order of [`Taps::by_columns`].
    by_columns: Vec<f32>,
    factors: Option<Factors>,
}

#[derive(Clone, Debug, PartialEq)]
struct Factors {
    column: Vec<f32>,
    row: Vec<f32>,
    /// The column in reverse order.
    reversed: Vec<f32>,
}

impl Coefficients {
    /// A kernel of `rows` × `columns` with these values in row-major order.
    ///
    /// # Panics
    /// If the number of values is not `rows` · `columns`.
    pub fn new(rows: usize, columns: usize, values: Vec<f32>) -> Self {
        assert_eq!(rows.checked_mul(columns), Some(values.len()), "a kernel of {rows} × {columns}");
        let column = |v: usize| values[v..].iter().step_by(columns).rev();
        let by_columns = if values.is_empty() { vec![] } else { (0..columns).flat_map(column).copied().collect() };
        let factors = factors(columns, &values).map(|(column, row)| {
            let reversed = column.iter().rev().copied().collect();
            Factors { column, row, reversed }
        });
        Self { rows, columns, by_columns, factors }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// A column and a row with kernel\[u\]\[v\] = column\[u\] · row\[v\] exactly. `None` if there
    /// are none, or if two passes are not less work than one.
    pub fn factors(&self) -> Option<(&[f32], &[f32])> {
        self.factors.as_ref().map(|factors| (&factors.column[..], &factors.row[..]))
    }
}

/// Computes [`Coefficients::factors`]. The row is a row of the kernel divided by the greatest
/// common divisor of its elements: integer kernels have integer factors, with sums as exact as in
/// one pass.
fn factors(columns: usize, values: &[f32]) -> Option<(Vec<f32>, Vec<f32>)> {
    let rows = values.len().checked_div(columns)?;
    if rows * columns <= rows + columns || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let pivot = values.iter().position(|&value| value != 0.0)?;
    let first = &values[pivot / columns * columns..][..columns];
    // The floating-point remainder is exact, and so is Euclid's algorithm.
    let mut divisor = 0.0;
    for &value in first {
        let mut next = f64::from(value).abs();
        while next != 0.0 {
            (divisor, next) = (next, divisor % next);
        }
    }
    let row: Vec<f32> = first.iter().map(|&value| (f64::from(value) / divisor) as f32).collect();
    let p = pivot % columns;
    let column: Vec<f32> = values.chunks_exact(columns).map(|values| values[p] / row[p]).collect();
    // The product of two f32 values is exact in f64.
    let is_exact = values.chunks_exact(columns).zip(&column).all(|(values, &factor)| {
        values.iter().zip(&row).all(|(&value, &of_row)| f64::from(factor) * f64::from(of_row) == f64::from(value))
    });
    is_exact.then_some((column, row))
}

/// Writes the correlation for some rows of an image to all of `out`, which is row-major and as wide
/// as the image.
///
/// For a kernel of *R* rows, row i of `out` uses `rows`\[i\] to `rows`\[i + *R* − 1\]: first the
/// ⌊*R*/2⌋ image rows above row i, then row i and the rows below it. Pass a row of zeros for a row
/// outside the image. A kernel without coefficients gives zero.
///
/// # Panics
/// If the rows differ in length, or `out` is not *n* whole rows for *n* + *R* − 1 `rows`.
pub fn correlate(set: InstructionSet, kernel: &Coefficients, rows: &[&[f32]], out: &mut [MaybeUninit<f32>]) {
    if out.is_empty() {
        return;
    }
    if kernel.by_columns.is_empty() {
        out.fill(MaybeUninit::new(0.0));
        return;
    }
    let width = rows.first().map_or(0, |row| row.len());
    assert!(rows.iter().all(|row| row.len() == width), "correlate: rows of different length");
    let whole = width.checked_mul((rows.len() + 1).saturating_sub(kernel.rows));
    assert_eq!(whole, Some(out.len()), "correlate: rows of the result");
    set.dispatch(Correlation { kernel, rows, width, out });
}

struct Correlation<'a> {
    kernel: &'a Coefficients,
    rows: &'a [&'a [f32]],
    width: usize,
    out: &'a mut [MaybeUninit<f32>],
}

impl WithSimd for Correlation<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // The widest tile that leaves registers for a row's vectors and a coefficient.
        if S::REGISTER_COUNT >= 32 { self.sweep::<S, 4>(simd) } else { self.sweep::<S, 2>(simd) }
    }
}

impl Correlation<'_> {
    #[inline(always)]
    fn sweep<S: Simd, const C: usize>(self, simd: S) {
        let Self { kernel, rows, width, out } = self;
        match &kernel.factors {
            Some(Factors { row, reversed, .. }) if width >= MIN_SEPARABLE_WIDTH => {
                let mut passes = TwoPasses::new(reversed, row, width);
                strips(
                    rows,
                    width,
                    out,
                    #[inline(always)]
                    |rows, out, is_whole| match is_whole {
                        true => passes.strip::<S, STRIP, C>(simd, rows, out),
                        false => passes.strip::<S, 1, C>(simd, rows, out),
                    },
                );
            }
            _ => {
                let pass = OnePass::new::<S>(
                    Taps { rows: kernel.rows, by_columns: &kernel.by_columns },
                    kernel.columns,
                    rows,
                    width,
                );
                let mut first = 0;
                strips(
                    rows,
                    width,
                    out,
                    #[inline(always)]
                    |rows, out, is_whole| {
                        match is_whole {
                            true => pass.strip::<S, STRIP, C>(simd, first, rows, out),
                            false => pass.strip::<S, 1, C>(simd, first, rows, out),
                        }
                        first += out.len() / width;
                    },
                );
            }
        }
    }
}

/// Calls `each` for every [`STRIP`] rows of `out` and then for each remaining row. Passes `rows`
/// starting at the strip's first one, and whether the strip is whole.
#[inline(always)]
fn strips<'a>(
    rows: &'a [&'a [f32]],
    width: usize,
    out: &mut [MaybeUninit<f32>],
    mut each: impl FnMut(&'a [&'a [f32]], &mut [MaybeUninit<f32>], bool),
) {
    let mut whole = out.chunks_exact_mut(STRIP * width);
    let mut first = 0;
    for strip in &mut whole {
        each(&rows[first..], strip, true);
        first += STRIP;
    }
    for row in whole.into_remainder().chunks_exact_mut(width) {
        each(&rows[first..], row, false);
        first += 1;
    }
}

/// Coefficients of a pass, column by column, each column from its last row up. One image row
/// contributes to adjacent sums, and its coefficients for them are adjacent.
#[derive(Clone, Copy)]
struct Taps<'a> {
    rows: usize,
    by_columns: &'a [f32],
}

/// Computes the sums of R rows and C vectors from R + (rows of `taps`) − 1 image rows. `source(i)`
/// returns row i, starting at the pixel that the first coefficient of a kernel row multiplies for
/// the tile's first column.
#[inline(always)]
fn tile<'s, S: Simd, const R: usize, const C: usize>(
    simd: S,
    taps: Taps,
    source: impl Fn(usize) -> &'s [f32],
) -> [[S::f32s; C]; R] {
    let mut sums = [[S::f32s::zeroed(); C]; R];
    for i in 0..R + taps.rows - 1 {
        let row = source(i);
        // Row i contributes to the sums in rows `low` to `high` − 1. Each arm fixes both as
        // constants, so sums stay in registers.
        let (low, high) = ((i + 1).saturating_sub(taps.rows), (i + 1).min(R));
        sums = match (low, high) {
            (0, 1) => add_row::<S, R, C, 0, 1>(simd, taps, i, row, sums),
            (0, 2) if R > 1 => add_row::<S, R, C, 0, 2>(simd, taps, i, row, sums),
            (0, 3) if R > 1 => add_row::<S, R, C, 0, 3>(simd, taps, i, row, sums),
            (0, 4) if R > 1 => add_row::<S, R, C, 0, 4>(simd, taps, i, row, sums),
            (1, 2) if R > 1 => add_row::<S, R, C, 1, 2>(simd, taps, i, row, sums),
            (1, 3) if R > 1 => add_row::<S, R, C, 1, 3>(simd, taps, i, row, sums),
            (1, 4) if R > 1 => add_row::<S, R, C, 1, 4>(simd, taps, i, row, sums),
            (2, 3) if R > 1 => add_row::<S, R, C, 2, 3>(simd, taps, i, row, sums),
            (2, 4) if R > 1 => add_row::<S, R, C, 2, 4>(simd, taps, i, row, sums),
            (3, 4) if R > 1 => add_row::<S, R, C, 3, 4>(simd, taps, i, row, sums),
            _ => unreachable!("a tile has 1 or {STRIP} rows"),
        };
    }
    sums
}

/// Adds the products of row i of a tile's source to the sums in rows LOW to HIGH − 1.
#[inline(always)]
fn add_row<S: Simd, const R: usize, const C: usize, const LOW: usize, const HIGH: usize>(
    simd: S,
    taps: Taps,
    i: usize,
    row: &[f32],
    mut sums: [[S::f32s; C]; R],
) -> [[S::f32s; C]; R] {
    // The sum in row r uses row i − r of the kernel.
    let first = taps.rows - 1 + LOW - i;
    let columns = taps.by_columns.chunks_exact(taps.rows);
    for (pixels, column) in row.windows(C * S::F32_LANES).zip(columns) {
        let pixels = f32::as_vectors::<S>(pixels);
        let coefficients = &column[first..first + HIGH - LOW];
        for r in LOW..HIGH {
            let coefficient = simd.splat_f32s(coefficients[r - LOW]);
            for c in 0..C {
                sums[r][c] = f32::multiply_add_vectors(simd, coefficient, pixels[c], sums[r][c]);
            }
        }
    }
    sums
}

/// Writes the first `count` columns of a tile to `out`, starting at `column`. Rows of `out` are
/// `stride` elements apart.
#[inline(always)]
fn store<S: Simd, const R: usize, const C: usize>(
    sums: &[[S::f32s; C]; R],
    out: &mut [MaybeUninit<f32>],
    stride: usize,
    column: usize,
    count: usize,
) {
    for (r, sums) in sums.iter().enumerate() {
        out[r * stride + column..][..count].write_copy_of_slice(&f32::as_elements::<S>(sums)[..count]);
    }
}

/// Covers `columns` with tiles of C vectors, then of one vector. Calls `each` with a tile's first
/// column and whether it is wide. The last tile ends at the range's end and may overlap the one
/// before it. The range has room for at least one vector.
#[inline(always)]
fn cover<S: Simd, const C: usize>(columns: Range<usize>, mut each: impl FnMut(usize, bool)) {
    let mut column = columns.start;
    while column + C * S::F32_LANES <= columns.end {
        each(column, true);
        column += C * S::F32_LANES;
    }
    while column + S::F32_LANES <= columns.end {
        each(column, false);
        column += S::F32_LANES;
    }
    if column < columns.end {
        each(columns.end - S::F32_LANES, false);
    }
}

/// Computes the correlation with all coefficients in one pass.
struct OnePass<'a> {
    taps: Taps<'a>,
    width: usize,
    /// Number of image columns left of a pixel that its sum uses.
    before: usize,
    /// Columns computed directly from the image rows, if the image is wide enough for any.
    interior: Range<usize>,
    edges: [Edge; 2],
}

impl<'a> OnePass<'a> {
    #[inline(always)]
    fn new<S: Simd>(taps: Taps<'a>, columns: usize, rows: &[&[f32]], width: usize) -> Self {
        let before = columns / 2;
        let after = columns - 1 - before;
        let edge = before.max(after).next_multiple_of(S::F32_LANES);
        let copied = (edge + columns - 1).max(COPIED);
        if width >= copied.max(edge + after + S::F32_LANES) {
            let left = Edge::new(rows, 0..edge, 0..copied, [before, 0], 0);
            let right = Edge::new(rows, width - edge..width, width - copied..width, [0, after], copied - edge - before);
            return Self { taps, width, before, interior: edge..width - after, edges: [left, right] };
        }
        // A narrow image consists of edge columns only.
        let padding = width.next_multiple_of(S::F32_LANES) - width;
        let all = Edge::new(rows, 0..width, 0..width, [before, after + padding], 0);
        Self { taps, width, before, interior: 0..0, edges: [all, Edge::new(rows, 0..0, 0..0, [0, 0], 0)] }
    }

    /// Computes R rows, starting with row `first` of the result. `rows` starts with the first row
    /// that they need.
    #[inline(always)]
    fn strip<S: Simd, const R: usize, const C: usize>(
        &self,
        simd: S,
        first: usize,
        rows: &[&[f32]],
        out: &mut [MaybeUninit<f32>],
    ) {
        let Self { taps, width, before, ref interior, ref edges } = *self;
        cover::<S, C>(
            interior.clone(),
            #[inline(always)]
            |column, is_wide| match is_wide {
                true => {
                    let sums = tile::<S, R, C>(
                        simd,
                        taps,
                        #[inline(always)]
                        |i| &rows[i][column - before..],
                    );
                    store::<S, R, C>(&sums, out, width, column, C * S::F32_LANES);
                }
                false => {
                    let sums = tile::<S, R, 1>(
                        simd,
                        taps,
                        #[inline(always)]
                        |i| &rows[i][column - before..],
                    );
                    store::<S, R, 1>(&sums, out, width, column, S::F32_LANES);
                }
            },
        );
        for edge in edges {
            for column in edge.columns.clone().step_by(S::F32_LANES) {
                let start = edge.offset + column - edge.columns.start;
                let sums = tile::<S, R, 1>(
                    simd,
                    taps,
                    #[inline(always)]
                    |i| &edge.rows[(first + i) * edge.stride + start..],
                );
                store::<S, R, 1>(&sums, out, width, column, S::F32_LANES.min(edge.columns.end - column));
            }
        }
    }
}

/// Elements copied from each end of a row, for kernels of up to 17 columns: a few vectors.
const COPIED: usize = 32;

/// Columns with windows that extend beyond an edge of the image.
struct Edge {
    columns: Range<usize>,
    /// Copies of one part of each row, padded with zeros on both sides.
    rows: Vec<f32>,
    /// Number of elements in a copy, including its zeros.
    stride: usize,
    /// Offset of the first column's window in a copy.
    offset: usize,
}

impl Edge {
    #[inline(always)]
    fn new(rows: &[&[f32]], columns: Range<usize>, copied: Range<usize>, zeros: [usize; 2], offset: usize) -> Self {
        let stride = zeros[0] + copied.len() + zeros[1];
        let mut copies = vec![0.0; if columns.is_empty() { 0 } else { stride * rows.len() }];
        for (copy, row) in copies.chunks_exact_mut(stride.max(1)).zip(rows) {
            let (copy, row) = (&mut copy[zeros[0]..][..copied.len()], &row[copied.clone()]);
            match (<&mut [f32; COPIED]>::try_from(&mut *copy), <&[f32; COPIED]>::try_from(row)) {
                (Ok(copy), Ok(row)) => *copy = *row,
                _ => copy.copy_from_slice(row),
            }
        }
        Self { columns, rows: copies, stride, offset }
    }
}

/// Computes the correlation in two passes: a column of coefficients, then a row.
struct TwoPasses<'a> {
    column: Taps<'a>,
    row: Taps<'a>,
    width: usize,
    /// A strip's sums over the column, padded with zeros for the coefficients outside the image.
    between: Vec<f32>,
    /// Number of elements in a row of `between`.
    stride: usize,
}

impl<'a> TwoPasses<'a> {
    #[inline(always)]
    fn new(reversed: &'a [f32], row: &'a [f32], width: usize) -> Self {
        let stride = width + row.len() - 1;
        Self {
            column: Taps { rows: reversed.len(), by_columns: reversed },
            row: Taps { rows: 1, by_columns: row },
            width,
            between: vec![0.0; STRIP * stride],
            stride,
        }
    }

    /// Computes R rows. `rows` starts with the first row that they need.
    #[inline(always)]
    fn strip<S: Simd, const R: usize, const C: usize>(
        &mut self,
        simd: S,
        rows: &[&[f32]],
        out: &mut [MaybeUninit<f32>],
    ) {
        let Self { column: of_column, row: of_row, width, ref mut between, stride } = *self;
        let before = of_row.by_columns.len() / 2;
        cover::<S, C>(
            0..width,
            #[inline(always)]
            |column, is_wide| match is_wide {
                true => {
                    let sums = tile::<S, R, C>(
                        simd,
                        of_column,
                        #[inline(always)]
                        |i| &rows[i][column..],
                    );
                    for (sums, row) in sums.iter().zip(between.chunks_exact_mut(stride)) {
                        row[before + column..][..C * S::F32_LANES].copy_from_slice(f32::as_elements::<S>(sums));
                    }
                }
                false => {
                    let sums = tile::<S, R, 1>(
                        simd,
                        of_column,
                        #[inline(always)]
                        |i| &rows[i][column..],
                    );
                    for (sums, row) in sums.iter().zip(between.chunks_exact_mut(stride)) {
                        row[before + column..][..S::F32_LANES].copy_from_slice(f32::as_elements::<S>(sums));
                    }
                }
            },
        );
        for (row, out) in between.chunks_exact(stride).zip(out.chunks_exact_mut(width)) {
            cover::<S, C>(
                0..width,
                #[inline(always)]
                |column, is_wide| match is_wide {
                    true => {
                        let sums = tile::<S, 1, C>(
                            simd,
                            of_row,
                            #[inline(always)]
                            |_| &row[column..],
                        );
                        store::<S, 1, C>(&sums, out, width, column, C * S::F32_LANES);
                    }
                    false => {
                        let sums = tile::<S, 1, 1>(
                            simd,
                            of_row,
                            #[inline(always)]
                            |_| &row[column..],
                        );
                        store::<S, 1, 1>(&sums, out, width, column, S::F32_LANES);
                    }
                },
            );
        }
    }
}
