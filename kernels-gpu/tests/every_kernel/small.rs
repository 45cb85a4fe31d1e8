//! The kernels that train small networks in one launch.

use std::time::Instant;

use cuda_std::{LaunchConfig, simulator};
use kernels_gpu::network::small::{MAX_OUTPUTS, Plan, SmallRule};
use kernels_gpu::network::{Batches, activation, loss};
use rand::rngs::ChaCha8Rng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use crate::device::{Plain, Simulator, bytes_of};
use crate::run::{Layer, Rule, Run, layers_of, parameters_of};
use crate::table::{Case, ENTRIES};
use crate::training::training_case;

/// Shared memory of a block of an H100, in bytes.
const SHARED_BYTES: u32 = 232_448;
/// What the kernel's results may be from those in double precision, relative to these above 1.
const ERROR: f32 = 2e-5;
/// The smallest magnitude of a ReLU unit's sum: much more than its error.
const LEAST_SUM: f64 = 1e-5;

const ACTIVATIONS: [u32; 4] = [activation::RELU, activation::SIGMOID, activation::TANH, activation::IDENTITY];

/// The run of a case. Its seed chooses: by Adam if it is even, the activations of the hidden layers and of the outputs by its next four bits,
/// cross-entropy by the sixth, if it suits the outputs, velocities without Adam by the seventh, and the largest layers by the eighth.
pub(crate) fn run_of(tiles: u32, case: &Case) -> Run {
    let mut random = ChaCha8Rng::seed_from_u64(case.seed);
    loop {
        let run = random_run(tiles, case, &mut random);
        // Else rounding may decide a gradient.
        if run.reference().least_sum > LEAST_SUM {
            return run;
        }
    }
}

fn random_run(tiles: u32, case: &Case, random: &mut ChaCha8Rng) -> Run {
    let [batch, count] = case.sizes;
    let is_adam = case.seed.is_multiple_of(2);
    let [hidden, output] = [case.seed >> 1, case.seed >> 3].map(|bits| ACTIVATIONS[bits as usize % 4]);
    let is_cross_entropy = output == activation::SIGMOID && case.seed >> 5 & 1 == 1;
    let mut sizes: Vec<usize> = tiles.to_string().bytes().map(|digit| 8 * usize::from(digit - b'0')).collect();
    for size in &mut sizes {
        let is_largest = case.seed >> 7 & 1 == 1 || random.random_ratio(1, 3);
        *size = if is_largest { *size } else { random.random_range(1..=*size) };
    }
    sizes.push(random.random_range(1..=MAX_OUTPUTS as usize));
    let mut layers = layers_of(&sizes, hidden, output);
    for layer in &mut layers {
        layer.factor = *[1.0, 1.0, 0.25].choose(random).expect("there are three");
    }
    let mut values = |count: usize, range: std::ops::Range<f32>| -> Vec<f32> {
        (0..count).map(|_| random.random_range(range.clone())).collect()
    };
    let parameters = parameters_of(&layers);
    let has_velocities = is_adam || case.seed >> 6 & 1 == 1;
    let inputs = values(count * sizes[0], -2.0..2.0);
    let targets = values(count * sizes[sizes.len() - 1], 0.1..0.9);
    let initial = values(parameters, -0.4..0.4);
    let velocities = if has_velocities { values(parameters, -0.01..0.01) } else { vec![] };
    let squares = if is_adam { values(parameters, 0.001..0.01) } else { vec![] };
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.shuffle(random);
    let is_mean = random.random();
    let rule = Rule {
        is_adam,
        is_mean,
        rate: if is_mean { 0.02 } else { 0.02 / batch as f32 },
        decay: *[0.0, 0.001].choose(random).expect("there are two"),
        momentum: if has_velocities { 0.9 } else { 0.0 },
        beta_2: 0.999,
        epsilon: 1e-8,
    };
    let numbers = |step: usize| [0.01 / (1.0 + step as f32), 1.0 + 1.0 / (1.0 + step as f32)];
    let numbers = if is_adam { (0..count.div_ceil(batch)).flat_map(numbers).collect() } else { vec![] };
    let loss = if is_cross_entropy { loss::CROSS_ENTROPY } else { loss::SQUARED_ERROR };
    Run { layers, batch, inputs, targets, order, parameters: initial, velocities, squares, numbers, rule, loss }
}

/// The launch of a run by one of the kernels.
pub(crate) fn plan_of(tiles: u32, run: &Run) -> Plan {
    let layer = |&Layer { shape, activation, factor }: &Layer| (shape, activation, factor);
    let layers: Vec<_> = run.layers.iter().map(layer).collect();
    Plan::of_kernel(tiles, &layers, run.batch as u32, run.loss, SHARED_BYTES).expect("there is a launch")
}

/// The rule as the kernels take it.
pub(crate) fn rule_of(run: &Run) -> SmallRule {
    let Rule { is_adam, is_mean, rate, decay, momentum, beta_2, epsilon } = run.rule;
    SmallRule {
        is_adam: is_adam.into(),
        is_mean: is_mean.into(),
        rate,
        decay,
        momentum,
        beta_2,
        one_minus_beta_2: (1.0 - f64::from(beta_2)) as f32,
        epsilon,
    }
}

