//! The matrix product with a sparse left matrix, such as images with a zero background.
//!
//! Idea: a term 0 · w does not change a sum, so the product skips the zeros. [`NonzeroRows`] has
//! two bitmaps of the nonzero elements: one by rows, with 64 columns per word, and one by columns,
//! with 64 rows per word. The weighted sums of a layer, left · right, iterate over a row's set
//! bits: they broadcast one element, load a row of the right matrix, and keep up to eight vectors
//! of sums in registers. A weight gradient, leftᵀ · right, iterates over each column's set bits in
//! the same way.
//!
//! The number of set bits per column varies, and a mispredicted loop branch costs more than a few
//! multiply-adds. The columns are therefore sorted by their number of set bits, so the trip count
//! rarely changes from one column to the next ([`NonzeroRows::index`]).
//!
//! The right matrix of the first product, the weights, is larger than L1. The product is therefore
//! blocked over the summation index: all rows use the 64 rows of the weights that belong to one
//! word of bits, then the next 64. Between two blocks, the partial sums are stored in `out`.
//!
//! Every sum runs over the summation index in ascending order in one accumulator, as in
//! [`crate::product`]. It has the same bits, except that a sum of only −0 terms is +0. A zero is
//! skipped even if its other factor is infinite or NaN, so it does not contribute a NaN.
//!
//! Roofline: every multiply-add loads a vector from L1, which delivers two per cycle, the rate of
//! the arithmetic units. The minimum time is the dense product's time multiplied by the fraction of
//! nonzero elements. Most of the rest is lost to mispredicted loop branches. docs/performance.md
//! has the times and the variants that do not help.

use std::ops::Range;

use bytemuck::Zeroable;
use pulp::{Simd, WithSimd};

use crate::product::{PaddedMatrix, Sink};
use crate::{InstructionSet, Real};

/// Maximum number of vectors of sums in registers: 8, to hide a multiply-add's latency of four cycles at two per cycle.
const MAX_VECTORS: usize = 8;
/// Bits in a word.
const WORD: usize = 64;

/// A matrix of up to [`NonzeroRows::MAX_ROWS`] rows with bitmaps of its nonzero elements.
#[derive(Clone, Debug)]
pub struct NonzeroRows {
    elements: Elements,
    rows: usize,
    columns: usize,
    /// Words in a row.
    words: usize,
    /// The bitmap by rows: element 64 · w + b of a row is bit b of the row's word w.
    bits: Vec<u64>,
    /// The bitmap by columns: row r is bit r of a column's word.
    bits_of_columns: Vec<u64>,
    /// The columns with set bits, sorted by how many they have.
    sorted_columns: Vec<u32>,
    /// Whether `bits` is up to date with the elements.
    rows_are_indexed: bool,
    /// Whether `bits_of_columns` and `sorted_columns` are up to date with the elements.
    columns_are_indexed: bool,
}

/// The elements, row by row, each row padded with zeros to whole words.
#[derive(Clone, Debug)]
enum Elements {
    Floats(Vec<[f32; WORD]>),
    /// Bytes, and the lookup table of their values.
    Bytes(Vec<[u8; WORD]>, Box<[f32; 256]>),
}

impl NonzeroRows {
    /// Maximum number of rows.
    pub const MAX_ROWS: usize = WORD;

    /// An empty matrix for rows of `columns` floats.
    pub fn of_floats(columns: usize) -> Self {
        Self::new(columns, Elements::Floats(Vec::new()))
    }

    /// An empty matrix for rows of `columns` bytes; byte b has the value `values`\[b\].
    ///
    /// # Panics
    /// If `values`\[0\] is not 0.
    pub fn of_bytes(columns: usize, values: &[f32; 256]) -> Self {
        assert!(values[0] == 0.0, "NonzeroRows: the value of byte 0 is not 0");
        Self::new(columns, Elements::Bytes(Vec::new(), Box::new(*values)))
    }

