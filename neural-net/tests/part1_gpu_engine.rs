//! The GPU engine agrees with the reference: in the simulator with all checks, and on a GPU if there is one.

mod support;

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::thread;

use gpu::{Device, DeviceChoice, InterpreterOptions, PtxVariant, SimulatorOptions};
use kernels_gpu::network::{self, ByteScale};
use ndarray::Array2;
use neural_net::device::TrainingDevice;
use neural_net::engine::{
    CpuEngine, Engine, EngineError, Evaluation, GpuEngine, GpuEngineError, GpuOptions, GpuPath, Parameters,
    TrainingKernel,
};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::training::{GradientScale, Optimizer};
use neural_net::{Activation, Architecture, Hyperparameters, Loss, Network, Samples};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use support::cases::{
    Case, assert_as_many_correct, assert_close, case, network_in_f64, random_samples, start, train_by_reference,
};

/// Trains in the given order, and returns the parameters and the steps' losses.
fn train(engine: &mut dyn Engine, order: &[u32]) -> (Parameters, Vec<f64>) {
    let mut losses = vec![];
    let mut observe = |step, loss| {
        assert_eq!(step, losses.len());
        losses.push(loss);
        ControlFlow::Continue(())
    };
    engine.train(order, 0, &mut observe).unwrap();
    (engine.parameters().unwrap(), losses)
}

/// Both paths; one launch for many steps with the default number of blocks, with three, or with one. Adam has one for small networks only.
fn check(device: &Device, case: &Case) -> Result<(), TestCaseError> {
    let options = |path, max_blocks| GpuOptions { path, max_blocks: NonZeroU32::new(max_blocks), no_clusters: false };
    check_with(device, case, &options(GpuPath::Steps, 0))?;
    let batch_size = case.hyperparameters.batch_size.unwrap_or(case.count).min(case.count);
    match case.hyperparameters.optimizer {
        Optimizer::Adam => {
            check_with(device, case, &options(GpuPath::Auto, 0))?;
        }
        Optimizer::Sgd if batch_size <= 64 && case.architecture.sizes().iter().all(|&size| size < 100) => {
            check_with(device, case, &options(GpuPath::Persistent, [0, 3, 1][case.count % 3]))?;
        }
        Optimizer::Sgd => {}
    }
    Ok(())
}

