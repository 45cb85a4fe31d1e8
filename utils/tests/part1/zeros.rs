//! Zero weights and biases have the shapes of the network's layers.

use ndarray::{Array1, Array2, Axis};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use utils::{UtilsError, random_weights, zeros_biases, zeros_weights};

#[test]
fn part1_zeros_reject_invalid_layer_sizes() {
    let operation = "zeros_weights";
    assert_eq!(zeros_weights::<f32>(&[5]), Err(UtilsError::TooFewLayers { operation, sizes: vec![5] }));
    assert_eq!(zeros_weights::<f32>(&[0, 5]), Err(UtilsError::EmptyLayer { operation, sizes: vec![0, 5], layer: 0 }));
    let operation = "zeros_biases";
    assert_eq!(zeros_biases::<f64>(&[]), Err(UtilsError::TooFewLayers { operation, sizes: vec![] }));
    assert_eq!(zeros_biases::<f64>(&[5, 0]), Err(UtilsError::EmptyLayer { operation, sizes: vec![5, 0], layer: 1 }));
}

proptest! {
    #[test]
    fn part1_zeros_have_the_shapes_of_the_random_weights(sizes in prop::collection::vec(1..40_usize, 2..6)) {
        let random = random_weights::<f64>(&sizes, &mut ChaCha8Rng::seed_from_u64(0)).unwrap();
        let weights: Vec<Array2<f64>> = zeros_weights(&sizes).unwrap();
        let biases: Vec<Array1<f64>> = zeros_biases(&sizes).unwrap();
        prop_assert!(weights.iter().flatten().chain(biases.iter().flatten()).all(|&value| value == 0.0));
        prop_assert_eq!((weights.len(), biases.len()), (sizes.len() - 1, sizes.len() - 1));
        for ((random, weights), biases) in random.iter().zip(&weights).zip(&biases) {
            prop_assert_eq!(weights.dim(), random.dim());
            prop_assert_eq!(biases.len(), random.len_of(Axis(1)));
        }
    }
}