    fn new(columns: usize, elements: Elements) -> Self {
        let words = columns.div_ceil(WORD);
        Self {
            elements,
            rows: 0,
            columns,
            words,
            bits: Vec::new(),
            bits_of_columns: vec![0; words * WORD],
            sorted_columns: Vec::with_capacity(columns),
            rows_are_indexed: false,
            columns_are_indexed: false,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of nonzero elements. Valid only after [`Self::index`] or [`Self::index_rows`].
    pub fn count(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.invalidate_index();
        match &mut self.elements {
            Elements::Floats(elements) => elements.clear(),
            Elements::Bytes(elements, _) => elements.clear(),
        }
    }

    /// Adds a row of floats.
    ///
    /// # Panics
    /// If the row's length is not the number of columns, there are [`Self::MAX_ROWS`] rows already, or the rows are
    /// bytes.
    pub fn push(&mut self, row: &[f32]) {
        self.begin_row(row.len());
        let Elements::Floats(elements) = &mut self.elements else { panic!("NonzeroRows: floats among bytes") };
        push_padded(elements, row, 0.0);
    }

    /// Adds a row of bytes.
    ///
    /// # Panics
    /// As [`NonzeroRows::push`], and if the rows are floats.
    pub fn push_bytes(&mut self, row: &[u8]) {
        self.begin_row(row.len());
        let Elements::Bytes(elements, _) = &mut self.elements else { panic!("NonzeroRows: bytes among floats") };
        push_padded(elements, row, 0);
    }

    /// Checks the length of a row that is about to be added, and counts it.
    fn begin_row(&mut self, columns: usize) {
        assert!(columns == self.columns, "NonzeroRows: a row of {columns} elements, not {}", self.columns);
        assert!(self.rows < Self::MAX_ROWS, "NonzeroRows: more than {} rows", Self::MAX_ROWS);
        self.rows += 1;
        self.invalidate_index();
    }

    fn invalidate_index(&mut self) {
        self.rows_are_indexed = false;
        self.columns_are_indexed = false;
    }

    /// Builds both bitmaps and sorts the columns: the index for both products.
    pub fn index(&mut self, set: InstructionSet) {
        self.index_rows(set);
        self.columns_are_indexed = true;
        set.dispatch(IndexColumns(self));
    }

    /// Builds only the bitmap by rows, which is enough for [`add_nonzero_product`].
    pub fn index_rows(&mut self, set: InstructionSet) {
        self.rows_are_indexed = true;
        self.bits.resize(self.rows * self.words, 0);
        set.dispatch(IndexRows(self));
    }
}

struct IndexRows<'a>(&'a mut NonzeroRows);

impl WithSimd for IndexRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let NonzeroRows { elements, bits, .. } = self.0;
        match elements {
            Elements::Floats(elements) => {
                bits.iter_mut().zip(elements).for_each(|(bits, floats)| *bits = bits_of_floats(floats));
            }
            Elements::Bytes(elements, _) => {
                bits.iter_mut().zip(elements).for_each(|(bits, bytes)| *bits = bits_of_bytes(simd, bytes));
            }
        }
    }
}

/// Bit b of the result is set if float b is not zero. A NaN counts as nonzero.
#[inline(always)]
fn bits_of_floats(floats: &[f32; WORD]) -> u64 {
    let bits = floats.iter().enumerate().map(|(bit, value)| u64::from(*value != 0.0) << bit);
    bits.fold(0, |word, bit| word | bit)
}

/// Bit b of the result is set if byte b is not zero.
#[inline(always)]
fn bits_of_bytes<S: Simd>(simd: S, bytes: &[u8; WORD]) -> u64 {
    if let Some(word) = bits_by_instruction(simd, bytes) {
        return word;
    }
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // A factor that gathers one bit of each byte in the top byte of the product.
    const GATHER: u64 = 0x0002_0408_1020_4081;
    let (eights, _) = bytes.as_chunks::<8>();
    eights.iter().enumerate().fold(0, |word, (index, eight)| {
        let eight = u64::from_le_bytes(*eight);
        // The top bit of each byte that is not zero.
        let marks = (((eight & LOW) + LOW) | eight) & !LOW;
        word | (((marks >> 7).wrapping_mul(GATHER << 7) >> 56) << (8 * index))
    })
}

/// Computes [`bits_of_bytes`] with AVX-512's single instruction for it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn bits_by_instruction<S: Simd>(simd: S, bytes: &[u8; WORD]) -> Option<u64> {
    let simd = (&simd as &dyn std::any::Any).downcast_ref::<pulp::x86::V4>()?;
    let bytes = pulp::cast(*bytes);
    Some(simd.avx512bw._mm512_test_epi8_mask(bytes, bytes))
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn bits_by_instruction<S: Simd>(_: S, _: &[u8; WORD]) -> Option<u64> {
    None
}

struct IndexColumns<'a>(&'a mut NonzeroRows);

