//! Learning rate factors of each layer: every engine and path agrees with the reference, and the
//! reference agrees with finite differences of the loss.

use std::ops::ControlFlow;

use crate::support::cases::{assert_close, network_in_f64, random_samples, train_by_reference};
use gpu::Device;
use ndarray::Array2;
use neural_net::engine::{
    CpuEngine, Engine, GpuEngine, GpuEngineError, GpuOptions, GpuPath, NotPersistent, Parameters,
};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::reference::{self, State};
use neural_net::training::GradientScale;
use neural_net::{Activation, Architecture, Hyperparameters, Loss, Network, Samples};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const FACTORS: [f64; 3] = [0.25, 3.0, 1.5];

fn hyperparameters(batch_size: Option<usize>, momentum: f64, weight_decay: f64) -> Hyperparameters {
    Hyperparameters {
        loss: Loss::SquaredError,
        learning_rate: 0.01,
        learning_rate_factors: FACTORS.to_vec(),
        momentum,
        weight_decay,
        batch_size,
        gradient: GradientScale::Mean,
        ..Preset::Homework.hyperparameters()
    }
}

fn network(sizes: &[usize], rng: &mut ChaCha8Rng) -> Parameters {
    let architecture = Architecture::new(sizes.to_vec(), Activation::Tanh, Activation::Identity).unwrap();
    Parameters::new(Network::random(architecture, Initialization::Normal, rng))
}

fn trained(engine: &mut impl Engine, count: usize) -> Network {
    let order: Vec<u32> = (0..count as u32).collect();
    engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(())).unwrap();
    engine.parameters().unwrap().network
}

/// Tests one chunk, groups of chunks, and full batches, packed and unpacked.
#[test]
fn part1_the_cpu_engine_multiplies_each_layers_gradients_by_its_factor() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    // The last network has too many units for the packed full batch, and the second one has dense inputs.
    for (sizes, zeros) in [(vec![8, 6, 4, 2], true), (vec![8, 6, 4, 2], false), (vec![5, 40, 33, 1], true)] {
        let samples = random_samples(300, sizes[0], sizes[3], &mut rng);
        let keep = |x: &f32| if zeros && x.abs() < 0.7 { 0.0 } else { *x };
        let samples = Samples::new(samples.inputs().map(keep), samples.targets().clone()).unwrap();
        let parameters = network(&sizes, &mut rng);
        for batch_size in [Some(1), Some(16), Some(64), Some(65), Some(130), None] {
            for (momentum, decay) in [(0.0, 0.0), (0.9, 0.0), (0.0, 0.01), (0.9, 0.01)] {
                let hyperparameters = hyperparameters(batch_size, momentum, decay);
                let order: Vec<u32> = (0..300).collect();
                let expected = train_by_reference(&samples, &parameters, &hyperparameters, &order).network;
                let got = trained(&mut CpuEngine::new(&samples, &parameters, &hyperparameters), 300);
                assert_close(&got, &expected, 1e-5).unwrap();
            }
        }
    }
}

#[test]
fn part1_the_gpu_engine_multiplies_each_layers_gradients_by_its_factor() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(2));
    let architecture = Architecture::new(vec![8, 20, 6, 2], Activation::Tanh, Activation::Identity).unwrap();
    let parameters = Parameters::new(Network::<f32>::random(architecture, Initialization::Normal, &mut rng));
    let samples = random_samples(150, 8, 2, &mut rng);
    let order: Vec<u32> = (0..150).collect();
    for (path, batch_size) in [(GpuPath::Steps, Some(16)), (GpuPath::Auto, Some(16)), (GpuPath::Steps, None)] {
        let hyperparameters = hyperparameters(batch_size, 0.9, 0.01);
        let options = GpuOptions { path, max_blocks: None, no_clusters: false };
        let device = Device::simulator();
        let mut engine = GpuEngine::new(&device, &samples, &parameters, &hyperparameters, &options).unwrap();
        engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(())).unwrap();
        let expected = train_by_reference(&samples, &parameters, &hyperparameters, &order).network;
        assert_close(&engine.parameters().unwrap().network, &expected, 5e-6).unwrap();
    }
}

#[test]
fn part1_one_launch_of_many_blocks_rejects_learning_rate_factors() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(3));
    // More outputs than the single-block kernels support.
    let architecture = Architecture::new(vec![3, 4, 9], Activation::Tanh, Activation::Identity).unwrap();
    let parameters = Parameters::new(Network::<f32>::random(architecture, Initialization::Normal, &mut rng));
    let samples = random_samples(20, 3, 9, &mut rng);
    let options = GpuOptions { path: GpuPath::Persistent, max_blocks: None, no_clusters: false };
    let make =
        |hyperparameters| GpuEngine::new(&Device::simulator(), &samples, &parameters, &hyperparameters, &options);
    let rejected = make(hyperparameters(Some(4), 0.9, 0.0));
    assert!(matches!(rejected, Err(GpuEngineError::NotPersistent(NotPersistent::LearningRateFactors))), "{rejected:?}");
    let ones = Hyperparameters { learning_rate_factors: vec![1.0, 1.0], ..hyperparameters(Some(4), 0.9, 0.0) };
    assert!(make(ones).is_ok());
}

/// A reference step is rate · factor · (loss(w + h) − loss(w − h)) / 2h plus the decay, which has
/// no factor.
#[test]
fn part1_the_references_step_agrees_with_central_differences() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(4));
    let network = network_in_f64(&network(&[3, 4, 3, 2], &mut rng).network);
    let inputs = Array2::from_shape_simple_fn((6, 3), || rng.random_range(-1.0..1.0));
    let targets = Array2::from_shape_simple_fn((6, 2), || rng.random_range(-1.0..1.0));
    let samples = Samples::new(inputs, targets).unwrap();
    let hyperparameters = hyperparameters(None, 0.0, 0.03);
    let stepped = reference::step(&network, &mut State::new(&network), &samples, &hyperparameters);
    for (layer, factor) in FACTORS.into_iter().enumerate() {
        let (rows, columns) = network.weights()[layer].dim();
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let moved = |by: f64| {
                let mut weights = network.weights().to_vec();
                weights[layer][[row, column]] += by;
                let moved = Network::new(network.architecture().clone(), weights, network.biases().to_vec()).unwrap();
                reference::gradients(&moved, &samples, Loss::SquaredError).loss / 6.0
            };
            let weight = network.weights()[layer][[row, column]];
            let expected = weight - 0.01 * (factor * (moved(1e-6) - moved(-1e-6)) / 2e-6 + 0.03 * weight);
            assert!((stepped.weights()[layer][[row, column]] - expected).abs() < 1e-10, "layer {layer}");
        }
    }
}

/// Checkpoints without the key `learning_rate_factors` are valid.
#[test]
fn part1_hyperparameters_without_factors_have_ones() {
    let ours = Preset::Homework.hyperparameters();
    let json = serde_json::to_string(&ours).unwrap();
    assert!(!json.contains("factors"), "{json}");
    let read: Hyperparameters = serde_json::from_str(&json).unwrap();
    assert_eq!(read, ours);
    assert_eq!(read.learning_rate_factor(7), 1.0);
    let ours = hyperparameters(None, 0.0, 0.0);
    let read: Hyperparameters = serde_json::from_str(&serde_json::to_string(&ours).unwrap()).unwrap();
    assert_eq!(read.learning_rate_factors, FACTORS);
}
