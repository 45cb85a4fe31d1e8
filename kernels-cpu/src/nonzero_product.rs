//! The matrix product whose left matrix is mostly zeros, as images are: four pixels of five are background.
//!
//! Idea: 0 · w adds nothing to a sum, so that a product needs only the elements that are not zero. [`NonzeroRows`] has a
//! bit for each element that is not, 64 neighbours of a row in a word, and again the rows of each column in a word. A
//! layer's sums, left · right, go through a row's bits: one element is broadcast, a row of the right matrix is loaded, and
//! up to eight vectors of sums stay in registers. A weight gradient, leftᵀ · right, goes through each column's bits
//! in the same way.
//!
//! How many bits a column has is not to be foreseen, and a processor that foresees a loop's end wrongly loses more time than
//! a few multiply-adds take. So the columns are taken in the order of their number of bits: the loop's length changes
//! seldom. ([`NonzeroRows::index`] sorts them.)
//!
//! The right matrix of the first product, the weights, is larger than the first-level cache. So the rows take turns: all
//! of them use the 64 rows of the weights that one word of bits needs, then the next. The sums lie in `out` meanwhile.
//!
//! Every sum runs over the summation index in ascending order in one accumulator, as in [`crate::product`], and has the
//! same bits as there, save that a sum of nothing but −0 is +0. Where the other factor is infinite or NaN, a zero that is
//! left out makes no NaN.
//!
//! Roofline: every multiply-add loads a vector from the first-level cache, which gives two a clock: as many as the
//! arithmetic units take. With a fifth of the elements, the floor is a fifth of the dense product's. Measured on one core of
//! a Sapphire Rapids server, 16 images of MNIST (2417 pixels that are not zero) and 128 columns: eight multiply-adds from the
//! first-level cache take 1.85 ns, so 4.5 µs is the floor; the sums take 8.9 µs, 50 % of its rate, the gradients 8.5 µs, and with
//! the update of 784 × 128 weights in the second-level cache 10.8 µs. Loops whose length is not foreseen take the most of the rest.
//!
//! What did not pay: fetching the next 64 rows of the weights early (11.6 µs for the sums: they push the present ones out), leaving
//! out the checks of indices (5 % of the gradients), lists of the elements instead of bits (12 µs for 16 images to write them).

use std::any::Any;
use std::ops::Range;

use bytemuck::Zeroable;
use pulp::{Simd, WithSimd};

use crate::product::{PaddedMatrix, Sink};
use crate::{InstructionSet, Real};

/// Vectors of sums that are kept in registers: enough to hide the latency of a multiply-add, which is four clocks of two.
const WIDEST: usize = 8;
/// Bits of a word.
const WORD: usize = 64;

/// A matrix of up to [`NonzeroRows::MOST`] rows, and which of its elements are not zero.
#[derive(Clone, Debug)]
pub struct NonzeroRows<F> {
    elements: Elements<F>,
    rows: usize,
    columns: usize,
    /// Words of a row.
    words: usize,
    /// For each row the bits of its elements, of element 64 · w + b bit b of word w.
    bits: Vec<u64>,
    /// For each column the bits of its elements, of row r bit r.
    bits_of_columns: Vec<u64>,
    /// The columns with bits, in the order of how many they have.
    sorted_columns: Vec<u32>,
    /// Whether the rows' bits are those of the rows.
    rows_are_indexed: bool,
    /// Whether the columns' bits and their order are those of the rows.
    columns_are_indexed: bool,
}

/// The elements, row by row, each row padded with zeros to whole words.
#[derive(Clone, Debug)]
enum Elements<F> {
    Numbers(Vec<[F; WORD]>),
    /// Bytes, and what they stand for.
    Bytes(Vec<[u8; WORD]>, Box<[F; 256]>),
}

impl<F: Real> NonzeroRows<F> {
    /// The most rows there may be.
    pub const MOST: usize = WORD;

    /// No rows yet, for rows of `columns` numbers.
    pub fn of_numbers(columns: usize) -> Self {
        Self::new(columns, Elements::Numbers(Vec::new()))
    }