/// What the engine trains, which is as the reference does, and its losses.
fn check_with(device: &Device, case: &Case, options: &GpuOptions) -> Result<(Parameters, Vec<f64>), TestCaseError> {
    let Case { architecture, hyperparameters, count, seed } = case;
    let mut rng = ChaCha8Rng::seed_from_u64(*seed);
    let network = Network::random(architecture.clone(), Initialization::Xavier, &mut rng);
    let samples = random_samples(*count, architecture.inputs(), architecture.outputs(), &mut rng);
    let order: Vec<u32> = (0..*count as u32).rev().collect();
    let parameters = start(network.clone(), hyperparameters);

    let mut engine = GpuEngine::new(device, &samples, &parameters, hyperparameters, options).unwrap();
    let (trained, losses) = train(&mut engine, &order);
    let expected = train_by_reference(&samples, &parameters, hyperparameters, &order);
    if expected.is_at_a_kink {
        return Err(TestCaseError::reject("rounding decides the sign of a pre-activation of ReLU"));
    }
    assert_close(&trained.network, &expected.network, 2e-6)?;
    let expected_loss = expected.loss;
    let loss: f64 = losses.iter().sum();
    prop_assert!((loss - expected_loss).abs() <= 2e-6 * expected_loss.max(1.0), "{} not {}", loss, expected_loss);
    let is_adam = hyperparameters.optimizer == Optimizer::Adam;
    prop_assert_eq!(trained.velocities.is_some(), is_adam || hyperparameters.momentum != 0.0);
    prop_assert_eq!(trained.squares.is_some(), is_adam);

    if let Some(ptx) = device.ptx().filter(|_| device.is_gpu()) {
        // The order of the kernels' sums depends on the sizes only, and those without tensor cores have no approximate instruction.
        let options_of_interpreter = InterpreterOptions { check_races: false, ..InterpreterOptions::default() };
        let interpreter = Device::interpreter(&ptx, options_of_interpreter).unwrap();
        let mut interpreted = GpuEngine::new(&interpreter, &samples, &parameters, hyperparameters, options).unwrap();
        let kernels = [&engine, &interpreted].map(|engine| engine.training_kernel().map(|(kernel, _)| kernel));
        if kernels[0] == kernels[1] && !matches!(kernels[0], Some(TrainingKernel::Small(_))) {
            prop_assert!(train(&mut interpreted, &order) == (trained.clone(), losses.clone()), "other bits");
        }
    }
    let evaluation = engine.evaluate_training_samples().unwrap();
    let mut cpu = CpuEngine::new(&samples, &trained, hyperparameters);
    let on_cpu = cpu.evaluate_training_samples().unwrap();
    prop_assert_eq!(evaluation.count, *count);
    prop_assert!((evaluation.loss - on_cpu.loss).abs() <= 2e-6 * on_cpu.loss.max(1.0));
    assert_as_many_correct(evaluation.correct, on_cpu.correct, &trained.network, &samples)?;
    let (outputs, on_cpu) = (engine.predict(&samples).unwrap(), cpu.predict(&samples).unwrap());
    prop_assert_eq!(outputs.dim(), (*count, architecture.outputs()));
    for (output, on_cpu) in outputs.iter().zip(&on_cpu) {
        prop_assert!((output - on_cpu).abs() <= 2e-6 * on_cpu.abs().max(1.0), "{} not {}", output, on_cpu);
    }
    Ok((trained, losses))
}

