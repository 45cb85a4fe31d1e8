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

/// What a case's samples are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Random bytes in a random order.
    Random,
    /// Few bytes that are not 0, but 1, and no biases, so that most sums have few terms: they show the last bits of these.
    Sparse,
    /// Random bytes, in the order in which they are.
    InOrder,
}

impl Form {
    const ALL: [Self; 3] = [Self::Random, Self::Sparse, Self::InOrder];
}

/// A layer, the number of rows of its batch, which is the grid's x, and the form, whose number from 1 on is its y.
fn layer_case([features, units]: [usize; 2], rows: u32, form: Form, seed: u64) -> Case {
    Case { sizes: [features, units], config: LaunchConfig::new((rows, 1 + form as u32), network::THREADS), seed }
}

pub(crate) fn random_layer(random: &mut ChaCha8Rng, small: bool) -> Case {
    let most = if small { 20 } else { 90 };
    let form = if random.random() { Form::Random } else { Form::InOrder };
    layer_case([0; 2].map(|_| random.random_range(1..most)), random.random_range(1..=40), form, random.random())
}

/// A layer whose samples are a number of quads of words.
pub(crate) fn random_layer_of_quads(random: &mut ChaCha8Rng, small: bool) -> Case {
    let quads = random.random_range(1..if small { 3 } else { 12 });
    let (units, rows) = if small { (20, 40) } else { (40, 420) };
    let form = if random.random() { Form::Random } else { Form::Sparse };
    let sizes = [16 * quads, random.random_range(1..units)];
    layer_case(sizes, random.random_range(1..rows), form, random.random())
}

/// Layers and batches within a tile, of several tiles and K-blocks, and of whole ones.
pub(crate) const LAYER_CASES: &[fn() -> Case] = &[
    || layer_case([1, 1], 1, Form::Random, 0),
    || layer_case([37, 21], 19, Form::InOrder, 18),
    || layer_case([70, 66], 5, Form::Random, 4),
    || layer_case([16, 64], 16, Form::Random, 15),
    || layer_case([150, 5], 300, Form::Random, 1),
];

/// The same with samples of quads of words, and with more rows than two steps of each warp have. Some have more quads than slices, of which there
/// are 12, 4 and 1 by the number of rows.
pub(crate) const QUAD_CASES: &[fn() -> Case] = &[
    || layer_case([16, 1], 1, Form::Random, 0),
    || layer_case([128, 16], 33, Form::Sparse, 1),
    || layer_case([80, 21], 19, Form::Random, 2),
    || layer_case([16, 3], 600, Form::Random, 3),
    || layer_case([848, 5], 38, Form::Random, 5),
    || layer_case([336, 17], 103, Form::Random, 6),
];

/// The data of a case.
struct Data {
    /// Of more samples than the batch has.
    pixels: Vec<u8>,
    /// Empty if the samples are in order.
    order: Vec<u32>,
    /// The step, 0 or 1, whose batch is shorter than others.
    step: u32,
    rows: usize,
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
        let (rows, form) = (case.config.grid.x as usize, Form::ALL[case.config.grid.y as usize - 1]);
        let samples = 2 * rows + 5;
        let is_in_order = form == Form::InOrder;
        let mut order: Vec<u32> = (0..samples as u32).collect();
        order.shuffle(&mut random);
        order.truncate(if is_in_order { 0 } else { samples - 2 });
        let mut floats = |count: usize| (0..count).map(|_| random.random_range(-1.0..1.0)).collect();
        let (errors, mut parameters): (_, Vec<f32>) = (floats(rows * units), floats((features + 1) * units));
        let is_sparse = form == Form::Sparse;
        if is_sparse {
            parameters[features * units..].fill(0.0);
        }
        let mut pixel = || match is_sparse {
            true => u8::from(random.random_ratio(2, features as u32)),
            false => random.random(),
        };
        Self {
            errors,
            parameters,
            pixels: (0..samples * features).map(|_| pixel()).collect(),
            // Without an order there is only one batch.
            step: if is_in_order { 0 } else { case.seed as u32 % 2 },
            order,
            rows,
            shape: LayerShape { first_parameter: 0, features: features as u32, units: units as u32 },
        }
    }

    fn batches(&self) -> Batches {
        let size = self.rows as u32 + 3;
        Batches { size, samples: self.step * size + self.rows as u32 }
    }

    /// The number of inputs, with that of the biases.
    fn inputs(&self) -> usize {
        self.shape.features as usize + 1
    }

    /// A launch with a block for each tile of a result of `rows` × units, and for each of `parts` parts.
    fn tiles(&self, tile: [u32; 2], rows: usize, parts: u32) -> LaunchConfig {
        let tiles = (rows as u32).div_ceil(tile[0]) * self.shape.units.div_ceil(tile[1]);
        LaunchConfig::new((tiles, parts), network::THREADS)
    }

    /// The input of a row; 1 for that of the biases.
    fn input(&self, row: usize, feature: usize) -> f64 {
        let features = self.shape.features as usize;
        if feature == features {
            return 1.0;
        }
        let first = (self.step * self.batches().size) as usize;
        let sample = self.order.get(first + row).map_or(row, |&sample| sample as usize);
        f64::from(self.pixels[sample * features + feature]) / 255.0
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
        state: device.upload(&[data.step]),
        errors: device.upload(&data.errors),
        parameters: device.upload(&data.parameters),
    }
}

