//! The kernels that train the homework's network in one launch.

use cuda_std::{F32x4, LaunchConfig, Schedule, simulator};
use kernels_gpu::PTX;
use kernels_gpu::network::persistent::cluster::{self, network_train_cluster};
use kernels_gpu::network::persistent::{THREADS, network_train_homework, table};
use kernels_gpu::network::{Batches, UpdateRule, loss};
use ptx_interpreter::Options;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::device::{Device, Interpreter, Plain, Simulator, bytes_of};
use crate::table::Case;
use crate::text::module_of;

const SIZES: [usize; 4] = [784, 128, 64, 10];
/// Blocks of `network_train_homework`.
const BLOCKS: u32 = 32;
/// A large learning rate, so that a wrong gradient shows.
const RATE: f32 = 0.5;

/// `count` samples in batches of `batch`.
pub(crate) fn training_case(batch: usize, count: usize, seed: u64) -> Case {
    Case { sizes: [batch, count], config: LaunchConfig::new(1, THREADS), seed }
}

/// A random case of at most two steps.
pub(crate) fn random_training(random: &mut ChaCha8Rng, small: bool) -> Case {
    let batch = random.random_range(if small { 1..=4 } else { 1..=16 });
    training_case(batch, random.random_range(1..=2 * batch), random.random())
}

/// The data of a case.
struct Data {
    inputs: Vec<f32>,
    targets: Vec<f32>,
    order: Vec<u32>,
    parameters: Vec<f32>,
    steps: usize,
    loss: u32,
    rule: UpdateRule,
}

impl Data {
    fn of(case: &Case) -> Self {
        let [batch, count] = case.sizes;
        let mut random = ChaCha8Rng::seed_from_u64(case.seed);
        // Pixels, as the kernel for a cluster needs them.
        let inputs = (0..count * SIZES[0]).map(|_| f32::from(random.random::<u8>()) / 255.0).collect();
        let targets = (0..count * SIZES[3]).map(|_| random.random_range(0.1..0.9)).collect();
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.shuffle(&mut random);
        let parameters: usize = SIZES.windows(2).map(|sizes| (sizes[0] + 1) * sizes[1]).sum();
        let parameters = (0..parameters).map(|_| random.random_range(-0.1..0.1)).collect();
        let (loss, decay) = match case.seed % 2 {
            0 => (loss::CROSS_ENTROPY, 0.01),
            _ => (loss::SQUARED_ERROR, 0.0),
        };
        let rule = UpdateRule { rate: RATE, momentum: 0.0, decay, is_mean: 1 };
        Self { inputs, targets, order, parameters, steps: count.div_ceil(batch), loss, rule }
    }

    fn batches(&self, case: &Case) -> Batches {
        Batches { size: case.sizes[0] as u32, samples: self.order.len() as u32 }
    }
}

pub(crate) fn train_homework<D: Device>(device: &mut D, case: &Case) -> Result<Vec<u8>, String> {
    let data = Data::of(case);
    let (inputs, targets) = (device.upload(&data.inputs), device.upload(&data.targets));
    let (order, table_of_layers) = (device.upload(&data.order), device.upload(&table::HOMEWORK));
    let mut parameters = device.upload(&data.parameters);
    let mut velocities = device.upload::<f32>(&[]);
    let mut workspace = device.upload::<F32x4>(&[]);
    let mut exchange = device.uninitialized::<F32x4>(2 * 16 * SIZES[1] / 4);
    let mut barrier = device.upload(&[0_u32]);
    let mut losses = device.uninitialized::<f32>(data.steps);
    // The errors of the last layer are the last array.
    let last = &table::HOMEWORK[table::HOMEWORK.len() - table::COLUMNS..];
    let quads = last[table::ERRORS] + 16 * last[table::ERRORS_STRIDE];
    let config = LaunchConfig::new(BLOCKS, THREADS).cooperative().with_dynamic_shared(16 * quads);
    let arguments = (
        &inputs,
        &targets,
        &order,
        &table_of_layers,
        &mut parameters,
        &mut velocities,
        &mut workspace,
        &mut exchange,
        &mut barrier,
        &mut losses,
        0,
        data.steps as u32,
        data.batches(case),
        data.loss,
        data.rule,
    );
    device.launch(&network_train_homework, config, arguments)?;
    Ok([device.download::<f32>(&parameters)?, device.download::<f32>(&losses)?].concat())
}

pub(crate) fn train_cluster<D: Device>(device: &mut D, case: &Case) -> Result<Vec<u8>, String> {
    let data = Data::of(case);
    let images = cluster::packed_images(&cluster::pixels_of(&data.inputs).expect("the inputs are pixels"));
    let (inputs, targets) = (device.upload(&images), device.upload(&data.targets));
    let order = device.upload(&data.order);
    let mut parameters = device.upload(&data.parameters);
    let mut losses = device.uninitialized::<f32>(data.steps);
    let config = LaunchConfig::new(cluster::BLOCKS, cluster::THREADS).with_dynamic_shared(cluster::SHARED_BYTES);
    let (batches, steps) = (data.batches(case), data.steps as u32);
    let arguments = (&inputs, &targets, &order, &mut parameters, &mut losses, 0, steps, batches, data.loss, data.rule);
    device.launch(&network_train_cluster, config.clusters_of(cluster::BLOCKS), arguments)?;
    Ok([device.download::<f32>(&parameters)?, device.download::<f32>(&losses)?].concat())
}