/// The cases of the CPU engine's tests, with up to three steps each.
fn short_case() -> impl Strategy<Value = Case> {
    (case(), 1_usize..4, 0.0..1.0).prop_map(|(case, steps, remainder)| {
        let Some(batch_size) = case.hyperparameters.batch_size else { return case };
        let count = (batch_size * steps - (remainder * batch_size as f64) as usize).max(1);
        Case { count, ..case }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn part1_the_gpu_engine_trains_as_the_reference_does_in_double_precision(case in short_case()) {
        check(&Device::simulator(), &case)?;
    }
}

/// A network, the number of samples, their batches, and the optimizer.
type OfBytes = ([usize; 3], usize, usize, Optimizer);

/// Launches with small tiles, and with gradients in parts.
const OF_BYTES: [OfBytes; 3] = [
    ([33, 5, 3], 40, 16, Optimizer::Sgd),
    ([33, 5, 3], 40, 16, Optimizer::Adam),
    ([20, 10, 4], 700, 600, Optimizer::Sgd),
];

/// Launches with large tiles.
const OF_BYTES_IN_LARGE_TILES: OfBytes = ([33, 4033, 2], 257, 257, Optimizer::Sgd);

/// Samples of bytes train to the same bits as the same samples as floats.
#[test]
fn part1_samples_of_bytes_train_as_their_floats_do() {
    OF_BYTES
        .into_iter()
        .chain([OF_BYTES_IN_LARGE_TILES])
        .for_each(|case| bytes_train_as_floats_do(&Device::simulator(), case));
    for ptx in gpu_testing::fresh_ptx(&kernels_gpu::PTX) {
        let options = InterpreterOptions { check_races: false, ..InterpreterOptions::default() };
        let device = Device::interpreter(ptx, options).unwrap();
        OF_BYTES.into_iter().for_each(|case| bytes_train_as_floats_do(&device, case));
    }
}

fn bytes_train_as_floats_do(device: &Device, case: OfBytes) {
    let [of_bytes, of_floats] = train_bytes_and_floats(device, case);
    assert!(of_bytes == of_floats, "{case:?}: other bits");
}

/// Large batches of bytes train by tensor cores, which round other sums. The second batch is shorter.
#[test]
fn part1_large_batches_of_bytes_train_by_tensor_cores() {
    for ptx in gpu_testing::fresh_ptx(&kernels_gpu::PTX) {
        let options = InterpreterOptions { check_races: false, ..InterpreterOptions::default() };
        let device = Device::interpreter(ptx, options).unwrap();
        device.take_ptx_reports();
        large_batches_train(&device, Optimizer::Sgd);
        large_batches_train(&device, Optimizer::Adam);
        let mut launched = device.take_ptx_reports().into_iter().map(|report| report.kernel.to_string());
        let has_tensor_cores = device.has(&network::network_gradient_bytes_tensor);
        assert_eq!(launched.any(|kernel| kernel.ends_with("_tensor")), has_tensor_cores);
    }
}

fn large_batches_train(device: &Device, optimizer: Optimizer) {
    let [(of_bytes, losses, _), (of_floats, others, _)] =
        train_bytes_and_floats(device, ([16, 17, 3], 4200, 4100, optimizer));
    assert_close(&of_bytes.network, &network_in_f64(&of_floats.network), 2e-6).unwrap();
    for (loss, other) in losses.into_iter().zip(others) {
        assert!((loss - other).abs() <= 2e-6 * other, "{loss}, not {other}");
    }
}

/// The parameters, losses and accuracies of training on the same samples, as bytes and as floats.
fn train_bytes_and_floats(
    device: &Device,
    (sizes, count, batch_size, optimizer): OfBytes,
) -> [(Parameters, Vec<f64>, Evaluation); 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    let architecture = Architecture::new(sizes.to_vec(), Activation::Sigmoid, Activation::Sigmoid).unwrap();
    let network = Network::random(architecture, Initialization::Xavier, &mut rng);
    let pixels = Array2::from_shape_simple_fn((count, sizes[0]), || rng.random::<u8>());
    let targets = Array2::from_shape_simple_fn((count, sizes[2]), || rng.random_range(0.0..1.0));
    let order: Vec<u32> = (0..count as u32).rev().collect();
    let hyperparameters =
        Hyperparameters { batch_size: Some(batch_size), optimizer, ..Preset::Homework.hyperparameters() };
    let options = GpuOptions { path: GpuPath::Steps, ..GpuOptions::default() };
    let parameters = start(network, &hyperparameters);
    let bytes = Samples::from_bytes(pixels.clone().into(), 255.0, targets.clone()).unwrap();
    let floats = Samples::new(pixels.map(|&pixel| f32::from(pixel) / 255.0), targets).unwrap();
    [&bytes, &floats].map(|samples| {
        let mut engine = GpuEngine::new(device, samples, &parameters, &hyperparameters, &options).unwrap();
        let (trained, losses) = train(&mut engine, &order);
        (trained, losses, engine.evaluate(samples).unwrap())
    })
}

/// The scale of bytes is that of their values, to the bit, or none.
#[test]
fn part1_the_gpu_scales_bytes_to_the_bit() {
    let values = |white: f32| std::array::from_fn(|byte| byte as f32 / white);
    for white in [255.0, 1.0, 256.0] {
        let scale = ByteScale::of(&values(white)).unwrap_or_else(|| panic!("bytes divided by {white}"));
        assert_eq!(scale.divisor, white);
    }
    let mut others: [f32; 256] = values(255.0);
    others[7] = f32::from_bits(others[7].to_bits() + 1);
    assert_eq!(ByteScale::of(&others), None);
    for other in [0.0, f32::INFINITY] {
        assert_eq!(ByteScale::of(&[other; 256]), None, "{other}");
    }
}

/// Each activation with each loss that is defined for it, in networks of depths 1 to 4.
#[test]
fn part1_the_gpu_engine_supports_every_activation_and_loss() {
    check_every_activation_and_loss(&Device::simulator());
}

fn check_every_activation_and_loss(device: &Device) {
    use Activation::{Identity, Relu, Sigmoid, Softmax, Tanh};
    let sizes = [vec![7, 3], vec![6, 5, 4], vec![9, 17, 2, 3], vec![5, 4, 3, 6, 1]];
    let mut combination = 0;
    for hidden in [Sigmoid, Relu, Tanh, Identity] {
        for output in [Sigmoid, Relu, Tanh, Identity, Softmax] {
            for loss in [Loss::SquaredError, Loss::CrossEntropy].into_iter().filter(|loss| loss.is_defined_for(output))
            {
                let sizes = sizes[combination % sizes.len()].clone();
                combination += 1;
                let momentum = if combination % 3 == 0 { 0.5 } else { 0.0 };
                let optimizer = if combination % 4 == 0 { Optimizer::Adam } else { Optimizer::Sgd };
                let hyperparameters = Hyperparameters {
                    loss,
                    optimizer,
                    learning_rate: 0.05,
                    momentum,
                    weight_decay: 0.1,
                    batch_size: Some(5),
                    ..Preset::Homework.hyperparameters()
                };
                let architecture = Architecture::new(sizes, hidden, output).unwrap();
                let case = Case { architecture, hyperparameters, count: 13, seed: combination as u64 };
                check(device, &case).unwrap_or_else(|error| panic!("{hidden:?}, {output:?}, {loss:?}: {error}"));
            }
        }
    }
    assert_eq!(combination, 28);
}

/// The compiled kernels: the PTX of each architecture, in the interpreter with all checks.
#[test]
fn part1_the_gpu_engine_is_right_with_its_compiled_kernels() {
    thread::scope(|scope| {
        for variant in gpu_testing::fresh_ptx(&kernels_gpu::PTX) {
            scope.spawn(|| check_compiled_kernels(variant));
        }
    });
}

fn check_compiled_kernels(variant: &PtxVariant) {
    let device = Device::interpreter(variant, InterpreterOptions::default()).unwrap();
    check_every_activation_and_loss(&device);
    // From here on the device records its launches.
    device.take_ptx_reports();
    check_large_layers_and_batches(&device);
    check_small_networks(&device);
    let architecture = Architecture::new(vec![6, 5, 4], Activation::Sigmoid, Activation::Softmax).unwrap();
    let hyperparameters = Hyperparameters { batch_size: Some(5), ..Preset::Homework.hyperparameters() };
    check(&device, &Case { architecture, hyperparameters, count: 13, seed: 9 }).unwrap();
    let without_races =
        Device::interpreter(variant, InterpreterOptions { check_races: false, ..Default::default() }).unwrap();
    without_races.take_ptx_reports();
    check_the_homeworks_network(&without_races);
    check_large_tiles(&without_races);
    let reports = [device.take_ptx_reports(), without_races.take_ptx_reports()].concat();
    let launched: BTreeSet<String> = reports.iter().map(|report| report.kernel.to_string()).collect();
    let entries = variant.text().split(".visible .entry ").skip(1).filter_map(|entry| entry.split('(').next());
    // Those for bytes have a test of their own, and are in kernels-gpu/tests/every_kernel.
    let is_expected = |kernel: &&str| kernel.starts_with("network_") && !kernel.contains("_bytes_");
    let compiled: BTreeSet<String> = entries.filter(is_expected).map(str::to_owned).collect();
    assert_eq!(launched, compiled, "each kernel of the network is launched");
}

/// Sizes for which the engine splits gradients into parts.
#[test]
fn part1_the_gpu_engine_is_right_for_large_layers_and_batches() {
    check_large_layers_and_batches(&Device::simulator());
}

fn check_large_layers_and_batches(device: &Device) {
    check_sizes(device, &[(vec![20, 40, 10], 700), (vec![70, 600, 530, 2], 33)]);
}

/// Small networks in one launch of one block, by each kernel: batches of 1, of 128 and of more samples than the block has at once, a
/// shorter last one, sizes that are no multiples of eight, one hidden layer to three, one output and several, layers with their own rates. A
/// device without tensor cores for floats has none of these kernels.
fn check_small_networks(device: &Device) {
    use Activation::{Identity, Relu, Sigmoid, Tanh};
    let cases = [
        (vec![8, 32, 16, 1], Relu, Identity, 128, 300, 142),
        (vec![5, 3, 1], Tanh, Identity, 1, 3, 12),
        (vec![9, 50, 2], Sigmoid, Identity, 200, 230, 28),
        (vec![52, 21, 5], Tanh, Sigmoid, 64, 70, 84),
        (vec![9, 17, 18, 6], Relu, Tanh, 130, 131, 244),
        (vec![24, 64, 32, 1], Relu, Identity, 128, 150, 384),
        (vec![64, 20, 30, 1], Sigmoid, Sigmoid, 33, 40, 844),
        (vec![12, 30, 9, 4, 3], Tanh, Identity, 100, 120, 2442),
    ];
    for (sizes, hidden, output, batch_size, count, tiles) in cases {
        for optimizer in [Optimizer::Adam, Optimizer::Sgd] {
            let mut learning_rate_factors = vec![1.0; sizes.len() - 1];
            learning_rate_factors[0] = 0.25;
            let (learning_rate, gradient) = match optimizer {
                Optimizer::Adam => (0.001, GradientScale::Mean),
                Optimizer::Sgd => (0.1 / batch_size as f64, GradientScale::Sum),
            };
            let hyperparameters = Hyperparameters {
                loss: Loss::SquaredError,
                optimizer,
                learning_rate,
                learning_rate_factors,
                momentum: 0.9,
                weight_decay: 0.1,
                batch_size: Some(batch_size),
                gradient,
                ..Preset::Homework.hyperparameters()
            };
            let architecture = Architecture::new(sizes.clone(), hidden, output).unwrap();
            let options = GpuOptions { path: GpuPath::Persistent, max_blocks: None, no_clusters: false };
            match small_kernel(device, &architecture, &hyperparameters, count, &options) {
                Ok(kernel) => assert_eq!(kernel, (TrainingKernel::Small(tiles), 1), "{sizes:?}"),
                Err(error) => {
                    let is_old = device.ptx().is_some_and(|ptx| ptx.compute_capability() < (8, 0));
                    assert!(is_old && matches!(error, GpuEngineError::NotPersistent(_)), "{sizes:?}: {error}");
                    continue;
                }
            }
            let case = Case { architecture, hyperparameters, count, seed: 4 };
            check_with(device, &case, &options).unwrap_or_else(|error| panic!("{sizes:?}, {optimizer:?}: {error}"));
        }
    }
}

/// The kernel of the launch for a small network, and the number of its blocks.
fn small_kernel(
    device: &Device,
    architecture: &Architecture,
    hyperparameters: &Hyperparameters,
    count: usize,
    options: &GpuOptions,
) -> Result<(TrainingKernel, u32), GpuEngineError> {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(5));
    let parameters = Parameters::new(Network::random(architecture.clone(), Initialization::Xavier, &mut rng));
    let samples = random_samples(count, architecture.inputs(), architecture.outputs(), &mut rng);
    let engine = GpuEngine::new(device, &samples, &parameters, hyperparameters, options)?;
    let name = engine.device();
    assert!(name.contains("one launch for many steps, network_train_small__"), "{name}");
    Ok(engine.training_kernel().expect("the engine has one launch for many steps"))
}

#[test]
fn part1_the_gpu_engine_trains_small_networks_in_one_block() {
    check_small_networks(&Device::simulator());
}

/// Networks and batches for which there is no such kernel: Adam has launches for each step then, and an error says so where one launch is
/// requested.
#[test]
fn part1_other_networks_by_adam_have_launches_for_each_step() {
    let device = Device::simulator();
    let others = [
        (vec![8, 32, 16, 9], 128),
        (vec![65, 32, 1], 128),
        (vec![8, 1], 128),
        (vec![8, 32, 16, 1], 513),
        (vec![8, 65, 16, 1], 16),
        (vec![8, 9, 9, 9, 9, 1], 16),
    ];
    for (sizes, batch_size) in others {
        let architecture = Architecture::new(sizes.clone(), Activation::Relu, Activation::Identity).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(5));
        let samples = random_samples(600, architecture.inputs(), architecture.outputs(), &mut rng);
        let parameters = Parameters::new(Network::random(architecture, Initialization::Xavier, &mut rng));
        let hyperparameters = Hyperparameters {
            loss: Loss::SquaredError,
            optimizer: Optimizer::Adam,
            momentum: 0.9,
            batch_size: Some(batch_size),
            ..Preset::Homework.hyperparameters()
        };
        let engine = |path| {
            let options = GpuOptions { path, max_blocks: None, no_clusters: false };
            GpuEngine::new(&device, &samples, &parameters, &hyperparameters, &options)
        };
        assert_eq!(engine(GpuPath::Auto).unwrap().training_kernel(), None, "{sizes:?}");
        let error = engine(GpuPath::Persistent).map(|_| ()).unwrap_err();
        assert!(matches!(error, GpuEngineError::NotPersistent(_)), "{sizes:?}: {error}");
    }
}

