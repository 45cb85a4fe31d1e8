//! Folding: training the folded tanh network is equivalent, up to rounding, to training the sigmoid
//! network.

use std::ops::ControlFlow;

use ndarray::{Array1, Array2, Axis};
use neural_net::engine::{CpuEngine, Engine, Parameters};
use neural_net::preset::Preset;
use neural_net::training::GradientScale;
use neural_net::{Activation, Hyperparameters, Loss, Network, Samples};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use regression_studio::settings::{HiddenActivation, NetworkSettings};
use regression_studio::sigmoid::Neuron;

/// The naive oracle: the sigmoid network in double precision, with the update rule written out.
struct Naive {
    weights: Vec<Array2<f64>>,
    biases: Vec<Array1<f64>>,
    changes: Vec<(Array2<f64>, Array1<f64>)>,
    gain: f64,
    threshold: f64,
}

impl Naive {
    fn sigmoid(&self, z: f64) -> f64 {
        2.0 / (1.0 + (-self.gain * (z - self.threshold)).exp()) - 1.0
    }

    /// Activations of every layer, inputs first.
    fn forward(&self, inputs: &Array2<f64>) -> Vec<Array2<f64>> {
        let mut activations = vec![inputs.clone()];
        for layer in 0..self.weights.len() {
            let sums = activations[layer].dot(&self.weights[layer]) + &self.biases[layer];
            let is_output = layer + 1 == self.weights.len();
            activations.push(if is_output { sums } else { sums.mapv(|z| self.sigmoid(z)) });
        }
        activations
    }

    /// Half the squared error, averaged over the batch.
    fn loss(&self, inputs: &Array2<f64>, targets: &Array2<f64>) -> f64 {
        let outputs = self.forward(inputs).pop().unwrap();
        (&outputs - targets).mapv(|e| e * e).sum() / 2.0 / inputs.nrows() as f64
    }

    /// Δw(t+1) = −η ∂E/∂w + α Δw(t) − η λ w, where f′ = g/2 · (1 − f²).
    fn step(&mut self, inputs: &Array2<f64>, targets: &Array2<f64>, [rate, momentum, decay]: [f64; 3]) {
        let activations = self.forward(inputs);
        let mut errors = (&activations[self.weights.len()] - targets) / inputs.nrows() as f64;
        for layer in (0..self.weights.len()).rev() {
            let (weights, biases) = (activations[layer].t().dot(&errors), errors.sum_axis(Axis(0)));
            let below = errors.dot(&self.weights[layer].t());
            let slope = activations[layer].mapv(|f| self.gain / 2.0 * (1.0 - f * f));
            let (last, last_biases) = &self.changes[layer];
            let change = &weights * -rate + last * momentum - &self.weights[layer] * (rate * decay);
            let change_of_biases = &biases * -rate + last_biases * momentum;
            self.weights[layer] += &change;
            self.biases[layer] += &change_of_biases;
            self.changes[layer] = (change, change_of_biases);
            errors = below * slope;
        }
    }
}

fn neuron(gain: f64, threshold: f64) -> Neuron {
    let settings =
        NetworkSettings { activation: HiddenActivation::Sigmoid, gain, threshold, ..NetworkSettings::default() };
    Neuron::of(&settings)
}

fn network(neuron: &Neuron, rng: &mut ChaCha8Rng) -> Network {
    let architecture = neuron.architecture(4, &[6, 5]).unwrap();
    let sizes = architecture.sizes().to_vec();
    let mut number = || rng.random_range(-0.7_f32..0.7);
    let weights = sizes.windows(2).map(|pair| Array2::from_shape_simple_fn((pair[0], pair[1]), &mut number)).collect();
    let biases = sizes[1..].iter().map(|&units| Array1::from_shape_simple_fn(units, &mut number)).collect();
    Network::new(architecture, weights, biases).unwrap()
}

fn naive(network: &Network, neuron: &Neuron) -> Naive {
    let weights: Vec<Array2<f64>> = network.weights().iter().map(|w| w.mapv(f64::from)).collect();
    let biases: Vec<Array1<f64>> = network.biases().iter().map(|b| b.mapv(f64::from)).collect();
    let changes = weights.iter().zip(&biases).map(|(w, b)| (Array2::zeros(w.dim()), Array1::zeros(b.dim()))).collect();
    Naive { weights, biases, changes, gain: neuron.gain, threshold: neuron.threshold }
}

const CASES: [(f64, f64); 6] = [(2.0, 0.0), (1.0, 0.0), (0.5, 0.3), (3.0, -0.4), (7.5, 0.1), (0.05, 2.0)];

