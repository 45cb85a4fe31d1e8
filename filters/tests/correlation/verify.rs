//! `verify` accepts correlations and locates the first difference in any other result.

use filters::{Reference, correlation_rayon};
use ndarray::{Array2, array};
use proptest::prelude::*;

#[test]
fn verify_names_the_first_difference() {
    let reference = Reference::of(&array![[1.0, 0.0]], &array![[1_u8, 2], [3, 4]]);
    assert_eq!(reference.verify(&array![[0.0, 1.0], [0.0, 3.0]]), Ok(()));
    let difference = reference.verify(&array![[0.0, 1.0], [0.5, 4.0]]).unwrap_err();
    assert_eq!(difference, "out[1][0] is 0.5, expected 0, for a 1 × 2 kernel and a 2 × 2 image");
    let difference = reference.verify(&array![[0.0, 1.0], [0.0, f32::NAN]]).unwrap_err();
    assert_eq!(difference, "out[1][1] is NaN, expected 3, for a 1 × 2 kernel and a 2 × 2 image");
    assert_eq!(reference.verify(&array![[0.0]]).unwrap_err(), "the result is 1 × 1, expected 2 × 2");
}

#[test]
fn verify_compares_values_that_are_not_finite() {
    let reference = Reference::of(&array![[1.0]], &array![[f32::NAN, f32::INFINITY]]);
    assert_eq!(reference.verify(&array![[f32::NAN, f32::INFINITY]]), Ok(()));
    assert!(reference.verify(&array![[f32::NAN, f32::NEG_INFINITY]]).is_err());
    assert!(reference.verify(&array![[1.0, f32::INFINITY]]).is_err());
}

proptest! {
    #[test]
    fn verify_finds_a_planted_difference(index in 0..600_usize, wrong in 1e-3..1.0_f32) {
        let image = Array2::from_shape_fn((20, 30), |(i, j)| ((i * 31 + j * 17) % 101) as f32 / 100.0);
        let kernel = Array2::from_shape_fn((3, 4), |(u, v)| (u * 4 + v) as f32 / 20.0);
        let reference = Reference::of(&kernel, &image);
        let mut result = correlation_rayon(&kernel, &image);
        prop_assert!(reference.verify(&result).is_ok());
        result[[index / 30, index % 30]] += wrong;
        let difference = reference.verify(&result).unwrap_err();
        let start = format!("out[{}][{}] is ", index / 30, index % 30);
        prop_assert!(difference.starts_with(&start), "{difference}");
    }
}
