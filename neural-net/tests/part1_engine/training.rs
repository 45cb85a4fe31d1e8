//! The gradients are the derivatives of the loss, and a step follows the documented rule.

use std::convert::Infallible;
use std::ops::ControlFlow;

use crate::support::cases;
use ndarray::{Array1, Array2, array};
use neural_net::engine::{CpuEngine, Engine, Parameters};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::reference;
use neural_net::training::{
    EpochRecord, GradientScale, Observer, Outcome, Progress, Training, Validation, initial_parameters, order_of_epoch,
};
use neural_net::{Activation, Architecture, Hyperparameters, Loss, Network, Samples};
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

fn random_samples(count: usize, inputs: usize, outputs: usize, rng: &mut ChaCha8Rng) -> Samples<f64> {
    let inputs = Array2::from_shape_simple_fn((count, inputs), || rng.random_range(-1.0..1.0));
    let mut targets = Array2::zeros((count, outputs));
    targets.outer_iter_mut().for_each(|mut target| target[rng.random_range(0..outputs)] = 1.0);
    Samples::new(inputs, targets).unwrap()
}

fn loss_of(network: &Network<f64>, samples: &Samples<f64>, loss: Loss) -> f64 {
    reference::gradients(network, samples, loss).loss
}

#[test]
fn part1_gradients_agree_with_central_differences() {
    let hidden = [Activation::Sigmoid, Activation::Tanh, Activation::Relu, Activation::Identity];
    let output = [Activation::Sigmoid, Activation::Tanh, Activation::Relu, Activation::Identity, Activation::Softmax];
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    let mut checked = 0;
    for hidden in hidden {
        for output in output {
            for loss in [Loss::SquaredError, Loss::CrossEntropy].into_iter().filter(|loss| loss.is_defined_for(output))
            {
                let architecture = Architecture::new(vec![4, 5, 3, 3], hidden, output).unwrap();
                let network = Network::<f64>::random(architecture, Initialization::Normal, &mut rng);
                let samples = random_samples(6, 4, 3, &mut rng);
                checked += check_gradients(&network, &samples, loss);
            }
        }
    }
    // 28 combinations of 20 + 15 + 9 weights and 11 biases, minus a few at a kink of ReLU.
    assert!(checked > 28 * 50, "{checked} derivatives were checked");
}

/// Compares each derivative with (loss(p + h) − loss(p − h)) / 2h. Returns the number of comparisons.
fn check_gradients(network: &Network<f64>, samples: &Samples<f64>, loss: Loss) -> usize {
    let gradients = reference::gradients(network, samples, loss);
    let architecture = network.architecture();
    let step = 1e-6;
    let mut checked = 0;
    for layer in 0..architecture.layers() {
        let moved = |row: Option<usize>, column: usize, by: f64| {
            let (mut weights, mut biases) = (network.weights().to_vec(), network.biases().to_vec());
            match row {
                Some(row) => weights[layer][[row, column]] += by,
                None => biases[layer][column] += by,
            }
            loss_of(&Network::new(architecture.clone(), weights, biases).unwrap(), samples, loss)
        };
        let (rows, columns) = network.weights()[layer].dim();
        for row in (0..rows).map(Some).chain([None]) {
            for column in 0..columns {
                let derivative = match row {
                    Some(row) => gradients.weights[layer][[row, column]],
                    None => gradients.biases[layer][column],
                };
                let (here, up, down) = (gradients.loss, moved(row, column, step), moved(row, column, -step));
                // If the two one-sided differences disagree, there is a kink of ReLU between them,
                // where no derivative exists.
                if ((up - here) - (here - down)).abs() / step > 2e-5 {
                    continue;
                }
                let difference = (up - down) / (2.0 * step);
                let error = (derivative - difference).abs() / derivative.abs().max(1.0);
                let (hidden, output) = (architecture.hidden_activation(), architecture.output_activation());
                assert!(error < 1e-6, "{hidden:?}, {output:?}, {loss:?}, layer {layer}: {derivative} not {difference}");
                checked += 1;
            }
        }
    }
    checked
}

