//! Random networks, samples and hyperparameters, and training by the reference.

use ndarray::{Array2, Axis};
use neural_net::engine::{LayerArrays, Parameters};
use neural_net::preset::Preset;
use neural_net::reference::{self, Gradients, State};
use neural_net::training::{GradientScale, Optimizer};
use neural_net::{Activation, Architecture, Hyperparameters, Loss, Network, Samples, Scalar};
use proptest::prelude::*;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

/// Random samples: inputs of which 80 % are zero, as in images, or 10 %, and one-hot targets.
pub(crate) fn random_samples<F: Scalar>(
    count: usize,
    inputs: usize,
    outputs: usize,
    rng: &mut ChaCha8Rng,
) -> Samples<F> {
    let zeros = if rng.random() { 0.8 } else { 0.1 };
    let pixel = || match rng.random_bool(zeros) {
        true => F::zero(),
        false => F::from_f64(rng.random_range(-1.0..1.0)),
    };
    let inputs = Array2::from_shape_simple_fn((count, inputs), pixel);
    let mut targets = Array2::zeros((count, outputs));
    targets.outer_iter_mut().for_each(|mut target| target[rng.random_range(0..outputs)] = F::one());
    Samples::new(inputs, targets).unwrap()
}

/// Trains by the reference; returns the network and the summed loss.
pub(crate) fn train_by_reference<F: Scalar>(
    samples: &Samples<F>,
    network: &Network<F>,
    hyperparameters: &Hyperparameters,
    order: &[u32],
) -> (Network<F>, f64) {
    train_by_reference_observed(samples, &Parameters::new(network.clone()), hyperparameters, order, |_, _| ())
}

/// [`train_by_reference`] that calls `before_step` with the network and the batch before each step.
pub(crate) fn train_by_reference_observed<F: Scalar>(
    samples: &Samples<F>,
    parameters: &Parameters<F>,
    hyperparameters: &Hyperparameters,
    order: &[u32],
    mut before_step: impl FnMut(&Network<F>, &Samples<F>),
) -> (Network<F>, f64) {
    let (mut network, mut state, mut loss) = (parameters.network.clone(), state_of(parameters), 0.0);
    for batch in order.chunks(hyperparameters.batch_size.unwrap_or(order.len())) {
        let rows: Vec<usize> = batch.iter().map(|&index| index as usize).collect();
        let (inputs, targets) = (samples.inputs().select(Axis(0), &rows), samples.targets().select(Axis(0), &rows));
        let batch = Samples::new(inputs, targets).unwrap();
        before_step(&network, &batch);
        loss += reference::gradients(&network, &batch, hyperparameters.loss).loss;
        network = reference::step(&network, &mut state, &batch, hyperparameters);
    }
    (network, loss)
}

/// The state of the optimizer before the first step.
fn state_of<F: Scalar>(parameters: &Parameters<F>) -> State<F> {
    let gradients = |of_layers: &Option<LayerArrays<F>>| match of_layers {
        Some(layers) => {
            let (weights, biases) = layers.iter().cloned().unzip();
            Gradients { weights, biases, loss: 0.0 }
        }
        None => Gradients::zeros(&parameters.network),
    };
    State { velocities: gradients(&parameters.velocities), squares: gradients(&parameters.squares), steps: 0 }
}

/// Parameters to start from. With Adam, the mean squared gradients start at 0.01: from 0, a gradient that only rounding
/// distinguishes from 0 would move its weight as far as any other.
pub(crate) fn start<F: Scalar>(network: Network<F>, hyperparameters: &Hyperparameters) -> Parameters<F> {
    let is_adam = hyperparameters.optimizer == Optimizer::Adam;
    let square = F::from_f64(0.01);
    let layers = network.weights().iter().zip(network.biases());
    let squares = layers.map(|(weights, biases)| (weights.mapv(|_| square), biases.mapv(|_| square))).collect();
    Parameters { squares: is_adam.then_some(squares), ..Parameters::new(network) }
}

pub(crate) fn assert_close<F: Scalar>(
    got: &Network<F>,
    expected: &Network<F>,
    tolerance: f64,
) -> Result<(), TestCaseError> {
    let pairs = got.weights().iter().flatten().zip(expected.weights().iter().flatten());
    for (&got, &expected) in pairs.chain(got.biases().iter().flatten().zip(expected.biases().iter().flatten())) {
        let (got, expected) = (got.into_f64(), expected.into_f64());
        prop_assert!((got - expected).abs() <= tolerance * expected.abs().max(1.0), "{} instead of {}", got, expected);
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
