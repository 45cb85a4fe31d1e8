//! The layout of the parameters in device buffers, and the kernels' arguments for each layer.

use kernels_gpu::network::{LayerShape, activation, loss};
use ndarray::{Array1, Array2};

use super::GpuEngineError;
use perceptron::{Activation, Architecture, Loss};

/// The layout of one layer with weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LayerLayout {
    /// The index of the layer's first parameter. The parameters are (inputs + 1) × units; the last
    /// row holds the biases.
    pub(super) first_parameter: u32,
    /// Number of inputs.
    pub(super) features: u32,
    /// Number of outputs.
    pub(super) units: u32,
    /// The kernels' code for the layer's activation.
    pub(super) activation: u32,
}

impl LayerLayout {
    /// The layer's shape as a kernel argument.
    pub(super) fn shape(&self) -> LayerShape {
        let &Self { first_parameter, features, units, .. } = self;
        LayerShape { first_parameter, features, units }
    }

    /// Number of weights and biases.
    pub(super) fn parameters(&self) -> u32 {
        (self.features + 1) * self.units
    }
}

/// The layout of all layers in the parameter buffer.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    architecture: Architecture,
    layers: Vec<LayerLayout>,
}

impl Layout {
    /// Computes the layout of a network's parameters.
    ///
    /// # Errors
    /// If there are 2³² or more parameters.
    pub(super) fn new(architecture: &Architecture) -> Result<Self, GpuEngineError> {
        let too_large = || GpuEngineError::TooLarge { what: "the network's parameters", way_out: "smaller layers" };
        let count = |size: usize| u32::try_from(size).map_err(|_| too_large());
        let (mut layers, mut first_parameter) = (vec![], 0_u32);
        for (index, pair) in architecture.sizes().windows(2).enumerate() {
            let (features, units) = (count(pair[0])?, count(pair[1])?);
            let rows = features.checked_add(1).ok_or_else(too_large)?;
            let parameters = rows.checked_mul(units).ok_or_else(too_large)?;
            let activation = activation_code(architecture.activation(index));
            layers.push(LayerLayout { first_parameter, features, units, activation });
            first_parameter = first_parameter.checked_add(parameters).ok_or_else(too_large)?;
        }
        Ok(Self { architecture: architecture.clone(), layers })
    }

    /// Checks that the number of samples and the number of activations in a batch fit into the
    /// kernels' 32-bit indices.
    ///
    /// # Errors
    /// If they do not.
    pub(super) fn require_batch(&self, batch_size: usize, samples: usize) -> Result<(), GpuEngineError> {
        let too_large = |what, way_out| GpuEngineError::TooLarge { what, way_out };
        if samples.checked_add(batch_size).is_none_or(|sum| u32::try_from(sum).is_err()) {
            return Err(too_large("the samples", "fewer of them"));
        }
        let widest = self.architecture.sizes().iter().copied().max().unwrap_or_default();
        match batch_size.checked_mul(widest).is_none_or(|cells| u32::try_from(cells).is_err()) {
            true => Err(too_large("a batch's activations", "a smaller --batch-size")),
            false => Ok(()),
        }
    }

    pub(super) fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    pub(super) fn layers(&self) -> &[LayerLayout] {
        &self.layers
    }

    /// The number of parameters.
    pub(super) fn parameters(&self) -> usize {
        self.layers.iter().map(|layer| layer.parameters() as usize).sum()
    }

    /// Packs the weights and biases of all layers into the contents of the parameter buffer.
    pub(super) fn pack<'a>(&self, layers: impl Iterator<Item = (&'a Array2<f32>, &'a Array1<f32>)>) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.parameters());
        for (weights, biases) in layers {
            values.extend(weights.iter().chain(biases));
        }
        values
    }

    /// Unpacks the weights and biases of all layers from the contents of the parameter buffer.
    pub(super) fn unpack(&self, values: &[f32]) -> Vec<(Array2<f32>, Array1<f32>)> {
        let unpack = |layer: &LayerLayout| {
            let first = layer.first_parameter as usize;
            let (features, units) = (layer.features as usize, layer.units as usize);
            let (weights, rest) = values[first..].split_at(features * units);
            let weights = match Array2::from_shape_vec((features, units), weights.to_vec()) {
                Ok(weights) => weights,
                Err(error) => unreachable!("the slice has features × units values: {error}"),
            };
            (weights, Array1::from(rest[..units].to_vec()))
        };
        self.layers.iter().map(unpack).collect()
    }
}

/// The kernels' code for an activation.
fn activation_code(kind: Activation) -> u32 {
    match kind {
        Activation::Sigmoid => activation::SIGMOID,
        Activation::Relu => activation::RELU,
        Activation::Tanh => activation::TANH,
        Activation::Identity => activation::IDENTITY,
        Activation::Softmax => activation::SOFTMAX,
    }
}

/// The kernels' code for a loss.
pub(super) fn loss_code(kind: Loss) -> u32 {
    match kind {
        Loss::SquaredError => loss::SQUARED_ERROR,
        Loss::CrossEntropy => loss::CROSS_ENTROPY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(sizes: &[usize]) -> Result<Layout, GpuEngineError> {
        Layout::new(&Architecture::new(sizes.to_vec(), Activation::Relu, Activation::Softmax).unwrap())
    }

    #[test]
    fn part1_unpack_inverts_pack() {
        let layout = layout(&[3, 5, 2]).unwrap();
        let layers: Vec<(Array2<f32>, Array1<f32>)> = [(3, 5), (5, 2)]
            .into_iter()
            .map(|(features, units)| {
                let weights = Array2::from_shape_fn((features, units), |(i, j)| (100 * i + j) as f32);
                (weights, Array1::from_shape_fn(units, |j| -1.0 - j as f32))
            })
            .collect();
        let packed = layout.pack(layers.iter().map(|(weights, biases)| (weights, biases)));
        assert_eq!(packed.len(), layout.parameters());
        assert_eq!(layout.layers()[1].first_parameter, 20);
        assert_eq!(packed[..6], [0.0, 1.0, 2.0, 3.0, 4.0, 100.0]);
        assert_eq!(layout.unpack(&packed), layers);
    }

    #[test]
    fn part1_counts_beyond_32_bits_are_errors() {
        assert!(layout(&[65_535, 65_536]).is_err(), "2³² parameters");
        assert!(layout(&[65_534, 65_536]).is_ok());
        assert!(layout(&[1 << 31, 1, 1 << 31]).is_err(), "together");
        assert!(layout(&[usize::MAX, 1]).is_err());
        let network = layout(&[1000, 10]).unwrap();
        assert!(network.require_batch(10_000, 60_000).is_ok());
        assert!(network.require_batch(5_000_000, 5_000_000).is_err(), "activations");
        assert!(network.require_batch(1, u32::MAX as usize).is_err(), "samples");
    }
}