#[test]
fn the_folded_network_predicts_as_the_sigmoid_network() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    for (gain, threshold) in CASES {
        let neuron = neuron(gain, threshold);
        let network = network(&neuron, &mut rng);
        let folded = neuron.fold(&network);
        assert_eq!(folded.architecture().hidden_activation(), Activation::Tanh);
        let naive = naive(&network, &neuron);
        let inputs = Array2::from_shape_simple_fn((40, 4), || rng.random_range(-2.0..2.0_f32));
        let expected = naive.forward(&inputs.mapv(f64::from)).pop().unwrap();
        for (row, expected) in inputs.outer_iter().zip(&expected) {
            let got = f64::from(folded.predict(&row.to_vec())[0]);
            assert!((got - expected).abs() < 2e-6, "gain {gain}, threshold {threshold}: {got} not {expected}");
        }
        let unfolded = neuron.unfold(&folded);
        let pairs = unfolded.weights().iter().flatten().zip(network.weights().iter().flatten());
        for (got, expected) in pairs.chain(unfolded.biases().iter().flatten().zip(network.biases().iter().flatten())) {
            assert!((got - expected).abs() <= 2e-6 * (1.0 + threshold.abs() as f32), "{got} not {expected}");
        }
    }
}

#[test]
fn the_naive_step_is_the_derivative_of_the_loss() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(2));
    for (gain, threshold) in CASES {
        let neuron = neuron(gain, threshold);
        let network = network(&neuron, &mut rng);
        let inputs = Array2::from_shape_simple_fn((9, 4), || rng.random_range(-2.0..2.0));
        let targets = Array2::from_shape_simple_fn((9, 1), || rng.random_range(-2.0..2.0));
        let mut stepped = naive(&network, &neuron);
        stepped.step(&inputs, &targets, [1.0, 0.0, 0.0]);
        for layer in 0..3 {
            let (rows, columns) = stepped.weights[layer].dim();
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                let loss = |by: f64| {
                    let mut moved = naive(&network, &neuron);
                    moved.weights[layer][[row, column]] += by;
                    moved.loss(&inputs, &targets)
                };
                let derivative = (loss(1e-6) - loss(-1e-6)) / 2e-6;
                let change = stepped.changes[layer].0[[row, column]];
                assert!((change + derivative).abs() < 1e-7 * (1.0 + derivative.abs()), "{change} {derivative}");
            }
        }
    }
}

#[test]
fn training_the_folded_network_trains_the_sigmoid_network() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(3));
    for (gain, threshold) in CASES {
        let (neuron, rule) = (neuron(gain, threshold), [0.05, 0.9, 0.01]);
        let network = network(&neuron, &mut rng);
        let inputs = Array2::from_shape_simple_fn((48, 4), || rng.random_range(-2.0..2.0_f32));
        let targets = inputs.map_axis(Axis(1), |x| (x[0] * x[1]).sin() + x[2]).insert_axis(Axis(1));
        let samples = Samples::new(inputs.clone(), targets.clone()).unwrap();
        let hyperparameters = Hyperparameters {
            loss: Loss::SquaredError,
            learning_rate: rule[0],
            learning_rate_factors: neuron.learning_rate_factors(3),
            momentum: rule[1],
            weight_decay: rule[2],
            batch_size: Some(8),
            gradient: GradientScale::Mean,
            ..Preset::Homework.hyperparameters()
        };
        let parameters = Parameters::new(neuron.fold(&network));
        let mut engine = CpuEngine::new(&samples, &parameters, &hyperparameters);
        let order: Vec<u32> = (0..48).collect();
        let mut naive = naive(&network, &neuron);
        for _ in 0..5 {
            engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(())).unwrap();
            for batch in 0..6 {
                let rows: Vec<usize> = (8 * batch..8 * batch + 8).collect();
                let batch = |array: &Array2<f32>| array.select(Axis(0), &rows).mapv(f64::from);
                naive.step(&batch(&inputs), &batch(&targets), rule);
            }
        }
        let trained = neuron.unfold(&engine.parameters().unwrap().network);
        let weights = trained.weights().iter().flatten().zip(naive.weights.iter().flatten());
        for (&got, expected) in weights.chain(trained.biases().iter().flatten().zip(naive.biases.iter().flatten())) {
            let error = (f64::from(got) - expected).abs();
            assert!(error < 2e-4 * expected.abs().max(1.0), "gain {gain}, threshold {threshold}: {got} not {expected}");
        }
    }
}
