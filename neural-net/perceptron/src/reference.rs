//! The plain computation of a training step, against which every engine is checked.

use ndarray::{Array1, Array2, Axis};

use crate::training::{GradientScale, Hyperparameters};
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

/// One step on all of `samples` as a batch, by the rule that [`Hyperparameters`] documents. `velocities` holds the last
/// step's changes; before the first step, zeros of the parameters' shapes.
///
/// # Panics
/// If `velocities` does not have the network's shapes.
pub fn step<F: Scalar>(
    network: &Network<F>,
    velocities: &mut Gradients<F>,
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
    let (mut weights, mut biases) = (network.weights().to_vec(), network.biases().to_vec());
    for layer in 0..weights.len() {
        let factor = F::from_f64(hyperparameters.learning_rate_factor(layer));
        let change = (&gradients.weights[layer] * factor + &(&weights[layer] * decay)) * rate;
        velocities.weights[layer] = &velocities.weights[layer] * momentum - change;
        weights[layer] += &velocities.weights[layer];
        velocities.biases[layer] = &velocities.biases[layer] * momentum - &gradients.biases[layer] * (factor * rate);
        biases[layer] += &velocities.biases[layer];
    }
    match Network::new(network.architecture().clone(), weights, biases) {
        Ok(network) => network,
        Err(error) => unreachable!("a step keeps every shape: {error}"),
    }
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
