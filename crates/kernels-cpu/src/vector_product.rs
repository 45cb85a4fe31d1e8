//! The product of a vector and a matrix, as dot products with the matrix's columns.
//!
//! Idea: the tiles of [`product`](crate::product) broadcast an element of the left matrix and have
//! one accumulator for each vector of columns. With one row and few columns, that is a single
//! dependency chain in which each multiply-add waits for the previous one. Here, the lanes run over
//! the summation index p instead, so a sum has 16 partial sums. Up to ten columns are summed at
//! once: they share the vector's loads, and their chains are independent. [`Columns`] interleaves
//! those ten columns, 16 elements of each at a time, so memory is read once, sequentially.
//!
//! Element p belongs to partial sum p mod 16, in ascending order. A fixed tree adds the partial
//! sums, the upper half to the lower half until one is left. The rounding differs from the tiles',
//! but is the same for every instruction set with a fused multiply-add and for any number of
//! columns.
//!
//! Roofline: one multiply-add for each loaded vector of the matrix. A matrix of 784 × 10 f32 (31
//! KB) stays in L1. 490 loads of 64 bytes from the matrix and 49 from the vector take 270 cycles at
//! two loads per cycle. Larger matrices are bound by the cache that holds them.

use pulp::{Simd, WithSimd};

use crate::lanes::{LANES, add_lanes};
use crate::product::PaddedMatrix;
use crate::{InstructionSet, Real};

/// Maximum number of columns that are summed at once.
const MAX_COLUMNS: usize = 10;

/// A matrix in the layout that [`vector_product`] reads.
#[derive(Clone, Debug)]
pub struct Columns<F> {
    rows: usize,
    columns: usize,
    /// Groups of up to [`MAX_COLUMNS`] columns. A group interleaves them, [`LANES`] elements of
    /// each at a time.
    values: PaddedMatrix<F>,
}

impl<F: Real> Columns<F> {
    /// A `rows` × `columns` matrix with the elements `element(row, column)`.
    pub fn new(rows: usize, columns: usize, element: impl Fn(usize, usize) -> F) -> Self {
        let depth = rows.div_ceil(LANES);
        let mut values = PaddedMatrix::zeros(depth * columns, LANES);
        for group in groups(columns) {
            for p in 0..rows {
                for column in 0..group.width {
                    let line = depth * group.first + p / LANES * group.width + column;
                    values.row_mut(line)[p % LANES] = element(p, group.first + column);
                }
            }
        }
        Self { rows, columns, values }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }
}

#[derive(Clone, Copy)]
struct ColumnGroup {
    first: usize,
    width: usize,
}

/// Distributes the columns evenly over the minimum number of groups. A group of only one or two
/// columns would be latency-bound.
fn groups(columns: usize) -> impl Iterator<Item = ColumnGroup> {
    let count = columns.div_ceil(MAX_COLUMNS);
    (0..count).map(move |group| {
        let first = columns * group / count;
        ColumnGroup { first, width: columns * (group + 1) / count - first }
    })
}

/// Writes Σₚ `vector`\[p\] · `matrix`\[p\]\[j\] to `sums`\[j\] for every column j.
///
/// # Panics
/// If the length of `vector` is not the number of rows, or the length of `sums` is not the number
/// of columns.
pub fn vector_product<F: Real>(set: InstructionSet, vector: &[F], matrix: &Columns<F>, sums: &mut [F]) {
    assert_eq!(vector.len(), matrix.rows, "vector_product: one element for each row");
    assert_eq!(sums.len(), matrix.columns, "vector_product: one sum for each column");
    set.dispatch(VectorProduct { vector, matrix, sums });
}

struct VectorProduct<'a, F> {
    vector: &'a [F],
    matrix: &'a Columns<F>,
    sums: &'a mut [F],
}

