//! The network as plain data: its architecture, weights and biases.

use ndarray::{Array1, Array2};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::names::display_and_parse_names;
use crate::{Activation, Loss, Scalar};

/// The shape of a network: the sizes and activations of its layers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Architecture {
    sizes: Vec<usize>,
    hidden: Activation,
    output: Activation,
}

/// An invalid architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchitectureError {
    /// There must be an input layer and an output layer.
    #[error("layers {0:?}: a network needs at least two, its inputs and its outputs")]
    TooFewLayers(Vec<usize>),
    /// Every layer needs a unit.
    #[error("layers {0:?}: every layer needs at least one unit")]
    EmptyLayer(Vec<usize>),
    /// Softmax is a distribution over the outputs.
    #[error("softmax belongs to the output layer: choose sigmoid, relu, tanh or identity for the hidden ones")]
    HiddenSoftmax,
    /// Cross-entropy is defined for probabilities.
    #[error("cross-entropy needs sigmoid or softmax outputs, not {}", .0.name())]
    UndefinedLoss(Activation),
}

impl Architecture {
    /// A network with `sizes[0]` inputs, then layers of `sizes[1]`, … units. The last layer is the
    /// outputs.
    ///
    /// # Errors
    /// If there are fewer than two layers, one is empty, or the hidden activation is softmax.
    ///
    /// ```
    /// use perceptron::{Activation, Architecture};
    /// let homework = Architecture::new(vec![784, 128, 64, 10], Activation::Sigmoid, Activation::Sigmoid)?;
    /// assert_eq!(homework.inputs(), 784);
    /// # Ok::<(), perceptron::network::ArchitectureError>(())
    /// ```
    pub fn new(sizes: Vec<usize>, hidden: Activation, output: Activation) -> Result<Self, ArchitectureError> {
        if sizes.len() < 2 {
            return Err(ArchitectureError::TooFewLayers(sizes));
        }
        if sizes.contains(&0) {
            return Err(ArchitectureError::EmptyLayer(sizes));
        }
        if hidden == Activation::Softmax {
            return Err(ArchitectureError::HiddenSoftmax);
        }
        Ok(Self { sizes, hidden, output })
    }

    /// The number of units of each layer, inputs first.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.sizes[0]
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.sizes[self.sizes.len() - 1]
    }

    /// The number of layers with weights: all except the inputs.
    pub fn layers(&self) -> usize {
        self.sizes.len() - 1
    }

    /// The activation of layer `layer` with weights, counted from 0.
    pub fn activation(&self, layer: usize) -> Activation {
        if layer + 1 == self.layers() { self.output } else { self.hidden }
    }

    /// The hidden layers' activation.
    pub fn hidden_activation(&self) -> Activation {
        self.hidden
    }

    /// The output layer's activation.
    pub fn output_activation(&self) -> Activation {
        self.output
    }

    /// Checks that `loss` is defined for the outputs' activation.
    ///
    /// # Errors
    /// If it is not.
    pub fn require_loss(&self, loss: Loss) -> Result<(), ArchitectureError> {
        if loss.is_defined_for(self.output) { Ok(()) } else { Err(ArchitectureError::UndefinedLoss(self.output)) }
    }
}

/// The distribution of the initial weights; biases start at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Initialization {
    /// Uniform in ±1/√fan_in, the homework's Xavier initialization.
    Xavier,
    /// Normal with mean 0 and variance 1/fan_in.
    Normal,
}

display_and_parse_names!(Initialization, "initialization");

impl Initialization {
    /// All values, in declaration order.
    pub const ALL: [Self; 2] = [Self::Xavier, Self::Normal];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xavier => "xavier",
            Self::Normal => "normal",
        }
    }

    /// One line of help for the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::Xavier => "Uniform in ±1/√fan_in, the homework's Xavier initialisation",
            Self::Normal => "Normal with mean 0 and variance 1/fan_in",
        }
    }
}