impl WithSimd for IndexColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let NonzeroRows { elements, rows, words, bits, bits_of_columns, sorted_columns, .. } = self.0;
        match elements {
            Elements::Floats(elements) => mark_columns(elements, *rows, *words, bits_of_columns, |value| value != 0.0),
            Elements::Bytes(elements, _) => mark_columns(elements, *rows, *words, bits_of_columns, |byte| byte != 0),
        }
        sort_columns(bits, *words, bits_of_columns, sorted_columns);
    }
}

/// Sets each column's bits.
#[inline(always)]
fn mark_columns<T: Copy + Default>(
    elements: &[[T; WORD]],
    rows: usize,
    words: usize,
    bits_of_columns: &mut [u64],
    is_nonzero: impl Fn(T) -> bool,
) {
    let (bits_of_columns, _) = bits_of_columns.as_chunks_mut::<WORD>();
    let no_row = [T::default(); WORD];
    for (word, columns) in bits_of_columns.iter_mut().enumerate() {
        columns.fill(0);
        // Eight rows at a time, in a vector of bytes.
        for first_row in (0..rows).step_by(8) {
            let row = |index: usize| elements.get((first_row + index) * words + word).unwrap_or(&no_row);
            let eight: [&[T; WORD]; 8] = std::array::from_fn(row);
            let mut bytes = [0_u8; WORD];
            for (row, elements) in eight.into_iter().enumerate() {
                let bit = 1_u8 << row;
                for (byte, &element) in bytes.iter_mut().zip(elements) {
                    *byte |= if is_nonzero(element) { bit } else { 0 };
                }
            }
            for (column, &byte) in columns.iter_mut().zip(&bytes) {
                *column |= u64::from(byte) << first_row;
            }
        }
    }
}

/// Writes the indices of the columns with set bits to `sorted_columns`, sorted by their number of
/// set bits (a counting sort). `bits` is the bitmap by rows. It finds columns without set bits,
/// which are common in images, and they are skipped.
#[inline(always)]
fn sort_columns(bits: &[u64], words: usize, bits_of_columns: &[u64], sorted_columns: &mut Vec<u32>) {
    let (bits_of_columns, _) = bits_of_columns.as_chunks::<WORD>();
    let used = |word: usize| Ones(bits.iter().skip(word).step_by(words).fold(0, |used, bits| used | bits));
    // Element n first counts the columns with n set bits, then holds the next index for such a
    // column in `sorted_columns`.
    let mut slots = [0_u32; WORD + 1];
    for (word, columns) in bits_of_columns.iter().enumerate() {
        used(word).for_each(|column| slots[columns[column].count_ones() as usize] += 1);
    }
    let mut start = 0;
    for slot in &mut slots {
        (start, *slot) = (start + *slot, start);
    }
    sorted_columns.resize(start as usize, 0);
    for (word, columns) in bits_of_columns.iter().enumerate() {
        for column in used(word) {
            let slot = &mut slots[columns[column].count_ones() as usize];
            sorted_columns[*slot as usize] = (word * WORD + column) as u32;
            *slot += 1;
        }
    }
}

fn push_padded<T: Copy>(elements: &mut Vec<[T; WORD]>, row: &[T], zero: T) {
    let (words, rest) = row.as_chunks::<WORD>();
    elements.extend_from_slice(words);
    if !rest.is_empty() {
        elements.push([zero; WORD]);
        if let Some(word) = elements.last_mut() {
            word[..rest.len()].copy_from_slice(rest);
        }
    }
}

/// The indices of the set bits, in ascending order.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let bit = (self.0 != 0).then_some(self.0.trailing_zeros() as usize % WORD);
        self.0 &= self.0.wrapping_sub(1);
        bit
    }
}

/// Reads an element of a stored word of 64 elements.
trait ReadElement: Copy {
    type Word;
    fn element(self, word: &Self::Word, bit: usize) -> f32;
}

#[derive(Clone, Copy)]
struct AsFloats;

#[derive(Clone, Copy)]
struct AsBytes<'a>(&'a [f32; 256]);

impl ReadElement for AsFloats {
    type Word = [f32; WORD];
    #[inline(always)]
    fn element(self, word: &[f32; WORD], bit: usize) -> f32 {
        word[bit % WORD]
    }
}

impl ReadElement for AsBytes<'_> {
    type Word = [u8; WORD];
    #[inline(always)]
    fn element(self, word: &[u8; WORD], bit: usize) -> f32 {
        self.0[usize::from(word[bit % WORD])]
    }
}

