//! The product that skips zeros has the same bits as the dense one on every instruction set.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kernels_cpu::nonzero_product::{NonzeroRows, add_nonzero_product, nonzero_product_of_transpose};
use kernels_cpu::product::{PaddedMatrix, Sink, product, product_of_transpose};
use kernels_cpu::{InstructionSet, Real, Simd};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Stores the sums of a product, padding included.
struct Store<'a> {
    out: &'a mut [f32],
    stride: usize,
}

impl Sink<f32> for Store<'_> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[S::f32s]) {
        let sums = f32::as_elements::<S>(sums);
        self.out[row * self.stride + column..][..sums.len()].copy_from_slice(sums);
    }
}

fn padded(rows: usize, columns: usize, rng: &mut ChaCha8Rng) -> PaddedMatrix<f32> {
    let mut matrix = PaddedMatrix::zeros(rows, columns);
    for row in 0..rows {
        matrix.row_mut(row).fill_with(|| (rng.random_range(-1.0..1.0_f64)) as f32);
    }
    matrix
}

/// Random rows with the given fraction of nonzero elements: the bytes, and their [`values`].
fn mostly_zeros(rows: usize, columns: usize, share: f64, rng: &mut ChaCha8Rng) -> (Vec<Vec<u8>>, Vec<Vec<f32>>) {
    let values = values();
    let mut byte = || if rng.random_bool(share) { rng.random_range(1..=255) } else { 0 };
    let bytes: Vec<Vec<u8>> = (0..rows).map(|_| (0..columns).map(|_| byte()).collect()).collect();
    let floats = bytes.iter().map(|row| row.iter().map(|&byte| values[usize::from(byte)]).collect()).collect();
    (bytes, floats)
}

fn values() -> [f32; 256] {
    std::array::from_fn(|byte| (byte as f64 / 255.0) as f32)
}

/// The bits of each value, with −0 as +0: a sum of only −0 terms is +0 if zeros are skipped.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|&value| (value + 0.0).to_bits()).collect()
}

fn check(rows: usize, depth: usize, columns: usize, share: f64, seed: u64) -> Result<(), TestCaseError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (bytes, floats) = mostly_zeros(rows, depth, share, &mut rng);
    let (mut of_floats, mut of_bytes) = (NonzeroRows::of_floats(depth), NonzeroRows::of_bytes(depth, &values()));
    // `clear` removes earlier rows.
    of_floats.push(&vec![1.0; depth]);
    of_floats.clear();
    floats.iter().for_each(|row| of_floats.push(row));
    bytes.iter().for_each(|row| of_bytes.push_bytes(row));

    let left: Vec<&[f32]> = floats.iter().map(Vec::as_slice).collect();
    let (weights, errors) = (padded(depth, columns, &mut rng), padded(rows, columns, &mut rng));
    let stride = weights.stride();
    for set in InstructionSet::available() {
        let mut expected = vec![f32::NAN; rows * stride];
        product(set, &left, &weights, 0..stride, Store { out: &mut expected, stride });
        let mut gradient = vec![f32::NAN; depth * stride];
        product_of_transpose(set, &left, 0..depth, &errors, Store { out: &mut gradient, stride });
        of_floats.index(set);
        of_bytes.index(set);
        for nonzeros in [&of_floats, &of_bytes] {
            prop_assert_eq!((nonzeros.rows(), nonzeros.columns()), (rows, depth));
            let split = rows / 3;
            let mut got = vec![0.0; rows * stride];
            let (first, second) = got.split_at_mut(split * stride);
            add_nonzero_product(set, nonzeros, 0..split, &weights, 0, first);
            add_nonzero_product(set, nonzeros, split..rows, &weights, 0, second);
            prop_assert_eq!(bits(&got), bits(&expected), "{}", set.name());

            for only_nonzero in [false, true] {
                // Skipped rows keep their values.
                let mut got = vec![if only_nonzero { 0.0 } else { f32::NAN }; depth * stride];
                let sink = Store { out: &mut got, stride };
                nonzero_product_of_transpose(set, nonzeros, &errors, only_nonzero, sink);
                prop_assert_eq!(bits(&got), bits(&gradient), "{}", set.name());
            }
        }

        // The left matrix in two parts, the first of any number of columns.
        let split = depth / 3;
        let mut got = vec![0.0; rows * stride];
        for part in [0..split, split..depth] {
            let mut nonzeros = NonzeroRows::of_bytes(part.len(), &values());
            bytes.iter().for_each(|row| nonzeros.push_bytes(&row[part.clone()]));
            nonzeros.index_rows(set);
            add_nonzero_product(set, &nonzeros, 0..rows, &weights, part.start, &mut got);
        }
        prop_assert_eq!(bits(&got), bits(&expected), "{} in parts", set.name());
    }
    Ok(())
}