    /// No rows yet, for rows of `columns` bytes that stand for `values`; the byte 0 must stand for 0.
    ///
    /// # Panics
    /// If it does not.
    pub fn of_bytes(columns: usize, values: &[F; 256]) -> Self {
        assert!(values[0] == F::zero(), "NonzeroRows: the byte 0 stands for another number");
        Self::new(columns, Elements::Bytes(Vec::new(), Box::new(*values)))
    }

    fn new(columns: usize, elements: Elements<F>) -> Self {
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

    /// The number of elements that are not zero. Only known when they are indexed.
    pub fn count(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Takes all rows away.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.forget_index();
        match &mut self.elements {
            Elements::Numbers(elements) => elements.clear(),
            Elements::Bytes(elements, _) => elements.clear(),
        }
    }

    /// Adds a row of numbers.
    ///
    /// # Panics
    /// If the row has not as many elements as there are columns, there are [`Self::MOST`] rows, or they are of bytes.
    pub fn push(&mut self, row: &[F]) {
        self.begin_row(row.len());
        let Elements::Numbers(elements) = &mut self.elements else { panic!("NonzeroRows: numbers among bytes") };
        push_padded(elements, row, F::zero());
    }

    /// Adds a row of bytes.
    ///
    /// # Panics
    /// As [`NonzeroRows::push`], and if the rows are of numbers.
    pub fn push_bytes(&mut self, row: &[u8]) {
        self.begin_row(row.len());
        let Elements::Bytes(elements, _) = &mut self.elements else { panic!("NonzeroRows: bytes among numbers") };
        push_padded(elements, row, 0);
    }

    /// Counts a row that is about to be added.
    fn begin_row(&mut self, columns: usize) {
        assert!(columns == self.columns, "NonzeroRows: a row of {columns} elements, not {}", self.columns);
        assert!(self.rows < Self::MOST, "NonzeroRows: more than {} rows", Self::MOST);
        self.rows += 1;
        self.forget_index();
    }

    fn forget_index(&mut self) {
        self.rows_are_indexed = false;
        self.columns_are_indexed = false;
    }

    /// Finds what is not zero in the rows that were added, as both products need it.
    pub fn index(&mut self, set: InstructionSet) {
        self.index_rows(set);
        self.columns_are_indexed = true;
        set.dispatch(IndexColumns(self));
    }

    /// Finds what is not zero in the rows that were added, as [`nonzero_product`] needs it.
    pub fn index_rows(&mut self, set: InstructionSet) {
        self.rows_are_indexed = true;
        self.bits.resize(self.rows * self.words, 0);
        set.dispatch(IndexRows(self));
    }
}

struct IndexRows<'a, F>(&'a mut NonzeroRows<F>);

impl<F: Real> WithSimd for IndexRows<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let NonzeroRows { elements, bits, .. } = self.0;
        match elements {
            Elements::Numbers(elements) => {
                bits.iter_mut().zip(elements).for_each(|(bits, numbers)| *bits = bits_of_numbers(numbers));
            }
            Elements::Bytes(elements, _) => {
                bits.iter_mut().zip(elements).for_each(|(bits, bytes)| *bits = bits_of_bytes(simd, bytes));
            }
        }
    }
}

/// Bit b of the result is set if number b is not zero; a NaN is not.
#[inline(always)]
fn bits_of_numbers<F: Real>(numbers: &[F; WORD]) -> u64 {
    let bits = numbers.iter().enumerate().map(|(bit, value)| u64::from(*value != F::zero()) << bit);
    bits.fold(0, |word, bit| word | bit)
}

/// Bit b of the result is set if byte b is not zero.
#[inline(always)]
fn bits_of_bytes<S: Simd>(simd: S, bytes: &[u8; WORD]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = (&simd as &dyn Any).downcast_ref::<pulp::x86::V4>() {
        let bytes = pulp::cast(*bytes);
        return simd.avx512bw._mm512_test_epi8_mask(bytes, bytes);
    }
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // A product whose top byte gathers the top bits of all bytes.
    const GATHER: u64 = 0x0002_0408_1020_4081;
    let (eights, _) = bytes.as_chunks::<8>();
    eights.iter().enumerate().fold(0, |word, (index, eight)| {
        let eight = u64::from_le_bytes(*eight);
        // The top bit of each byte that is not zero.
        let marks = (((eight & LOW) + LOW) | eight) & !LOW;
        word | (((marks >> 7).wrapping_mul(GATHER << 7) >> 56) << (8 * index))
    })
}

