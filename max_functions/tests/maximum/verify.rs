//! `verify` accepts the maximum and locates the first difference in any other result.

use max_functions::{max_cpu, verify};
use ndarray::{Array2, array};
use proptest::prelude::*;

#[test]
fn part2_verify_accepts_the_maximum() {
    let (a, b) = (array![[1, 7], [255, 0]], array![[3, 2], [9, 0]]);
    assert_eq!(verify(&array![[3, 7], [255, 0]], &a, &b), Ok(()));
}

#[test]
fn part2_verify_names_the_first_difference() {
    let (a, b) = (array![[1, 7], [255, 0]], array![[3, 2], [9, 0]]);
    let difference = verify(&array![[3, 7], [9, 1]], &a, &b).unwrap_err();
    assert_eq!(difference, "c[1][0] is 9, expected 255 (a = 255, b = 9), for a 2 × 2 matrix");
}

#[test]
fn part2_verify_rejects_another_shape() {
    let a = Array2::zeros((2, 3));
    let difference = verify(&Array2::zeros((3, 2)), &a, &a).unwrap_err();
    assert_eq!(difference, "the result is 3 × 2, expected 2 × 3");
}

proptest! {
    #[test]
    fn part2_verify_finds_a_planted_difference(row in 0..9_usize, column in 0..7_usize, wrong in 1..100) {
        let a = Array2::from_shape_fn((9, 7), |(i, j)| (31 * i + 17 * j) as i32 % 50);
        let b = a.mapv(|value| 50 - value);
        let mut maximum = max_cpu(&a, &b).unwrap();
        maximum[[row, column]] -= wrong;
        let difference = verify(&maximum, &a, &b).unwrap_err();
        prop_assert!(difference.starts_with(&format!("c[{row}][{column}] is ")), "{difference}");
    }
}
