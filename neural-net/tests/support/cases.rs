//! Random networks, samples and hyperparameters, and training by the reference.

use ndarray::{Array2, ArrayView1, Axis};
use neural_net::engine::{LayerArrays, Parameters};
use neural_net::preset::Preset;
use neural_net::reference::{self, Gradients, State};
use neural_net::training::{GradientScale, Optimizer};
use neural_net::{Activation, Architecture, Hyperparameters, Loss, Network, Samples};
use proptest::prelude::*;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

/// Largest error of a weight and of the loss, relative to the value or to 1. In each of up to 200
/// steps, the decay factor and the weight are rounded by half a unit in the last place, possibly in
/// the same direction each time.
pub(crate) const TOLERANCE: f64 = 200.0 * f32::EPSILON as f64;

/// Random samples with one-hot targets. 80 % of the inputs are zero, as in images, or 10 %.
pub(crate) fn random_samples(count: usize, inputs: usize, outputs: usize, rng: &mut ChaCha8Rng) -> Samples {
    let zeros = if rng.random() { 0.8 } else { 0.1 };
    let pixel = || match rng.random_bool(zeros) {
        true => 0.0,
        // Images, as required by the kernel for a cluster.
        false if inputs == 784 => f32::from(rng.random::<u8>()) / 255.0,
        false => rng.random_range(-1.0..1.0),
    };
    let inputs = Array2::from_shape_simple_fn((count, inputs), pixel);
    let mut targets = Array2::zeros((count, outputs));
    targets.outer_iter_mut().for_each(|mut target| target[rng.random_range(0..outputs)] = 1.0);
    Samples::new(inputs, targets).unwrap()
}

/// The same values in double precision.
pub(crate) fn network_in_f64(network: &Network) -> Network<f64> {
    let weights = network.weights().iter().map(|weights| weights.mapv(f64::from)).collect();
    let biases = network.biases().iter().map(|biases| biases.mapv(f64::from)).collect();
    Network::new(network.architecture().clone(), weights, biases).unwrap()
}

/// The same values in double precision.
pub(crate) fn samples_in_f64(samples: &Samples) -> Samples<f64> {
    Samples::new(samples.inputs().mapv(f64::from), samples.targets().mapv(f64::from)).unwrap()
}

/// The result of training in double precision with the reference.
pub(crate) struct ByReference {
    pub(crate) network: Network<f64>,
    /// The summed loss.
    pub(crate) loss: f64,
    /// Whether rounding in single precision may decide the sign of a ReLU's weighted sum, where the
    /// derivative jumps.
    pub(crate) is_at_a_kink: bool,
}

pub(crate) fn train_by_reference(
    samples: &Samples,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
    order: &[u32],
) -> ByReference {
    let (samples, mut state) = (samples_in_f64(samples), state_of(parameters));
    let (mut network, mut loss, mut is_at_a_kink) = (network_in_f64(&parameters.network), 0.0, false);
    for batch in order.chunks(hyperparameters.batch_size.unwrap_or(order.len())) {
        let rows: Vec<usize> = batch.iter().map(|&index| index as usize).collect();
        let (inputs, targets) = (samples.inputs().select(Axis(0), &rows), samples.targets().select(Axis(0), &rows));
        let batch = Samples::new(inputs, targets).unwrap();
        is_at_a_kink |= is_at_a_kink_of_relu(&network, &batch);
        loss += reference::gradients(&network, &batch, hyperparameters.loss).loss;
        network = reference::step(&network, &mut state, &batch, hyperparameters);
    }
    ByReference { network, loss, is_at_a_kink }
}

/// Whether a weighted sum of ReLU is less than 10⁻⁶ of the sum of its terms' absolute values. That
/// is more than ten times the rounding error of these sums.
fn is_at_a_kink_of_relu(network: &Network<f64>, samples: &Samples<f64>) -> bool {
    let layers = reference::forward(network, samples.inputs().view());
    network.weights().iter().zip(network.biases()).enumerate().any(|(layer, (weights, biases))| {
        let inputs = if layer == 0 { samples.inputs() } else { &layers[layer - 1].1 };
        let absolute_values = inputs.mapv(f64::abs).dot(&weights.mapv(f64::abs)) + biases.mapv(f64::abs);
        let is_near = |(sum, terms): (&f64, &f64)| *sum != 0.0 && sum.abs() < 1e-6 * terms;
        let sums = layers[layer].0.iter();
        network.architecture().activation(layer) == Activation::Relu && sums.zip(&absolute_values).any(is_near)
    })
}

