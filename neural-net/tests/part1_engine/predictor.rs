//! The predictor agrees with [`Network::predict`].

use crate::support::cases::network_in_f64;
use kernels_cpu::InstructionSet;
use ndarray::{Array2, Axis};
use neural_net::network::Initialization;
use neural_net::{Activation, Architecture, Network, Predictor};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const ALL: [Activation; 5] =
    [Activation::Sigmoid, Activation::Relu, Activation::Tanh, Activation::Identity, Activation::Softmax];

fn assert_close<E: Copy + Into<f64>>(got: &[f32], expected: &[E], tolerance: f64, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (&got, &expected) in got.iter().zip(expected) {
        let (got, expected): (f64, f64) = (got.into(), expected.into());
        let same = got == expected || got.is_nan() && expected.is_nan();
        assert!(same || (got - expected).abs() <= tolerance * expected.abs().max(1.0), "{what}: {got} {expected}");
    }
}

fn network(sizes: &[usize], hidden: Activation, output: Activation, rng: &mut ChaCha8Rng) -> Network {
    let architecture = Architecture::new(sizes.to_vec(), hidden, output).unwrap();
    Network::random(architecture, Initialization::Xavier, rng)
}

fn samples(count: usize, inputs: usize, rng: &mut ChaCha8Rng) -> Array2<f32> {
    Array2::from_shape_simple_fn((count, inputs), || match rng.random_bool(0.5) {
        true => 0.0,
        false => rng.random_range(-1.0..1.0),
    })
}

#[test]
fn part1_predictions_are_those_of_the_plain_network_in_double_precision() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    let shapes: [&[usize]; 7] =
        [&[1, 1], &[7, 3, 2], &[784, 10, 10], &[199, 17, 33, 5], &[15, 16, 17], &[101, 200, 1], &[31, 65, 64, 10]];
    for (index, sizes) in shapes.into_iter().enumerate() {
        for output in ALL {
            let network = network(sizes, ALL[(index + 1) % 4], output, &mut rng);
            let inputs = samples(131, sizes[0], &mut rng);
            let precise = network_in_f64(&network);
            let expected = inputs.outer_iter().map(|row| precise.predict(&row.mapv(f64::from).to_vec()));
            let expected: Vec<Vec<f64>> = expected.collect();
            for set in InstructionSet::available() {
                let what = format!("{sizes:?}, {}, {}", output.name(), set.name());
                let mut predictor = Predictor::with_instruction_set(&network, set);
                for (row, expected) in inputs.outer_iter().zip(&expected).take(20) {
                    assert_close(predictor.predict(&row.to_vec()), expected, 3e-6, &what);
                }
                for count in [0, 1, 2, 3, 5, 64, 65, 131] {
                    let outputs = predictor.predict_all(inputs.slice_axis(Axis(0), (..count).into()));
                    assert_eq!(outputs.dim(), (count, sizes[sizes.len() - 1]), "{what}");
                    for (row, expected) in outputs.outer_iter().zip(&expected) {
                        assert_close(row.to_slice().unwrap(), expected, 3e-6, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn part1_a_nan_or_infinite_input_reaches_the_outputs() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(2));
    let network = network(&[20, 18, 3], Activation::Identity, Activation::Identity, &mut rng);
    for value in [f32::NAN, f32::INFINITY] {
        let mut inputs = samples(70, 20, &mut rng);
        inputs[[4, 19]] = value;
        let outputs = Predictor::new(&network).predict_all(inputs.view());
        let finite: Vec<bool> = outputs.outer_iter().map(|row| row.iter().all(|a| a.is_finite())).collect();
        assert!(finite.iter().enumerate().all(|(row, &finite)| finite == (row != 4)), "{value}");
        let row = inputs.row(4).to_vec();
        assert_close(Predictor::new(&network).predict(&row), &network.predict(&row), 1e-5, "one");
    }
}

#[test]
fn part1_predictions_have_the_same_bits_for_any_number_of_threads() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(3));
    let network = network(&[300, 40, 10], Activation::Sigmoid, Activation::Softmax, &mut rng);
    let inputs = samples(1001, 300, &mut rng);
    let predict = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Predictor::new(&network).predict_all(inputs.view()))
    };
    let expected = predict(1);
    assert!([2, 3, 8].into_iter().all(|threads| predict(threads) == expected));
    // A column-major copy of the inputs.
    let transposed = inputs.t().as_standard_layout().into_owned();
    assert_eq!(Predictor::new(&network).predict_all(transposed.t()), expected);
}

/// If no layer has more than 16 units, the bits of a sample's outputs do not depend on the other samples.
#[test]
fn part1_predictions_of_small_layers_have_the_bits_of_each_alone() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(5));
    let network = network(&[784, 10, 10], Activation::Relu, Activation::Softmax, &mut rng);
    let mut inputs = samples(1003, 784, &mut rng);
    for (row, value) in [(0, f32::NAN), (17, f32::INFINITY), (64, f32::NEG_INFINITY), (1002, f32::NAN), (500, 1e-40)] {
        inputs[[row, row % 784]] = value;
    }
    let bits = |outputs: &[f32]| -> Vec<u32> {
        outputs.iter().map(|output| if output.is_nan() { f32::NAN.to_bits() } else { output.to_bits() }).collect()
    };
    for set in InstructionSet::available() {
        let mut predictor = Predictor::with_instruction_set(&network, set);
        let alone: Vec<_> = inputs.outer_iter().map(|row| bits(predictor.predict(row.as_slice().unwrap()))).collect();
        for threads in [1, 2, 3, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for count in [1, 2, 3, 63, 64, 65, 127, 200, 401, 1003] {
                let outputs = pool.install(|| predictor.predict_all(inputs.slice_axis(Axis(0), (..count).into())));
                let rows: Vec<_> = outputs.outer_iter().map(|row| bits(row.to_slice().unwrap())).collect();
                assert!(rows == alone[..count], "{} samples, {threads} threads, {}", count, set.name());
            }
        }
        for (row, alone) in inputs.outer_iter().zip(&alone) {
            let expected = network.predict(&row.to_vec());
            let alone: Vec<f32> = alone.iter().map(|&bits| f32::from_bits(bits)).collect();
            assert_close(&alone, &expected, 1e-5, set.name());
        }
    }
}

#[test]
#[should_panic(expected = "wrong number of inputs")]
fn part1_a_prediction_of_too_few_inputs_is_rejected() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(4));
    let network = network(&[4, 2], Activation::Relu, Activation::Softmax, &mut rng);
    Predictor::new(&network).predict(&[0.0; 3]);
}