/// The smallest network that uses each of the kernels with tiles of 64 × 64, gradients in parts included.
fn check_large_tiles(device: &Device) {
    check_sizes(device, &[(vec![33, 4033, 2], 257)]);
}

#[test]
fn part1_the_gpu_engine_is_right_with_large_tiles() {
    check_large_tiles(&Device::simulator());
}

/// The homework's network, for which there are two kernels with constant sizes, one of them for a cluster of blocks: whole batches and a shorter last one, batches
/// that are padded to 16, and each loss. With fewer blocks the engine launches the kernel for any network, whose result
/// has the same bits as that of the one without clusters.
fn check_the_homeworks_network(device: &Device) {
    let preset = Preset::Homework;
    let architecture =
        Architecture::new(preset.sizes(), preset.hidden_activation(), preset.output_activation()).unwrap();
    for (batch_size, count, loss, weight_decay) in
        [(16, 43, Loss::SquaredError, 0.0), (14, 28, Loss::CrossEntropy, 0.1), (16, 7, Loss::SquaredError, 0.1)]
    {
        let hyperparameters =
            Hyperparameters { batch_size: Some(batch_size), loss, weight_decay, ..preset.hyperparameters() };
        let options = |max_blocks, no_clusters| {
            let max_blocks = NonZeroU32::new(max_blocks);
            GpuOptions { path: GpuPath::Persistent, max_blocks, no_clusters }
        };
        let case = Case { architecture: architecture.clone(), hyperparameters, count, seed: count as u64 };
        check_with(device, &case, &options(0, false)).unwrap();
        let of_constants = check_with(device, &case, &options(0, true)).unwrap();
        let of_any = check_with(device, &case, &options(16, true)).unwrap();
        assert!(of_constants == of_any, "batches of {batch_size}, {count} samples");
    }
}