struct IndexColumns<'a, F>(&'a mut NonzeroRows<F>);

impl<F: Real> WithSimd for IndexColumns<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let NonzeroRows { elements, words, bits_of_columns, sorted_columns, .. } = self.0;
        match elements {
            Elements::Numbers(elements) => {
                mark_columns(elements, *words, bits_of_columns, sorted_columns, |value| *value != F::zero());
            }
            Elements::Bytes(elements, _) => {
                mark_columns(elements, *words, bits_of_columns, sorted_columns, |byte| *byte != 0);
            }
        }
    }
}

/// Sets a bit for each row whose element is not zero, and writes the numbers of the columns that have one in the order of
/// how many they have.
#[inline(always)]
fn mark_columns<T>(
    elements: &[[T; WORD]],
    words: usize,
    bits_of_columns: &mut [u64],
    sorted_columns: &mut Vec<u32>,
    is_nonzero: impl Fn(&T) -> bool,
) {
    let (bits_of_columns, _) = bits_of_columns.as_chunks_mut::<WORD>();
    // How many columns have so many bits.
    let mut ends = [0_u32; WORD + 1];
    for (word, columns) in bits_of_columns.iter_mut().enumerate() {
        columns.fill(0);
        let mut rows = elements.iter().skip(word).step_by(words);
        // Eight rows at a time, in vectors of bytes.
        for first_row in (0..WORD).step_by(8).take_while(|first_row| first_row * words < elements.len()) {
            let mut bytes = [0_u8; WORD];
            for (row, elements) in rows.by_ref().take(8).enumerate() {
                for (byte, element) in bytes.iter_mut().zip(elements) {
                    *byte |= if is_nonzero(element) { 1 << row } else { 0 };
                }
            }
            for (column, &byte) in columns.iter_mut().zip(&bytes) {
                *column |= u64::from(byte) << first_row;
            }
        }
        for column in columns {
            ends[column.count_ones() as usize] += 1;
        }
    }
    let mut start = 0;
    for end in &mut ends[1..] {
        (start, *end) = (start + *end, start);
    }
    sorted_columns.resize(start as usize, 0);
    for (number, &column) in bits_of_columns.as_flattened().iter().enumerate() {
        if column != 0 {
            let place = &mut ends[column.count_ones() as usize];
            sorted_columns[*place as usize] = number as u32;
            *place += 1;
        }
    }
}

fn push_padded<T: Copy>(elements: &mut Vec<[T; WORD]>, row: &[T], zero: T) {
    let (words, rest) = row.as_chunks::<WORD>();
    elements.extend_from_slice(words);
    if !rest.is_empty() {
        let mut word = [zero; WORD];
        word[..rest.len()].copy_from_slice(rest);
        elements.push(word);
    }
}

/// The numbers of the bits that are set, in ascending order.
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

/// Reads an element of a word.
trait Word<F>: Copy {
    type Word;
    fn element(self, word: &Self::Word, bit: usize) -> F;
}

#[derive(Clone, Copy)]
struct AsNumbers;

#[derive(Clone, Copy)]
struct AsBytes<'a, F>(&'a [F; 256]);

impl<F: Real> Word<F> for AsNumbers {
    type Word = [F; WORD];
    #[inline(always)]
    fn element(self, word: &[F; WORD], bit: usize) -> F {
        word[bit % WORD]
    }
}

impl<F: Real> Word<F> for AsBytes<'_, F> {
    type Word = [u8; WORD];
    #[inline(always)]
    fn element(self, word: &[u8; WORD], bit: usize) -> F {
        self.0[usize::from(word[bit % WORD])]
    }
}

