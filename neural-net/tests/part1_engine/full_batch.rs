//! Full-batch steps agree with the reference, with the same bits for any number of threads.

use std::ops::ControlFlow;

use crate::support::cases::{assert_close, network_in_f64, random_samples, samples_in_f64, train_by_reference};
use ndarray::Array2;
use neural_net::engine::{CpuEngine, Engine, EngineError, Parameters};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::training::GradientScale;
use neural_net::{Activation, Architecture, Hyperparameters, Loss, Network, Samples, reference};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

fn train(
    samples: &Samples,
    network: &Network,
    hyperparameters: &Hyperparameters,
    order: &[u32],
    threads: usize,
) -> (Parameters, f64) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let parameters = Parameters::new(network.clone());
    pool.install(|| {
        let mut engine = CpuEngine::new(samples, &parameters, hyperparameters);
        let mut losses = 0.0;
        for _ in 0..3 {
            engine
                .train(order, 0, &mut |_, loss| {
                    losses += loss;
                    ControlFlow::Continue(())
                })
                .unwrap();
        }
        (engine.parameters().unwrap(), losses)
    })
}

/// Compares three steps of the engine with the reference, and their bits with 1, 2, 3 and 8 threads.
fn check(samples: &Samples, network: &Network, hyperparameters: &Hyperparameters, tolerance: f64) {
    let count = samples.len() as u32;
    let order: Vec<u32> = (0..count).rev().collect();
    let thrice = order.repeat(3);
    let for_reference = Hyperparameters { batch_size: Some(samples.len()), ..hyperparameters.clone() };
    let expected = train_by_reference(samples, &Parameters::new(network.clone()), &for_reference, &thrice);
    let expected_loss = expected.loss;
    let (trained, loss) = train(samples, network, hyperparameters, &order, 1);
    assert_close(&trained.network, &expected.network, tolerance).unwrap();
    assert!((loss - expected_loss).abs() <= tolerance * expected_loss.abs().max(1.0), "{loss} not {expected_loss}");
    for threads in [2, 3, 8] {
        let again = train(samples, network, hyperparameters, &order, threads);
        assert!(again == (trained.clone(), loss), "{threads} threads");
    }
}

/// The samples, with each input replaced by a byte divided by 255.
fn as_bytes(samples: &Samples) -> Samples {
    let bytes = samples.inputs().mapv(|x| (x.abs() * 255.0).round() as u8);
    Samples::from_bytes(bytes.into(), 255.0, samples.targets().clone()).unwrap()
}

/// Largest error of a weight and of the loss, relative to the value or to 1.
const TOLERANCE: f64 = 2e-6;

#[test]
fn part1_full_batches_train_as_the_reference_does() {
    use Activation::{Identity, Relu, Sigmoid, Softmax, Tanh};
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    let cases: [(&[usize], Activation, Activation, Loss, usize); 9] = [
        (&[784, 10, 10], Relu, Softmax, Loss::CrossEntropy, 901),
        (&[1, 1], Identity, Identity, Loss::SquaredError, 257),
        (&[7, 32, 11, 3], Sigmoid, Sigmoid, Loss::SquaredError, 1700),
        (&[800, 9, 1], Tanh, Sigmoid, Loss::CrossEntropy, 300),
        (&[65, 17, 21], Tanh, Softmax, Loss::SquaredError, 333),
        (&[30, 32, 32, 32], Relu, Tanh, Loss::SquaredError, 849),
        (&[40, 6], Relu, Softmax, Loss::CrossEntropy, 2000),
        (&[5, 2, 2], Relu, Relu, Loss::SquaredError, 272),
        (&[3, 4, 2], Sigmoid, Softmax, Loss::CrossEntropy, 15_000),
    ];
    for (index, (sizes, hidden, output, loss, count)) in cases.into_iter().enumerate() {
        let architecture = Architecture::new(sizes.to_vec(), hidden, output).unwrap();
        let hyperparameters = Hyperparameters {
            loss,
            batch_size: None,
            learning_rate: 0.01,
            momentum: if index % 2 == 0 { 0.9 } else { 0.0 },
            weight_decay: if index % 3 == 0 { 0.01 } else { 0.0 },
            gradient: GradientScale::Mean,
            ..Preset::Homework.hyperparameters()
        };
        let network = Network::<f32>::random(architecture, Initialization::Xavier, &mut rng);
        let samples = random_samples(count, sizes[0], sizes[sizes.len() - 1], &mut rng);
        check(&samples, &network, &hyperparameters, TOLERANCE);
        check(&as_bytes(&samples), &network, &hyperparameters, TOLERANCE);
    }
}

