//! The network: 784-128-64-10 with sigmoid units. It starts from trained weights, stored in 8 bits,
//! or from the weights before training. It can be trained one step at a time.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::drawing::PIXELS;

/// Units of each layer, inputs first.
pub const SIZES: [usize; 4] = [PIXELS, 128, 64, 10];
/// The learning rate of [`Network::step`]. A step of 0.01 visibly raises the output of a misread
/// digit, and costs a tenth of a percentage point of accuracy on other digits.
pub const LEARNING_RATE: f32 = 0.01;
/// The seed that the trained weights were trained with.
const SEED: u64 = 0;

/// Bytes of a layer's parameters: one byte per weight and two floats per unit.
const fn layer_bytes(layer: usize) -> usize {
    (SIZES[layer] + 8) * SIZES[layer + 1]
}

/// The parameters of the three layers, in order. Each layer has its weights (inputs × units signed
/// bytes), then each unit's step, then each unit's bias. Steps and biases are little-endian `f32`.
/// A weight is its byte times its unit's step.
static PARAMETERS: [u8; layer_bytes(0) + layer_bytes(1) + layer_bytes(2)] = *include_bytes!("parameters.bin");

/// The activations of all layers for one image, each 0 … 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Activations {
    /// The first hidden layer's.
    pub first: [f32; SIZES[1]],
    /// The second hidden layer's.
    pub second: [f32; SIZES[2]],
    /// The outputs, one for each digit.
    pub outputs: [f32; SIZES[3]],
}

impl Activations {
    /// The digit with the largest output; the first one if several are equal.
    pub fn digit(&self) -> usize {
        let larger = |best: (usize, f32), (digit, &output): (usize, &f32)| match output > best.1 {
            true => (digit, output),
            false => best,
        };
        self.outputs.iter().enumerate().fold((0, self.outputs[0]), larger).0
    }
}

/// The weights that a network starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// The random weights that the training run started from.
    Untrained,
    /// The result of the training run.
    Trained,
}

/// A layer with its weights, inputs × units, and its biases.
struct Layer<const INPUTS: usize, const UNITS: usize> {
    weights: [[f32; UNITS]; INPUTS],
    biases: [f32; UNITS],
}

/// The network's weights and biases.
pub struct Network {
    first: Layer<{ SIZES[0] }, { SIZES[1] }>,
    second: Layer<{ SIZES[1] }, { SIZES[2] }>,
    outputs: Layer<{ SIZES[2] }, { SIZES[3] }>,
}

impl Network {
    /// A network of zeros, to be filled by [`Self::load`].
    pub const fn zeros() -> Self {
        Self { first: Layer::zeros(), second: Layer::zeros(), outputs: Layer::zeros() }
    }

    /// A network with these weights.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new(weights: Weights) -> Box<Self> {
        let mut network = Box::new(Self::zeros());
        network.load(weights);
        network
    }

    /// Restarts from these weights.
    pub fn load(&mut self, weights: Weights) {
        match weights {
            Weights::Trained => {
                let (first, others) = PARAMETERS.split_at(const { layer_bytes(0) });
                let (second, outputs) = others.split_at(const { layer_bytes(1) });
                self.first.decode(first);
                self.second.decode(second);
                self.outputs.decode(outputs);
            }
            Weights::Untrained => {
                let mut rng = ChaCha8Rng::seed_from_u64(SEED);
                self.first.randomize(&mut rng);
                self.second.randomize(&mut rng);
                self.outputs.randomize(&mut rng);
            }
        }
    }

    /// The weights of each layer, row-major, inputs × units, and its biases.
    pub fn layers(&self) -> [(&[f32], &[f32]); 3] {
        [self.first.parameters(), self.second.parameters(), self.outputs.parameters()]
    }

    /// The activations for an image of MNIST's format: row by row, 0 for the background and 255 for ink.
    pub fn predict(&self, image: &[u8; PIXELS]) -> Activations {
        let first = self.first.activations(&inputs(image));
        let second = self.second.activations(&first);
        Activations { first, second, outputs: self.outputs.activations(&second) }
    }

    /// Takes one step of gradient descent to learn that an image shows a digit. The loss is
    /// cross-entropy. With squared error, which the network was trained with, a step hardly changes
    /// a wrong output near 0 or 1.
    pub fn step(&mut self, image: &[u8; PIXELS], digit: usize) {
        let Activations { first, second, outputs } = self.predict(image);
        // The gradient with respect to an output's weighted sum is a − y, for cross-entropy and a
        // sigmoid.
        let target: [f32; SIZES[3]] = one_hot(digit);
        let at_outputs = core::array::from_fn(|unit| outputs[unit] - target[unit]);
        let at_second = through_sigmoid(&second, &self.outputs.back(&at_outputs));
        let at_first = through_sigmoid(&first, &self.second.back(&at_second));
        self.outputs.descend(&second, &at_outputs);
        self.second.descend(&first, &at_second);
        self.first.descend(&inputs(image), &at_first);
    }

    /// The pattern of a unit, one value per pixel. In the first hidden layer (0), it is the unit's
    /// weights. In layers 1 and 2, it is the weighted sum of the patterns of the layer before.
    pub fn pattern(&self, layer: usize, unit: usize) -> [f32; PIXELS] {
        let first = match layer {
            0 => one_hot(unit),
            1 => self.second.back(&one_hot(unit)),
            _ => self.second.back(&self.outputs.back(&one_hot(unit))),
        };
        self.first.back(&first)
    }
}