/// A network. Each layer with weights has a matrix of shape (inputs, outputs) and a vector of
/// biases; it computes activation(x·W + b) for a row vector x.
#[derive(Clone, Debug, PartialEq)]
pub struct Network<F = f32> {
    architecture: Architecture,
    weights: Vec<Array2<F>>,
    biases: Vec<Array1<F>>,
}

/// Weights or biases with a shape that differs from the architecture's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} of layer {layer} have shape {found:?} instead of {expected:?}")]
pub struct ParameterShapeError {
    /// "weights" or "biases".
    pub what: &'static str,
    /// The index among the layers with weights.
    pub layer: usize,
    /// The given shape; empty if the layer is missing.
    pub found: Vec<usize>,
    /// The architecture's shape; empty if there is no such layer.
    pub expected: Vec<usize>,
}

/// Why creating weights and biases with an architecture's sizes cannot fail.
pub(crate) const SIZES: &str = "an architecture has two layers or more, none of them empty";

impl<F: Scalar> Network<F> {
    /// A network with random weights and zero biases.
    pub fn random(architecture: Architecture, initialization: Initialization, rng: &mut impl RngExt) -> Self {
        let sizes = architecture.sizes().to_vec();
        let weights = match initialization {
            Initialization::Xavier => utils::random_weights(&sizes, rng).expect(SIZES),
            Initialization::Normal => sizes
                .windows(2)
                .map(|pair| {
                    let deviation = 1.0 / (pair[0] as f64).sqrt();
                    Array2::from_shape_simple_fn((pair[0], pair[1]), || {
                        let normal: f64 = StandardNormal.sample(rng);
                        F::from_f64(deviation * normal)
                    })
                })
                .collect(),
        };
        let biases = utils::zeros_biases(&sizes).expect(SIZES);
        Self { architecture, weights, biases }
    }

    /// A network with the given weights and biases.
    ///
    /// # Errors
    /// If their number or shapes do not match the architecture.
    pub fn new(
        architecture: Architecture,
        weights: Vec<Array2<F>>,
        biases: Vec<Array1<F>>,
    ) -> Result<Self, ParameterShapeError> {
        for layer in 0..architecture.layers().max(weights.len()).max(biases.len()) {
            let sizes = architecture.sizes();
            let expected = if layer < architecture.layers() { vec![sizes[layer], sizes[layer + 1]] } else { vec![] };
            let check = |what, found: Vec<usize>, expected: &[usize]| match found == expected {
                true => Ok(()),
                false => Err(ParameterShapeError { what, layer, found, expected: expected.to_vec() }),
            };
            check("weights", weights.get(layer).map(|w| w.shape().to_vec()).unwrap_or_default(), &expected)?;
            let expected = expected.get(1..).unwrap_or_default();
            check("biases", biases.get(layer).map(|b| b.shape().to_vec()).unwrap_or_default(), expected)?;
        }
        Ok(Self { architecture, weights, biases })
    }

    /// The network's shape.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The weights of each layer, of shape (inputs, outputs).
    pub fn weights(&self) -> &[Array2<F>] {
        &self.weights
    }

    /// The biases of each layer.
    pub fn biases(&self) -> &[Array1<F>] {
        &self.biases
    }

    /// The outputs for one sample, computed by scalar loops: the reference for [`crate::Predictor`].
    ///
    /// # Panics
    /// If the length of `inputs` is not the network's number of inputs.
    pub fn predict(&self, inputs: &[F]) -> Vec<F> {
        assert_eq!(inputs.len(), self.architecture.inputs(), "predict: wrong number of inputs");
        let mut values = inputs.to_vec();
        for (layer, (weights, biases)) in self.weights.iter().zip(&self.biases).enumerate() {
            let mut sums = biases.to_vec();
            for (&value, row) in values.iter().zip(weights.outer_iter()) {
                for (sum, &weight) in sums.iter_mut().zip(row) {
                    *sum += value * weight;
                }
            }
            self.architecture.activation(layer).apply(&mut sums);
            values = sums;
        }
        values
    }
}

/// The index of the largest value, which is the predicted class. The first one if several are equal.
pub fn argmax<F: PartialOrd>(values: &[F]) -> usize {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    best
}
