//! A simple implementation of a training step in f64. Every engine is checked against it. It calls
//! the homework's functions in `utils`, so a mistake in one of them shows here.

use ndarray::{Array, Array1, Array2, ArrayView2, Axis, Dimension};

use crate::network::SIZES;
use crate::training::{EPSILON, GradientScale, Hyperparameters, Optimizer, SQUARES_DECAY};
use crate::{Activation, Loss, Network, Samples};

/// The derivatives of a batch's loss: one matrix and one vector for each layer with weights.
#[derive(Clone, Debug)]
pub struct Gradients {
    /// ∂loss/∂W, of shape (inputs, outputs).
    pub weights: Vec<Array2<f64>>,
    /// ∂loss/∂b.
    pub biases: Vec<Array1<f64>>,
    /// The batch's loss.
    pub loss: f64,
}

/// The reason why adding gradients cannot fail.
const SHAPES: &str = "the gradients of one network have the same shapes";
/// Number of samples in a block. The gradients of a block are computed at once.
const BLOCK: usize = 64;

/// The weighted sums and the activations of each layer with weights, for all samples; both are *N* × units.
pub fn forward(network: &Network<f64>, inputs: ArrayView2<f64>) -> Vec<(Array2<f64>, Array2<f64>)> {
    let mut layers: Vec<(Array2<f64>, Array2<f64>)> = vec![];
    for (layer, (weights, biases)) in network.weights().iter().zip(network.biases()).enumerate() {
        let before = layers.last().map_or(inputs, |(_sums, activations)| activations.view());
        // The product of column-major matrices is also column-major.
        let sums = (before.dot(weights) + biases).as_standard_layout().into_owned();
        let activations = match network.architecture().activation(layer) {
            Activation::Sigmoid => utils::sigmoid(&sums),
            activation => {
                let mut activations = sums.clone();
                for mut row in activations.outer_iter_mut() {
                    activation.apply(row.as_slice_mut().expect("the standard layout is row by row"));
                }
                activations
            }
        };
        layers.push((sums, activations));
    }
    layers
}

/// The gradients of the summed loss over all samples, block by block.
pub fn gradients(network: &Network<f64>, samples: &Samples<f64>, loss: Loss) -> Gradients {
    let mut total = Gradients::zeros(network);
    let blocks = utils::create_batches(samples.inputs(), samples.targets(), BLOCK).expect("each sample has a target");
    for (inputs, targets) in blocks {
        let block = backpropagated(network, inputs, targets, loss);
        total.weights = utils::add_elementwise(&total.weights, &block.weights).expect(SHAPES);
        total.biases = utils::add_elementwise(&total.biases, &block.biases).expect(SHAPES);
        total.loss += block.loss;
    }
    total
}

/// Backpropagation. The output layer has the deltas δ = ∂loss/∂z, the other layers δ = (δ_next ·
/// W_nextᵀ) ⊙ da/dz. Then ∂loss/∂W = xᵀ·δ and ∂loss/∂b = Σ δ (Rumelhart, Hinton and Williams,
/// "Learning representations by back-propagating errors", 1986).
fn backpropagated(network: &Network<f64>, inputs: ArrayView2<f64>, targets: ArrayView2<f64>, loss: Loss) -> Gradients {
    let architecture = network.architecture();
    let layers = forward(network, inputs);
    let (_sums, outputs) = &layers[architecture.layers() - 1];

    let mut errors = Array2::zeros(outputs.dim());
    let mut total_loss = 0.0;
    for ((mut error, output), target) in errors.outer_iter_mut().zip(outputs.outer_iter()).zip(targets.outer_iter()) {
        let (output, target) = (output.to_vec(), target.to_vec());
        total_loss += loss.of_sample(architecture.output_activation(), &output, &target);
        let error = error.as_slice_mut().expect("a new array is stored row by row");
        loss.output_error(architecture.output_activation(), &output, &target, error);
    }

    // report: begin gradients
    let mut gradients = Gradients { weights: vec![], biases: vec![], loss: total_loss };
    for layer in (0..architecture.layers()).rev() {
        let before = if layer == 0 { inputs } else { layers[layer - 1].1.view() };
        gradients.weights.insert(0, before.t().dot(&errors));
        gradients.biases.insert(0, errors.sum_axis(Axis(0)));
        if layer > 0 {
            let (sums, activations) = &layers[layer - 1];
            let derivatives = match architecture.activation(layer - 1) {
                Activation::Sigmoid => utils::sigmoid_prime(sums),
                activation => activations.mapv(|a| activation.derivative(a)),
            };
            errors = errors.dot(&network.weights()[layer].t()) * derivatives;
        }
    }
    // report: end gradients
    gradients
}

