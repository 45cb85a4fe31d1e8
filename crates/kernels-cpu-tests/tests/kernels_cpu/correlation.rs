//! The correlation of rows agrees with naive loops.

use std::mem::MaybeUninit;

use kernels_cpu::InstructionSet;
use kernels_cpu::correlation::{Coefficients, correlate};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// A row-major matrix.
#[derive(Debug)]
struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f32>,
}

impl Matrix {
    fn random(rows: usize, columns: usize, seed: u64, value: fn(&mut ChaCha8Rng) -> f32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        Self { rows, columns, values: (0..rows * columns).map(|_| value(&mut rng)).collect() }
    }

    fn product(column: &[f32], row: &[f32]) -> Self {
        let values = column.iter().flat_map(|&factor| row.iter().map(move |&of_row| factor * of_row)).collect();
        Self { rows: column.len(), columns: row.len(), values }
    }
}

fn integer(rng: &mut ChaCha8Rng) -> f32 {
    rng.random_range(-9..=9) as f32
}

fn real(rng: &mut ChaCha8Rng) -> f32 {
    rng.random_range(-1.0..1.0)
}

/// The correlation computed from its definition in double precision, with the sum of the terms'
/// absolute values.
fn by_definition(kernel: &Matrix, image: &Matrix) -> Vec<(f64, f64)> {
    let cell = |cell: usize| {
        let (i, j) = (cell / image.columns, cell % image.columns);
        let (mut sum, mut absolute) = (0.0, 0.0);
        for u in 0..kernel.rows {
            for v in 0..kernel.columns {
                let (row, column) = ((i + u).wrapping_sub(kernel.rows / 2), (j + v).wrapping_sub(kernel.columns / 2));
                let is_inside = row < image.rows && column < image.columns;
                let pixel = if is_inside { image.values[row * image.columns + column] } else { 0.0 };
                let product = f64::from(kernel.values[u * kernel.columns + v]) * f64::from(pixel);
                sum += product;
                absolute += product.abs();
            }
        }
        (sum, absolute)
    };
    (0..image.rows * image.columns).map(cell).collect()
}

/// Correlates the whole image with [`correlate`], in bands of `band` rows.
fn correlated(set: InstructionSet, kernel: &Matrix, image: &Matrix, band: usize) -> Vec<f32> {
    let coefficients = Coefficients::new(kernel.rows, kernel.columns, kernel.values.clone());
    let zeros = vec![0.0; image.columns];
    let mut out = vec![MaybeUninit::new(f32::NAN); image.values.len()];
    let row = |row: usize| match row < image.rows {
        true => &image.values[row * image.columns..][..image.columns],
        false => &zeros[..],
    };
    for (first, out) in (0..).step_by(band).zip(out.chunks_mut((band * image.columns).max(1))) {
        let count = out.len() / image.columns + kernel.rows.saturating_sub(1);
        let rows: Vec<&[f32]> = (0..count).map(|i| row((first + i).wrapping_sub(kernel.rows / 2))).collect();
        correlate(set, &coefficients, &rows, out);
    }
    #[allow(unsafe_code)]
    // SAFETY: every element was initialized with NaN.
    out.into_iter().map(|value| unsafe { value.assume_init() }).collect()
}

