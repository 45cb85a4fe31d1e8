//! The scaled sigmoid with gain g and threshold θ, f(z) = 2 / (1 + e^(−g(z − θ))) − 1, as a network of tanh neurons.
//!
//! f(z) = tanh(g(z − θ) / 2). So a layer f(x·W + b) is, exactly, a layer tanh(x·W' + b') with W' = g·W/2 and
//! b' = g·(b − θ)/2. A step Δw(t+1) = −η ∂E/∂w + α Δw(t) − η λ w on W is, multiplied by g/2, one on W' whose
//! gradient ∂E/∂w' = (2/g) ∂E/∂w counts (g/2)² times; momentum and decay stay as they are. The threshold only moves the
//! biases, which do not decay.
//!
//! What users see and files keep are W, b, g and θ; what is trained and predicted with are W' and b'. This is the only place that
//! knows both.

use ndarray::{Array1, Array2};
use neural_net::network::{ArchitectureError, ParameterShapeError};
use neural_net::training::InvalidValue;
use neural_net::{Activation, Architecture, Network};
use serde::{Deserialize, Serialize};

use crate::settings::{HiddenActivation, NetworkSettings};

/// What the hidden neurons of a network do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neuron {
    /// The kind.
    pub activation: HiddenActivation,
    /// g, of the sigmoid.
    pub gain: f64,
    /// θ, of the sigmoid.
    pub threshold: f64,
}

impl Neuron {
    /// The hidden neurons that the settings ask for.
    pub fn of(settings: &NetworkSettings) -> Self {
        let NetworkSettings { activation, gain, threshold, .. } = *settings;
        Self { activation, gain, threshold }
    }

    /// Whether there can be such neurons.
    ///
    /// # Errors
    /// If a value is not finite, or the gain of a sigmoid is not above 0.
    pub fn validate(&self) -> Result<(), InvalidValue> {
        let is_gain = self.gain.is_finite() && (self.gain > 0.0 || self.activation != HiddenActivation::Sigmoid);
        InvalidValue::unless(is_gain, "neuron.gain", &self.gain, "above 0 and finite")?;
        InvalidValue::unless(self.threshold.is_finite(), "neuron.threshold", &self.threshold, "finite")
    }

    /// The architecture that is trained: these neurons between `inputs` and one linear output.
    ///
    /// # Errors
    /// If there are no inputs, or a hidden layer is empty.
    pub fn architecture(&self, inputs: usize, hidden: &[usize]) -> Result<Architecture, ArchitectureError> {
        let sizes = std::iter::once(inputs).chain(hidden.iter().copied()).chain([1]).collect();
        let activation = match self.activation {
            HiddenActivation::Sigmoid | HiddenActivation::Tanh => Activation::Tanh,
            HiddenActivation::Relu => Activation::Relu,
        };
        Architecture::new(sizes, activation, Activation::Identity)
    }

    /// By what each layer's learning rate is multiplied in training the folded network; empty where by 1.
    pub fn learning_rate_factors(&self, layers: usize) -> Vec<f64> {
        let factor = self.half_gain() * self.half_gain();
        match factor == 1.0 {
            true => Vec::new(),
            false => (0..layers).map(|layer| if layer + 1 == layers { 1.0 } else { factor }).collect(),
        }
    }

    /// The network that is trained, W' and b', of the one that is shown, W and b.
    pub fn fold(&self, network: &Network<f32>) -> Network<f32> {
        let (half_gain, threshold) = (self.half_gain(), self.shift());
        self.changed(network, |w| w * half_gain, |b| (b - threshold) * half_gain)
    }

    /// The network that is shown, W and b, of the one that is trained, W' and b'.
    pub fn unfold(&self, network: &Network<f32>) -> Network<f32> {
        let (half_gain, threshold) = (self.half_gain(), self.shift());
        self.changed(network, |w| w / half_gain, |b| b / half_gain + threshold)
    }

    /// g/2; 1 where the neuron is no sigmoid.
    fn half_gain(&self) -> f64 {
        if self.activation == HiddenActivation::Sigmoid { self.gain / 2.0 } else { 1.0 }
    }

    fn shift(&self) -> f64 {
        if self.activation == HiddenActivation::Sigmoid { self.threshold } else { 0.0 }
    }

    /// Changes the parameters of all layers but the output, which has no such neurons.
    fn changed(&self, network: &Network<f32>, weight: impl Fn(f64) -> f64, bias: impl Fn(f64) -> f64) -> Network<f32> {
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
            Err(error) => unreachable!("folding keeps every shape: {error}"),
        }
    }
}
