//! The matrix product by register tiling.
//!
//! Idea: a tile of M × N sums stays in vector registers while the loop runs over the summation
//! index p. For each p, it broadcasts M elements of the left matrix and loads N adjacent elements
//! of the right one, which feed M · N multiply-adds. A finished tile goes to a [`Sink`], which
//! stores it, adds a bias, applies an activation or updates a weight (a fused epilogue). The sums
//! are never written to memory just to be read again.
//!
//! Every sum runs over p in ascending order, in one accumulator. Its bits therefore do not depend
//! on the tile's shape, on how rows are distributed, or on the number of threads. They are the same
//! on all instruction sets with a fused multiply-add, that is, on all but the portable one.
//!
//! Roofline: M · N multiply-adds for M + N loaded elements. A tile of 8 × 32 f32 on AVX-512 takes
//! 16 vector multiply-adds for 2 loads and 8 broadcasts, so the arithmetic units are the bound, not
//! the loads.

use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use pulp::{Simd, WithSimd};

use crate::transpose::transpose;
use crate::{InstructionSet, Real};

/// A cache line of elements of any type.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// A row-major matrix with rows padded and aligned to whole cache lines. A kernel needs no
/// remainder loop over columns, and no vector crosses a line.
///
/// The padding is part of every product: keep it at zero unless the sink ignores it.
#[derive(Clone, Debug)]
pub struct PaddedMatrix<F> {
    lines: Vec<Line>,
    rows: usize,
    columns: usize,
    stride: usize,
    element: PhantomData<F>,
}

impl<F: Real> PaddedMatrix<F> {
    /// A matrix of zeros of shape `rows` × `columns`.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        let stride = columns.max(1).next_multiple_of(F::LINE);
        let lines = vec![Line::zeroed(); rows * stride / F::LINE];
        Self { lines, rows, columns, stride, element: PhantomData }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns without padding.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Elements from the start of a row to the start of the next: the columns with padding.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Row `row` without its padding.
    pub fn row(&self, row: usize) -> &[F] {
        &self.padded()[row * self.stride..][..self.columns]
    }

    /// [`Self::row`], mutable.
    pub fn row_mut(&mut self, row: usize) -> &mut [F] {
        let (stride, columns) = (self.stride, self.columns);
        &mut self.padded_mut()[row * stride..][..columns]
    }

    /// All elements, padding included.
    pub fn padded(&self) -> &[F] {
        bytemuck::cast_slice(&self.lines)
    }

    /// [`Self::padded`], mutable.
    pub fn padded_mut(&mut self) -> &mut [F] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }

    /// Writes the transpose of the matrix with rows `rows` into this one, starting at column
    /// `first`.
    ///
    /// # Panics
    /// If the transpose has a different number of rows, or too many columns.
    pub fn copy_transposed(&mut self, first: usize, rows: &[&[F]]) {
        let fits = first <= self.columns && rows.len() <= self.columns - first;
        assert!(fits && rows.iter().all(|row| row.len() == self.rows), "copy_transposed: shapes differ");
        let stride = self.stride;
        if !rows.is_empty() && self.rows > 0 {
            transpose(InstructionSet::detect(), rows, &mut self.padded_mut()[first..], stride);
        }
    }
}

/// The consumer of a product's finished sums.
pub trait Sink<F: Real> {
    /// Writes the initial values of the sums at row `row` and columns `column`, `column + 1`, … to
    /// `sums`, which holds zeros. A sink implements this to continue the sums of an earlier product
    /// over further p. Mark it `#[inline(always)]`.
    #[inline(always)]
    fn start<S: Simd>(&mut self, _simd: S, _row: usize, _column: usize, _sums: &mut [F::Vector<S>]) {}

    /// Takes `sums`, registers that hold the product's elements at row `row` and columns `column`,
    /// `column + 1`, … ([`Real::as_elements`]). Columns may be in the right matrix's padding. Mark
    /// it `#[inline(always)]`.
    fn take<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &[F::Vector<S>]);
}

/// Multiplies the matrix with rows `left` by the given `columns` of `right`. The product has shape
/// `left.len()` × `columns.len()`: element (i, j) = Σₚ left\[i\]\[p\] · right\[p\]\[j\].
///
/// `columns` is in units of whole cache lines of elements (multiples of [`Real::LINE`]) and may
/// cover the padding.
///
/// # Panics
/// If the length of a row of `left` is not the number of `right`'s rows, or `columns` is not a
/// range of whole lines of `right`.
pub fn product<F: Real, S: Sink<F>>(
    set: InstructionSet,
    left: &[&[F]],
    right: &PaddedMatrix<F>,
    columns: Range<usize>,
    sink: S,
) {
    assert!(left.iter().all(|row| row.len() == right.rows), "product: inner sizes differ");
    check_columns::<F>(&columns, right.stride);
    set.dispatch(Product {
        left: LeftRows { rows: left, depth: right.rows },
        first: 0,
        count: left.len(),
        right: right.padded(),
        stride: right.stride,
        columns,
        sink,
    });
}