/// Adds the given `rows` of the product left · right to `out`. To element (i, j), it adds
/// left\[i\]\[p\] · right\[`first` + p\]\[j\] for each p in ascending order, padding included. Row
/// `rows.start` goes to the first row of `out`.
///
/// A matrix with columns split across several `left` can be multiplied part by part, in order. The
/// result has the same bits as the whole product.
///
/// # Panics
/// If `left` is not indexed, `right` has fewer rows than `first` plus `left`'s columns, `rows` is
/// out of bounds, or `out` is not one row of `right`'s stride for each of `rows`.
pub fn add_nonzero_product(
    set: InstructionSet,
    left: &NonzeroRows,
    rows: Range<usize>,
    right: &PaddedMatrix<f32>,
    first: usize,
    out: &mut [f32],
) {
    assert!(left.rows_are_indexed, "add_nonzero_product: not indexed");
    let end = first.checked_add(left.columns).filter(|&end| end <= right.rows());
    let end = end.expect("add_nonzero_product: inner sizes differ");
    let stride = right.stride();
    assert!(rows.end <= left.rows && out.len() == rows.len() * stride, "add_nonzero_product: shapes differ");
    let words = rows.start * left.words..rows.end * left.words;
    let bits = &left.bits[words.clone()];
    let right = &right.padded()[first * stride..end * stride];
    match &left.elements {
        Elements::Floats(elements) => {
            set.dispatch(NonzeroProduct { read: AsFloats, elements: &elements[words], bits, right, stride, out });
        }
        Elements::Bytes(elements, values) => {
            let read = AsBytes(values);
            set.dispatch(NonzeroProduct { read, elements: &elements[words], bits, right, stride, out });
        }
    }
}

/// The product leftᵀ · right: element (i, j) = Σₚ left\[p\]\[i\] · right\[p\]\[j\].
///
/// If `only_nonzero`, skips each row of the product that belongs to an all-zero column of `left`.
/// Otherwise, the sink receives zeros for it. Sums start at zero: [`Sink::start`] is not called.
///
/// # Panics
/// If `left` is not indexed, or `right` has fewer rows than `left`.
pub fn nonzero_product_of_transpose<K: Sink<f32>>(
    set: InstructionSet,
    left: &NonzeroRows,
    right: &PaddedMatrix<f32>,
    only_nonzero: bool,
    sink: K,
) {
    assert!(left.columns_are_indexed, "nonzero_product_of_transpose: not indexed");
    assert!(left.rows <= right.rows(), "nonzero_product_of_transpose: inner sizes differ");
    match &left.elements {
        Elements::Floats(elements) => {
            let read = AsFloats;
            set.dispatch(NonzeroProductOfTranspose { read, elements, left, right, only_nonzero, sink });
        }
        Elements::Bytes(elements, values) => {
            let read = AsBytes(values);
            set.dispatch(NonzeroProductOfTranspose { read, elements, left, right, only_nonzero, sink });
        }
    }
}

struct NonzeroProduct<'a, R: ReadElement> {
    read: R,
    elements: &'a [R::Word],
    bits: &'a [u64],
    /// The right matrix's rows for the columns of the left one, `stride` elements apart.
    right: &'a [f32],
    stride: usize,
    out: &'a mut [f32],
}

impl<R: ReadElement> WithSimd for NonzeroProduct<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = size_of::<S::f32s>() / size_of::<f32>();
        let mut column = 0;
        while column < self.stride {
            column += lanes
                * match (self.stride - column) / lanes {
                    MAX_VECTORS.. => self.sweep::<S, MAX_VECTORS>(simd, column),
                    4.. => self.sweep::<S, 4>(simd, column),
                    2.. => self.sweep::<S, 2>(simd, column),
                    _ => self.sweep::<S, 1>(simd, column),
                };
        }
    }
}