/// Checks all instruction sets: integers must match exactly, other values within n·ε of the sum of
/// absolute terms.
fn check(kernel: &Matrix, image: &Matrix, is_exact: bool) {
    let expected = by_definition(kernel, image);
    let mut of_fused: Option<Vec<u32>> = None;
    for set in InstructionSet::available() {
        for band in [1, 4, 7, image.rows.max(1)] {
            let got = correlated(set, kernel, image, band);
            for (cell, (&got, &(sum, absolute))) in got.iter().zip(&expected).enumerate() {
                let terms = kernel.values.len() as f64;
                let tolerance = if is_exact { 0.0 } else { terms * f64::from(f32::EPSILON) * absolute };
                assert!(
                    (f64::from(got) - sum).abs() <= tolerance,
                    "{}, bands of {band}: {got} instead of {sum} in cell {cell} of {} × {} by {} × {}",
                    set.name(),
                    image.rows,
                    image.columns,
                    kernel.rows,
                    kernel.columns
                );
            }
            if set != InstructionSet::Portable {
                let bits: Vec<u32> = got.iter().map(|value| value.to_bits()).collect();
                assert_eq!(*of_fused.get_or_insert_with(|| bits.clone()), bits, "{}, bands of {band}", set.name());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn correlations_of_integers_are_exact(
        rows in 1_usize..12, columns in 1_usize..200, kernel_rows in 1_usize..10, kernel_columns in 1_usize..10, seed: u64
    ) {
        let kernel = Matrix::random(kernel_rows, kernel_columns, seed, integer);
        check(&kernel, &Matrix::random(rows, columns, !seed, integer), true);
    }

    #[test]
    fn correlations_with_products_of_integers_are_exact(
        rows in 1_usize..12, columns in 1_usize..200, kernel_rows in 1_usize..10, kernel_columns in 1_usize..10, seed: u64
    ) {
        let (column, row) = (Matrix::random(1, kernel_rows, seed, integer), Matrix::random(1, kernel_columns, !seed, integer));
        check(&Matrix::product(&column.values, &row.values), &Matrix::random(rows, columns, !seed, integer), true);
    }

    #[test]
    fn correlations_of_reals_are_within_the_bound(
        rows in 1_usize..12, columns in 1_usize..200, kernel_rows in 1_usize..10, kernel_columns in 1_usize..10, seed: u64
    ) {
        let kernel = Matrix::random(kernel_rows, kernel_columns, seed, real);
        check(&kernel, &Matrix::random(rows, columns, !seed, real), false);
    }
}

#[test]
fn correlations_with_kernels_larger_than_the_image_are_right() {
    for (rows, columns, kernel_rows, kernel_columns) in
        [(1, 1, 5, 5), (1, 1, 40, 2), (3, 2, 7, 90), (1, 70, 3, 31), (2, 300, 9, 70), (30, 1, 4, 4), (5, 100, 1, 35)]
    {
        let kernel = Matrix::random(kernel_rows, kernel_columns, 1, integer);
        check(&kernel, &Matrix::random(rows, columns, 2, integer), true);
    }
}

/// Tests every width near the width of a vector, of a tile and of the copied edges.
#[test]
fn correlations_of_every_width_are_right() {
    for columns in 1..150 {
        for (kernel_rows, kernel_columns) in [(1, 1), (1, 2), (2, 1), (3, 3), (4, 6), (5, 17), (2, 18), (1, 34)] {
            let kernel = Matrix::random(kernel_rows, kernel_columns, 3, integer);
            check(&kernel, &Matrix::random(6, columns, 4, integer), true);
        }
    }
}

#[test]
fn correlations_spread_nan_to_every_window_that_has_it() {
    for kernel in [Matrix::random(3, 3, 5, real), Matrix::product(&[1.0, 2.0, 1.0], &[1.0, 0.0, -1.0])] {
        let mut image = Matrix::random(9, 40, 6, real);
        image.values[4 * 40 + 20] = f32::NAN;
        image.values[0] = f32::INFINITY;
        for set in InstructionSet::available() {
            for (cell, value) in correlated(set, &kernel, &image, 4).into_iter().enumerate() {
                let (i, j) = (cell / 40, cell % 40);
                let expected_nan = i.abs_diff(4) <= 1 && j.abs_diff(20) <= 1;
                assert_eq!(!value.is_finite(), expected_nan || i <= 1 && j <= 1, "{}: {i} {j} {value}", set.name());
            }
        }
    }
}

#[test]
fn correlations_without_pixels_or_coefficients_are_empty_or_zero() {
    let set = InstructionSet::detect();
    let (none, some) = (Coefficients::new(0, 3, vec![]), Coefficients::new(1, 1, vec![2.0]));
    let mut out = [MaybeUninit::new(7.0); 2];
    correlate(set, &none, &[&[1.0, 2.0]], &mut out);
    #[allow(unsafe_code)]
    // SAFETY: both elements were initialized.
    let values = out.map(|value| unsafe { value.assume_init() });
    assert_eq!(values, [0.0, 0.0]);
    correlate(set, &some, &[], &mut []);
    correlate(set, &some, &[&[], &[]], &mut []);
}

#[test]
fn kernels_of_rank_one_are_recognised() {
    type Factors<'a> = Option<(&'a [f32], &'a [f32])>;
    let of = |columns: usize, values: &[f32], expected: Factors| {
        let kernel = Coefficients::new(values.len() / columns, columns, values.to_vec());
        assert_eq!(kernel.factors(), expected, "{values:?}");
    };
    of(3, &[1.0, 0.0, -1.0, 2.0, 0.0, -2.0, 1.0, 0.0, -1.0], Some((&[1.0, 2.0, 1.0], &[1.0, 0.0, -1.0])));
    of(3, &[3.0, 0.0, -3.0, 10.0, 0.0, -10.0, 3.0, 0.0, -3.0], Some((&[3.0, 10.0, 3.0], &[1.0, 0.0, -1.0])));
    let third = 1.0 / 3.0;
    of(3, &[third; 9], Some((&[third; 3], &[1.0; 3])));
    of(3, &[0.0, 0.0, 0.0, 0.0, 0.5, 1.5, 0.0, 0.25, 0.75], Some((&[0.0, 0.5, 0.25], &[0.0, 1.0, 3.0])));
    // Kernels of rank two, of rank one only after rounding, without savings, all zero, and not finite.
    of(3, &[1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0], None);
    of(3, &[0.1, 0.2, 0.3, 0.1 * 0.7, 0.2 * 0.7, 0.3 * 0.7, 0.7, 0.7, 0.7], None);
    of(2, &[1.0; 4], None);
    of(3, &[1.0; 3], None);
    of(3, &[0.0; 9], None);
    of(3, &[f32::NAN; 9], None);
    of(3, &[f32::MAX; 9], Some((&[f32::MAX; 3], &[1.0; 3])));
    of(3, &[f32::MIN_POSITIVE / 8.0; 9], Some((&[f32::MIN_POSITIVE / 8.0; 3], &[1.0; 3])));
}
