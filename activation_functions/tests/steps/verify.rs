//! `verify` accepts a step's results and locates the first difference in any other result.

use activation_functions::{Step, TOLERANCE, TOLERANCE_FAST, fused_rayon, verify};
use proptest::prelude::*;

const VALUES: [f32; 4] = [0.0, 51.0, 204.0, 254.0];
const WEIGHTS: [f32; 4] = [0.5, 0.25, 0.5, 0.75];

#[test]
fn activation_verify_covers_every_step() {
    // tanh 0.05, tanh 0.4 and tanh 0.747…, to ten digits (DLMF, section 4.28).
    let exact = [(Step::Normalize, 0.8), (Step::Weigh, 0.4), (Step::Activate, 0.379_948_962_3)];
    for (step, expected) in exact {
        assert!((step.exact(204.0, 0.5) - expected).abs() < 1e-10, "{step:?}");
    }
    let largest = verify(Step::Weigh, &[0.0, 0.05, 0.4, 0.747], &VALUES, &WEIGHTS, 1e-3).unwrap();
    assert!((largest - (254.0 / 255.0 * 0.75 - 0.747)).abs() < 1e-7, "{largest}");
}

#[test]
fn activation_verify_names_the_first_difference() {
    let difference = verify(Step::Normalize, &[0.0, 0.2, 0.5, f32::NAN], &VALUES, &WEIGHTS, TOLERANCE).unwrap_err();
    assert_eq!(difference, "element 2: 0.5 instead of 0.8");
    let difference = verify(Step::Normalize, &[f32::NAN; 4], &VALUES, &WEIGHTS, TOLERANCE_FAST).unwrap_err();
    assert_eq!(difference, "element 0: NaN instead of 0");
}

#[test]
fn activation_verify_rejects_another_length() {
    let difference = verify(Step::Activate, &[0.0; 3], &VALUES, &WEIGHTS, TOLERANCE).unwrap_err();
    assert_eq!(difference, "3 results for 4 values and 4 weights");
}

proptest! {
    #[test]
    fn activation_verify_finds_a_planted_difference(index in 0..500_usize, wrong in 2e-6..1.0_f32) {
        let values: Vec<f32> = (0..500).map(|i| (i * 31 % 256) as f32).collect();
        let weights: Vec<f32> = (0..500).map(|i| 0.2 + (i * 17 % 60) as f32 / 100.0).collect();
        let mut results = fused_rayon(&values, &weights).unwrap();
        prop_assert!(verify(Step::Activate, &results, &values, &weights, TOLERANCE).is_ok());
        results[index] -= wrong;
        let difference = verify(Step::Activate, &results, &values, &weights, TOLERANCE).unwrap_err();
        prop_assert!(difference.starts_with(&format!("element {index}: ")), "{difference}");
    }
}
