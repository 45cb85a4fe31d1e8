use std::ops::ControlFlow;

use ndarray::Array2;
use table_network::{Ending, Error, Options};

use crate::rows::{options, rmse, start, table, train};

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
fn keeps_the_best_weights_and_stops_after_the_patience() {
    let (rows, validation) = (table(40, 1), table(40, 2));
    let mut training = start(Options { epochs: 500, patience: Some(3), ..options() }, &rows);
    let errors = train(&mut training, &validation);
    assert_eq!(training.ending(), Some(Ending::EarlyStopped));
    let best = errors.iter().min_by(|a, b| a.validation_rmse.total_cmp(&b.validation_rmse)).unwrap();
    assert_eq!((best.epoch, best.epoch + 3), (training.progress().best_epoch, errors.len()));
    let error = rmse(&training.best().predict(validation.inputs.view()).unwrap(), &validation);
    assert!((f64::from(error) - best.validation_rmse).abs() < 1e-5);
}

#[test]
fn takes_the_steps_that_it_is_told() {
    let rows = table(100, 1);
    let mut training = start(Options { batch_size: 9, ..options() }, &rows);
    assert_eq!(training.steps_per_epoch(), 11);
    training.steps(3, &mut |_| ControlFlow::Continue(()));
    assert_eq!(training.progress().step, 3);
    training.steps(usize::MAX, &mut |progress| {
        if progress.step == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((training.progress().step, training.epoch_is_done()), (7, false));
    training.steps(usize::MAX, &mut |_| ControlFlow::Continue(()));
    assert!(training.epoch_is_done());
}

#[test]
fn diverges_with_an_error() {
    let rows = table(100, 1);
    let mut training = start(Options { learning_rate: 1e30, ..options() }, &rows);
    training.steps(usize::MAX, &mut |_| ControlFlow::Continue(()));
    let error = training.end_epoch(rows.inputs.view(), rows.targets.view()).unwrap_err();
    assert_eq!(error, Error::Diverged { epoch: 1 });
    assert!(training.end_epoch(Array2::zeros((0, 5)).view(), Array2::zeros((0, 1)).view()).is_err());
}
