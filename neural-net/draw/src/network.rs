//! The network: 784-128-64-10 with sigmoid units, its weights quantised to 8 bits.

use crate::drawing::PIXELS;

/// Units of each layer, inputs first.
pub const SIZES: [usize; 4] = [PIXELS, 128, 64, 10];

/// Bytes of a layer's parameters: a byte for each weight, and two floats for each unit.
const fn layer_bytes(layer: usize) -> usize {
    (SIZES[layer] + 8) * SIZES[layer + 1]
}

/// The parameters of the three layers, in order. Each has its weights, inputs × units signed bytes, then each unit's
/// step, then each unit's bias, both as little-endian `f32`. A weight is its byte times the step of its unit.
pub(crate) static PARAMETERS: [u8; layer_bytes(0) + layer_bytes(1) + layer_bytes(2)] =
    *include_bytes!("parameters.bin");

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
    /// The digit with the largest output, the first of equals.
    pub fn digit(&self) -> usize {
        let larger = |best: (usize, f32), (digit, &output): (usize, &f32)| match output > best.1 {
            true => (digit, output),
            false => best,
        };
        self.outputs.iter().enumerate().fold((0, self.outputs[0]), larger).0
    }
}

/// The activations for an image of MNIST's format: row by row, 0 for the background and 255 for ink.
pub fn predict(image: &[u8; PIXELS]) -> Activations {
    let (layer0, others) = PARAMETERS.split_at(const { layer_bytes(0) });
    let (layer1, layer2) = others.split_at(const { layer_bytes(1) });
    let first = apply(layer0, &image.map(|pixel| f32::from(pixel) / 255.0));
    let second = apply(layer1, &first);
    Activations { first, second, outputs: apply(layer2, &second) }
}

/// sigmoid(x·W + b) for a layer's parameters and a row vector x. Inputs of 0 are skipped: most pixels are background.
fn apply<const INPUTS: usize, const UNITS: usize>(parameters: &[u8], inputs: &[f32; INPUTS]) -> [f32; UNITS] {
    let (weights, others) = parameters.split_at(INPUTS * UNITS);
    let (steps, biases) = others.split_at(4 * UNITS);
    let mut sums = [0.0; UNITS];
    for (&input, weights) in inputs.iter().zip(weights.chunks_exact(UNITS)).filter(|(input, _)| **input != 0.0) {
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += input * f32::from(weight.cast_signed());
        }
    }
    for ((sum, step), bias) in sums.iter_mut().zip(floats(steps)).zip(floats(biases)) {
        *sum = 1.0 / (1.0 + libm::expf(-(*sum * step + bias)));
    }
    sums
}

/// Little-endian `f32` values.
pub(crate) fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes))
}
