use std::ops::ControlFlow;

use ndarray::Array2;
use table_network::{Error, Options};

use crate::rows::{options, rmse, start, table, train, train_epoch};

/// The standard deviation of the target is about 0.9.
#[test]
fn finds_a_function_of_numbers_and_categories() {
    let (rows, validation, test) = (table(1000, 1), table(200, 2), table(200, 3));
    let mut training = start(Options { epochs: 30, dropout: 0.0, ..options() }, &rows);
    let errors = train(&mut training, &validation);
    let error = rmse(&training.best().predict(test.inputs.view()).unwrap(), &test);
    assert!(error < 0.1, "{error}, {:?}", errors.last());
}

#[test]
fn keeps_the_best_weights() {
    let (rows, validation) = (table(40, 1), table(40, 2));
    let mut training = start(Options { epochs: 500, ..options() }, &rows);
    let (mut epochs, mut best) = (vec![], 0);
    // Train until there were three epochs without a smaller error.
    while epochs.len() <= best + 3 {
        train_epoch(&mut training, &validation, &mut epochs);
        best = (0..epochs.len()).min_by(|&a, &b| epochs[a].rmse.total_cmp(&epochs[b].rmse)).unwrap();
    }
    assert_eq!(training.epoch(), best + 4);
    let predictions = training.best().predict(validation.inputs.view()).unwrap();
    let error = rmse(&predictions, &validation);
    assert!((error - epochs[best].rmse).abs() < 1e-5);
}

#[test]
fn takes_the_steps_that_it_is_told() {
    let rows = table(100, 1);
    let mut training = start(Options { batch_size: 9, ..options() }, &rows);
    assert_eq!(training.steps_per_epoch(), 11);
    training.train(3, &mut |_| ControlFlow::Continue(()));
    assert_eq!(training.step(), 3);
    training.train(usize::MAX, &mut |step| {
        if step == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(training.step(), 7);
    training.train(usize::MAX, &mut |_| ControlFlow::Continue(()));
    assert_eq!(training.step(), 11);
}

#[test]
fn diverges_with_an_error() {
    let rows = table(100, 1);
    let mut training = start(Options { learning_rate: 1e30, ..options() }, &rows);
    training.train(usize::MAX, &mut |_| ControlFlow::Continue(()));
    let error = training.end_epoch(rows.inputs.view(), rows.targets.view()).unwrap_err();
    assert_eq!(error, Error::Diverged { epoch: 1 });
    assert!(training.end_epoch(Array2::zeros((0, 5)).view(), Array2::zeros((0, 1)).view()).is_err());
}