/// The parameters after training in double precision, one sample after the other, and each step's loss.
pub(crate) fn training_reference(case: &Case) -> Vec<u8> {
    let data = Data::of(case);
    let mut parameters: Vec<f64> = data.parameters.iter().map(|&value| value.into()).collect();
    let mut losses = Vec::new();
    for batch in data.order.chunks(case.sizes[0]) {
        let mut gradients = vec![0.0; parameters.len()];
        let mut loss = 0.0;
        for &sample in batch {
            loss += add_gradients(&data, sample as usize, &parameters, &mut gradients);
        }
        let rate = f64::from(RATE) / batch.len() as f64;
        let mut first = 0;
        for sizes in SIZES.windows(2) {
            let (weights, all) = (sizes[0] * sizes[1], (sizes[0] + 1) * sizes[1]);
            for i in first..first + all {
                let decay = if i < first + weights { f64::from(data.rule.decay) } else { 0.0 };
                parameters[i] = (1.0 - decay) * parameters[i] - rate * gradients[i];
            }
            first += all;
        }
        losses.push(loss);
    }
    let values: Vec<f32> = parameters.into_iter().chain(losses).map(|value| value as f32).collect();
    bytes_of(&values)
}

/// Whether each parameter and loss is within 10⁻⁶ of the other result's, relative to it above 1.
pub(crate) fn is_close(result: &[u8], other: &[u8]) -> bool {
    let floats = |bytes: &[u8]| bytes.chunks(4).map(f32::from_bytes).collect::<Vec<_>>();
    let close = |(a, b): (f32, f32)| (a - b).abs() <= 1e-6 * b.abs().max(1.0);
    result.len() == other.len() && floats(result).into_iter().zip(floats(other)).all(close)
}

/// Adds a sample's gradients, and returns its loss.
fn add_gradients(data: &Data, sample: usize, parameters: &[f64], gradients: &mut [f64]) -> f64 {
    let row = |values: &[f32], columns: usize| -> Vec<f64> {
        values[sample * columns..][..columns].iter().map(|&value| value.into()).collect()
    };
    let mut activations = vec![row(&data.inputs, SIZES[0])];
    let mut firsts = vec![];
    let mut first = 0;
    for (layer, sizes) in SIZES.windows(2).enumerate() {
        let (inputs, units) = (sizes[0], sizes[1]);
        let sum = |unit: usize| {
            let weights = (0..inputs).map(|i| activations[layer][i] * parameters[first + i * units + unit]);
            weights.sum::<f64>() + parameters[first + inputs * units + unit]
        };
        let values = (0..units).map(|unit| 1.0 / (1.0 + (-sum(unit)).exp())).collect();
        activations.push(values);
        firsts.push(first);
        first += (inputs + 1) * units;
    }
    let (outputs, targets) = (&activations[3], row(&data.targets, SIZES[3]));
    let is_cross_entropy = data.loss == loss::CROSS_ENTROPY;
    let term = |(&a, &y): (&f64, &f64)| match is_cross_entropy {
        true => -(y * a.ln() + (1.0 - y) * (1.0 - a).ln()),
        false => 0.5 * (a - y) * (a - y),
    };
    let loss = outputs.iter().zip(&targets).map(term).sum();
    let error = |(&a, &y): (&f64, &f64)| if is_cross_entropy { a - y } else { (a - y) * a * (1.0 - a) };
    let mut errors: Vec<f64> = outputs.iter().zip(&targets).map(error).collect();
    for layer in (0..3).rev() {
        let (inputs, units, first) = (SIZES[layer], SIZES[layer + 1], firsts[layer]);
        let below = &activations[layer];
        for unit in 0..units {
            for i in 0..inputs {
                gradients[first + i * units + unit] += below[i] * errors[unit];
            }
            gradients[first + inputs * units + unit] += errors[unit];
        }
        let back = |i: usize| {
            let sum: f64 = (0..units).map(|unit| errors[unit] * parameters[first + i * units + unit]).sum();
            sum * below[i] * (1.0 - below[i])
        };
        errors = (0..inputs).map(back).collect();
    }
    loss
}

/// Beside the other tests, which compare it with the reference: the compiled kernel has the source's bits, of tensor cores' products too, and
/// the same in every order of the warps.
#[test]
fn the_cluster_has_the_same_bits_in_every_order() {
    if crate::is_stale() {
        return;
    }
    let case = training_case(3, 5, 4);
    let options = || simulator::Options { check_races: false, ..Default::default() };
    let expected = train_cluster(&mut Simulator { options: options() }, &case).unwrap();
    for ptx in PTX.iter().filter(|ptx| ptx.compute_capability() >= (9, 0)) {
        let module = module_of(ptx.text(), "network_train_cluster");
        for schedule in ["ascending", "descending", "shuffled:7@500,900"].map(str::parse::<Schedule>) {
            let schedule = schedule.unwrap();
            let options = Options { check_races: false, schedule, ..Default::default() };
            let trained = train_cluster(&mut Interpreter::new(&module, options).unwrap(), &case).unwrap();
            assert!(trained == expected);
        }
    }
}