impl<const INPUTS: usize, const UNITS: usize> Layer<INPUTS, UNITS> {
    const fn zeros() -> Self {
        Self { weights: [[0.0; UNITS]; INPUTS], biases: [0.0; UNITS] }
    }

    fn parameters(&self) -> (&[f32], &[f32]) {
        (self.weights.as_flattened(), &self.biases)
    }

    fn decode(&mut self, parameters: &[u8]) {
        let (bytes, floats_of_units) = parameters.split_at(INPUTS * UNITS);
        let (steps, biases) = floats_of_units.split_at(4 * UNITS);
        for (weights, bytes) in self.weights.iter_mut().zip(bytes.chunks_exact(UNITS)) {
            for ((weight, byte), step) in weights.iter_mut().zip(bytes).zip(floats(steps)) {
                *weight = f32::from(byte.cast_signed()) * step;
            }
        }
        self.biases.iter_mut().zip(floats(biases)).for_each(|(bias, value)| *bias = value);
    }

    /// Sets random weights as in the homework's network before training: uniform in ±1/√inputs, and
    /// biases of 0.
    fn randomize(&mut self, rng: &mut ChaCha8Rng) {
        let bound = 1.0 / libm::sqrtf(INPUTS as f32);
        for weight in self.weights.as_flattened_mut() {
            *weight = rng.random_range(-bound..=bound);
        }
        self.biases.fill(0.0);
    }

    /// sigmoid(x·W + b) for a row vector x. Skips inputs of 0: most pixels are background.
    fn activations(&self, inputs: &[f32; INPUTS]) -> [f32; UNITS] {
        let mut sums = self.biases;
        for (&input, weights) in inputs.iter().zip(&self.weights).filter(|(input, _)| **input != 0.0) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += input * weight;
            }
        }
        sums.map(|sum| 1.0 / (1.0 + libm::expf(-sum)))
    }

    /// W·v for a column vector v with one value per unit.
    fn back(&self, values: &[f32; UNITS]) -> [f32; INPUTS] {
        core::array::from_fn(|input| self.weights[input].iter().zip(values).map(|(weight, value)| weight * value).sum())
    }

    /// W ← W − rate · xᵀ·δ and b ← b − rate · δ.
    fn descend(&mut self, inputs: &[f32; INPUTS], gradients: &[f32; UNITS]) {
        for (&input, weights) in inputs.iter().zip(&mut self.weights).filter(|(input, _)| **input != 0.0) {
            for (weight, gradient) in weights.iter_mut().zip(gradients) {
                *weight -= LEARNING_RATE * input * gradient;
            }
        }
        self.biases.iter_mut().zip(gradients).for_each(|(bias, gradient)| *bias -= LEARNING_RATE * gradient);
    }
}

fn inputs(image: &[u8; PIXELS]) -> [f32; PIXELS] {
    image.map(|pixel| f32::from(pixel) / 255.0)
}

/// 1 at an index, 0 elsewhere.
fn one_hot<const LENGTH: usize>(index: usize) -> [f32; LENGTH] {
    core::array::from_fn(|at| f32::from(u8::from(at == index)))
}

/// Multiplies gradients with respect to a layer's activations a by a · (1 − a), the derivative of
/// the sigmoid.
fn through_sigmoid<const UNITS: usize>(activations: &[f32; UNITS], gradients: &[f32; UNITS]) -> [f32; UNITS] {
    core::array::from_fn(|unit| gradients[unit] * activations[unit] * (1.0 - activations[unit]))
}

/// Little-endian `f32` values.
fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes))
}