/// Multiplies the transpose of the matrix with rows `left` by `right`, and computes only the given
/// `rows` of the product. The result has shape `rows.len()` × (padded columns of `right`): element
/// (i, j) = Σₚ left\[p\]\[i\] · right\[p\]\[j\].
///
/// A weight gradient has this form: p runs over the images of a batch, left\[p\] is an image and
/// right\[p\] its delta. Only the first `left.len()` rows of `right` are used.
///
/// # Panics
/// If a row of `left` is shorter than `rows.end`, or `right` has fewer rows than `left`.
pub fn product_of_transpose<F: Real, S: Sink<F>>(
    set: InstructionSet,
    left: &[&[F]],
    rows: Range<usize>,
    right: &PaddedMatrix<F>,
    sink: S,
) {
    assert!(left.len() <= right.rows, "product_of_transpose: inner sizes differ");
    assert!(left.iter().all(|row| row.len() >= rows.end), "product_of_transpose: a row is too short");
    set.dispatch(Product {
        left: TransposedRows { rows: left },
        first: rows.start,
        count: rows.len(),
        right: right.padded(),
        stride: right.stride,
        columns: 0..right.stride,
        sink,
    });
}

/// Multiplies the transpose of `left` by `right`, both packed row-major panels of `width` columns.
/// The product has shape `rows` × `width`: element (i, j) = Σₚ left\[p\]\[i\] · right\[p\]\[j\],
/// for the first `rows` columns i of `left`.
///
/// Meant for matrices larger than the cache: a tile reads both packed panels sequentially.
///
/// # Panics
/// If `left` and `right` differ in length, if their length is not a multiple of `width`, if `width`
/// is not a positive multiple of [`Real::LINE`], or if `rows` is more than `width`.
pub fn product_of_panels<F: Real, S: Sink<F>>(
    set: InstructionSet,
    left: &[F],
    rows: usize,
    right: &[F],
    width: usize,
    sink: S,
) {
    assert!(width > 0 && width.is_multiple_of(F::LINE), "product_of_panels: a panel's rows are not whole lines");
    let same = left.len() == right.len() && left.len().is_multiple_of(width);
    assert!(same && rows <= width, "product_of_panels: sizes differ");
    set.dispatch(Product {
        left: PackedPanel { values: left, width },
        first: 0,
        count: rows,
        right,
        stride: width,
        columns: 0..width,
        sink,
    });
}

fn check_columns<F: Real>(columns: &Range<usize>, stride: usize) {
    assert!(
        columns.start.is_multiple_of(F::LINE) && columns.end.is_multiple_of(F::LINE) && columns.end <= stride,
        "product: columns are not whole lines of the right matrix"
    );
}

/// The layout in which a tile reads the left matrix.
trait Left<F> {
    /// Calls `each` for every p in ascending order, with the elements of column p at rows `row`, `row + 1`, …
    fn columns<const M: usize>(&self, row: usize, each: impl FnMut([F; M]));
}

/// The left matrix given by its rows.
struct LeftRows<'a, F> {
    rows: &'a [&'a [F]],
    depth: usize,
}

impl<F: Real> Left<F> for LeftRows<'_, F> {
    #[inline(always)]
    fn columns<const M: usize>(&self, row: usize, mut each: impl FnMut([F; M])) {
        let rows: [&[F]; M] = std::array::from_fn(|i| &self.rows[row + i][..self.depth]);
        #[allow(clippy::needless_range_loop)] // p indexes M rows at once
        for p in 0..self.depth {
            each(std::array::from_fn(|i| rows[i][p]));
        }
    }
}

/// The left matrix given by the rows of its transpose.
struct TransposedRows<'a, F> {
    rows: &'a [&'a [F]],
}

impl<F: Real> Left<F> for TransposedRows<'_, F> {
    #[inline(always)]
    fn columns<const M: usize>(&self, row: usize, mut each: impl FnMut([F; M])) {
        for values in self.rows {
            let values = &values[row..row + M];
            each(std::array::from_fn(|i| values[i]));
        }
    }
}

/// The left matrix given by its transpose, row-major without gaps.
struct PackedPanel<'a, F> {
    values: &'a [F],
    width: usize,
}