impl<F: Real> WithSimd for VectorProduct<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // How many columns at once leave registers for the vector.
        match (LANES * size_of::<F>() / size_of::<F::Vector<S>>(), S::REGISTER_COUNT >= 32) {
            (1, _) | (2, true) => self.sweep::<S, 10>(simd),
            (2, false) | (4, true) => self.sweep::<S, 5>(simd),
            (4, false) => self.sweep::<S, 2>(simd),
            _ => self.sweep::<S, 1>(simd),
        }
    }
}

impl<F: Real> VectorProduct<'_, F> {
    #[inline(always)]
    fn sweep<S: Simd, const AT_ONCE: usize>(self, simd: S) {
        let depth = self.vector.len().div_ceil(LANES);
        let lines = self.matrix.values.padded().as_chunks::<LANES>().0;
        for group in groups(self.matrix.columns) {
            let lines = &lines[depth * group.first..][..depth * group.width];
            let sums = &mut self.sums[group.first..][..group.width];
            for first in (0..group.width).step_by(AT_ONCE) {
                let sums = &mut sums[first..group.width.min(first + AT_ONCE)];
                let tile = Tile { vector: self.vector, lines, stride: group.width, first, sums };
                match tile.sums.len() {
                    1 => tile.run::<S, 1>(simd),
                    2 if AT_ONCE >= 2 => tile.run::<S, 2>(simd),
                    3 if AT_ONCE >= 5 => tile.run::<S, 3>(simd),
                    4 if AT_ONCE >= 5 => tile.run::<S, 4>(simd),
                    5 if AT_ONCE >= 5 => tile.run::<S, 5>(simd),
                    6 if AT_ONCE >= 10 => tile.run::<S, 6>(simd),
                    7 if AT_ONCE >= 10 => tile.run::<S, 7>(simd),
                    8 if AT_ONCE >= 10 => tile.run::<S, 8>(simd),
                    9 if AT_ONCE >= 10 => tile.run::<S, 9>(simd),
                    10 if AT_ONCE >= 10 => tile.run::<S, 10>(simd),
                    width => unreachable!("a tile of {width} columns"),
                }
            }
        }
    }
}

/// Up to [`MAX_COLUMNS`] adjacent columns of a group.
struct Tile<'a, F> {
    vector: &'a [F],
    /// The group's lines; every `stride`-th line belongs to the same column.
    lines: &'a [[F; LANES]],
    stride: usize,
    first: usize,
    sums: &'a mut [F],
}

impl<F: Real> Tile<'_, F> {
    #[inline(always)]
    fn run<S: Simd, const N: usize>(self, simd: S) {
        let (vector, tail) = self.vector.as_chunks::<LANES>();
        let mut padded = [F::zero(); LANES];
        padded[..tail.len()].copy_from_slice(tail);
        let tail = if tail.is_empty() { &[] } else { std::slice::from_ref(&padded) };

        let mut sums = [[F::zero(); LANES]; N];
        for (vector, lines) in vector.iter().chain(tail).zip(self.lines.chunks_exact(self.stride)) {
            let lines = lines.get(self.first..).and_then(|lines| lines.first_chunk::<N>());
            let lines = lines.expect("a group has a line of each of its columns");
            for (sum, line) in sums.iter_mut().zip(lines) {
                multiply_add::<F, S>(simd, vector, line, sum);
            }
        }
        for (out, sum) in self.sums.iter_mut().zip(add_lanes::<F, S, N>(simd, &sums)) {
            *out = sum;
        }
    }
}

/// Adds a · b to `sums`, lane by lane.
#[inline(always)]
fn multiply_add<F: Real, S: Simd>(simd: S, a: &[F; LANES], b: &[F; LANES], sums: &mut [F; LANES]) {
    let factors = F::as_vectors::<S>(a).iter().zip(F::as_vectors::<S>(b));
    for (sum, (&a, &b)) in F::as_vectors_mut::<S>(sums).iter_mut().zip(factors) {
        *sum = F::multiply_add_vectors(simd, a, b, *sum);
    }
}
