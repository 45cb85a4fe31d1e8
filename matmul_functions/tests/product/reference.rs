//! `Reference::verify` locates wrong elements of a product.

use matmul_functions::{Reference, matmul_transpose_rayon, matmul_transpose_trivial};
use ndarray::{Array2, array};
use proptest::prelude::*;

/// A matrix of odd integers: no product of its elements is 0.
fn odd_integers(rows: usize, columns: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, k)| ((7 * i + 3 * k) % 10 * 2) as f64 - 9.0)
}

#[test]
fn part3_reference_names_the_first_difference() {
    let x = array![[1.0, 2.0], [3.0, 4.0]];
    let difference = Reference::of(&x).verify(&array![[5.0, 11.0], [11.5, 26.0]]).unwrap_err();
    assert_eq!(difference, "c[1][0] is 11.5, expected 11 (row 1 times row 0 of X), for an X with 2 rows");
}

#[test]
fn part3_reference_rejects_another_shape() {
    let difference = Reference::of(&Array2::<f32>::zeros((2, 3))).verify(&Array2::<f32>::zeros((3, 3))).unwrap_err();
    assert_eq!(difference, "the result is 3 × 3, expected 2 × 2");
}

proptest! {
    #[test]
    fn part3_reference_catches_a_planted_error_in_double_precision(
        row in 0..37_usize, column in 0..37_usize, relative_error in prop_oneof![-1e-2..-1e-9, 1e-9..1e-2],
    ) {
        let x = odd_integers(37, 11);
        let reference = Reference::of(&x);
        let mut product = matmul_transpose_trivial(&x);
        prop_assert_eq!(reference.verify(&product), Ok(()));
        // Every element is a sum of 11 products of at most 81.
        product[[row, column]] += relative_error * 11.0 * 81.0;
        let difference = reference.verify(&product).unwrap_err();
        prop_assert!(difference.starts_with(&format!("c[{row}][{column}] is ")), "{difference}");
    }

    #[test]
    fn part3_reference_catches_a_planted_error_in_single_precision(
        row in 0..37_usize, column in 0..37_usize, relative_error in prop_oneof![-1e-2..-1e-5_f32, 1e-5..1e-2_f32],
    ) {
        let x = odd_integers(37, 11).mapv(|value| value as f32);
        let reference = Reference::of(&x);
        let mut product = matmul_transpose_rayon(&x);
        prop_assert_eq!(reference.verify(&product), Ok(()));
        product[[row, column]] += relative_error * 11.0 * 81.0;
        let difference = reference.verify(&product).unwrap_err();
        prop_assert!(difference.starts_with(&format!("c[{row}][{column}] is ")), "{difference}");
    }

    #[test]
    fn part3_reference_catches_nan_and_infinity(row in 0..9_usize, column in 0..9_usize) {
        let x = odd_integers(9, 4);
        let reference = Reference::of(&x);
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut product = matmul_transpose_trivial(&x);
            product[[row, column]] = wrong;
            let difference = reference.verify(&product).unwrap_err();
            prop_assert!(difference.starts_with(&format!("c[{row}][{column}] is {wrong:?}, expected ")), "{difference}");
        }
    }
}