/// The state of the optimizer.
#[derive(Clone, Debug)]
pub struct State {
    /// With momentum, the last changes of the parameters; with Adam, the mean gradients m.
    pub velocities: Gradients,
    /// With Adam, the mean squared gradients v.
    pub squares: Gradients,
    /// Number of completed steps.
    pub steps: usize,
}

impl State {
    /// The state before the first step on a network.
    pub fn new(network: &Network<f64>) -> Self {
        Self { velocities: Gradients::zeros(network), squares: Gradients::zeros(network), steps: 0 }
    }
}

/// Takes one step with all of `samples` as the batch, by the rule that [`Hyperparameters`] documents.
///
/// # Panics
/// If `state` does not have the network's shapes.
pub fn step(
    network: &Network<f64>,
    state: &mut State,
    samples: &Samples<f64>,
    hyperparameters: &Hyperparameters,
) -> Network<f64> {
    let mut gradients = gradients(network, samples, hyperparameters.loss);
    if hyperparameters.gradient == GradientScale::Mean {
        let count = samples.len() as f64;
        gradients.weights.iter_mut().for_each(|gradient| *gradient /= count);
        gradients.biases.iter_mut().for_each(|gradient| *gradient /= count);
    }
    let Hyperparameters { learning_rate: rate, momentum, weight_decay: decay, .. } = *hyperparameters;
    let State { velocities, squares, steps } = state;
    *steps += 1;
    let (mut weights, mut biases) = (network.weights().to_vec(), network.biases().to_vec());
    for layer in 0..weights.len() {
        let factor = hyperparameters.learning_rate_factor(layer);
        match hyperparameters.optimizer {
            Optimizer::Sgd => {
                let change = (&gradients.weights[layer] * factor + &(&weights[layer] * decay)) * rate;
                velocities.weights[layer] = &velocities.weights[layer] * momentum - change;
                weights[layer] += &velocities.weights[layer];
                let change = &gradients.biases[layer] * (factor * rate);
                velocities.biases[layer] = &velocities.biases[layer] * momentum - change;
                biases[layer] += &velocities.biases[layer];
            }
            Optimizer::Adam => {
                let (t, scale) = (*steps, factor.sqrt());
                let moments = (&mut velocities.weights[layer], &mut squares.weights[layer]);
                let change = adam_change(&gradients.weights[layer], moments, t, hyperparameters, scale);
                let change = change + &weights[layer] * (rate * decay);
                weights[layer] -= &change;
                let moments = (&mut velocities.biases[layer], &mut squares.biases[layer]);
                biases[layer] -= &adam_change(&gradients.biases[layer], moments, t, hyperparameters, scale);
            }
        }
    }
    Network::new(network.architecture().clone(), weights, biases).expect("a step keeps every shape")
}

/// The change of parameters in step `t` of Adam, counted from 1, without decay. `scale` is the
/// square root of the layer's factor.
fn adam_change<D: Dimension>(
    gradients: &Array<f64, D>,
    (m, v): (&mut Array<f64, D>, &mut Array<f64, D>),
    t: usize,
    hyperparameters: &Hyperparameters,
    scale: f64,
) -> Array<f64, D> {
    let Hyperparameters { momentum, learning_rate, .. } = *hyperparameters;
    let gradients = gradients * scale;
    *m = &*m * momentum + &gradients * (1.0 - momentum);
    *v = &*v * SQUARES_DECAY + &gradients * &gradients * (1.0 - SQUARES_DECAY);
    let corrections = [momentum, SQUARES_DECAY].map(|beta| 1.0 - beta.powf(t as f64));
    let (m_corrected, v_corrected) = (&*m / corrections[0], &*v / corrections[1]);
    m_corrected / (v_corrected.mapv(f64::sqrt) + EPSILON) * (learning_rate * scale)
}

impl Gradients {
    /// Zeros in the network's shapes.
    pub fn zeros(network: &Network<f64>) -> Self {
        Self {
            weights: utils::zeros_weights(network.architecture().sizes()).expect(SIZES),
            biases: utils::zeros_biases(network.architecture().sizes()).expect(SIZES),
            loss: 0.0,
        }
    }
}
