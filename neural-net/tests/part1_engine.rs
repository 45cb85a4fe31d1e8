//! The fast engine computes what the slow reference computes, with the same bits for any number of threads.

use std::ops::ControlFlow;

use ndarray::{Array2, Axis};
use neural_net::engine::{CpuEngine, Engine, Parameters};
use neural_net::network::{Initialization, argmax};
use neural_net::preset::Preset;
use neural_net::reference::{self, Gradients};
use neural_net::training::GradientScale;
use neural_net::{Activation, Architecture, Hyperparameters, Loss, Network, Real, Samples};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Inputs of which most are zero, as in pictures, and one-hot targets.
fn random_samples<F: Real>(count: usize, inputs: usize, outputs: usize, rng: &mut ChaCha8Rng) -> Samples<F> {
    let pixel = || match rng.random_bool(0.7) {
        true => F::zero(),
        false => F::from_f64(rng.random_range(-1.0..1.0)),
    };
    let inputs = Array2::from_shape_simple_fn((count, inputs), pixel);
    let mut targets = Array2::zeros((count, outputs));
    targets.outer_iter_mut().for_each(|mut target| target[rng.random_range(0..outputs)] = F::one());
    Samples::new(inputs, targets).unwrap()
}

fn train<F: Real>(
    samples: &Samples<F>,
    parameters: &Parameters<F>,
    hyperparameters: &Hyperparameters,
    order: &[u32],
    threads: usize,
) -> (Parameters<F>, f64) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut engine = CpuEngine::new(samples, parameters, hyperparameters);
        let mut total = 0.0;
        let mut observe = |_, loss| {
            total += loss;
            ControlFlow::Continue(())
        };
        engine.train(order, 0, &mut observe).unwrap();
        (engine.parameters(), total)
    })
}

/// The same steps by the reference.
fn train_slowly<F: Real>(
    samples: &Samples<F>,
    network: &Network<F>,
    hyperparameters: &Hyperparameters,
    order: &[u32],
) -> (Network<F>, f64) {
    let (mut network, mut velocities, mut loss) = (network.clone(), Gradients::zeros(network), 0.0);
    for batch in order.chunks(hyperparameters.batch_size.unwrap_or(order.len())) {
        let rows: Vec<usize> = batch.iter().map(|&index| index as usize).collect();
        let (inputs, targets) = (samples.inputs().select(Axis(0), &rows), samples.targets().select(Axis(0), &rows));
        let batch = Samples::new(inputs, targets).unwrap();
        loss += reference::gradients(&network, &batch, hyperparameters.loss).loss;
        network = reference::step(&network, &mut velocities, &batch, hyperparameters);
    }
    (network, loss)
}

fn assert_close<F: Real>(got: &Network<F>, expected: &Network<F>, tolerance: f64) -> Result<(), TestCaseError> {
    let pairs = got.weights().iter().flatten().zip(expected.weights().iter().flatten());
    for (&got, &expected) in pairs.chain(got.biases().iter().flatten().zip(expected.biases().iter().flatten())) {
        let (got, expected) = (got.into_f64(), expected.into_f64());
        prop_assert!((got - expected).abs() <= tolerance * expected.abs().max(1.0), "{} instead of {}", got, expected);
    }
    Ok(())
}

#[derive(Clone, Debug)]
struct Case {
    architecture: Architecture,
    hyperparameters: Hyperparameters,
    count: usize,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    use Activation::{Identity, Relu, Sigmoid, Softmax, Tanh};
    let sizes = prop::collection::vec(1_usize..40, 2..5);
    let hidden = prop::sample::select(vec![Sigmoid, Relu, Tanh, Identity]);
    let output = prop::sample::select(vec![Sigmoid, Relu, Tanh, Identity, Softmax]);
    let batch_size = prop::option::of(prop::sample::select(vec![1_usize, 2, 3, 7, 16, 63, 64, 65, 130]));
    let rule =
        (prop::bool::ANY, prop::bool::ANY, prop::sample::select(vec![0.0, 0.9]), prop::sample::select(vec![0.0, 0.01]));
    (sizes, hidden, output, batch_size, rule, 1_usize..200, any::<u64>()).prop_map(
        |(sizes, hidden, output, batch_size, (cross_entropy, mean, momentum, weight_decay), count, seed)| {
            let loss = match cross_entropy && Loss::CrossEntropy.suits(output) {
                true => Loss::CrossEntropy,
                false => Loss::SquaredError,
            };
            let hyperparameters = Hyperparameters {
                loss,
                learning_rate: 0.001,
                momentum,
                weight_decay,
                batch_size,
                gradient: if mean { GradientScale::Mean } else { GradientScale::Sum },
                ..Preset::Homework.hyperparameters()
            };
            Case { architecture: Architecture::new(sizes, hidden, output).unwrap(), hyperparameters, count, seed }
        },
    )
}

