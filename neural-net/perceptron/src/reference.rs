//! The plain computation of a training step, against which every engine is checked.

use ndarray::{Array, Array1, Array2, Axis, Dimension};

use crate::training::{EPSILON, GradientScale, Hyperparameters, Optimizer, SQUARES_DECAY};
use crate::{Network, Samples, Scalar};

/// The derivatives of a batch's loss: one matrix and one vector for each layer with weights.
#[derive(Clone, Debug)]
pub struct Gradients<F> {
    /// ∂loss/∂W, of shape (inputs, outputs).
    pub weights: Vec<Array2<F>>,
    /// ∂loss/∂b.
    pub biases: Vec<Array1<F>>,
    /// The batch's loss.
    pub loss: f64,
}

/// The activations of every layer for all samples, inputs first; each is *N* × units.
pub fn forward<F: Scalar>(network: &Network<F>, inputs: &Array2<F>) -> Vec<Array2<F>> {
    let mut activations = vec![inputs.clone()];
    for (layer, (weights, biases)) in network.weights().iter().zip(network.biases()).enumerate() {
        let sums = activations[layer].dot(weights) + biases;
        // The product of column-major matrices is column-major, too.
        let mut sums = sums.as_standard_layout().into_owned();
        for mut row in sums.outer_iter_mut() {
            network
                .architecture()
                .activation(layer)
                .apply(row.as_slice_mut().expect("the standard layout is row by row"));
        }
        activations.push(sums);
    }
    activations
}

/// The gradients of the summed loss over all samples, by backpropagation: for the output layer δ = ∂loss/∂z, for the
/// others δ = (δ_next · W_nextᵀ) ⊙ da/dz; then ∂loss/∂W = xᵀ·δ and ∂loss/∂b = Σ δ (Rumelhart, Hinton and Williams,
/// "Learning representations by back-propagating errors", 1986).
pub fn gradients<F: Scalar>(network: &Network<F>, samples: &Samples<F>, loss: crate::Loss) -> Gradients<F> {
    let architecture = network.architecture();
    let activations = forward(network, samples.inputs());
    let outputs = &activations[architecture.layers()];

    let mut errors = Array2::zeros(outputs.dim());
    let mut total_loss = 0.0;
    for (index, mut error) in errors.outer_iter_mut().enumerate() {
        let (output, target) = (outputs.row(index).to_vec(), samples.target(index));
        total_loss += loss.of(architecture.output_activation(), &output, target);
        let error = error.as_slice_mut().expect("a new array is stored row by row");
        loss.output_error(architecture.output_activation(), &output, target, error);
    }

    // report: begin gradients
    let mut gradients = Gradients { weights: vec![], biases: vec![], loss: total_loss };
    for layer in (0..architecture.layers()).rev() {
        gradients.weights.insert(0, activations[layer].t().dot(&errors));
        gradients.biases.insert(0, errors.sum_axis(Axis(0)));
        if layer > 0 {
            let activation = architecture.activation(layer - 1);
            errors = errors.dot(&network.weights()[layer].t()) * activations[layer].mapv(|a| activation.derivative(a));
        }
    }
    // report: end gradients
    gradients
}

/// The state of the optimizer.
#[derive(Clone, Debug)]
pub struct State<F> {
    /// The last changes of the parameters; with Adam, their mean gradients m.
    pub velocities: Gradients<F>,
    /// With Adam, the mean squared gradients v.
    pub squares: Gradients<F>,
    /// Number of steps done.
    pub steps: usize,
}

impl<F: Scalar> State<F> {
    /// The state before the first step on a network.
    pub fn new(network: &Network<F>) -> Self {
        Self { velocities: Gradients::zeros(network), squares: Gradients::zeros(network), steps: 0 }
    }
}

/// One step on all of `samples` as a batch, by the rule that [`Hyperparameters`] documents.
///
/// # Panics
/// If `state` does not have the network's shapes.
pub fn step<F: Scalar>(
    network: &Network<F>,
    state: &mut State<F>,
    samples: &Samples<F>,
    hyperparameters: &Hyperparameters,
) -> Network<F> {
    let mut gradients = gradients(network, samples, hyperparameters.loss);
    if hyperparameters.gradient == GradientScale::Mean {
        let count = F::from_f64(samples.len() as f64);
        gradients.weights.iter_mut().for_each(|gradient| *gradient /= count);
        gradients.biases.iter_mut().for_each(|gradient| *gradient /= count);
    }
    let rate = F::from_f64(hyperparameters.learning_rate);
    let momentum = F::from_f64(hyperparameters.momentum);
    let decay = F::from_f64(hyperparameters.weight_decay);
    let State { velocities, squares, steps } = state;
    *steps += 1;
    let (mut weights, mut biases) = (network.weights().to_vec(), network.biases().to_vec());
    for layer in 0..weights.len() {
        let factor = F::from_f64(hyperparameters.learning_rate_factor(layer));
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
    match Network::new(network.architecture().clone(), weights, biases) {
        Ok(network) => network,
        Err(error) => unreachable!("a step keeps every shape: {error}"),
    }
}

/// The change of parameters by step `t` of Adam, counted from 1, without decay; `scale` is the root of the layer's
/// factor.
fn adam_change<F: Scalar, D: Dimension>(
    gradients: &Array<F, D>,
    (m, v): (&mut Array<F, D>, &mut Array<F, D>),
    t: usize,
    hyperparameters: &Hyperparameters,
    scale: F,
) -> Array<F, D> {
    let Hyperparameters { momentum, learning_rate, .. } = *hyperparameters;
    let [beta_1, beta_2] = [momentum, SQUARES_DECAY].map(F::from_f64);
    let [new_1, new_2] = [1.0 - momentum, 1.0 - SQUARES_DECAY].map(F::from_f64);
    let [rate, epsilon] = [learning_rate, EPSILON].map(F::from_f64);
    let gradients = gradients * scale;
    *m = &*m * beta_1 + &gradients * new_1;
    *v = &*v * beta_2 + &gradients * &gradients * new_2;
    let corrections = [momentum, SQUARES_DECAY].map(|beta| F::from_f64(1.0 - beta.powf(t as f64)));
    let (m_corrected, v_corrected) = (&*m / corrections[0], &*v / corrections[1]);
    m_corrected / (v_corrected.mapv(F::sqrt) + epsilon) * (rate * scale)
}

impl<F: Scalar> Gradients<F> {
    /// Zeros of the network's shapes.
    pub fn zeros(network: &Network<F>) -> Self {
        Self {
            weights: network.weights().iter().map(|weights| Array2::zeros(weights.dim())).collect(),
            biases: network.biases().iter().map(|biases| Array1::zeros(biases.dim())).collect(),
            loss: 0.0,
        }
    }
}