#[test]
fn part1_the_gpu_engine_is_right_for_the_homeworks_network() {
    // Races of these kernels are looked for in kernels-gpu/tests/every_kernel.
    let options = SimulatorOptions { check_races: false, ..SimulatorOptions::default() };
    check_the_homeworks_network(&Device::simulator_with(options));
}

fn check_sizes(device: &Device, sizes_and_counts: &[(Vec<usize>, usize)]) {
    for (sizes, count) in sizes_and_counts.iter().cloned() {
        let architecture = Architecture::new(sizes, Activation::Tanh, Activation::Softmax).unwrap();
        for (optimizer, learning_rate) in [(Optimizer::Sgd, 0.01), (Optimizer::Adam, 0.001)] {
            let hyperparameters = Hyperparameters {
                batch_size: None,
                loss: Loss::CrossEntropy,
                optimizer,
                learning_rate,
                momentum: 0.9,
                ..Preset::Homework.hyperparameters()
            };
            check(device, &Case { architecture: architecture.clone(), hyperparameters, count, seed: 3 }).unwrap();
        }
    }
}

#[test]
fn part1_the_gpu_engine_stops_at_a_loss_that_is_not_finite() {
    for path in [GpuPath::Steps, GpuPath::Persistent] {
        stops_at_a_loss_that_is_not_finite(path);
    }
}