/// Writes the product left · right to `out`: element (i, j) = Σₚ left\[i\]\[p\] · right\[p\]\[j\], padding included.
/// `rows` are the rows of `left` that are wanted; the first of them goes to the first row of `out`.
///
/// # Panics
/// If `left` is not indexed, `right` has not as many rows as `left` has columns, or `out` is not one row of `right`'s stride for each of `rows`.
pub fn nonzero_product<F: Real>(
    set: InstructionSet,
    left: &NonzeroRows<F>,
    rows: Range<usize>,
    right: &PaddedMatrix<F>,
    out: &mut [F],
) {
    assert!(left.rows_are_indexed, "nonzero_product: not indexed");
    assert!(left.columns == right.rows(), "nonzero_product: inner sizes differ");
    assert!(rows.end <= left.rows && out.len() == rows.len() * right.stride(), "nonzero_product: shapes differ");
    let words = rows.start * left.words..rows.end * left.words;
    let bits = &left.bits[words.clone()];
    match &left.elements {
        Elements::Numbers(elements) => {
            set.dispatch(NonzeroProduct { read: AsNumbers, elements: &elements[words], bits, right, out });
        }
        Elements::Bytes(elements, values) => {
            set.dispatch(NonzeroProduct { read: AsBytes(values), elements: &elements[words], bits, right, out });
        }
    }
}

/// The product leftᵀ · right at the given `rows`, which are columns of `left`: element (i, j) =
/// Σₚ left\[p\]\[i\] · right\[p\]\[j\]. Rows for which `left` has only zeros are left out if `only_nonzero`, else the
/// sink gets zeros for them.
///
/// # Panics
/// If `left` is not indexed, `right` has fewer rows than `left`, or `left` has fewer columns than `rows.end`.
pub fn nonzero_product_of_transpose<F: Real, K: Sink<F>>(
    set: InstructionSet,
    left: &NonzeroRows<F>,
    rows: Range<usize>,
    right: &PaddedMatrix<F>,
    only_nonzero: bool,
    sink: K,
) {
    assert!(left.columns_are_indexed, "nonzero_product_of_transpose: not indexed");
    assert!(left.rows <= right.rows(), "nonzero_product_of_transpose: inner sizes differ");
    assert!(rows.end <= left.columns, "nonzero_product_of_transpose: no such rows");
    match &left.elements {
        Elements::Numbers(elements) => {
            let read = AsNumbers;
            set.dispatch(NonzeroProductOfTranspose { read, elements, left, rows, right, only_nonzero, sink });
        }
        Elements::Bytes(elements, values) => {
            let read = AsBytes(values);
            set.dispatch(NonzeroProductOfTranspose { read, elements, left, rows, right, only_nonzero, sink });
        }
    }
}

struct NonzeroProduct<'a, F, R: Word<F>> {
    read: R,
    elements: &'a [R::Word],
    bits: &'a [u64],
    right: &'a PaddedMatrix<F>,
    out: &'a mut [F],
}

impl<F: Real, R: Word<F>> WithSimd for NonzeroProduct<'_, F, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        self.out.fill(F::zero());
        let lanes = size_of::<F::Vector<S>>() / size_of::<F>();
        let mut column = 0;
        while column < self.right.stride() {
            column += lanes
                * match (self.right.stride() - column) / lanes {
                    WIDEST.. => self.sweep::<S, WIDEST>(simd, column),
                    4.. => self.sweep::<S, 4>(simd, column),
                    2.. => self.sweep::<S, 2>(simd, column),
                    _ => self.sweep::<S, 1>(simd, column),
                };
        }
    }
}

impl<F: Real, R: Word<F>> NonzeroProduct<'_, F, R> {
    /// Adds to V vectors of sums of every row, from `column` on, and returns V.
    #[inline(always)]
    fn sweep<S: Simd, const V: usize>(&mut self, simd: S, column: usize) -> usize {
        let stride = self.right.stride();
        let words = self.right.rows().div_ceil(WORD);
        for (word, right) in self.right.padded().chunks(WORD * stride).enumerate() {
            let right = &right[column..];
            let elements = self.elements.iter().skip(word).step_by(words);
            let rows = elements.zip(self.bits.iter().skip(word).step_by(words));
            for ((elements, &bits), out) in rows.zip(self.out.chunks_exact_mut(stride)) {
                let out = &mut F::as_vectors_mut::<S>(&mut out[column..])[..V];
                let mut sums: [F::Vector<S>; V] = std::array::from_fn(|v| out[v]);
                for bit in Ones(bits) {
                    let value = self.read.element(elements, bit);
                    add_products::<F, S, V>(simd, &mut sums, value, right, bit * stride);
                }
                // A copy, so that the array in the loop never needs an address and stays in registers.
                let sums = sums;
                out.copy_from_slice(&sums);
            }
        }
        V
    }
}