/// A function that runs a kernel for the activations, without an activation function.
macro_rules! forward {
    ($kernel:ident, |$data:ident| $config:expr) => {
        pub(crate) fn forward<D: Device>(device: &mut D, case: &Case) -> Result<Vec<u8>, String> {
            let $data = Data::of(case);
            let on = upload(device, &$data);
            let mut out = device.uninitialized::<f32>($data.errors.len());
            let (shape, batches) = ($data.shape, $data.batches());
            let arguments = (
                &on.pixels,
                SCALE,
                &on.order,
                &on.state,
                &on.parameters,
                &mut out,
                shape,
                batches,
                activation::IDENTITY,
            );
            device.launch(&network::$kernel, $config, arguments)?;
            device.download(&out)
        }
    };
}

/// A function that runs a kernel for the updated parameters.
macro_rules! update {
    ($kernel:ident, |$data:ident| $config:expr) => {
        pub(crate) fn update<D: Device>(device: &mut D, case: &Case) -> Result<Vec<u8>, String> {
            let $data = Data::of(case);
            let (mut on, mut velocities) = (upload(device, &$data), device.uninitialized::<f32>(0));
            let (shape, batches) = ($data.shape, $data.batches());
            let arguments = (
                &on.pixels,
                SCALE,
                &on.order,
                &on.state,
                &on.errors,
                &mut on.parameters,
                &mut velocities,
                shape,
                batches,
                RULE,
            );
            device.launch(&network::$kernel, $config, arguments)?;
            device.download(&on.parameters)
        }
    };
}

/// A function that runs a kernel for the gradients of each part of the batch.
macro_rules! gradient {
    ($kernel:ident, |$data:ident| $config:expr) => {
        pub(crate) fn gradient<D: Device>(device: &mut D, case: &Case) -> Result<Vec<u8>, String> {
            let $data = Data::of(case);
            let on = upload(device, &$data);
            let mut parts = device.uninitialized::<f32>(PARTS as usize * $data.parameters.len());
            let (shape, batches) = ($data.shape, $data.batches());
            let arguments = (&on.pixels, SCALE, &on.order, &on.state, &on.errors, &mut parts, shape, batches);
            device.launch(&network::$kernel, $config, arguments)?;
            device.download(&parts)
        }
    };
}

/// Tiles of 16 × 16.
pub(crate) mod small {
    use super::*;

    forward!(network_forward_bytes_16, |data| data.tiles([16, 16], data.rows, 1));
    update!(network_update_bytes_16, |data| data.tiles([16, 16], data.inputs(), 1));
    gradient!(network_gradient_bytes_16, |data| data.tiles([16, 16], data.inputs(), PARTS));
}

/// Tiles of 64 × 64.
pub(crate) mod large {
    use super::*;

    forward!(network_forward_bytes_64, |data| data.tiles([64, 64], data.rows, 1));
    update!(network_update_bytes_64, |data| data.tiles([64, 64], data.inputs(), 1));
    gradient!(network_gradient_bytes_64, |data| data.tiles([64, 64], data.inputs(), PARTS));
}

/// Tensor cores.
pub(crate) mod tensor {
    use network::{TENSOR_FEATURES, TENSOR_THREADS, TENSOR_UNITS, tensor_shared_bytes};

    use super::*;

    forward!(network_forward_bytes_tensor, |data| {
        let slices = [1, 4, 12, 2, 3, 6][data.rows % 6];
        let tiles = data.tiles([TENSOR_THREADS / slices, TENSOR_UNITS], data.rows, 1);
        LaunchConfig::new(tiles.grid, (TENSOR_THREADS / slices, slices))
            .with_dynamic_shared(tensor_shared_bytes(data.shape.features))
    });
    gradient!(network_gradient_bytes_tensor, |data| {
        data.tiles([TENSOR_FEATURES, TENSOR_UNITS], data.inputs(), PARTS)
    });
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
    let gradients = data.gradients(0..data.rows);
    let weights = data.parameters.len() - case.sizes[1];
    let rate = f64::from(RULE.rate) / data.rows as f64;
    rounded(data.parameters.iter().zip(gradients).enumerate().map(|(i, (&parameter, gradient))| {
        let decay = if i < weights { f64::from(RULE.decay) } else { 0.0 };
        (1.0 - decay) * f64::from(parameter) - rate * gradient
    }))
}

pub(crate) fn gradient_reference(case: &Case) -> Vec<u8> {
    let data = Data::of(case);
    let (rows, share) = (data.rows, data.rows.div_ceil(PARTS as usize));
    let parts = (0..PARTS as usize).map(|part| (part * share).min(rows)..((part + 1) * share).min(rows));
    rounded(parts.flat_map(|rows| data.gradients(rows)))
}