proptest! {
    #[test]
    fn part1_skipping_zeros_changes_no_bit(
        rows in 0..=64_usize, depth in 1..200_usize, columns in 1..150_usize, share in 0.0..0.6_f64, seed: u64
    ) {
        check(rows, depth, columns, share, seed)?;
        check(rows, depth, columns, share, seed)?;
    }
}

/// The maximum number of rows, more weights than fit in L1, and more columns than the widest block
/// of sums.
#[test]
fn part1_skipping_zeros_changes_no_bit_of_a_large_product() {
    check(64, 784, 301, 0.2, 1).unwrap();
    check(33, 784, 128, 0.2, 2).unwrap();
    // No rows.
    check(0, 100, 20, 0.2, 3).unwrap();
}

#[test]
fn part1_only_zeros_are_skipped() {
    let row = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE / 2.0, -1.0, 0.0];
    let mut left = NonzeroRows::of_floats(row.len());
    left.push(&row);
    left.index(InstructionSet::detect());
    for (column, &value) in row.iter().enumerate() {
        let mut right = PaddedMatrix::zeros(row.len(), 1);
        right.row_mut(column)[0] = 0.5;
        for set in InstructionSet::available() {
            let mut out = vec![0.0; right.stride()];
            add_nonzero_product(set, &left, 0..1, &right, 0, &mut out);
            // The row's other elements are multiplied by zeros; NaN · 0 and ∞ · 0 are NaN.
            assert!(out[0].is_nan(), "{} {value}", set.name());
        }
    }
    let finite: Vec<f32> = row.iter().map(|value| if value.is_finite() { *value } else { 0.0 }).collect();
    left.clear();
    left.push(&finite);
    left.index(InstructionSet::detect());
    for (column, &value) in finite.iter().enumerate() {
        let mut right = PaddedMatrix::zeros(row.len(), 1);
        right.row_mut(column)[0] = 2.0;
        for set in InstructionSet::available() {
            let mut out = vec![0.0; right.stride()];
            add_nonzero_product(set, &left, 0..1, &right, 0, &mut out);
            assert_eq!(out[0], 2.0 * value, "{}", set.name());
        }
    }
}

/// Without a new index, added rows would be read through the index of other rows.
#[test]
fn part1_rows_are_indexed_again_before_they_are_multiplied() {
    let right = PaddedMatrix::<f32>::zeros(2, 1);
    let mut rows = NonzeroRows::of_floats(2);
    let is_multiplied = |rows: &NonzeroRows| {
        let product = || {
            let mut out = vec![0.0; rows.rows() * right.stride()];
            add_nonzero_product(InstructionSet::Portable, rows, 0..rows.rows(), &right, 0, &mut out);
        };
        let of_transpose = || {
            let errors = PaddedMatrix::zeros(rows.rows(), 1);
            let mut out = vec![0.0; 2 * errors.stride()];
            let sink = Store { out: &mut out, stride: errors.stride() };
            nonzero_product_of_transpose(InstructionSet::Portable, rows, &errors, false, sink);
        };
        [catch_unwind(AssertUnwindSafe(product)).is_ok(), catch_unwind(AssertUnwindSafe(of_transpose)).is_ok()]
    };
    rows.push(&[1.0, 0.0]);
    assert_eq!(is_multiplied(&rows), [false, false]);
    rows.index_rows(InstructionSet::Portable);
    assert_eq!(is_multiplied(&rows), [true, false]);
    rows.index(InstructionSet::Portable);
    assert_eq!(is_multiplied(&rows), [true, true]);
    rows.push(&[0.0, 1.0]);
    assert_eq!(is_multiplied(&rows), [false, false]);
    rows.index(InstructionSet::Portable);
    rows.clear();
    assert_eq!(is_multiplied(&rows), [false, false]);
}

/// Columns without zeros, for the maximum number of rows and for one fewer.
#[test]
fn part1_no_bit_changes_where_there_is_no_zero_to_leave_out() {
    for rows in [1, 63, 64] {
        check(rows, 100, 20, 1.0, 4).unwrap();
        check(rows, 70, 9, 1.0, 5).unwrap();
    }
}