/// Adds value · right\[first…\] to V vectors of sums.
#[inline(always)]
fn add_products<F: Real, S: Simd, const V: usize>(
    simd: S,
    sums: &mut [F::Vector<S>; V],
    value: F,
    right: &[F],
    first: usize,
) {
    let lanes = size_of::<F::Vector<S>>() / size_of::<F>();
    let right = right.get(first..first + V * lanes).expect("the right matrix has a row for each bit of the left");
    let right = F::as_vectors::<S>(right);
    let value = F::splat(simd, value);
    for v in 0..V {
        sums[v] = F::multiply_add_vectors(simd, value, right[v], sums[v]);
    }
}

struct NonzeroProductOfTranspose<'a, F, R: Word<F>, K> {
    read: R,
    elements: &'a [R::Word],
    left: &'a NonzeroRows<F>,
    rows: Range<usize>,
    right: &'a PaddedMatrix<F>,
    only_nonzero: bool,
    sink: K,
}

impl<F: Real, R: Word<F>, K: Sink<F>> WithSimd for NonzeroProductOfTranspose<'_, F, R, K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = size_of::<F::Vector<S>>() / size_of::<F>();
        let mut column = 0;
        while column < self.right.stride() {
            column += lanes
                * match (self.right.stride() - column) / lanes {
                    WIDEST.. => self.sweep::<S, WIDEST>(simd, column),
                    4.. => self.sweep::<S, 4>(simd, column),
                    2.. => self.sweep::<S, 2>(simd, column),
                    _ => self.sweep::<S, 1>(simd, column),
                };
        }
    }
}

impl<F: Real, R: Word<F>, K: Sink<F>> NonzeroProductOfTranspose<'_, F, R, K> {
    /// V vectors of every row, from `column` on, and returns V.
    #[inline(always)]
    fn sweep<S: Simd, const V: usize>(&mut self, simd: S, column: usize) -> usize {
        let (right, stride) = (self.right.padded(), self.right.stride());
        let (words, bits_of_columns) = (self.left.words, &self.left.bits_of_columns);
        if !self.only_nonzero {
            let zeros = self.rows.clone().filter(|&row| bits_of_columns[row] == 0);
            zeros.for_each(|row| self.sink.take(simd, row, column, &[F::Vector::<S>::zeroed(); V]));
        }
        for &row in &self.left.sorted_columns {
            let row = row as usize;
            if !self.rows.contains(&row) {
                continue;
            }
            let mut sums = [F::Vector::<S>::zeroed(); V];
            for p in Ones(bits_of_columns[row]) {
                let value = self.read.element(&self.elements[p * words + row / WORD], row);
                add_products::<F, S, V>(simd, &mut sums, value, right, p * stride + column);
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
    fn a_right_matrix_with_too_few_rows_is_no_product() {
        let (right, mut out) = (PaddedMatrix::<f32>::zeros(2, 16), [0.0; 16]);
        let elements = [[1.0; WORD]];
        let product =
            NonzeroProduct { read: AsNumbers, elements: &elements, bits: &[0b100], right: &right, out: &mut out };
        InstructionSet::Portable.dispatch(product);
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn a_bit_of_a_row_that_there_is_not_is_no_gradient() {
        struct Ignore;
        impl Sink<f32> for Ignore {
            #[inline(always)]
            fn take<S: Simd>(&mut self, _simd: S, _row: usize, _column: usize, _sums: &[S::f32s]) {}
        }
        let mut left = NonzeroRows::<f32>::of_numbers(3);
        left.push(&[1.0, 0.0, 2.0]);
        left.index(InstructionSet::Portable);
        left.bits_of_columns[2] = 0b11;
        let right = PaddedMatrix::zeros(2, 16);
        nonzero_product_of_transpose(InstructionSet::Portable, &left, 0..3, &right, true, Ignore);
    }
}
