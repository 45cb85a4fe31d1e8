//! The CPU engine agrees with the reference, with the same bits for any number of threads.

use std::ops::ControlFlow;

use crate::support::cases::{
    Case, TOLERANCE, assert_as_many_correct, assert_close, case, random_samples, start, train_by_reference,
};
use ndarray::ArcArray2;
use neural_net::engine::{CpuEngine, Engine, EngineError, Parameters, Threads};
use neural_net::network::{Initialization, argmax};
use neural_net::preset::Preset;
use neural_net::training::Optimizer;
use neural_net::{Activation, Architecture, Hyperparameters, Network, Samples};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

fn train(
    samples: &Samples,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
    order: &[u32],
    threads: usize,
) -> (Parameters, f64) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut engine = CpuEngine::new(samples, parameters, hyperparameters);
        engine.set_threads(Threads::Exactly(threads));
        let mut total = 0.0;
        let mut observe = |_, loss| {
            total += loss;
            ControlFlow::Continue(())
        };
        engine.train(order, 0, &mut observe).unwrap();
        (engine.parameters().unwrap(), total)
    })
}

fn check(case: &Case, tolerance: f64) -> Result<(), TestCaseError> {
    let Case { architecture, hyperparameters, count, seed } = case;
    let mut rng = ChaCha8Rng::seed_from_u64(*seed);
    let network = Network::<f32>::random(architecture.clone(), Initialization::Xavier, &mut rng);
    let samples = random_samples(*count, architecture.inputs(), architecture.outputs(), &mut rng);
    let order: Vec<u32> = (0..*count as u32).rev().collect();
    let parameters = start(network, hyperparameters);

    let (trained, loss) = train(&samples, &parameters, hyperparameters, &order, 1);
    let expected = train_by_reference(&samples, &parameters, hyperparameters, &order);
    if expected.is_at_a_kink {
        return Err(TestCaseError::reject("rounding decides the sign of a pre-activation of ReLU"));
    }
    assert_close(&trained.network, &expected.network, tolerance)?;
    let expected_loss = expected.loss;
    prop_assert!((loss - expected_loss).abs() <= tolerance * expected_loss.max(1.0), "{} not {}", loss, expected_loss);

    let evaluation = CpuEngine::new(&samples, &trained, hyperparameters).evaluate_training_samples().unwrap();
    let outputs = samples.inputs().outer_iter().map(|input| trained.network.predict(&input.to_vec()));
    let correct =
        outputs.enumerate().filter(|(index, output)| argmax(output) == argmax(samples.target(*index))).count();
    assert_as_many_correct(evaluation.correct, correct, &trained.network, &samples)?;
    prop_assert_eq!(evaluation.count, *count);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn part1_the_engine_trains_as_the_reference_does(case in case()) {
        check(&case, TOLERANCE)?;
    }

    #[test]
    fn part1_the_weights_have_the_same_bits_for_any_number_of_threads(case in case()) {
        let Case { architecture, hyperparameters, count, seed } = case;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let network = Network::<f32>::random(architecture.clone(), Initialization::Xavier, &mut rng);
        let samples = random_samples(count, architecture.inputs(), architecture.outputs(), &mut rng);
        let order: Vec<u32> = (0..count as u32).collect();
        let parameters = Parameters::new(network);
        let (expected, loss) = train(&samples, &parameters, &hyperparameters, &order, 1);
        for threads in [2, 3, 5, 8] {
            let (got, got_loss) = train(&samples, &parameters, &hyperparameters, &order, threads);
            prop_assert!(got == expected && got_loss.to_bits() == loss.to_bits(), "{} threads", threads);
        }
    }
}