impl<F: Real> Left<F> for PackedPanel<'_, F> {
    #[inline(always)]
    fn columns<const M: usize>(&self, row: usize, mut each: impl FnMut([F; M])) {
        for values in self.values.chunks_exact(self.width) {
            let values = &values[row..row + M];
            each(std::array::from_fn(|i| values[i]));
        }
    }
}

struct Product<'a, F, L, S> {
    left: L,
    first: usize,
    count: usize,
    right: &'a [F],
    stride: usize,
    columns: Range<usize>,
    sink: S,
}

impl<F: Real, L: Left<F>, K: Sink<F>> WithSimd for Product<'_, F, L, K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        // The largest tile that leaves registers for the operands.
        if S::REGISTER_COUNT >= 32 { self.sweep::<S, 8>(simd) } else { self.sweep::<S, 6>(simd) }
    }
}

impl<F: Real, L: Left<F>, K: Sink<F>> Product<'_, F, L, K> {
    /// Covers the product with tiles of M rows and two vectors, then one vector. A cache line is a whole number of
    /// vectors, so no columns remain.
    #[inline(always)]
    fn sweep<S: Simd, const M: usize>(&mut self, simd: S) {
        let lanes = size_of::<F::Vector<S>>() / size_of::<F>();
        let end = self.columns.end;
        let mut column = self.columns.start;
        while column + 2 * lanes <= end {
            self.column_of_tiles::<S, M, 2>(simd, column);
            column += 2 * lanes;
        }
        while column < end {
            self.column_of_tiles::<S, M, 1>(simd, column);
            column += lanes;
        }
    }

    /// Covers all rows with tiles of M rows, and the remainder with tiles of 4, 2 and 1 rows.
    #[inline(always)]
    fn column_of_tiles<S: Simd, const M: usize, const V: usize>(&mut self, simd: S, column: usize) {
        let end = self.first + self.count;
        let mut row = self.first;
        while row + M <= end {
            self.tile::<S, M, V>(simd, row, column);
            row += M;
        }
        if M > 4 && row + 4 <= end {
            self.tile::<S, 4, V>(simd, row, column);
            row += 4;
        }
        if row + 2 <= end {
            self.tile::<S, 2, V>(simd, row, column);
            row += 2;
        }
        if row < end {
            self.tile::<S, 1, V>(simd, row, column);
        }
    }

    /// One tile of M rows and V vectors.
    #[inline(always)]
    fn tile<S: Simd, const M: usize, const V: usize>(&mut self, simd: S, row: usize, column: usize) {
        let lanes = size_of::<F::Vector<S>>() / size_of::<F>();
        let mut sums = [[F::Vector::<S>::zeroed(); V]; M];
        for (i, sums) in sums.iter_mut().enumerate() {
            self.sink.start(simd, row + i, column, sums);
        }
        // Copies before and after the loop: the array in it then has no address and stays in registers.
        #[allow(clippy::redundant_locals)]
        let mut sums = sums;
        let (values, stride) = (self.right, self.stride);
        let mut start = column;
        self.left.columns::<M>(row, |left| {
            let right =
                values.get(start..start + V * lanes).expect("the right matrix has a row for each column of the left");
            start += stride;
            let right = F::as_vectors::<S>(right);
            let right: [F::Vector<S>; V] = std::array::from_fn(|v| right[v]);
            for i in 0..M {
                let left = F::splat(simd, left[i]);
                for v in 0..V {
                    sums[i][v] = F::multiply_add_vectors(simd, left, right[v], sums[i][v]);
                }
            }
        });
        let sums = sums;
        for (i, sums) in sums.iter().enumerate() {
            self.sink.take(simd, row + i, column, sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ignore;

    impl Sink<f32> for Ignore {
        #[inline(always)]
        fn take<S: Simd>(&mut self, _simd: S, _row: usize, _column: usize, _sums: &[S::f32s]) {}
    }

    /// The public functions check shapes first. If they missed a mismatch, the tile would panic instead of silently
    /// dropping the last terms of the sums.
    #[test]
    #[should_panic(expected = "the right matrix has a row for each column of the left")]
    fn a_right_matrix_with_too_few_rows_panics() {
        let (row, right) = ([1.0_f32; 3], [1.0_f32; 32]);
        InstructionSet::Portable.dispatch(Product {
            left: LeftRows { rows: &[&row], depth: 3 },
            first: 0,
            count: 1,
            right: &right,
            stride: 16,
            columns: 0..16,
            sink: Ignore,
        });
    }
}
