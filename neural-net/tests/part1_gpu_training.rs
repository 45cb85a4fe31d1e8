//! A whole training run on a GPU agrees with the CPU's, in the simulator and on a GPU if there is one.

mod support;

use gpu::{Device, DeviceChoice, SimulatorOptions};
use neural_net::data::{Dataset, ToSamples};
use neural_net::engine::{CpuEngine, Engine, EngineError, GpuEngine, GpuEngineError, GpuOptions, GpuPath};
use neural_net::engine::{NotPersistent, Parameters};
use neural_net::preset::Preset;
use neural_net::training::{EpochRecord, Observer, Progress, Schedule, Training, Validation, initial_parameters};
use neural_net::{Activation, Architecture, Hyperparameters, Loss, Network, Samples};
use support::{mnist_directory, small_dataset};

struct Silent;

impl<E: Engine> Observer<E> for Silent {
    type Error = std::convert::Infallible;

    fn step(&mut self, _epoch: usize, _step: usize, _steps: usize) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }

    fn epoch(&mut self, _record: &EpochRecord, _training: &Training<E>) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// The result of a training run.
struct Trained {
    network: Network,
    history: Vec<EpochRecord>,
    test_accuracy: f64,
}

fn train<E: Engine>(
    engine: E,
    hyperparameters: &Hyperparameters,
    train: usize,
    validation: &Samples,
    test: &Samples,
) -> Trained {
    let mut training = Training::new(engine, train, hyperparameters.clone(), Progress::default());
    training.run(&Validation::Apart(validation), &mut Silent).unwrap();
    Trained {
        network: training.engine().parameters().unwrap().network,
        history: training.progress().history.clone(),
        test_accuracy: training.engine_mut().evaluate(test).unwrap().accuracy(),
    }
}

/// The maximum difference of the networks' parameters, relative to the largest parameter.
fn largest_difference(a: &Network, b: &Network) -> f32 {
    let parameters = |network: &Network| -> Vec<f32> {
        network.weights().iter().flatten().chain(network.biases().iter().flatten()).copied().collect()
    };
    let (a, b) = (parameters(a), parameters(b));
    let largest =
        |values: &mut dyn Iterator<Item = f32>| values.fold(0.0_f32, |largest, value| largest.max(value.abs()));
    largest(&mut a.iter().zip(&b).map(|(a, b)| a - b)) / largest(&mut a.iter().copied())
}

const PATHS: [GpuPath; 2] = [GpuPath::Steps, GpuPath::Persistent];

/// A small network on a few hundred of the built-in digits, with momentum and an incomplete last batch.
#[test]
fn part1_gpu_training_reaches_the_weights_of_the_cpu() {
    let dataset = small_dataset();
    let (samples, validation, test) =
        (dataset.train.samples(0, 250), dataset.train.samples(250, 50), dataset.test.samples(0, 100));
    let hyperparameters = Hyperparameters {
        loss: Loss::CrossEntropy,
        learning_rate: 0.02,
        schedule: Schedule::Cosine,
        momentum: 0.5,
        weight_decay: 1e-4,
        epochs: 3,
        ..Preset::Homework.hyperparameters()
    };
    let architecture = Architecture::new(vec![784, 14, 10], Activation::Tanh, Activation::Softmax).unwrap();
    let parameters = initial_parameters(architecture, &hyperparameters);
    let cpu = CpuEngine::new(&samples, &parameters, &hyperparameters);
    let expected = train(cpu, &hyperparameters, samples.len(), &validation, &test);
    assert!(expected.test_accuracy > 0.3, "it learns: {}", expected.test_accuracy);
    for path in PATHS {
        let options = GpuOptions { path, ..GpuOptions::default() };
        let gpu = GpuEngine::new(&Device::simulator(), &samples, &parameters, &hyperparameters, &options).unwrap();
        let got = train(gpu, &hyperparameters, samples.len(), &validation, &test);
        let difference = largest_difference(&got.network, &expected.network);
        assert!(difference < 1e-5, "{path:?}: {difference}");
        assert_eq!(got.test_accuracy, expected.test_accuracy, "{path:?}");
        for (got, expected) in got.history.iter().zip(&expected.history) {
            assert_eq!((got.epoch, got.accuracy), (expected.epoch, expected.accuracy), "{path:?}");
            assert!((got.loss - expected.loss).abs() < 1e-5 * expected.loss, "{path:?}");
        }
    }
}