/// Number of samples with two outputs so close that rounding in single precision may decide the
/// predicted class. Classes that training has treated alike have equal outputs for an input of
/// zeros. Outputs of ReLU or of a saturated sigmoid may also be equal.
fn undecided_samples(network: &Network, samples: &Samples) -> usize {
    let layers = reference::forward(&network_in_f64(network), samples_in_f64(samples).inputs().view());
    let is_undecided = |outputs: ArrayView1<f64>| {
        let mut sorted = outputs.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        sorted.len() > 1 && sorted[0] - sorted[1] <= 2e-6 * sorted[0].abs().max(1.0)
    };
    layers.last().unwrap().1.outer_iter().filter(|&outputs| is_undecided(outputs)).count()
}

/// Checks the number of correctly predicted samples, except those that rounding decides.
pub(crate) fn assert_as_many_correct(
    got: usize,
    expected: usize,
    network: &Network,
    samples: &Samples,
) -> Result<(), TestCaseError> {
    let undecided = undecided_samples(network, samples);
    prop_assert!(
        got.abs_diff(expected) <= undecided,
        "{} samples are right, not {}, of which {} are undecided",
        got,
        expected,
        undecided
    );
    Ok(())
}

/// The optimizer's state before the first step.
fn state_of(parameters: &Parameters) -> State {
    let network = network_in_f64(&parameters.network);
    let gradients = |of_layers: &Option<LayerArrays>| match of_layers {
        Some(layers) => {
            let wide = layers.iter().map(|(weights, biases)| (weights.mapv(f64::from), biases.mapv(f64::from)));
            let (weights, biases) = wide.unzip();
            Gradients { weights, biases, loss: 0.0 }
        }
        None => Gradients::zeros(&network),
    };
    State { velocities: gradients(&parameters.velocities), squares: gradients(&parameters.squares), steps: 0 }
}

/// Initial parameters. With Adam, the mean squared gradients start at 0.01. From 0, a gradient that
/// differs from 0 only by rounding would move its weight as far as any other.
pub(crate) fn start(network: Network, hyperparameters: &Hyperparameters) -> Parameters {
    let is_adam = hyperparameters.optimizer == Optimizer::Adam;
    let layers = network.weights().iter().zip(network.biases());
    let squares = layers.map(|(weights, biases)| (weights.mapv(|_| 0.01), biases.mapv(|_| 0.01))).collect();
    Parameters { squares: is_adam.then_some(squares), ..Parameters::new(network) }
}

pub(crate) fn assert_close(got: &Network, expected: &Network<f64>, tolerance: f64) -> Result<(), TestCaseError> {
    let pairs = got.weights().iter().flatten().zip(expected.weights().iter().flatten());
    for (&got, &expected) in pairs.chain(got.biases().iter().flatten().zip(expected.biases().iter().flatten())) {
        let error = (f64::from(got) - expected).abs();
        prop_assert!(error <= tolerance * expected.abs().max(1.0), "{} instead of {}", got, expected);
    }
    Ok(())
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) architecture: Architecture,
    pub(crate) hyperparameters: Hyperparameters,
    pub(crate) count: usize,
    pub(crate) seed: u64,
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    use Activation::{Identity, Relu, Sigmoid, Softmax, Tanh};
    let sizes = prop::collection::vec(1_usize..40, 2..5);
    let hidden = prop::sample::select(vec![Sigmoid, Relu, Tanh, Identity]);
    let output = prop::sample::select(vec![Sigmoid, Relu, Tanh, Identity, Softmax]);
    let batch_size = prop::option::of(prop::sample::select(vec![1_usize, 2, 3, 7, 16, 63, 64, 65, 130]));
    let optimizer = prop::sample::select(vec![Optimizer::Sgd, Optimizer::Sgd, Optimizer::Adam]);
    let (momentum, weight_decay) = (prop::sample::select(vec![0.0, 0.9]), prop::sample::select(vec![0.0, 0.01]));
    let rule = (prop::bool::ANY, prop::bool::ANY, optimizer, momentum, weight_decay);
    (sizes, hidden, output, batch_size, rule, 1_usize..200, any::<u64>()).prop_map(
        |(sizes, hidden, output, batch_size, (cross_entropy, mean, optimizer, momentum, weight_decay), count, seed)| {
            let loss = match cross_entropy && Loss::CrossEntropy.is_defined_for(output) {
                true => Loss::CrossEntropy,
                false => Loss::SquaredError,
            };
            let hyperparameters = Hyperparameters {
                loss,
                optimizer,
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