fn check<F: Real>(case: &Case, tolerance: f64) -> Result<(), TestCaseError> {
    let Case { architecture, hyperparameters, count, seed } = case;
    let mut rng = ChaCha8Rng::seed_from_u64(*seed);
    let network = Network::<F>::random(architecture.clone(), Initialization::Xavier, &mut rng);
    let samples = random_samples::<F>(*count, architecture.inputs(), architecture.outputs(), &mut rng);
    let order: Vec<u32> = (0..*count as u32).rev().collect();
    let parameters = Parameters { network: network.clone(), velocities: None };

    let (trained, loss) = train(&samples, &parameters, hyperparameters, &order, 1);
    let (expected, expected_loss) = train_slowly(&samples, &network, hyperparameters, &order);
    assert_close(&trained.network, &expected, tolerance)?;
    prop_assert!((loss - expected_loss).abs() <= tolerance * expected_loss.max(1.0), "{} not {}", loss, expected_loss);

    let evaluation = CpuEngine::new(&samples, &trained, hyperparameters).evaluate_training_samples();
    let outputs = samples.inputs().outer_iter().map(|input| trained.network.predict(&input.to_vec()));
    let correct =
        outputs.enumerate().filter(|(index, output)| argmax(output) == argmax(samples.target(*index))).count();
    // Equal outputs, which ReLU makes, may be told apart by their last bit.
    if architecture.output_activation() != Activation::Relu {
        prop_assert_eq!(evaluation.correct, correct);
    }
    prop_assert_eq!(evaluation.count, *count);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn part1_the_engine_trains_as_the_reference_does_in_double_precision(case in case()) {
        check::<f64>(&case, 1e-11)?;
    }

    #[test]
    fn part1_the_engine_trains_as_the_reference_does_in_single_precision(case in case()) {
        check::<f32>(&case, 2e-4)?;
    }

    #[test]
    fn part1_the_weights_have_the_same_bits_for_any_number_of_threads(case in case()) {
        let Case { architecture, hyperparameters, count, seed } = case;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let network = Network::<f32>::random(architecture.clone(), Initialization::Xavier, &mut rng);
        let samples = random_samples::<f32>(count, architecture.inputs(), architecture.outputs(), &mut rng);
        let order: Vec<u32> = (0..count as u32).collect();
        let parameters = Parameters { network, velocities: None };
        let (expected, loss) = train(&samples, &parameters, &hyperparameters, &order, 1);
        for threads in [2, 3, 8] {
            let (got, got_loss) = train(&samples, &parameters, &hyperparameters, &order, threads);
            prop_assert!(got == expected && got_loss.to_bits() == loss.to_bits(), "{} threads", threads);
        }
    }
}

/// Large enough that the engine does share out a single batch's rows.
#[test]
fn part1_a_large_layer_has_the_same_bits_for_any_number_of_threads() {
    let architecture = Architecture::new(vec![900, 301, 10], Activation::Sigmoid, Activation::Softmax).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let network = Network::<f32>::random(architecture, Initialization::Xavier, &mut rng);
    let samples = random_samples::<f32>(150, 900, 10, &mut rng);
    let order: Vec<u32> = (0..150).collect();
    let parameters = Parameters { network, velocities: None };
    for (batch_size, momentum) in [(Some(60), 0.0), (Some(60), 0.5), (None, 0.0), (None, 0.5)] {
        let hyperparameters = Hyperparameters { batch_size, momentum, ..Preset::Homework.hyperparameters() };
        let expected = train(&samples, &parameters, &hyperparameters, &order, 1);
        for threads in [2, 3, 8] {
            let got = train(&samples, &parameters, &hyperparameters, &order, threads);
            assert!(got == expected, "{threads} threads, batch {batch_size:?}, momentum {momentum}");
        }
    }
}

#[test]
fn part1_a_loss_that_is_not_finite_stops_the_training() {
    let architecture = Architecture::new(vec![3, 2], Activation::Identity, Activation::Identity).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let network = Network::<f32>::random(architecture, Initialization::Xavier, &mut rng);
    let samples = random_samples::<f32>(400, 3, 2, &mut rng);
    let order: Vec<u32> = (0..400).collect();
    let hyperparameters = Hyperparameters { learning_rate: 1e6, ..Preset::Homework.hyperparameters() };
    let mut engine = CpuEngine::new(&samples, &Parameters { network, velocities: None }, &hyperparameters);
    let mut steps = 0;
    let outcome = engine.train(&order, 0, &mut |_, loss| {
        assert!(loss.is_finite());
        steps += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(outcome.unwrap_err().step, steps);
}
