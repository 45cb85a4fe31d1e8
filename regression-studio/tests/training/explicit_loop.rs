//! A training run gives the same bits as an explicit loop over epochs and steps, from the start and
//! after resuming.

use std::f64::consts::PI;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::support::{small_settings, small_table, trained};
use neural_net::engine::{CpuEngine, Engine, Parameters};
use neural_net::network::Initialization;
use neural_net::training::{GradientScale, Optimizer, Schedule, initial_parameters, order_of_epoch};
use neural_net::{Hyperparameters, Loss, Network, Predictor};
use regression_studio::prepared::prepare;
use regression_studio::results::Ending;
use regression_studio::saved_run::TrainingState;
use regression_studio::session::State;
use regression_studio::sigmoid::Neuron;
use regression_studio::{SavedRun, Session, Settings, Snapshot};

/// The state of a run at the end of its last epoch.
#[derive(Debug, PartialEq)]
struct Expected {
    parameters: Parameters,
    best: Network,
    best_epoch: usize,
    /// Standardized errors of the training and validation part after each epoch.
    errors: Vec<[f64; 2]>,
}

/// Trains with only the engine, the sample permutations, and the definition of the errors.
fn explicit_loop(rows: usize, settings: &Settings) -> Expected {
    let prepared = prepare(&small_table(rows, 1), settings).unwrap();
    let (network, training) = (&settings.network, &settings.training);
    let neuron = Neuron::of(network);
    let hyperparameters = Hyperparameters {
        loss: Loss::SquaredError,
        optimizer: training.optimizer,
        learning_rate: training.learning_rate,
        schedule: Schedule::Constant,
        learning_rate_factors: neuron.learning_rate_factors(network.hidden.len() + 1),
        momentum: training.momentum,
        weight_decay: training.regularization,
        batch_size: Some(training.batch_size),
        gradient: GradientScale::Mean,
        epochs: training.epochs,
        shuffle: true,
        report_every: 1,
        stop_at: None,
        initialization: Initialization::Xavier,
        seed: training.seed,
    };
    let architecture = neuron.architecture(prepared.transform.inputs.len(), &network.hidden).unwrap();
    let mut best = initial_parameters(architecture, &hyperparameters).network;
    let mut parameters = Parameters::new(neuron.fold(&best));
    let samples = &prepared.train.samples;
    let (mut best_epoch, mut errors) = (0, Vec::<[f64; 2]>::new());
    for epoch in 0..training.epochs {
        let mut loss = 0.0;
        let order = order_of_epoch(&hyperparameters, samples.len(), epoch);
        let mut add = |_, of_step| {
            loss += of_step;
            ControlFlow::Continue(())
        };
        let learning_rate = match training.schedule {
            Schedule::Constant => training.learning_rate,
            Schedule::Cosine => {
                training.learning_rate * 0.5 * (1.0 + (PI * epoch as f64 / training.epochs as f64).cos())
            }
        };
        let of_epoch = Hyperparameters { learning_rate, ..hyperparameters.clone() };
        let mut engine = CpuEngine::new(samples, &parameters, &of_epoch);
        engine.start_epoch(learning_rate, epoch * samples.len().div_ceil(training.batch_size));
        engine.train(&order, 0, &mut add).unwrap();
        parameters = engine.parameters().unwrap();
        let folded = &parameters.network;
        let validation = &prepared.validation.samples;
        let outputs = Predictor::new(folded).predict_all(validation.inputs().view());
        let squares = outputs.iter().zip(validation.targets()).map(|(&a, &y)| (f64::from(a) - f64::from(y)).powi(2));
        let of_validation = (squares.sum::<f64>() / validation.len() as f64).sqrt();
        if errors.iter().all(|[_, before]| of_validation < *before) {
            (best, best_epoch) = (neuron.unfold(folded), epoch + 1);
        }
        errors.push([(2.0 * loss / samples.len() as f64).sqrt(), of_validation]);
        if training.patience.is_some_and(|patience| epoch + 1 - best_epoch >= patience) {
            break;
        }
    }
    Expected { parameters, best, best_epoch, errors }
}

fn state_of(snapshot: &Snapshot) -> Expected {
    let SavedRun { checkpoint, model, history, .. } = (**snapshot.run.as_ref().unwrap()).clone();
    let progress = checkpoint.progress;
    assert_eq!((progress.epoch, progress.step, progress.loss), (history.len(), 0, 0.0));
    let TrainingState::Layers(parameters) = checkpoint.state else { panic!("{:?}", checkpoint.state) };
    Expected {
        parameters,
        best: model.network.layers().unwrap().clone(),
        best_epoch: progress.best_epoch,
        errors: history.iter().map(|record| [record.train_rmse, record.validation_rmse]).collect(),
    }
}

#[test]
fn a_run_gives_the_bits_of_an_explicit_loop() {
    // Batches that divide the 350 training rows, batches that do not, and one batch of all rows.
    let (constant, cosine, sgd, adam) = (Schedule::Constant, Schedule::Cosine, Optimizer::Sgd, Optimizer::Adam);
    let cases = [
        (35, sgd, 0.0, constant),
        (32, sgd, 0.9, cosine),
        (32, adam, 0.9, cosine),
        (200, sgd, 0.5, constant),
        (350, sgd, 0.9, cosine),
        (1000, sgd, 0.9, cosine),
        (1000, adam, 0.5, constant),
    ];
    for (batch_size, optimizer, momentum, schedule) in cases {
        let mut settings = small_settings();
        settings.training.batch_size = batch_size;
        settings.training.optimizer = optimizer;
        settings.training.momentum = momentum;
        settings.training.schedule = schedule;
        let snapshot = trained(small_table(500, 1), settings.clone());
        assert_eq!(snapshot.state, State::Finished(Ending::AllEpochs));
        assert_eq!(state_of(&snapshot), explicit_loop(500, &settings), "batches of {batch_size}");
    }
}

#[test]
fn early_stopping_gives_the_bits_of_an_explicit_loop() {
    let mut settings = small_settings();
    settings.training.learning_rate = 0.3;
    settings.training.epochs = 500;
    settings.training.patience = Some(4);
    let snapshot = trained(small_table(60, 1), settings.clone());
    assert_eq!(snapshot.state, State::Finished(Ending::EarlyStopped));
    assert_eq!(state_of(&snapshot), explicit_loop(60, &settings));
}

#[test]
fn a_resumed_run_gives_the_bits_of_an_explicit_loop() {
    let (table, mut settings) = (Arc::new(small_table(2000, 1)), small_settings());
    settings.training.schedule = Schedule::Cosine;
    let expected = explicit_loop(2000, &settings);
    // Stop at an arbitrary step, possibly in the first epoch.
    let session = Session::start(Arc::clone(&table), settings);
    while session.snapshot().run.is_none() {
        std::thread::yield_now();
    }
    session.stop();
    let stopped = (**session.wait().run.as_ref().unwrap()).clone();
    assert_eq!(state_of(&Session::resume(table, stopped).wait()), expected);
}
