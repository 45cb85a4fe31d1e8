//! Random weights are determined by the seed, and have the layers' shapes and the documented distribution.

use ndarray::Array2;
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use utils::{UtilsError, random_weights};

fn seeded<A: utils::Element>(sizes: &[usize], seed: u64) -> Vec<Array2<A>> {
    random_weights(sizes, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap()
}

#[test]
fn part1_same_seed_same_weights() {
    let sizes = [20, 7, 3];
    assert_eq!(seeded::<f64>(&sizes, 42), seeded::<f64>(&sizes, 42));
    assert_eq!(seeded::<f32>(&sizes, 42), seeded::<f32>(&sizes, 42));
    assert_ne!(seeded::<f64>(&sizes, 42), seeded::<f64>(&sizes, 43));
}

#[test]
fn part1_layers_are_drawn_one_after_another() {
    let weights = seeded::<f64>(&[6, 6, 6], 1);
    assert_ne!(weights[0], weights[1]);
    assert_eq!(weights[0], seeded::<f64>(&[6, 6], 1)[0]);
}

#[test]
fn part1_random_weights_have_mean_zero_and_the_variance_of_xavier() {
    let (fan_in, fan_out) = (400, 250);
    let weights = &seeded::<f64>(&[fan_in, fan_out], 7)[0];
    let bound = 1.0 / (fan_in as f64).sqrt();
    let count = weights.len() as f64;
    // The standard error of the mean is bound / √(3·count), that of the variance bound² · √(4 / 45 / count).
    let mean = weights.sum() / count;
    assert!(mean.abs() < 5.0 * bound / (3.0 * count).sqrt(), "mean {mean}");
    let variance = weights.mapv(|weight| weight * weight).sum() / count;
    let expected = bound * bound / 3.0;
    assert!((variance - expected).abs() < 5.0 * bound * bound * (4.0 / 45.0 / count).sqrt(), "variance {variance}");
    // The draws reach both ends: the largest of 100 000 is this close to the bound except with probability e⁻⁵⁰.
    let largest = weights.fold(0.0_f64, |largest, weight| largest.max(weight.abs()));
    assert!(largest > 0.9995 * bound, "largest {largest}");
}

#[test]
fn part1_random_weights_reject_invalid_layer_sizes() {
    let error = |sizes: &[usize]| random_weights::<f32>(sizes, &mut ChaCha8Rng::seed_from_u64(0)).unwrap_err();
    let operation = "random_weights";
    assert_eq!(error(&[]), UtilsError::TooFewLayers { operation, sizes: vec![] });
    assert_eq!(error(&[784]), UtilsError::TooFewLayers { operation, sizes: vec![784] });
    assert_eq!(error(&[784, 0, 10]), UtilsError::EmptyLayer { operation, sizes: vec![784, 0, 10], layer: 1 });
    assert_eq!(
        error(&[784]).to_string(),
        "random_weights: layer sizes [784]: a network has at least 2 layers, input and output"
    );
    assert_eq!(
        error(&[784, 30, 0]).to_string(),
        "random_weights: layer sizes [784, 30, 0]: layer 2 is empty, but every layer has at least 1 neuron"
    );
}

proptest! {
    #[test]
    fn part1_random_weights_have_the_layers_shapes_and_are_within_bounds(
        sizes in prop::collection::vec(1..40_usize, 2..6),
        seed: u64,
    ) {
        let weights = seeded::<f32>(&sizes, seed);
        prop_assert_eq!(weights.len(), sizes.len() - 1);
        for (pair, weights) in sizes.windows(2).zip(&weights) {
            prop_assert_eq!(weights.dim(), (pair[0], pair[1]));
            let bound = (pair[0] as f32).sqrt().recip();
            prop_assert!(weights.iter().all(|weight| weight.abs() <= bound), "{weights} beyond ±{bound}");
        }
    }
}
