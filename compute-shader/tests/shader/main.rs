//! Compares the shaders with the CPU, on this machine's best adapter, which may be a software one.
//! Without an adapter, the tests are skipped; `SHADER_TESTS=require` makes that a failure.

mod device;
mod evaluation;
mod mnist;
mod prediction;
mod program;
mod wgsl;

use compute_shader::{Gpu, ShaderError};
use ndarray::{Array1, Array2};
use neural_net::{Activation, Architecture, Network};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use test_support::{Need, skip};

/// The best adapter. Without one, returns `None` and notes the skipped test.
#[track_caller]
fn gpu() -> Option<Gpu> {
    match Gpu::open(None) {
        Ok(gpu) => Some(gpu),
        Err(error @ ShaderError::NoAdapter { .. }) => {
            skip(Need::Shader, &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A network with random weights up to 2/√fan_in and biases up to ½, for a mix of small and large sums.
fn network(sizes: &[usize], hidden: Activation, output: Activation, seed: u64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(seed));
    let architecture = Architecture::new(sizes.to_vec(), hidden, output).unwrap();
    let weights = sizes.windows(2).map(|pair| {
        let range = 2.0 / (pair[0] as f32).sqrt();
        Array2::from_shape_simple_fn((pair[0], pair[1]), || rng.random_range(-range..range))
    });
    let weights = weights.collect();
    let biases = sizes[1..].iter().map(|&units| Array1::from_shape_simple_fn(units, || rng.random_range(-0.5..0.5)));
    let biases = biases.collect();
    Network::new(architecture, weights, biases).unwrap()
}

fn inputs(rows: usize, columns: usize, seed: u64) -> Array2<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(seed));
    Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0..1.0))
}

/// The outputs of [`Network::predict`], which uses naive loops.
fn expected(network: &Network, inputs: &Array2<f32>) -> Array2<f32> {
    let mut outputs = Array2::zeros((inputs.nrows(), network.architecture().outputs()));
    for (mut output, input) in outputs.outer_iter_mut().zip(inputs.outer_iter()) {
        output.assign(&Array1::from(network.predict(&input.to_vec())));
    }
    outputs
}

fn assert_close(found: &Array2<f32>, expected: &Array2<f32>, what: &str) {
    assert_eq!(found.dim(), expected.dim(), "{what}");
    for ((place, &found), &expected) in found.indexed_iter().zip(expected) {
        let error = (found - expected).abs();
        assert!(error <= 1e-5 * expected.abs().max(1.0), "{what}, at {place:?}: {found}, expected {expected}");
    }
}
