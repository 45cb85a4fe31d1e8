//! The scaled sigmoid with gain g and threshold θ, f(z) = 2 / (1 + e^(−g(z − θ))) − 1, as a network of tanh neurons.
//!
//! f(z) = tanh(g(z − θ) / 2). So a layer f(x·W + b) is exactly a layer tanh(x·W' + b') with W' =
//! g·W/2 and b' = g·(b − θ)/2. An SGD step on W is Δw(t+1) = −η ∂E/∂w + α Δw(t) − η λ w. Multiplied
//! by g/2, it is a step on W' with the gradient ∂E/∂w' = (2/g) ∂E/∂w scaled by (g/2)²; momentum and
//! decay are unchanged. A step of Adam on W has the gradient ∂E/∂w = (g/2) ∂E/∂w' and is multiplied
//! by g/2: both factors are the square root of (g/2)². The threshold only shifts the biases, which
//! do not decay.
//!
//! The window and the files use W, b, g and θ; training and prediction use the folded W' and b'. Only this module
//! converts between the two.

use ndarray::{Array1, Array2};
use neural_net::network::{ArchitectureError, ParameterShapeError};
use neural_net::training::InvalidValue;
use neural_net::{Activation, Architecture, Network};
use serde::{Deserialize, Serialize};

use crate::settings::{HiddenActivation, NetworkSettings};

/// The activation of the hidden neurons, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neuron {
    /// The activation function.
    pub activation: HiddenActivation,
    /// The sigmoid's gain g.
    pub gain: f64,
    /// The sigmoid's threshold θ.
    pub threshold: f64,
}

impl Neuron {
    /// The hidden neurons that the settings describe.
    pub fn of(settings: &NetworkSettings) -> Self {
        let NetworkSettings { activation, gain, threshold, .. } = *settings;
        Self { activation, gain, threshold }
    }

    /// Checks the parameters' ranges.
    ///
    /// # Errors
    /// If a value is not finite, or a sigmoid's gain is not greater than 0.
    pub fn validate(&self) -> Result<(), InvalidValue> {
        let is_gain = self.gain.is_finite() && (self.gain > 0.0 || self.activation != HiddenActivation::Sigmoid);
        InvalidValue::unless(is_gain, "neuron.gain", &self.gain, "greater than 0 and finite")?;
        InvalidValue::unless(self.threshold.is_finite(), "neuron.threshold", &self.threshold, "finite")
    }

    /// The architecture to train: hidden layers of these neurons between `inputs` and one linear
    /// output.
    ///
    /// # Errors
    /// If `inputs` is 0 or a hidden layer is empty.
    pub fn architecture(&self, inputs: usize, hidden: &[usize]) -> Result<Architecture, ArchitectureError> {
        let sizes = std::iter::once(inputs).chain(hidden.iter().copied()).chain([1]).collect();
        let activation = match self.activation {
            HiddenActivation::Sigmoid | HiddenActivation::Tanh => Activation::Tanh,
            HiddenActivation::Relu => Activation::Relu,
        };
        Architecture::new(sizes, activation, Activation::Identity)
    }

    /// The learning rate factor of each layer for training the folded network; empty if all are 1.
    pub fn learning_rate_factors(&self, layers: usize) -> Vec<f64> {
        let factor = self.half_gain() * self.half_gain();
        match factor == 1.0 {
            true => Vec::new(),
            false => (0..layers).map(|layer| if layer + 1 == layers { 1.0 } else { factor }).collect(),
        }
    }

    /// Converts W and b to the folded W' and b'.
    pub fn fold(&self, network: &Network) -> Network {
        let (half_gain, threshold) = (self.half_gain(), self.shift());
        self.changed(network, |w| w * half_gain, |b| (b - threshold) * half_gain)
    }

    /// Converts the folded W' and b' to W and b.
    pub fn unfold(&self, network: &Network) -> Network {
        let (half_gain, threshold) = (self.half_gain(), self.shift());
        self.changed(network, |w| w / half_gain, |b| b / half_gain + threshold)
    }

    /// g/2 for a sigmoid, else 1.
    fn half_gain(&self) -> f64 {
        if self.activation == HiddenActivation::Sigmoid { self.gain / 2.0 } else { 1.0 }
    }

    fn shift(&self) -> f64 {
        if self.activation == HiddenActivation::Sigmoid { self.threshold } else { 0.0 }
    }

    /// Maps the parameters of all layers except the output layer, which is linear.
    fn changed(&self, network: &Network, weight: impl Fn(f64) -> f64, bias: impl Fn(f64) -> f64) -> Network {
        let hidden = network.weights().len().saturating_sub(1);
        let map_weights = |(layer, weights): (usize, &Array2<f32>)| match layer < hidden {
            true => weights.mapv(|w| weight(f64::from(w)) as f32),
            false => weights.clone(),
        };
        let map_biases = |(layer, biases): (usize, &Array1<f32>)| match layer < hidden {
            true => biases.mapv(|b| bias(f64::from(b)) as f32),
            false => biases.clone(),
        };
        let weights = network.weights().iter().enumerate().map(map_weights).collect();
        let biases = network.biases().iter().enumerate().map(map_biases).collect();
        let network: Result<_, ParameterShapeError> = Network::new(network.architecture().clone(), weights, biases);
        match network {
            Ok(network) => network,
            Err(error) => unreachable!("folding preserves all shapes: {error}"),
        }
    }
}
