//! The kernels that train the homework's network in one launch.

use cuda_std::{F32x4, LaunchConfig, Schedule, simulator};
use kernels_gpu::PTX;
use kernels_gpu::network::persistent::cluster::{self, network_train_cluster};
use kernels_gpu::network::persistent::{THREADS, network_train_homework, table};
use kernels_gpu::network::{UpdateRule, activation, loss};
use ptx_interpreter::Options;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::device::{Device, Interpreter, Plain, Simulator, bytes_of};
use crate::run::{Rule, Run, layers_of, parameters_of};
use crate::small::batches_of;
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

/// The run of a case.
fn run_of(case: &Case) -> Run {
    let [batch, count] = case.sizes;
    let mut random = ChaCha8Rng::seed_from_u64(case.seed);
    let layers = layers_of(&SIZES, activation::SIGMOID, activation::SIGMOID);
    // Pixels, as the kernel for a cluster needs them.
    let inputs = (0..count * SIZES[0]).map(|_| f32::from(random.random::<u8>()) / 255.0).collect();
    let targets = (0..count * SIZES[3]).map(|_| random.random_range(0.1..0.9)).collect();
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.shuffle(&mut random);
    let parameters = (0..parameters_of(&layers)).map(|_| random.random_range(-0.1..0.1)).collect();
    let (loss, decay) = match case.seed % 2 {
        0 => (loss::CROSS_ENTROPY, 0.01),
        _ => (loss::SQUARED_ERROR, 0.0),
    };
    let (is_adam, is_mean, momentum, beta_2, epsilon) = (false, true, 0.0, 0.0, 0.0);
    let rule = Rule { is_adam, is_mean, rate: RATE, decay, momentum, beta_2, epsilon };
    let [velocities, squares, numbers] = [const { vec![] }; 3];
    Run { layers, batch, inputs, targets, order, parameters, velocities, squares, numbers, rule, loss }
}

/// The rule as the kernels take it.
fn rule_of(run: &Run) -> UpdateRule {
    let Rule { rate, momentum, decay, is_mean, .. } = run.rule;
    UpdateRule { rate, momentum, decay, is_mean: is_mean.into() }
}

pub(crate) fn train_homework<D: Device>(device: &mut D, case: &Case) -> Result<Vec<u8>, String> {
    let run = run_of(case);
    let (inputs, targets) = (device.upload(&run.inputs), device.upload(&run.targets));
    let (order, table_of_layers) = (device.upload(&run.order), device.upload(&table::HOMEWORK));
    let mut parameters = device.upload(&run.parameters);
    let mut velocities = device.upload::<f32>(&[]);
    let mut workspace = device.upload::<F32x4>(&[]);
    let mut exchange = device.uninitialized::<F32x4>(2 * 16 * SIZES[1] / 4);
    let mut barrier = device.upload(&[0_u32]);
    let mut losses = device.uninitialized::<f32>(run.steps());
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
        run.steps() as u32,
        batches_of(&run),
        run.loss,
        rule_of(&run),
    );
    device.launch(&network_train_homework, config, arguments)?;
    Ok([device.download::<f32>(&parameters)?, device.download::<f32>(&losses)?].concat())
}

pub(crate) fn train_cluster<D: Device>(device: &mut D, case: &Case) -> Result<Vec<u8>, String> {
    let run = run_of(case);
    let images = cluster::packed_images(&cluster::pixels_of(&run.inputs).expect("the inputs are pixels"));
    let (inputs, targets) = (device.upload(&images), device.upload(&run.targets));
    let order = device.upload(&run.order);
    let mut parameters = device.upload(&run.parameters);
    let mut losses = device.uninitialized::<f32>(run.steps());
    let config = LaunchConfig::new(cluster::BLOCKS, cluster::THREADS).with_dynamic_shared(cluster::SHARED_BYTES);
    let (batches, steps) = (batches_of(&run), run.steps() as u32);
    let arguments =
        (&inputs, &targets, &order, &mut parameters, &mut losses, 0, steps, batches, run.loss, rule_of(&run));
    device.launch(&network_train_cluster, config.clusters_of(cluster::BLOCKS), arguments)?;
    Ok([device.download::<f32>(&parameters)?, device.download::<f32>(&losses)?].concat())
}

/// The parameters and each step's loss in double precision.
pub(crate) fn training_reference(case: &Case) -> Vec<u8> {
    let [parameters, _, _, losses] = run_of(case).reference().values;
    bytes_of(&[parameters, losses].concat().into_iter().map(|value| value as f32).collect::<Vec<f32>>())
}

/// Whether each parameter and loss is within 10⁻⁶ of the other result's, relative to it above 1.
pub(crate) fn is_close(result: &[u8], other: &[u8]) -> bool {
    let floats = |bytes: &[u8]| bytes.chunks(4).map(f32::from_bytes).collect::<Vec<_>>();
    let close = |(a, b): (f32, f32)| (a - b).abs() <= 1e-6 * b.abs().max(1.0);
    result.len() == other.len() && floats(result).into_iter().zip(floats(other)).all(close)
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
