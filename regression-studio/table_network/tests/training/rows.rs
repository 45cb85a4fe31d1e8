//! Rows for the tests.

use std::ops::ControlFlow;

use ndarray::Array2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use table_network::{InputKind, Options, Training};

/// Inputs, rows × kinds, and targets, rows × 1.
pub(crate) struct Table {
    pub(crate) kinds: Vec<InputKind>,
    pub(crate) inputs: Array2<f32>,
    pub(crate) targets: Array2<f32>,
}

/// A table with two numbers x and y in [−1, 1) and one of three categories. The target is sin(4x) +
/// |y|, plus 1 in the first category.
pub(crate) fn table(rows: usize, seed: u64) -> Table {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(seed));
    let mut inputs = Array2::zeros((rows, 5));
    let mut targets = Array2::zeros((rows, 1));
    for row in 0..rows {
        let (x, y): (f32, f32) = (rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0));
        let category = rng.random_range(0..3);
        (inputs[[row, 0]], inputs[[row, 4]]) = (x, y);
        inputs[[row, 1 + category]] = 1.0;
        targets[[row, 0]] = (4.0 * x).sin() + y.abs() + f32::from(u8::from(category == 0));
    }
    use InputKind::{Indicator, Number};
    Table { kinds: vec![Number, Indicator, Indicator, Indicator, Number], inputs, targets }
}

/// Options for a network that trains fast.
pub(crate) fn options() -> Options {
    Options {
        members: 4,
        hidden: vec![24, 16],
        embedding: 5,
        batch_size: 40,
        epochs: 4,
        dropout: 0.1,
        seed: 7,
        ..Options::for_table(300, &[InputKind::Number; 2])
    }
}

pub(crate) fn start(options: Options, table: &Table) -> Training {
    Training::new(options, &table.kinds, table.inputs.view(), table.targets.view()).unwrap()
}

/// Results of an epoch.
#[derive(Debug, PartialEq)]
pub(crate) struct Epoch {
    /// The sum of the training rows' losses.
    pub(crate) loss: f64,
    /// The predictions of the validation rows, and their error.
    pub(crate) outputs: Vec<f32>,
    pub(crate) rmse: f32,
}

/// Trains the rest of an epoch. Keeps the network if it is the best of all `epochs`.
pub(crate) fn train_epoch(training: &mut Training, validation: &Table, epochs: &mut Vec<Epoch>) {
    training.train(usize::MAX, &mut |_| ControlFlow::Continue(()));
    let loss = training.loss();
    let outputs = training.end_epoch(validation.inputs.view(), validation.targets.view()).unwrap();
    let rmse = rmse(&outputs, validation);
    if epochs.iter().all(|epoch| rmse < epoch.rmse) {
        training.keep_best();
    }
    epochs.push(Epoch { loss, outputs, rmse });
}

/// Trains to the end.
pub(crate) fn train(training: &mut Training, validation: &Table) -> Vec<Epoch> {
    let mut epochs = vec![];
    while training.epoch() < training.options().epochs {
        train_epoch(training, validation, &mut epochs);
    }
    epochs
}

/// The root mean squared error of predictions.
pub(crate) fn rmse(predictions: &[f32], table: &Table) -> f32 {
    let squares = predictions.iter().zip(&table.targets).map(|(prediction, target)| (prediction - target).powi(2));
    (squares.sum::<f32>() / predictions.len() as f32).sqrt()
}
