use ndarray::{Array2, array};
use table_network::{Error, InputKind, Options, Training};

use crate::rows::{Table, options, start, table, train};

/// Trains on a table with itself as the validation part. Returns the predictions for its rows.
fn trained(options: Options, table: &Table) -> Vec<f32> {
    let mut training = start(options, table);
    train(&mut training, table);
    training.best().predict(table.inputs.view()).unwrap()
}

fn numbers(inputs: Array2<f32>, targets: Array2<f32>) -> Table {
    Table { kinds: vec![InputKind::Number; inputs.ncols()], inputs, targets }
}

#[test]
fn one_row_one_input_and_one_member_train() {
    let one = numbers(array![[0.5]], array![[1.0]]);
    let options = Options { members: 1, batch_size: 1, epochs: 60, dropout: 0.0, ..options() };
    let predictions = trained(options, &one);
    assert!((predictions[0] - 1.0).abs() < 0.1, "{predictions:?}");
}

/// A chunk has two samples of 60 members. Batches of two and three rows have one chunk and two.
#[test]
fn batches_of_fewer_chunks_than_others_train() {
    let rows = table(5, 3);
    let predictions = trained(Options { members: 60, batch_size: 3, ..options() }, &rows);
    assert!(predictions.iter().all(|value| value.is_finite()));
}

#[test]
fn constant_inputs_change_nothing_but_predict() {
    let rows = Array2::from_shape_fn((30, 2), |(row, column)| if column == 0 { 3.0 } else { row as f32 / 30.0 });
    let targets = Array2::from_shape_fn((30, 1), |(row, _)| row as f32 / 15.0 - 1.0);
    let predictions = trained(options(), &numbers(rows, targets));
    assert!(predictions.iter().all(|value| value.is_finite()));
    let constant =
        Table { kinds: vec![InputKind::Indicator], inputs: Array2::ones((9, 1)), targets: Array2::zeros((9, 1)) };
    assert!(trained(options(), &constant).iter().all(|value| value.is_finite()));
}

#[test]
fn outliers_give_finite_predictions() {
    let mut rows = table(80, 3);
    rows.inputs[[5, 0]] = f32::MAX;
    rows.inputs[[6, 0]] = f32::MIN;
    rows.inputs[[7, 4]] = 1e30;
    let mut training = start(options(), &rows);
    train(&mut training, &rows);
    let mut unseen = table(6, 4).inputs;
    for (row, value) in
        [f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE].into_iter().enumerate()
    {
        unseen[[row, 0]] = value;
    }
    unseen[[5, 4]] = f32::NAN;
    let predictions = training.best().predict(unseen.view()).unwrap();
    assert!(predictions[..5].iter().all(|value| value.is_finite()), "{predictions:?}");
    assert!(predictions[5].is_nan());
}

#[test]
fn no_rows_predict_nothing() {
    let rows = table(20, 3);
    let training = start(options(), &rows);
    assert_eq!(training.current().predict(Array2::zeros((0, 5)).view()), Ok(vec![]));
}

#[test]
fn bad_arrays_are_errors() {
    let Table { kinds, mut inputs, targets } = table(20, 3);
    let new = |kinds: &[InputKind], inputs: &Array2<f32>, targets: &Array2<f32>| {
        Training::new(options(), kinds, inputs.view(), targets.view()).unwrap_err()
    };
    let shape = |rows, columns| Array2::zeros((rows, columns));
    assert!(matches!(new(&kinds, &shape(0, 5), &shape(0, 1)), Error::Empty { .. }));
    assert!(matches!(new(&[], &shape(3, 0), &shape(3, 1)), Error::Empty { .. }));
    assert!(matches!(new(&kinds[1..], &inputs, &targets), Error::Shape { what: "the inputs", .. }));
    assert!(matches!(new(&kinds, &inputs, &shape(19, 1)), Error::Shape { what: "the targets", .. }));
    inputs[[4, 2]] = f32::INFINITY;
    let error = new(&kinds, &inputs, &targets);
    assert_eq!(error.to_string(), "the inputs: row 4, column 2, counted from 0, is not finite");
    let training = start(options(), &table(20, 3));
    let wrong = training.current().predict(shape(2, 4).view()).unwrap_err();
    assert_eq!(wrong.to_string(), "the inputs are 2 × 4, but 2 × 5 are expected");
}

#[test]
fn options_out_of_range_are_errors() {
    let rows = table(20, 3);
    let wrong = [
        Options { members: 0, ..options() },
        Options { hidden: vec![], ..options() },
        Options { hidden: vec![3, 0], ..options() },
        Options { bins: 1 << 16, ..options() },
        Options { dropout: 1.0, ..options() },
        Options { learning_rate: f32::NAN, ..options() },
        Options { weight_decay: -1.0, ..options() },
        Options { batch_size: 0, ..options() },
    ];
    for options in wrong {
        let error = Training::new(options.clone(), &rows.kinds, rows.inputs.view(), rows.targets.view()).unwrap_err();
        assert!(matches!(error, Error::Option { .. }), "{options:?}: {error}");
    }
}