fn stops_at_a_loss_that_is_not_finite(path: GpuPath) {
    let options = GpuOptions { path, max_blocks: None, no_clusters: false };
    let architecture = Architecture::new(vec![3, 2], Activation::Identity, Activation::Identity).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(5));
    let network = Network::random(architecture, Initialization::Xavier, &mut rng);
    let samples = random_samples(400, 3, 2, &mut rng);
    let order: Vec<u32> = (0..400).collect();
    let hyperparameters = Hyperparameters { learning_rate: 1e6, ..Preset::Homework.hyperparameters() };
    let parameters = Parameters::new(network);
    let mut engine = GpuEngine::new(&Device::simulator(), &samples, &parameters, &hyperparameters, &options).unwrap();
    let mut steps = 0;
    let outcome = engine.train(&order, 0, &mut |_, loss| {
        assert!(loss.is_finite());
        steps += 1;
        ControlFlow::Continue(())
    });
    let Err(EngineError::Diverged(diverged)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(diverged.step, steps);
    assert!(steps > 0);
}

/// Wherever it is stopped, training resumes after the last step that `observe` received.
#[test]
fn part1_the_gpu_engine_resumes_after_the_last_observed_step() {
    resumes_after_the_last_observed_step(GpuPath::Steps, Optimizer::Sgd, Activation::Softmax);
    resumes_after_the_last_observed_step(GpuPath::Steps, Optimizer::Adam, Activation::Softmax);
    resumes_after_the_last_observed_step(GpuPath::Persistent, Optimizer::Sgd, Activation::Softmax);
    // By the kernel of one block.
    resumes_after_the_last_observed_step(GpuPath::Persistent, Optimizer::Sgd, Activation::Sigmoid);
    resumes_after_the_last_observed_step(GpuPath::Persistent, Optimizer::Adam, Activation::Sigmoid);
}

