//! One-hot encoding: a text column becomes one input per category of the training part.

use crate::support::{csv_of, small_settings, trained};
use regression_studio::Predictions;
use regression_studio::prediction::{Cell, Unseen};
use regression_studio::prepared::{Input, prepare};
use regression_studio::settings::{Field, SplitOrder};
use regression_studio::table::{Column, Table};

fn table(texts: &[&str]) -> Table {
    let count = texts.len();
    let target = (0..count).map(|row| (row % 7) as f64).collect();
    let number = (0..count).map(|row| (row % 5) as f64).collect();
    let columns = vec![
        Column::of_numbers("number", number),
        Column::of_texts("text", texts),
        Column::of_numbers("target", target),
    ];
    Table::new("texts.csv", columns)
}

fn settings() -> regression_studio::Settings {
    let mut settings = small_settings();
    settings.data.features = vec!["text".to_owned(), "number".to_owned()];
    settings.split.order = SplitOrder::Time;
    settings.training.epochs = 2;
    settings
}

#[test]
fn each_category_is_an_input() {
    let texts: Vec<&str> = (0..40).map(|row| ["a", "b", "c"][row * row % 3]).collect();
    let prepared = prepare(&table(&texts), &settings()).unwrap();
    let labels: Vec<String> = prepared.transform.inputs.iter().map(Input::label).collect();
    // row² mod 3 is never 2.
    assert_eq!(labels, ["text = a", "text = b", "number"]);
    for (_, part) in prepared.parts() {
        for (sample, &row) in part.rows.iter().enumerate() {
            let inputs = part.samples.input(sample);
            for (input, text) in inputs.iter().zip(["a", "b"]) {
                assert_eq!(*input > 0.0, texts[row as usize] == text, "row {row}");
            }
        }
    }
}

#[test]
fn unknown_texts_are_encoded_as_no_category() {
    let texts: Vec<&str> = (0..40).map(|row| if row < 38 { ["a", "b"][row % 2] } else { "new" }).collect();
    let snapshot = trained(table(&texts), settings());
    let model = &snapshot.run.as_ref().unwrap().model;
    assert_eq!(model.transform.inputs.len(), 3);
    let new = |text: &str| {
        let columns = vec![Column::of_numbers("number", vec![1.0]), Column::of_texts("text", &[text])];
        model.predict(&Table::new("new.csv", columns)).unwrap()[0]
    };
    assert_eq!(new("new"), new("never seen"));
    assert_ne!(new("a"), new("b"));
    assert_eq!(new(""), None);
}

#[test]
fn more_categories_than_the_limit_are_rejected_with_their_number() {
    let names: Vec<String> = (0..50).map(|row| format!("name {row}")).collect();
    let texts: Vec<&str> = names.iter().map(String::as_str).collect();
    let table = table(&texts);
    let mut settings = settings();
    settings.data.one_hot_limit = 49;
    let problems = settings.problems(Some(&table));
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].field, Field::Features);
    assert!(problems[0].message.contains("\"text\" has 50 categories, more than the limit of 49"), "{problems:?}");
    settings.data.one_hot_limit = 50;
    assert_eq!(settings.problems(Some(&table)), []);
    assert!(prepare(&table, &settings).is_ok());
}

#[test]
fn predictions_count_the_rows_of_unseen_categories_and_agree_with_single_rows() {
    let texts: Vec<&str> = (0..40).map(|row| ["a", "b"][row % 2]).collect();
    let snapshot = trained(table(&texts), settings());
    let model = &snapshot.run.as_ref().unwrap().model;
    assert_eq!(model.columns(), ["text", "number"]);
    let other = table(&["a", "new", "b", "other", "new"]);
    let predictions = Predictions::of(model, None, &other).unwrap();
    assert_eq!(
        predictions.unseen,
        [Unseen { column: "text".to_owned(), example: "new".to_owned(), alike: None, rows: 3 }]
    );
    assert!(predictions.notes()[0].starts_with("3 rows with a text that did not occur in training, such as \"new\""));
    assert_eq!(predictions.truth(&other, 3), Some(3.0));
    assert!(csv_of(&predictions, &other).starts_with("row,predicted target,target\n1,"));
    for row in 0..5 {
        let cell = |name: &str| {
            let column = other.column(name).unwrap();
            column.number(row).map_or_else(|| Cell::Text(column.text(row).into_owned()), Cell::Number)
        };
        assert_eq!(Some(model.predict_row(cell)), predictions.predicted(row), "row {row}");
    }
    // Without the target column there are no true values.
    let bare = Table::new("bare.csv", vec![Column::of_texts("text", &["b"]), Column::of_numbers("number", vec![1.0])]);
    let predictions = Predictions::of(model, None, &bare).unwrap();
    assert_eq!((predictions.has_truth, predictions.metrics), (false, None));
}

#[test]
fn a_feature_that_the_target_depends_on_is_more_important_than_one_it_does_not() {
    let mut settings = small_settings();
    settings.data.features = ["noise", "x", "direction"].map(str::to_owned).to_vec();
    let table = crate::support::small_table(600, 4);
    let noise = (0..600).map(|row| f64::from((row * 7919) % 101)).collect();
    let columns = table.columns().iter().cloned().chain([Column::of_numbers("noise", noise)]).collect();
    let snapshot = trained(Table::new("with noise", columns), settings);
    let importance = &snapshot.results.as_ref().unwrap().importance;
    let names: Vec<&str> = importance.iter().map(|of| of.column.as_str()).collect();
    assert_eq!(names, ["x", "direction", "noise"], "{importance:?}");
    assert!(importance[2].error_factor < 1.2 && importance[1].error_factor > 1.5, "{importance:?}");
}