/// Images that are mostly background, as bytes and as floats.
fn images(count: usize, inputs: usize, outputs: usize, rng: &mut ChaCha8Rng) -> (Samples, Samples) {
    let pixel = |rng: &mut ChaCha8Rng| if rng.random_bool(0.2) { rng.random() } else { 0 };
    let bytes = ArcArray2::from_shape_simple_fn((count, inputs), || pixel(rng));
    let targets = random_samples(count, inputs, outputs, rng).targets().clone();
    let floats = bytes.mapv(|byte| f32::from(byte) / 255.0);
    (Samples::from_bytes(bytes, 255.0, targets.clone()).unwrap(), Samples::new(floats, targets).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn part1_skipping_zero_inputs_changes_no_bit(case in case()) {
        let Case { architecture, hyperparameters, count, seed } = case;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let network = Network::<f32>::random(architecture.clone(), Initialization::Xavier, &mut rng);
        let (bytes, floats) = images(count, architecture.inputs(), architecture.outputs(), &mut rng);
        let order: Vec<u32> = (0..count as u32).rev().collect();
        let parameters = start(network, &hyperparameters);

        let trained = train(&bytes, &parameters, &hyperparameters, &order, 1);
        for threads in [1, 2, 3, 5, 8] {
            prop_assert!(train(&bytes, &parameters, &hyperparameters, &order, threads) == trained, "{} threads", threads);
            prop_assert!(train(&floats, &parameters, &hyperparameters, &order, threads) == trained, "{} threads", threads);
        }
        let expected = train_by_reference(&floats, &parameters, &hyperparameters, &order);
        if !expected.is_at_a_kink {
            assert_close(&trained.0.network, &expected.network, TOLERANCE)?;
        }

        let evaluate = |samples| {
            CpuEngine::new(samples, &trained.0, &hyperparameters).evaluate_training_samples().unwrap()
        };
        prop_assert_eq!(evaluate(&bytes), evaluate(&floats));
    }
}

/// Large enough to make the engine distribute a single batch's rows among several tasks.
#[test]
fn part1_a_large_layer_has_the_same_bits_for_any_number_of_threads() {
    let architecture = Architecture::new(vec![900, 301, 10], Activation::Sigmoid, Activation::Softmax).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(5));
    let network = Network::<f32>::random(architecture, Initialization::Xavier, &mut rng);
    let samples = random_samples(150, 900, 10, &mut rng);
    let order: Vec<u32> = (0..150).collect();
    let parameters = Parameters::new(network);
    let (sgd, adam) = (Optimizer::Sgd, Optimizer::Adam);
    let rules = [(sgd, 0.0), (sgd, 0.5), (adam, 0.9)];
    for (batch_size, (optimizer, momentum)) in
        [Some(60), None].into_iter().flat_map(|size| rules.map(|rule| (size, rule)))
    {
        let hyperparameters = Hyperparameters { batch_size, optimizer, momentum, ..Preset::Homework.hyperparameters() };
        let expected = train(&samples, &parameters, &hyperparameters, &order, 1);
        for threads in [2, 3, 5, 8] {
            let got = train(&samples, &parameters, &hyperparameters, &order, threads);
            assert!(got == expected, "{threads} threads, batch {batch_size:?}, {optimizer}, momentum {momentum}");
        }
    }
}

#[test]
fn part1_a_loss_that_is_not_finite_stops_training() {
    let architecture = Architecture::new(vec![3, 2], Activation::Identity, Activation::Identity).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(5));
    let network = Network::<f32>::random(architecture, Initialization::Xavier, &mut rng);
    let samples = random_samples(400, 3, 2, &mut rng);
    let order: Vec<u32> = (0..400).collect();
    let hyperparameters = Hyperparameters { learning_rate: 1e6, ..Preset::Homework.hyperparameters() };
    let mut engine = CpuEngine::new(&samples, &Parameters::new(network), &hyperparameters);
    let mut steps = 0;
    let outcome = engine.train(&order, 0, &mut |_, loss| {
        assert!(loss.is_finite());
        steps += 1;
        ControlFlow::Continue(())
    });
    let Err(EngineError::Diverged(diverged)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(diverged.step, steps);
}