/// One step of a 2-2-1 network with sigmoids and squared error, written out as scalar formulas in
/// double precision.
#[test]
fn part1_a_training_step_agrees_with_scalar_formulas() {
    let (w1, b1) = ([[0.15, -0.4], [0.25, 0.3]], [0.35, -0.2]);
    let (w2, b2) = ([0.4, -0.55], 0.6);
    let samples = [([0.05, 0.9], 0.01), ([0.7, -0.3], 0.99)];
    let (rate, momentum, decay) = (0.5, 0.9, 0.01);
    let sigmoid = |z: f64| 1.0 / (1.0 + (-z).exp());

    let (mut gw1, mut gb1, mut gw2, mut gb2) = ([[0.0; 2]; 2], [0.0; 2], [0.0; 2], 0.0);
    for ([x0, x1], y) in samples {
        let h0 = sigmoid(x0 * w1[0][0] + x1 * w1[1][0] + b1[0]);
        let h1 = sigmoid(x0 * w1[0][1] + x1 * w1[1][1] + b1[1]);
        let a = sigmoid(h0 * w2[0] + h1 * w2[1] + b2);
        let delta = (a - y) * a * (1.0 - a);
        let delta0 = delta * w2[0] * h0 * (1.0 - h0);
        let delta1 = delta * w2[1] * h1 * (1.0 - h1);
        gw2[0] += h0 * delta;
        gw2[1] += h1 * delta;
        gb2 += delta;
        gw1[0][0] += x0 * delta0;
        gw1[0][1] += x0 * delta1;
        gw1[1][0] += x1 * delta0;
        gw1[1][1] += x1 * delta1;
        gb1[0] += delta0;
        gb1[1] += delta1;
    }
    // The last changes were 0.1 for every weight and 0.2 for every bias.
    let weight = |w: f64, g: f64| w + momentum * 0.1 - rate * (g + decay * w);
    let bias = |b: f64, g: f64| b + momentum * 0.2 - rate * g;

    let architecture = Architecture::new(vec![2, 2, 1], Activation::Sigmoid, Activation::Sigmoid).unwrap();
    let network = |w1: [[f64; 2]; 2], b1: [f64; 2], w2: [f64; 2], b2: f64| {
        let weights = vec![array![[w1[0][0], w1[0][1]], [w1[1][0], w1[1][1]]], array![[w2[0]], [w2[1]]]];
        Network::new(architecture.clone(), weights, vec![array![b1[0], b1[1]], array![b2]]).unwrap()
    };
    let expected = network(
        [
            [weight(w1[0][0], gw1[0][0]), weight(w1[0][1], gw1[0][1])],
            [weight(w1[1][0], gw1[1][0]), weight(w1[1][1], gw1[1][1])],
        ],
        [bias(b1[0], gb1[0]), bias(b1[1], gb1[1])],
        [weight(w2[0], gw2[0]), weight(w2[1], gw2[1])],
        bias(b2, gb2),
    );

    let samples = Samples::new(array![[0.05, 0.9], [0.7, -0.3]], array![[0.01], [0.99]]).unwrap();
    let velocities = vec![
        (Array2::from_elem((2, 2), 0.1), Array1::from_elem(2, 0.2)),
        (Array2::from_elem((2, 1), 0.1), Array1::from_elem(1, 0.2)),
    ];
    let hyperparameters = Hyperparameters {
        learning_rate: rate,
        momentum,
        weight_decay: decay,
        batch_size: Some(2),
        gradient: GradientScale::Sum,
        ..Preset::Homework.hyperparameters()
    };
    let before = network(w1, b1, w2, b2);

    let single = |arrays: &(Array2<f64>, Array1<f64>)| (arrays.0.mapv(|x| x as f32), arrays.1.mapv(|x| x as f32));
    let layers: Vec<_> = before.weights().iter().cloned().zip(before.biases().to_vec()).collect();
    let (weights, biases) = layers.iter().map(single).unzip();
    let in_single = Parameters {
        velocities: Some(velocities.iter().map(single).collect()),
        ..Parameters::new(Network::new(architecture.clone(), weights, biases).unwrap())
    };
    let [inputs, targets] = [samples.inputs(), samples.targets()].map(|array| array.mapv(|x| x as f32));
    let samples_in_single = Samples::new(inputs, targets).unwrap();
    let mut engine = CpuEngine::new(&samples_in_single, &in_single, &hyperparameters);
    engine.train(&[0, 1], 0, &mut |_, _| std::ops::ControlFlow::Continue(())).unwrap();
    cases::assert_close(&engine.parameters().unwrap().network, &expected, 2e-7).unwrap();

    let (weights, biases) = velocities.into_iter().unzip();
    let velocities = reference::Gradients { weights, biases, loss: 0.0 };
    let mut state = reference::State { velocities, ..reference::State::new(&before) };
    assert_close(&reference::step(&before, &mut state, &samples, &hyperparameters), &expected, 1e-14);
}

fn assert_close(got: &Network<f64>, expected: &Network<f64>, tolerance: f64) {
    let elements = |network: &Network<f64>| -> Vec<f64> {
        network.weights().iter().flatten().chain(network.biases().iter().flatten()).copied().collect()
    };
    approx::assert_abs_diff_eq!(elements(got)[..], elements(expected)[..], epsilon = tolerance);
}

