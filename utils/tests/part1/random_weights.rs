//! The seed determines the random weights. They have the layers' shapes and the documented distribution.

use ndarray::Array2;
use proptest::collection::vec;
use proptest::prelude::any;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use teaching_tests::{Failure, check, for_any};
use utils::{UtilsError, random_weights};

use crate::{equal, holds};

fn seeded<A: utils::RandomFloat>(sizes: &[usize], seed: u64) -> Result<Vec<Array2<A>>, Failure> {
    check("random_weights", random_weights(sizes, &mut ChaCha8Rng::seed_from_u64(seed)))
}

#[test]
fn part1_same_seed_same_weights() -> Result<(), Failure> {
    let sizes = [20, 7, 3];
    let is_same = seeded::<f64>(&sizes, 42)? == seeded::<f64>(&sizes, 42)?;
    holds(is_same, || "random_weights: two calls with the same seed give different weights in f64".to_owned())?;
    let is_same = seeded::<f32>(&sizes, 42)? == seeded::<f32>(&sizes, 42)?;
    holds(is_same, || "random_weights: two calls with the same seed give different weights in f32".to_owned())?;
    let is_other = seeded::<f64>(&sizes, 42)? != seeded::<f64>(&sizes, 43)?;
    holds(is_other, || "random_weights: seeds 42 and 43 give the same weights".to_owned())
}

#[test]
fn part1_layers_are_drawn_one_after_another() -> Result<(), Failure> {
    let weights = seeded::<f64>(&[6, 6, 6], 1)?;
    holds(weights[0] != weights[1], || "random_weights: both layers of 6-6-6 have the same weights".to_owned())?;
    let is_first = weights[0] == seeded::<f64>(&[6, 6], 1)?[0];
    holds(is_first, || "random_weights: the first layers of 6-6-6 and 6-6 have different weights".to_owned())
}

#[test]
fn part1_random_weights_have_mean_zero_and_the_variance_of_xavier() -> Result<(), Failure> {
    let (fan_in, fan_out) = (400, 250);
    let weights = &seeded::<f64>(&[fan_in, fan_out], 7)?[0];
    let bound = 1.0 / (fan_in as f64).sqrt();
    let count = weights.len() as f64;
    // The standard error of the mean is bound / √(3·count); that of the variance is bound² · √(4 /
    // 45 / count).
    let mean = weights.sum() / count;
    let limit = 5.0 * bound / (3.0 * count).sqrt();
    holds(mean.abs() < limit, || {
        format!("random_weights: the mean of 400 × 250 weights is {mean}, expected below ±{limit}")
    })?;
    let variance = weights.mapv(|weight| weight * weight).sum() / count;
    let (expected, limit) = (bound * bound / 3.0, 5.0 * bound * bound * (4.0 / 45.0 / count).sqrt());
    holds((variance - expected).abs() < limit, || {
        format!("random_weights: the variance of 400 × 250 weights is {variance}, expected {expected} ± {limit}")
    })?;
    // The values reach both ends: the largest of 100 000 is this close to the bound except with
    // probability e⁻⁵⁰.
    let largest = weights.fold(0.0_f64, |largest, weight| largest.max(weight.abs()));
    holds(largest > 0.9995 * bound, || {
        format!("random_weights: the largest of 400 × 250 weights is {largest}, expected almost {bound}")
    })
}

#[test]
fn part1_random_weights_reject_invalid_layer_sizes() -> Result<(), Failure> {
    let operation = "random_weights";
    for (sizes, expected, message) in [
        (
            vec![],
            UtilsError::TooFewLayers { operation, sizes: vec![] },
            "random_weights: layer sizes []: a network has at least 2 layers, input and output",
        ),
        (
            vec![784],
            UtilsError::TooFewLayers { operation, sizes: vec![784] },
            "random_weights: layer sizes [784]: a network has at least 2 layers, input and output",
        ),
        (
            vec![784, 0, 10],
            UtilsError::EmptyLayer { operation, sizes: vec![784, 0, 10], layer: 1 },
            "random_weights: layer sizes [784, 0, 10]: layer 1 is empty, but every layer has at least 1 neuron",
        ),
        (
            vec![784, 30, 0],
            UtilsError::EmptyLayer { operation, sizes: vec![784, 30, 0], layer: 2 },
            "random_weights: layer sizes [784, 30, 0]: layer 2 is empty, but every layer has at least 1 neuron",
        ),
    ] {
        let error = random_weights::<f32>(&sizes, &mut ChaCha8Rng::seed_from_u64(0)).err();
        equal(&format!("random_weights: the message for sizes {sizes:?}"), expected.to_string(), message)?;
        equal(&format!("random_weights: the error for sizes {sizes:?}"), error, Some(expected))?;
    }
    Ok(())
}

#[test]
fn part1_random_weights_have_the_layers_shapes_and_are_within_bounds() -> Result<(), Failure> {
    for_any(256, (vec(1..40_usize, 2..6), any::<u64>()), |(sizes, seed)| {
        let weights = seeded::<f32>(&sizes, seed)?;
        let shapes: Vec<_> = weights.iter().map(Array2::dim).collect();
        let expected: Vec<_> = sizes.windows(2).map(|pair| (pair[0], pair[1])).collect();
        equal(&format!("random_weights: the list of shapes for sizes {sizes:?}"), shapes, expected)?;
        for weights in &weights {
            let bound = (weights.nrows() as f32).sqrt().recip();
            // False for NaN.
            let is_inside = |weight: f32| weight.abs() <= bound;
            let outside = weights.iter().find(|&&weight| !is_inside(weight));
            equal(&format!("random_weights: a weight beyond ±1/√{}", weights.nrows()), outside, None)?;
        }
        Ok(())
    })
}
