//! Detects networks that assign all samples to one class, and whether a saturated layer is the reason.

use ndarray::Array2;

use crate::network::argmax;
use crate::{Activation, Loss, Network, Samples};

/// Minimum fraction of samples assigned to one class.
const MIN_SHARE: f64 = 0.99;
/// Maximum fraction of samples that have that class as target. With more, the network may well be right.
const MAX_TARGET_SHARE: f64 = 0.9;
/// Maximum mean derivative of a saturated layer, as a fraction of the activation's maximum
/// derivative. Its inputs then learn a thousand times slower. Measured on MNIST: in homework
/// networks that predicted one class after too large steps, it was less than 1e-4 in the outputs.
/// In networks that predicted one class because they had only begun to learn, it was at least 0.2
/// in each layer.
const MAX_SATURATED_DERIVATIVE: f64 = 0.001;

/// The finding that a network assigns nearly all samples to one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneClass {
    /// The class.
    pub class: usize,
    /// Number of samples assigned to it.
    pub assigned: usize,
    /// Number of all samples.
    pub count: usize,
    /// The first saturated layer with weights, counted from 1. The derivatives of its units are
    /// nearly 0, so further steps hardly change the network. `None` if the network may still learn.
    pub saturated_layer: Option<usize>,
}

impl OneClass {
    /// Examines a network trained with `loss`. `None` if it assigns the samples to several classes,
    /// or if nearly all of the samples' targets are one class.
    ///
    /// # Panics
    /// If the samples do not have the network's numbers of inputs and outputs.
    pub fn find(network: &Network, loss: Loss, samples: &Samples) -> Option<Self> {
        let (architecture, count) = (network.architecture(), samples.len());
        let mut activations = samples.inputs().to_owned();
        let mut saturated_layer = None;
        for (layer, (weights, biases)) in network.weights().iter().zip(network.biases()).enumerate() {
            let mut sums: Array2<f32> = (activations.dot(weights) + biases).as_standard_layout().into_owned();
            let activation = architecture.activation(layer);
            for mut row in sums.outer_iter_mut() {
                activation.apply(row.as_slice_mut().expect("the standard layout is row by row"));
            }
            activations = sums;
            let is_last = layer + 1 == architecture.layers();
            // With cross-entropy, the activation's derivative cancels.
            let has_derivative = !is_last || (loss == Loss::SquaredError && activation != Activation::Softmax);
            let is_saturated = has_derivative && mean_derivative(activation, &activations) < MAX_SATURATED_DERIVATIVE;
            saturated_layer = saturated_layer.or(is_saturated.then_some(layer + 1));
        }
        let (mut assigned, mut targets) = (vec![0; architecture.outputs()], vec![0; architecture.outputs()]);
        for (index, outputs) in activations.outer_iter().enumerate() {
            assigned[argmax(outputs.as_slice().expect("rows are contiguous"))] += 1;
            targets[argmax(samples.target(index))] += 1;
        }
        let (class, assigned) = assigned.into_iter().enumerate().max_by_key(|&(_, assigned)| assigned)?;
        let share = |part: usize| part as f64 / count.max(1) as f64;
        (share(assigned) >= MIN_SHARE && share(targets[class]) <= MAX_TARGET_SHARE).then_some(Self {
            class,
            assigned,
            count,
            saturated_layer,
        })
    }
}

/// The mean derivative of a layer's activations, as a fraction of the maximum derivative.
fn mean_derivative(activation: Activation, activations: &Array2<f32>) -> f64 {
    let max = if activation == Activation::Sigmoid { 0.25 } else { 1.0 };
    let sum: f64 = activations.iter().map(|&a| f64::from(activation.derivative(a))).sum();
    sum / activations.len().max(1) as f64 / max
}
