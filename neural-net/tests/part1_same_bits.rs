//! The same seed gives the same weights, bit for bit, on every system and every processor with
//! fused multiply-add. The digests below hold for all of them. Processors without it
//! (`KERNELS_CPU=portable`) have different bits, which are also the same on every system.
//!
//! A change of the arithmetic is expected to change the digests. The test prints the new ones.

use std::convert::Infallible;
use std::ops::ControlFlow;

use augmentation::Distortion;
use digits::builtin_digits;
use kernels_cpu::InstructionSet;
use ndarray::ArcArray2;
use neural_net::augmented::AugmentedEngine;
use neural_net::data::{LabelledImages, ToSamples};
use neural_net::engine::{CpuEngine, Engine, Threads};
use neural_net::preset::Preset;
use neural_net::training::{
    EpochRecord, GradientScale, Observer, Optimizer, Progress, Schedule, Training, Validation, initial_parameters,
};
use neural_net::{Activation, Architecture, Hyperparameters, Loss, Predictor, Samples};
use sha2::{Digest, Sha256};

const COUNT: usize = 640;

/// Built-in digits. The digests also cover their pixels.
fn digits() -> Samples {
    let (pixels, labels) = builtin_digits::draw(COUNT, 11);
    let pixels = ArcArray2::from_shape_vec((COUNT, 784), pixels).unwrap();
    LabelledImages { pixels, labels, shape: (28, 28) }.samples(0, COUNT)
}

/// Adds the losses to the digest.
struct Losses<'a>(&'a mut Sha256);

impl<E: Engine> Observer<E> for Losses<'_> {
    type Error = Infallible;

    fn step(&mut self, _epoch: usize, _step: usize, _steps: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn epoch(&mut self, record: &EpochRecord, _training: &Training<E>) -> Result<(), Infallible> {
        self.0.update(record.loss.to_le_bytes());
        Ok(())
    }
}

/// The digest of the losses of all epochs, of the trained weights and biases, and of the outputs for the first samples.
fn digest<E: Engine>(engine: E, samples: &Samples, hyperparameters: &Hyperparameters) -> String {
    let mut hash = Sha256::new();
    let mut training = Training::new(engine, samples.len(), hyperparameters.clone(), Progress::default());
    training.run(&Validation::Training, &mut Losses(&mut hash)).unwrap();
    let network = training.engine_mut().parameters().unwrap().network;
    let weights = network.weights().iter().flatten().chain(network.biases().iter().flatten());
    let mut predictor = Predictor::new(&network);
    let outputs: Vec<f32> = (0..50).flat_map(|index| predictor.predict(samples.input(index)).to_vec()).collect();
    weights.chain(&outputs).for_each(|value| hash.update(value.to_le_bytes()));
    hex::encode(&hash.finalize()[..8])
}

/// Trains with several numbers of threads, which must give the same digest.
fn trained(
    samples: &Samples,
    sizes: &[usize],
    activations: [Activation; 2],
    hyperparameters: Hyperparameters,
) -> String {
    let [hidden, output] = activations;
    let architecture = Architecture::new(sizes.to_vec(), hidden, output).unwrap();
    let parameters = initial_parameters(architecture, &hyperparameters);
    let digests = [1, 2, 3].map(|threads| {
        let mut engine = CpuEngine::new(samples, &parameters, &hyperparameters);
        engine.set_threads(Threads::Exactly(threads));
        digest(engine, samples, &hyperparameters)
    });
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
    digests[0].clone()
}

/// The digests by name: with fused multiply-add, and without.
const EXPECTED: [(&str, [&str; 2]); 6] = [
    ("homework", ["ebc12cada7d38002", "62823cf04da914a1"]),
    ("notebook", ["db46a8e301724cef", "932303f31c2db6db"]),
    ("regression by adam", ["e8a5269ee671f441", "911daa060cf36f49"]),
    ("momentum and decay", ["22d42f44ab3daae3", "5474d62f03939936"]),
    ("deep sigmoid by adam", ["59cce55c7a2168b6", "db897b414a8fe233"]),
    ("distorted images", ["a21fef429cd4ee82", "0198f4426041fb70"]),
];

#[test]
fn part1_the_same_seed_gives_the_same_bits_on_every_system() {
    use Activation::{Identity, Relu, Sigmoid, Softmax, Tanh};
    let samples = digits();
    let homework = || Hyperparameters { epochs: 2, ..Preset::Homework.hyperparameters() };
    let notebook = Hyperparameters { epochs: 20, ..Preset::Notebook.hyperparameters() };
    let regression = Hyperparameters {
        optimizer: Optimizer::Adam,
        learning_rate: 0.002,
        schedule: Schedule::Cosine,
        momentum: 0.9,
        batch_size: Some(100),
        gradient: GradientScale::Mean,
        epochs: 3,
        ..homework()
    };
    let momentum = Hyperparameters {
        loss: Loss::CrossEntropy,
        learning_rate: 0.05,
        schedule: Schedule::Cosine,
        learning_rate_factors: vec![0.5],
        momentum: 0.9,
        weight_decay: 0.001,
        batch_size: Some(64),
        gradient: GradientScale::Mean,
        ..homework()
    };
    let deep = Hyperparameters { loss: Loss::CrossEntropy, batch_size: Some(7), ..regression.clone() };

    let architecture = Architecture::new(vec![784, 20, 10], Sigmoid, Sigmoid).unwrap();
    let parameters = initial_parameters(architecture, &homework());
    let distorted = AugmentedEngine::new(&samples, &parameters, &homework(), Distortion::default(), 2);

    let found = [
        trained(&samples, &Preset::Homework.sizes(), [Sigmoid, Sigmoid], homework()),
        trained(&samples, &Preset::Notebook.sizes(), [Relu, Softmax], notebook),
        trained(&samples, &[784, 33, 17, 10], [Tanh, Identity], regression),
        trained(&samples, &[784, 70, 10], [Relu, Softmax], momentum),
        trained(&samples, &[784, 30, 20, 12, 10], [Sigmoid, Sigmoid], deep),
        digest(distorted, &samples, &homework()),
    ];
    let column = usize::from(InstructionSet::detect() == InstructionSet::Portable);
    let expected = EXPECTED.map(|(name, digests)| (name, digests[column].to_owned()));
    let found = std::array::from_fn(|index| (EXPECTED[index].0, found[index].clone()));
    assert_eq!(found, expected, "{}", InstructionSet::detect().name());
}