impl<R: ReadElement> NonzeroProduct<'_, R> {
    /// Computes V vectors of sums of every row, starting at `column`, and returns V.
    #[inline(always)]
    fn sweep<S: Simd, const V: usize>(&mut self, simd: S, column: usize) -> usize {
        let stride = self.stride;
        let words = (self.right.len() / stride).div_ceil(WORD);
        for (word, right) in self.right.chunks(WORD * stride).enumerate() {
            let right = &right[column..];
            let elements = self.elements.iter().skip(word).step_by(words);
            let rows = elements.zip(self.bits.iter().skip(word).step_by(words));
            for ((elements, &bits), out) in rows.zip(self.out.chunks_exact_mut(stride)) {
                let out = &mut f32::as_vectors_mut::<S>(&mut out[column..])[..V];
                let mut sums: [S::f32s; V] = std::array::from_fn(|v| out[v]);
                for bit in Ones(bits) {
                    let value = self.read.element(elements, bit);
                    add_products::<S, V>(simd, &mut sums, value, right, bit * stride);
                }
                // A copy: the array in the loop then has no address and stays in registers.
                let sums = sums;
                out.copy_from_slice(&sums);
            }
        }
        V
    }
}

/// Adds value · right\[first…\] to V vectors of sums.
#[inline(always)]
fn add_products<S: Simd, const V: usize>(simd: S, sums: &mut [S::f32s; V], value: f32, right: &[f32], first: usize) {
    let lanes = size_of::<S::f32s>() / size_of::<f32>();
    let right = right.get(first..first + V * lanes).expect("the right matrix has a row for each bit of the left");
    let right = f32::as_vectors::<S>(right);
    let value = f32::splat(simd, value);
    for v in 0..V {
        sums[v] = f32::multiply_add_vectors(simd, value, right[v], sums[v]);
    }
}

struct NonzeroProductOfTranspose<'a, R: ReadElement, K> {
    read: R,
    elements: &'a [R::Word],
    left: &'a NonzeroRows,
    right: &'a PaddedMatrix<f32>,
    only_nonzero: bool,
    sink: K,
}

impl<R: ReadElement, K: Sink<f32>> WithSimd for NonzeroProductOfTranspose<'_, R, K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = size_of::<S::f32s>() / size_of::<f32>();
        let mut column = 0;
        while column < self.right.stride() {
            column += lanes
                * match (self.right.stride() - column) / lanes {
                    MAX_VECTORS.. => self.sweep::<S, MAX_VECTORS>(simd, column),
                    4.. => self.sweep::<S, 4>(simd, column),
                    2.. => self.sweep::<S, 2>(simd, column),
                    _ => self.sweep::<S, 1>(simd, column),
                };
        }
    }
}

impl<R: ReadElement, K: Sink<f32>> NonzeroProductOfTranspose<'_, R, K> {
    /// Computes V vectors of sums of every row, starting at `column`, and returns V.
    #[inline(always)]
    fn sweep<S: Simd, const V: usize>(&mut self, simd: S, column: usize) -> usize {
        let (right, stride) = (self.right.padded(), self.right.stride());
        let (words, bits_of_columns) = (self.left.words, &self.left.bits_of_columns);
        if !self.only_nonzero {
            let zeros = (0..self.left.columns).filter(|&row| bits_of_columns[row] == 0);
            zeros.for_each(|row| self.sink.take(simd, row, column, &[<S::f32s as Zeroable>::zeroed(); V]));
        }
        for &row in &self.left.sorted_columns {
            let row = row as usize;
            let mut sums = [<S::f32s as Zeroable>::zeroed(); V];
            for p in Ones(bits_of_columns[row]) {
                let value = self.read.element(&self.elements[p * words + row / WORD], row);
                add_products::<S, V>(simd, &mut sums, value, right, p * stride + column);
            }
            let sums = sums;
            self.sink.take(simd, row, column, &sums);
        }
        V
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "the right matrix has a row for each bit of the left")]
    fn a_right_matrix_with_too_few_rows_panics() {
        let (right, mut out) = ([0.0_f32; 32], [0.0; 16]);
        let elements = [[1.0; WORD]];
        let (bits, right) = (&[0b100], &right);
        let product = NonzeroProduct { read: AsFloats, elements: &elements, bits, right, stride: 16, out: &mut out };
        InstructionSet::Portable.dispatch(product);
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn a_bit_beyond_the_last_row_panics() {
        struct Ignore;
        impl Sink<f32> for Ignore {
            #[inline(always)]
            fn take<S: Simd>(&mut self, _simd: S, _row: usize, _column: usize, _sums: &[S::f32s]) {}
        }
        let mut left = NonzeroRows::of_floats(3);
        left.push(&[1.0, 0.0, 2.0]);
        left.index(InstructionSet::Portable);
        left.bits_of_columns[2] = 0b11;
        let right = PaddedMatrix::zeros(2, 16);
        nonzero_product_of_transpose(InstructionSet::Portable, &left, &right, true, Ignore);
    }
}
