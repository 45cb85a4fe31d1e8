//! The kernels of the first layer for samples of bytes.

use cuda_std::LaunchConfig;
use kernels_gpu::network::{self, Batches, ByteScale, LayerShape, UpdateRule, activation};
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::device::{Buffer, Device, bytes_of};
use crate::table::Case;

/// Parts of a batch for the gradients.
const PARTS: u32 = 2;

/// A layer; the seed sets the number of rows of its batch too.
pub(crate) fn layer_case(features: usize, units: usize, seed: u64) -> Case {
    Case { sizes: [features, units], config: LaunchConfig::new(1, network::THREADS), seed }
}

pub(crate) fn random_layer(random: &mut ChaCha8Rng, small: bool) -> Case {
    let most = if small { 20 } else { 90 };
    layer_case(random.random_range(1..most), random.random_range(1..most), random.random())
}

/// Layers and batches within a tile, of several tiles, and of whole ones.
pub(crate) const LAYER_CASES: &[fn() -> Case] =
    &[|| layer_case(1, 1, 0), || layer_case(37, 21, 18), || layer_case(70, 66, 4), || layer_case(16, 64, 15)];

/// The data of a case.
struct Data {
    /// Of more samples than the batch has.
    pixels: Vec<u8>,
    order: Vec<u32>,
    errors: Vec<f32>,
    parameters: Vec<f32>,
    shape: LayerShape,
}

const SCALE: ByteScale = ByteScale { divisor: 255.0, reciprocal: 1.0 / 255.0 };
const RULE: UpdateRule = UpdateRule { rate: 0.5, momentum: 0.0, decay: 0.01, is_mean: 1 };

impl Data {
    fn of(case: &Case) -> Self {
        let [features, units] = case.sizes;
        let mut random = ChaCha8Rng::seed_from_u64(case.seed);
        let (rows, samples) = (1 + case.seed as usize % 40, 45);
        let mut order: Vec<u32> = (0..samples as u32).collect();
        order.shuffle(&mut random);
        order.truncate(rows);
        let mut floats = |count: usize| (0..count).map(|_| random.random_range(-1.0..1.0)).collect();
        Self {
            errors: floats(rows * units),
            parameters: floats((features + 1) * units),
            pixels: (0..samples * features).map(|_| random.random()).collect(),
            order,
            shape: LayerShape { first_parameter: 0, features: features as u32, units: units as u32 },
        }
    }

    fn rows(&self) -> usize {
        self.order.len()
    }

    fn batches(&self) -> Batches {
        Batches { size: self.rows() as u32, samples: self.rows() as u32 }
    }

    /// The input of a row; 1 for that of the biases.
    fn input(&self, row: usize, feature: usize) -> f64 {
        let features = self.shape.features as usize;
        if feature == features {
            return 1.0;
        }
        f64::from(self.pixels[self.order[row] as usize * features + feature]) / 255.0
    }

    /// The gradients over some rows: (features + 1) × units.
    fn gradients(&self, rows: std::ops::Range<usize>) -> Vec<f64> {
        let units = self.shape.units as usize;
        let sum = |i: usize| {
            let (feature, unit) = (i / units, i % units);
            rows.clone().map(|row| self.input(row, feature) * f64::from(self.errors[row * units + unit])).sum()
        };
        (0..self.parameters.len()).map(sum).collect()
    }
}

/// A launch with a block for each tile of `rows` × `columns` cells.
fn tiles(tile: usize, rows: usize, columns: usize, parts: u32) -> LaunchConfig {
    LaunchConfig::new(((rows.div_ceil(tile) * columns.div_ceil(tile)) as u32, parts), network::THREADS)
}

/// The buffers that all kernels read.
struct Uploaded<D: Device> {
    pixels: Buffer<D, u8>,
    order: Buffer<D, u32>,
    state: Buffer<D, u32>,
    errors: Buffer<D, f32>,
    parameters: Buffer<D, f32>,
}

fn upload<D: Device>(device: &mut D, data: &Data) -> Uploaded<D> {
    Uploaded {
        pixels: device.upload(&data.pixels),
        order: device.upload(&data.order),
        state: device.upload(&[0]),
        errors: device.upload(&data.errors),
        parameters: device.upload(&data.parameters),
    }
}