pub(crate) fn batches_of(run: &Run) -> Batches {
    Batches { size: run.batch as u32, samples: run.order.len() as u32 }
}

pub(crate) fn config_of(plan: &Plan) -> LaunchConfig {
    LaunchConfig::new(1, kernels_gpu::network::small::THREADS).with_dynamic_shared(plan.shared_bytes())
}

/// Trains by the kernel with these tiles, in a launch of one step and one of the rest.
macro_rules! train {
    ($tiles:literal, $device:expr, $case:expr) => {{
        use $crate::small::{batches_of, config_of, plan_of, rule_of, run_of};
        let (device, run) = ($device, run_of($tiles, $case));
        let plan = plan_of($tiles, &run);
        let (inputs, targets) = (device.upload(&run.inputs), device.upload(&run.targets));
        let (order, numbers) = (device.upload(&run.order), device.upload(&run.numbers));
        let [mut parameters, mut velocities, mut squares] =
            [&run.parameters, &run.velocities, &run.squares].map(|values| device.upload(values));
        let steps = run.steps() as u32;
        let mut losses = device.uninitialized::<f32>(steps as usize);
        for (first, end) in [(0, 1), (1, steps)] {
            let arguments = (
                &inputs,
                &targets,
                &order,
                &numbers,
                &mut parameters,
                &mut velocities,
                &mut squares,
                &mut losses,
                first,
                end,
                batches_of(&run),
                plan.network(),
                rule_of(&run),
            );
            device.launch(&network_train_small::<$tiles>, config_of(&plan), arguments)?;
        }
        let results = [&parameters, &velocities, &squares, &losses].map(|buffer| device.download::<f32>(buffer));
        let [parameters, velocities, squares, losses] = results;
        Ok([parameters?, velocities?, squares?, losses?].concat())
    }};
}
pub(crate) use train;

/// The results of a run in double precision.
pub(crate) fn small_reference<const TILES: u32>(case: &Case) -> Vec<u8> {
    let values = run_of(TILES, case).reference().values.concat();
    bytes_of(&values.into_iter().map(|value| value as f32).collect::<Vec<f32>>())
}

/// The differences of results, as multiples of what is allowed.
fn differences(result: &[u8], reference: &[u8]) -> impl Iterator<Item = f32> {
    let floats = |bytes: &[u8]| bytes.chunks(4).map(f32::from_bytes).collect::<Vec<_>>();
    let difference = |(a, b): (f32, f32)| (a - b).abs() / (ERROR * b.abs().max(1.0));
    floats(result).into_iter().zip(floats(reference)).map(difference)
}

pub(crate) fn is_near_in_tf32(result: &[u8], reference: &[u8]) -> bool {
    result.len() == reference.len() && differences(result, reference).all(|difference| difference <= 1.0)
}

/// A random case of at most three steps.
pub(crate) fn random_small(random: &mut ChaCha8Rng, small: bool) -> Case {
    let batches: &[usize] = if small { &[1, 15, 16, 17, 33] } else { &[16, 17, 32, 50, 100, 128, 200, 256] };
    let batch = *batches.choose(random).expect("there are some");
    training_case(batch, random.random_range(1..=3 * batch), random.random())
}

/// Batches of several groups, of one, and of more than the block has at once; by each rule and with each activation. The second launch has
/// two steps, of which the last has fewer samples.
pub(crate) const SMALL_CASES: &[fn() -> Case] = &[
    || training_case(3, 8, 0),
    || training_case(40, 100, 0b010_1011),
    || training_case(140, 300, 0b110_1101),
    || training_case(33, 80, 0b1001_1110),
];

/// Random networks, rules and batches: 25 of each kernel, or as many as `KERNEL_CASES` says.
#[test]
#[ignore = "takes minutes"]
fn two_hundred_small_networks_are_trained_as_in_double_precision() {
    let count = crate::variable("KERNEL_CASES").unwrap_or(25);
    let mut entries =
        ENTRIES.iter().filter(|entry| entry.kernel.starts_with("network_train_small__")).collect::<Vec<_>>();
    assert_eq!(entries.len(), kernels_gpu::network::small::KERNELS.len());
    entries.reverse();
    entries.into_par_iter().for_each(|entry| {
        let mut random = ChaCha8Rng::seed_from_u64(test_support::seed(17));
        let (start, mut worst) = (Instant::now(), 0.0);
        for _ in 0..count {
            let case = random_small(&mut random, false);
            let options = simulator::Options { check_races: false, ..Default::default() };
            let result = (entry.on_simulator)(&mut Simulator { options }, &case);
            let result = result.unwrap_or_else(|error| panic!("{} of {case:?}: {error}", entry.kernel));
            let reference = (entry.reference)(&case);
            worst = differences(&result, &reference).fold(worst, f32::max);
            assert!((entry.agrees)(&result, &reference), "{} of {case:?}: {worst} of what is allowed", entry.kernel);
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{}: {count} cases in {seconds:.2} s, at most {worst:.2} of what is allowed", entry.kernel);
    });
}
