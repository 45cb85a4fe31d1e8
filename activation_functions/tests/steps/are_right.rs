//! Every CPU version computes the three steps for any number of values and of threads.

use activation_functions::*;
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::ThreadPoolBuilder;

/// Greyscale values, and weights uniform in [−1.5, 1.5).
fn random_input(number: usize, seed: u64) -> (Vec<f32>, Vec<f32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let values = (0..number).map(|_| f32::from(rng.random::<u8>())).collect();
    (values, (0..number).map(|_| rng.random_range(-1.5..1.5)).collect())
}

/// Checks all versions with `number` values.
fn all_are_right(number: usize, seed: u64) {
    let (values, weights) = random_input(number, seed);
    let check = |step, results: &[f32]| assert!(verify(step, results, &values, &weights, TOLERANCE).unwrap() <= 1e-6);
    let normalized = normalize(&values);
    check(Step::Normalize, &normalized);
    assert_eq!(normalize_rayon(&values), normalized);
    let weighed = weigh(&normalized, &weights).unwrap();
    check(Step::Weigh, &weighed);
    assert_eq!(weigh_rayon(&normalized, &weights).unwrap(), weighed);
    check(Step::Activate, &activate(&weighed));
    check(Step::Activate, &activate_rayon(&weighed));
    check(Step::Activate, &fused_rayon(&values, &weights).unwrap());
}

proptest! {
    #[test]
    fn activation_of_a_few_values_is_right(number in 0..200_usize, seed: u64) {
        all_are_right(number, seed);
    }
}

#[test]
fn activation_at_the_edges_of_a_task_is_right() {
    for number in [32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 3 * 32 * 1024 + 17] {
        all_are_right(number, 1);
    }
}

#[test]
fn activation_does_not_depend_on_the_number_of_threads() {
    let (values, weights) = random_input(200_003, 2);
    let bits = |threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fused = pool.install(|| fused_rayon(&values, &weights)).unwrap();
        fused.iter().map(|value| value.to_bits()).collect::<Vec<_>>()
    };
    let expected = bits(1);
    for threads in [2, 3, 8] {
        assert!(bits(threads) == expected, "{threads} threads");
    }
}

#[test]
fn activation_propagates_nan_and_saturates_at_infinity() {
    let values = [f32::NAN, 255.0, f32::INFINITY, f32::NEG_INFINITY, f32::INFINITY, -0.0];
    let weights = [1.0, f32::NAN, 0.0, 1.0, 1.0, 1.0];
    let fused = fused_rayon(&values, &weights).unwrap();
    assert!(fused[..3].iter().all(|value| value.is_nan()), "{fused:?}");
    assert_eq!(fused[3..].iter().map(|value| value.to_bits()).collect::<Vec<_>>(), [-1.0, 1.0, -0.0].map(f32::to_bits));
}

#[test]
fn activation_rejects_another_number_of_weights() {
    let error = LengthMismatch { values: 3, weights: 2 };
    let (values, weights) = ([1.0, 2.0, 3.0], [0.5, 0.5]);
    assert_eq!(weigh(&values, &weights), Err(error));
    assert_eq!(weigh_rayon(&values, &weights), Err(error));
    assert_eq!(fused_rayon(&values, &weights), Err(error));
    assert_eq!(error.to_string(), "3 values and 2 weights: give one weight for each value");
}