/// Velocities that do not fit in shared memory are kept in global memory, with the same results.
#[test]
fn part1_gpu_training_is_the_same_where_velocities_do_not_fit_into_shared_memory() {
    let dataset = small_dataset();
    let samples = dataset.train.samples(0, 60);
    let hyperparameters = Hyperparameters { momentum: 0.9, learning_rate: 0.01, ..Preset::Homework.hyperparameters() };
    let architecture = Architecture::new(vec![784, 9, 10], Activation::Relu, Activation::Sigmoid).unwrap();
    let parameters = initial_parameters(architecture, &hyperparameters);
    let options = GpuOptions { path: GpuPath::Persistent, ..GpuOptions::default() };
    let engine = |max_shared_bytes| {
        let device = Device::simulator_with(SimulatorOptions { max_shared_bytes, ..SimulatorOptions::default() });
        GpuEngine::new(&device, &samples, &parameters, &hyperparameters, &options)
    };
    let trained = |engine: Result<GpuEngine, GpuEngineError>| -> Parameters {
        let mut engine = engine.unwrap();
        let order: Vec<u32> = (0..60).collect();
        engine.train(&order, 0, &mut |_, _| std::ops::ControlFlow::Continue(())).unwrap();
        engine.parameters().unwrap()
    };
    let Err(GpuEngineError::NotPersistent(NotPersistent::SharedMemory { needed, limit })) = engine(4096) else {
        panic!("it does not fit")
    };
    assert!(needed > limit.into());
    let just_enough = needed as u32 + (4096 - limit);
    assert!(trained(engine(just_enough)) == trained(engine(200_000)));
    let one_less = engine(just_enough - 16);
    assert!(matches!(one_less, Err(GpuEngineError::NotPersistent(NotPersistent::SharedMemory { .. }))));
}

/// After the first step, the weights equal the CPU's except for rounding.
#[test]
fn part1_gpu_training_agrees_with_the_cpu_after_one_step() {
    let dataset = small_dataset();
    let samples = dataset.train.samples(0, 16);
    let hyperparameters = Preset::Homework.hyperparameters();
    let parameters = initial_parameters(Preset::Homework.architecture().unwrap(), &hyperparameters);
    let step = |engine: &mut dyn Engine| -> Result<(Network, f64), EngineError> {
        let (order, mut total): (Vec<u32>, f64) = ((0..16).collect(), 0.0);
        engine.train(&order, 0, &mut |_, loss| {
            total += loss;
            std::ops::ControlFlow::Continue(())
        })?;
        Ok((engine.parameters()?.network, total))
    };
    let (expected, expected_loss) = step(&mut CpuEngine::new(&samples, &parameters, &hyperparameters)).unwrap();
    for path in PATHS {
        let options = GpuOptions { path, ..GpuOptions::default() };
        let mut gpu = GpuEngine::new(&Device::simulator(), &samples, &parameters, &hyperparameters, &options).unwrap();
        let (got, loss) = step(&mut gpu).unwrap();
        let difference = largest_difference(&got, &expected);
        assert!(difference < 1e-6, "{path:?}: {difference}");
        assert!((loss - expected_loss).abs() < 1e-6 * expected_loss, "{path:?}: {loss} not {expected_loss}");
    }
}

/// The tolerance is half a percentage point, the difference between two seeds. A bug in a kernel
/// costs more.
fn check_on_a_gpu(dataset: &Dataset) {
    let device = Device::open(DeviceChoice::Cuda, &kernels_gpu::PTX).unwrap();
    let hyperparameters = Preset::Homework.hyperparameters();
    let (samples, validation) = (dataset.train.samples(0, 50_000), dataset.train.samples(50_000, 10_000));
    let test = dataset.test.samples(0, dataset.test.len());
    let parameters = initial_parameters(Preset::Homework.architecture().unwrap(), &hyperparameters);
    let cpu = CpuEngine::new(&samples, &parameters, &hyperparameters);
    let expected = train(cpu, &hyperparameters, samples.len(), &validation, &test);
    // Auto, because a GPU may not have enough shared memory for one launch.
    for path in [GpuPath::Steps, GpuPath::Auto] {
        let options = GpuOptions { path, ..GpuOptions::default() };
        let run = || {
            let engine = GpuEngine::new(&device, &samples, &parameters, &hyperparameters, &options).unwrap();
            println!("{}", engine.device());
            train(engine, &hyperparameters, samples.len(), &validation, &test)
        };
        let (got, again) = (run(), run());
        println!("{path:?}: {} on the GPU, {} on the CPU", got.test_accuracy, expected.test_accuracy);
        assert!((got.test_accuracy - expected.test_accuracy).abs() < 0.005);
        assert!(got.network == again.network, "the same bits again");
    }
}

#[test]
fn part1_gpu_training_on_the_builtin_digits_on_a_gpu_if_there_is_one() {
    if gpu_testing::require_gpu() {
        check_on_a_gpu(&Dataset::builtin(0));
    }
}

#[test]
fn part1_gpu_training_on_mnist_on_a_gpu_if_there_is_one() {
    if gpu_testing::require_gpu()
        && let Some(directory) = mnist_directory()
    {
        check_on_a_gpu(&Dataset::read(&directory).unwrap());
    }
}