#[test]
fn part1_each_epoch_has_another_permutation() {
    let hyperparameters = Preset::Homework.hyperparameters();
    let (first, again, second) = (
        order_of_epoch(&hyperparameters, 1000, 0),
        order_of_epoch(&hyperparameters, 1000, 0),
        order_of_epoch(&hyperparameters, 1000, 1),
    );
    assert_eq!(first, again);
    assert_ne!(first, second);
    let mut sorted = second.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..1000).collect::<Vec<u32>>());
    let in_order = Hyperparameters { shuffle: false, ..hyperparameters };
    assert_eq!(order_of_epoch(&in_order, 5, 3), [0, 1, 2, 3, 4]);
}

#[test]
fn part1_presets_have_the_documented_initial_weights() {
    let parameters = initial_parameters(Preset::Homework.architecture().unwrap(), &Preset::Homework.hyperparameters());
    let weights = parameters.network.weights();
    assert_eq!(weights.iter().map(|w| w.dim()).collect::<Vec<_>>(), [(784, 128), (128, 64), (64, 10)]);
    let bound = 1.0 / 784.0_f32.sqrt();
    assert!(weights[0].iter().all(|w| w.abs() <= bound), "Xavier uniform, ±1/√fan_in");
    assert!(weights[0].iter().any(|w| w.abs() > 0.99 * bound));

    let parameters = initial_parameters(Preset::Notebook.architecture().unwrap(), &Preset::Notebook.hyperparameters());
    let weights = &parameters.network.weights()[0];
    let variance = weights.iter().map(|&w| f64::from(w) * f64::from(w)).sum::<f64>() / weights.len() as f64;
    assert!((variance * 784.0 - 1.0).abs() < 0.1, "normal with variance 1/fan_in: {}", variance * 784.0);
    assert!(parameters.network.biases().iter().flatten().all(|&bias| bias == 0.0));
}

/// Stream 0 of a seed draws the weights. Each stream from 1 on draws one epoch's permutation.
#[test]
fn part1_each_epoch_draws_its_permutation_from_its_own_stream() {
    let hyperparameters = Hyperparameters { seed: 5, ..Preset::Homework.hyperparameters() };
    for epoch in [0, 1, 2, 1000] {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        rng.set_stream(epoch as u64 + 1);
        let mut expected: Vec<u32> = (0..100).collect();
        expected.shuffle(&mut rng);
        assert_eq!(order_of_epoch(&hyperparameters, 100, epoch), expected, "epoch {epoch}");
    }
}

/// Stops after a number of steps, and counts the records.
struct StopAfter {
    steps: usize,
    records: usize,
}

impl<E: Engine> Observer<E> for StopAfter {
    type Error = Infallible;

    fn step(&mut self, _epoch: usize, _step: usize, _steps: usize) -> ControlFlow<()> {
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn epoch(&mut self, _record: &EpochRecord, _training: &Training<E>) -> Result<(), Infallible> {
        self.records += 1;
        Ok(())
    }
}

#[test]
fn part1_a_training_run_that_is_stopped_resumes_with_the_next_step() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(9));
    let samples = cases::random_samples(50, 4, 3, &mut rng);
    let architecture = Architecture::new(vec![4, 5, 3], Activation::Tanh, Activation::Sigmoid).unwrap();
    let hyperparameters = Hyperparameters { epochs: 2, ..Preset::Homework.hyperparameters() };
    let parameters = initial_parameters(architecture, &hyperparameters);
    let begin = || {
        let engine = CpuEngine::new(&samples, &parameters, &hyperparameters);
        Training::new(engine, samples.len(), hyperparameters.clone(), Progress::default())
    };
    let run = |training: &mut Training<CpuEngine>, steps| {
        let mut observer = StopAfter { steps, records: 0 };
        let outcome = training.run(&Validation::Training, &mut observer).unwrap();
        (outcome, observer.records, training.progress().epoch, training.progress().step)
    };
    let (mut whole, mut stopped) = (begin(), begin());
    assert_eq!(run(&mut whole, usize::MAX), (Outcome::Finished, 2, 2, 0));
    // Four steps per epoch.
    assert_eq!(run(&mut stopped, 2), (Outcome::Stopped, 0, 0, 2));
    assert_eq!(run(&mut stopped, 3), (Outcome::Stopped, 1, 1, 1));
    assert_eq!(run(&mut stopped, usize::MAX), (Outcome::Finished, 1, 2, 0));
    let [whole, stopped] = [&whole, &stopped].map(|training| {
        let records: Vec<_> = training.progress().history.iter().map(|r| (r.epoch, r.loss, r.accuracy)).collect();
        (training.engine().parameters().unwrap().network, records)
    });
    assert_eq!(stopped, whole);
}
