//! Zero weights and biases have the shapes of the network's layers.

use ndarray::{Array1, Array2, Axis};
use proptest::collection::vec;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use teaching_tests::{Failure, check, for_any};
use utils::{UtilsError, random_weights, zeros_biases, zeros_weights};

use crate::{equal, holds};

#[test]
fn part1_zeros_reject_invalid_layer_sizes() -> Result<(), Failure> {
    let operation = "zeros_weights";
    let few = |operation, sizes: &[usize]| UtilsError::TooFewLayers { operation, sizes: sizes.to_vec() };
    let empty = |operation, sizes: &[usize], layer| UtilsError::EmptyLayer { operation, sizes: sizes.to_vec(), layer };
    equal("zeros_weights: the result for sizes [5]", zeros_weights::<f32>(&[5]), Err(few(operation, &[5])))?;
    let result = zeros_weights::<f32>(&[0, 5]);
    equal("zeros_weights: the result for sizes [0, 5]", result, Err(empty(operation, &[0, 5], 0)))?;
    let operation = "zeros_biases";
    equal("zeros_biases: the result for sizes []", zeros_biases::<f64>(&[]), Err(few(operation, &[])))?;
    let result = zeros_biases::<f64>(&[5, 0]);
    equal("zeros_biases: the result for sizes [5, 0]", result, Err(empty(operation, &[5, 0], 1)))
}

#[test]
fn part1_zeros_have_the_shapes_of_the_random_weights() -> Result<(), Failure> {
    for_any(256, vec(1..40_usize, 2..6), |sizes| {
        let random = check("random_weights", random_weights::<f64>(&sizes, &mut ChaCha8Rng::seed_from_u64(0)))?;
        let weights: Vec<Array2<f64>> = check("zeros_weights", zeros_weights(&sizes))?;
        let biases: Vec<Array1<f64>> = check("zeros_biases", zeros_biases(&sizes))?;
        let is_zero = weights.iter().flatten().chain(biases.iter().flatten()).all(|&value| value == 0.0);
        holds(is_zero, || format!("zeros_weights or zeros_biases: not all are 0 for sizes {sizes:?}"))?;
        let of = format!("for sizes {sizes:?}");
        let expected: Vec<_> = random.iter().map(Array2::dim).collect();
        let shapes: Vec<_> = weights.iter().map(Array2::dim).collect();
        equal(&format!("zeros_weights: the list of shapes {of}"), shapes, expected)?;
        let expected: Vec<usize> = random.iter().map(|layer| layer.len_of(Axis(1))).collect();
        let lengths: Vec<usize> = biases.iter().map(Array1::len).collect();
        equal(&format!("zeros_biases: the list of lengths {of}"), lengths, expected)
    })
}
