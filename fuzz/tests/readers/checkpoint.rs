//! Checkpoints of `neural-net`.

use std::ops::ControlFlow;
use std::path::Path;

use ndarray::Array2;
use neural_net::checkpoint::{self, Checkpoint};
use neural_net::engine::Parameters;
use neural_net::preset::Preset;
use neural_net::training::{EpochRecord, Optimizer, Progress, initial_parameters};
use neural_net::{Activation, Architecture, CpuEngine, Engine as _, Hyperparameters, Samples};

use crate::cases::{Answer, rejected};
use crate::edits::Input;
use crate::networks::{edited, require_finite, require_usable};

/// Number of training samples of the valid checkpoint.
const SAMPLES: usize = 8;

/// An accepted checkpoint is consistent, survives being written and read again, and can be resumed.
pub(crate) fn reader() -> impl Fn(&Input) -> Answer {
    let path = Path::new("checkpoint.safetensors");
    let valid = [checkpoint::to_bytes(path, &valid()).unwrap()];
    move |input| {
        let checkpoint = match checkpoint::parse(path, edited(input, &valid)) {
            Ok(loaded) => loaded.content,
            Err(error) => return rejected(error, path),
        };
        require_usable(&checkpoint.parameters.network);
        require_finite(&checkpoint.parameters);
        let Checkpoint { run, .. } = &checkpoint;
        let Hyperparameters { learning_rate, momentum, weight_decay, .. } = run.hyperparameters;
        let numbers = [learning_rate, momentum, weight_decay, run.progress.loss, run.progress.seconds];
        assert!(numbers.iter().all(|number| number.is_finite()), "numbers of a run are finite: {numbers:?}");
        assert!(run.progress.epoch <= run.hyperparameters.epochs, "no more epochs are done than there are");
        let batch = run.hyperparameters.batch_size.unwrap_or(run.images.0).max(1);
        assert!(run.progress.step <= run.images.0.div_ceil(batch), "no more steps are done than an epoch has");
        let again = checkpoint::to_bytes(path, &checkpoint).unwrap();
        assert!(checkpoint::parse(path, again).unwrap().content == checkpoint, "what is written is read again");
        resume(&checkpoint);
        Answer::Accepted
    }
}

/// A checkpoint after one of five epochs and one step.
fn valid() -> Checkpoint {
    let hyperparameters = Hyperparameters {
        optimizer: Optimizer::Adam,
        batch_size: Some(3),
        momentum: 0.5,
        ..Preset::Homework.hyperparameters()
    };
    let architecture = Architecture::new(vec![4, 3, 10], Activation::Sigmoid, Activation::Sigmoid).unwrap();
    let network = initial_parameters(architecture, &hyperparameters).network;
    let layers = network.weights().iter().cloned().zip(network.biases().iter().cloned());
    let velocities = Some(layers.clone().collect());
    let squares = Some(layers.map(|(weights, biases)| (weights.mapv(|w| w * w), biases.mapv(|b| b * b))).collect());
    let record = EpochRecord { epoch: 1, samples: None, seconds: 0.5, loss: 0.25, accuracy: 0.5 };
    let run = checkpoint::Run {
        preset: Preset::Homework,
        hyperparameters,
        dataset: "built-in digits".to_owned(),
        convention: Default::default(),
        data_checksum: 12345,
        images: (SAMPLES, 0),
        augment: false,
        progress: Progress { epoch: 1, step: 1, loss: 0.25, seconds: 0.125, history: vec![record] },
    };
    Checkpoint { parameters: Parameters { network, velocities, squares }, run }
}

/// Trains for a few more steps, after the same checks as in the program.
fn resume(Checkpoint { parameters, run }: &Checkpoint) {
    let architecture = parameters.network.architecture();
    let fits = (architecture.inputs(), architecture.outputs()) == (4, 10) && run.images.0 == SAMPLES;
    if fits && architecture.require_loss(run.hyperparameters.loss).is_ok() {
        let targets = Array2::from_shape_fn((SAMPLES, 10), |(row, column)| if row == column { 1.0 } else { 0.0 });
        let samples = Samples::from_bytes(Array2::<u8>::ones((SAMPLES, 4)).into(), 255.0, targets).unwrap();
        let mut engine = CpuEngine::new(&samples, parameters, &run.hyperparameters);
        let order: Vec<u32> = (0..SAMPLES as u32).collect();
        // Training may diverge, which is not a defect.
        let _outcome = engine.train(&order, run.progress.step, &mut |_, _| ControlFlow::Continue(()));
    }
}