/// At learning rate 1, the change of the weights in one step is the gradient.
#[test]
fn part1_full_batch_gradients_are_within_1e_5_of_the_largest() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(2));
    let architecture = Architecture::new(vec![784, 10, 10], Activation::Relu, Activation::Softmax).unwrap();
    let network = Network::<f32>::random(architecture, Initialization::Normal, &mut rng);
    let samples = random_samples(5003, 784, 10, &mut rng);
    let zeros = network.weights().iter().map(|weights| Array2::zeros(weights.dim())).collect();
    let at_zero = Network::new(network.architecture().clone(), zeros, network.biases().to_vec()).unwrap();
    for network in [network, at_zero] {
        let expected = reference::gradients(&network_in_f64(&network), &samples_in_f64(&samples), Loss::CrossEntropy);
        let hyperparameters = Hyperparameters {
            momentum: 1.0,
            learning_rate: 1.0,
            gradient: GradientScale::Sum,
            ..Preset::Notebook.hyperparameters()
        };
        let parameters = Parameters::new(network.clone());
        let mut engine = CpuEngine::new(&samples, &parameters, &hyperparameters);
        let order: Vec<u32> = (0..5003).collect();
        engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(())).unwrap();
        let velocities = engine.parameters().unwrap().velocities.unwrap();
        for (layer, (weights, biases)) in velocities.iter().enumerate() {
            let pairs = weights.iter().zip(&expected.weights[layer]).chain(biases.iter().zip(&expected.biases[layer]));
            let largest = pairs.clone().fold(0.0_f64, |largest, (_, g)| largest.max(g.abs()));
            for (&velocity, gradient) in pairs {
                let error = (f64::from(velocity) + gradient).abs();
                assert!(error <= 1e-5 * largest, "{velocity} {gradient} of {largest}");
            }
        }
    }
}

/// Slower implementations handle targets that are not a distribution, and a batch that has a sample
/// twice.
#[test]
fn part1_full_batches_of_unusual_targets_and_samples_agree_with_the_reference() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(3));
    let architecture = Architecture::new(vec![12, 5, 3], Activation::Tanh, Activation::Softmax).unwrap();
    let network = Network::<f32>::random(architecture, Initialization::Xavier, &mut rng);
    let samples = random_samples(300, 12, 3, &mut rng);
    let hyperparameters = Hyperparameters {
        loss: Loss::CrossEntropy,
        batch_size: None,
        learning_rate: 0.01,
        gradient: GradientScale::Mean,
        ..Preset::Homework.hyperparameters()
    };
    let targets = samples.targets().mapv(|_| rng.random_range(0.0..1.0));
    check(&Samples::new(samples.inputs().clone(), targets).unwrap(), &network, &hyperparameters, TOLERANCE);

    let mut order: Vec<u32> = (0..300).collect();
    order[7] = 8;
    let for_reference = Hyperparameters { batch_size: Some(300), ..hyperparameters.clone() };
    let expected = train_by_reference(&samples, &Parameters::new(network.clone()), &for_reference, &order.repeat(3));
    let (trained, _loss) = train(&samples, &network, &hyperparameters, &order, 2);
    assert_close(&trained.network, &expected.network, TOLERANCE).unwrap();
}

#[test]
fn part1_a_full_batch_with_a_nan_input_diverges() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(4));
    let architecture = Architecture::new(vec![6, 4, 3], Activation::Relu, Activation::Softmax).unwrap();
    let network = Network::<f32>::random(architecture, Initialization::Xavier, &mut rng);
    let samples = random_samples(400, 6, 3, &mut rng);
    let mut inputs = samples.inputs().clone();
    inputs[[399, 2]] = f32::NAN;
    let samples = Samples::new(inputs, samples.targets().clone()).unwrap();
    let parameters = Parameters::new(network);
    let mut engine = CpuEngine::new(&samples, &parameters, &Preset::Notebook.hyperparameters());
    let order: Vec<u32> = (0..400).collect();
    let outcome = engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(()));
    assert!(matches!(outcome, Err(EngineError::Diverged(diverged)) if diverged.step == 0), "{outcome:?}");
}