fn resumes_after_the_last_observed_step(path: GpuPath, optimizer: Optimizer, output: Activation) {
    let options = GpuOptions { path, max_blocks: None, no_clusters: false };
    let architecture = Architecture::new(vec![6, 4, 3], Activation::Sigmoid, output).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(5));
    let network = Network::random(architecture, Initialization::Xavier, &mut rng);
    let samples = random_samples(200, 6, 3, &mut rng);
    let order: Vec<u32> = (0..200).collect();
    let hyperparameters =
        Hyperparameters { batch_size: Some(2), optimizer, momentum: 0.5, ..Preset::Homework.hyperparameters() };
    let mut parameters = Parameters::new(network);
    let engine = |parameters: &Parameters| {
        GpuEngine::new(&Device::simulator(), &samples, parameters, &hyperparameters, &options).unwrap()
    };
    let (expected, expected_losses) = train(&mut engine(&parameters), &order);

    let (mut losses, mut stops) = (vec![], 0);
    while losses.len() < 100 {
        let mut engine = engine(&parameters);
        let first = losses.len();
        let mut observe = |step, loss| {
            assert_eq!(step, losses.len());
            losses.push(loss);
            ControlFlow::Break(())
        };
        engine.train(&order, first, &mut observe).unwrap();
        parameters = engine.parameters().unwrap();
        stops += 1;
    }
    assert!(stops > 1, "it stops at all");
    assert!(parameters == expected && losses == expected_losses);
}