/// The functions that run a kernel with tiles of either size.
macro_rules! runs {
    ($($(#[$documentation:meta])* $run:ident, tiles $tile:literal: $forward:ident, $update:ident, $gradient:ident;)*) => {$(
        $(#[$documentation])*
        pub(crate) mod $run {
            use super::*;

            /// The activations, without a function.
            pub(crate) fn forward<D: Device>(device: &mut D, case: &Case) -> Result<Vec<u8>, String> {
                let data = Data::of(case);
                let on = upload(device, &data);
                let mut out = device.uninitialized::<f32>(data.errors.len());
                let config = tiles($tile, data.rows(), case.sizes[1], 1);
                let arguments = (
                    &on.pixels, SCALE, &on.order, &on.state, &on.parameters, &mut out, data.shape, data.batches(),
                    activation::IDENTITY,
                );
                device.launch(&network::$forward, config, arguments)?;
                device.download(&out)
            }

            /// The updated parameters.
            pub(crate) fn update<D: Device>(device: &mut D, case: &Case) -> Result<Vec<u8>, String> {
                let data = Data::of(case);
                let (mut on, mut velocities) = (upload(device, &data), device.uninitialized::<f32>(0));
                let config = tiles($tile, case.sizes[0] + 1, case.sizes[1], 1);
                let arguments = (
                    &on.pixels, SCALE, &on.order, &on.state, &on.errors, &mut on.parameters, &mut velocities, data.shape,
                    data.batches(), RULE,
                );
                device.launch(&network::$update, config, arguments)?;
                device.download(&on.parameters)
            }

            /// The gradients of each part of the batch.
            pub(crate) fn gradient<D: Device>(device: &mut D, case: &Case) -> Result<Vec<u8>, String> {
                let data = Data::of(case);
                let on = upload(device, &data);
                let mut parts = device.uninitialized::<f32>(PARTS as usize * data.parameters.len());
                let config = tiles($tile, case.sizes[0] + 1, case.sizes[1], PARTS);
                let arguments =
                    (&on.pixels, SCALE, &on.order, &on.state, &on.errors, &mut parts, data.shape, data.batches());
                device.launch(&network::$gradient, config, arguments)?;
                device.download(&parts)
            }
        }
    )*};
}

runs! {
    /// Tiles of 16 × 16.
    small, tiles 16: network_forward_bytes_16, network_update_bytes_16, network_gradient_bytes_16;
    /// Tiles of 64 × 64.
    large, tiles 64: network_forward_bytes_64, network_update_bytes_64, network_gradient_bytes_64;
}

/// The bytes of numbers, rounded to floats.
fn rounded(numbers: impl IntoIterator<Item = f64>) -> Vec<u8> {
    bytes_of(&numbers.into_iter().map(|number| number as f32).collect::<Vec<_>>())
}

pub(crate) fn forward_reference(case: &Case) -> Vec<u8> {
    let data = Data::of(case);
    let [features, units] = case.sizes;
    let cell = |cell: usize| -> f64 {
        let (row, unit) = (cell / units, cell % units);
        let weight = |feature: usize| f64::from(data.parameters[feature * units + unit]);
        (0..=features).map(|feature| data.input(row, feature) * weight(feature)).sum()
    };
    rounded((0..data.errors.len()).map(cell))
}

pub(crate) fn update_reference(case: &Case) -> Vec<u8> {
    let data = Data::of(case);
    let gradients = data.gradients(0..data.rows());
    let weights = data.parameters.len() - case.sizes[1];
    let rate = f64::from(RULE.rate) / data.rows() as f64;
    rounded(data.parameters.iter().zip(gradients).enumerate().map(|(i, (&parameter, gradient))| {
        let decay = if i < weights { f64::from(RULE.decay) } else { 0.0 };
        (1.0 - decay) * f64::from(parameter) - rate * gradient
    }))
}

pub(crate) fn gradient_reference(case: &Case) -> Vec<u8> {
    let data = Data::of(case);
    let (rows, share) = (data.rows(), data.rows().div_ceil(PARTS as usize));
    let parts = (0..PARTS as usize).map(|part| (part * share).min(rows)..((part + 1) * share).min(rows));
    rounded(parts.flat_map(|rows| data.gradients(rows)))
}