#[test]
fn part1_the_gpu_engine_trains_as_the_reference_does_on_a_gpu_if_there_is_one() {
    if gpu_testing::require_gpu() {
        let device = Device::open(DeviceChoice::Cuda, &kernels_gpu::PTX).unwrap();
        check_every_activation_and_loss(&device);
        check_large_layers_and_batches(&device);
        check_small_networks(&device);
        check_the_homeworks_network(&device);
    }
}

#[test]
fn part1_engines_of_a_shared_device_have_the_bits_of_single_ones_on_a_gpu() {
    if !gpu_testing::require_gpu() {
        return;
    }
    let device = Device::open(DeviceChoice::Cuda, &kernels_gpu::PTX).unwrap();
    let shared = TrainingDevice::Cuda.open_shared(0).unwrap();
    let samples = random_samples(100, 9, 2, &mut ChaCha8Rng::seed_from_u64(test_support::seed(6)));
    let order: Vec<u32> = (0..100).rev().collect();
    let member = |seed: usize| {
        let architecture = Architecture::new(vec![9, 4 + 9 * (seed % 3), 2], Activation::Tanh, Activation::Identity);
        let mut rng = ChaCha8Rng::seed_from_u64(seed as u64);
        let network = Network::random(architecture.unwrap(), Initialization::Xavier, &mut rng);
        let (learning_rate, batch_size) = (0.001, Some(5 + seed));
        let hyperparameters = Hyperparameters {
            loss: Loss::SquaredError,
            optimizer: if seed.is_multiple_of(2) { Optimizer::Adam } else { Optimizer::Sgd },
            learning_rate,
            batch_size,
            ..Preset::Homework.hyperparameters()
        };
        (Parameters::new(network), hyperparameters)
    };
    // More than the streams that the emulated driver's GPU has.
    thread::scope(|scope| {
        let at_once = (0..40).map(|seed| {
            let (samples, order, shared) = (&samples, &order, shared.clone());
            scope.spawn(move || {
                let (parameters, hyperparameters) = member(seed);
                let options = GpuOptions::default();
                let made = TrainingDevice::Cuda.engine(&shared, samples, &parameters, &hyperparameters, &options);
                train(&mut made.unwrap().engine, order)
            })
        });
        for (seed, at_once) in at_once.collect::<Vec<_>>().into_iter().enumerate() {
            let (parameters, hyperparameters) = member(seed);
            let options = GpuOptions::default();
            let mut single = GpuEngine::new(&device, &samples, &parameters, &hyperparameters, &options).unwrap();
            assert!(at_once.join().unwrap() == train(&mut single, &order), "member {seed}");
        }
    });
}

/// A driver or a kernel that has no room for the cluster must not go unnoticed: the engine trains without one then.
#[test]
fn part1_the_gpu_engine_trains_by_a_cluster_on_a_gpu_that_has_them() {
    if !gpu_testing::require_gpu() {
        return;
    }
    let device = Device::open(DeviceChoice::Cuda, &kernels_gpu::PTX).unwrap();
    let preset = Preset::Homework;
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(5));
    let network = Network::random(preset.architecture().unwrap(), Initialization::Xavier, &mut rng);
    let samples = random_samples(32, 784, 10, &mut rng);
    let engine =
        GpuEngine::new(&device, &samples, &Parameters::new(network), &preset.hyperparameters(), &GpuOptions::default());
    let engine = engine.unwrap();
    println!("{}", engine.device());
    let kernel = engine.training_kernel().map(|(kernel, _)| kernel);
    let has_clusters = device.compute_capability() >= Some((9, 0));
    assert_eq!(kernel == Some(TrainingKernel::Cluster), has_clusters, "{}", engine.device());
    assert_eq!(engine.device().contains("network_train_cluster"), has_clusters, "{}", engine.device());
}
