//! Predictions for the rows of a table, beside their true values where the table has the target.

use std::fmt::Write;

use command_line::counted;

use crate::Table;
use crate::model::{Model, PredictError};
use crate::prepared::{Incomplete, Input};
use crate::results::{self, Metrics, TableRows};
use crate::table::{Kind, date};

/// The predictions for a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// The target's name.
    pub target: String,
    /// A prediction for each row, in the target's unit; `None` if a feature is missing or not a number.
    pub predicted: Vec<Option<f64>>,
    /// The target of each row, if the table has that column as numbers.
    pub truth: Option<Vec<Option<f64>>>,
    /// The metrics over the rows with a prediction and a true value, if there are any; of a run's own table, over those of the test
    /// part.
    pub metrics: Option<Metrics>,
    /// The part of each row, if the table is the one that the network was trained on: "training", "validation" or "test", and
    /// empty for a row that is not used.
    pub parts: Option<Vec<&'static str>>,
    /// The number of rows without a prediction.
    pub skipped: usize,
    /// The reasons of [`Predictions::skipped`], in words.
    why_skipped: String,
    /// For each row, the features whose value is outside the range of the training part.
    pub outside: Vec<Vec<String>>,
    /// The first of them in words.
    first_outside: Option<String>,
    /// The text columns with categories that did not occur in training.
    pub unseen: Vec<Unseen>,
}

/// A text column with categories that did not occur in training; the network sees such a row as having no category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The column.
    pub column: String,
    /// The first such category.
    pub example: String,
    /// The number of rows.
    pub rows: usize,
}

impl Predictions {
    /// Predicts every row of a table. `rows` are those of the run that the model is from: in the run's own table, the rows that the
    /// network was trained on do not count for the metrics.
    ///
    /// # Errors
    /// Those of [`Model::predict`].
    pub fn of(model: &Model, rows: Option<&TableRows>, table: &Table) -> Result<Self, PredictError> {
        let predicted = model.predict(table)?;
        let target = &model.transform.target;
        let truth = table.column(target).filter(|column| column.kind() == Kind::Number);
        let truth: Option<Vec<Option<f64>>> =
            truth.map(|column| (0..table.rows()).map(|row| column.number(row)).collect());
        let parts = rows.zip(truth.as_deref()).and_then(|(rows, truth)| rows.parts_of(truth));
        let counts = |row: usize| parts.as_ref().is_none_or(|parts| parts[row] == "test");
        let pairs = predicted.iter().zip(truth.iter().flatten()).enumerate().filter(|(row, _)| counts(*row));
        let (known, of_known): (Vec<f64>, Vec<f64>) =
            pairs.filter_map(|(_, (predicted, truth))| Some(((*truth)?, (*predicted)?))).unzip();
        let is_log = model.transform.target_scale.log;
        let metrics = (!known.is_empty()).then(|| results::metrics(&known, &of_known, is_log));
        let is_predicted: Vec<bool> = predicted.iter().map(Option::is_some).collect();
        let columns = model.columns();
        let incomplete = Incomplete::of(columns.iter().filter_map(|name| table.column(name)), &is_predicted);
        let (outside, first_outside) = outside(model, table);
        Ok(Self {
            target: target.clone(),
            predicted,
            truth,
            metrics,
            parts,
            skipped: incomplete.rows(),
            why_skipped: incomplete.in_words(),
            outside,
            first_outside,
            unseen: unseen(model, table),
        })
    }

    /// What a user should know about these predictions, one line each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let (skipped, rows) = (self.skipped, self.predicted.len());
        if skipped > 0 {
            let have = if skipped == 1 { "has" } else { "have" };
            notes.push(format!("{skipped} of {rows} rows {have} no prediction: {}", self.why_skipped));
        }
        if let Some(parts) = &self.parts {
            let seen = parts.iter().filter(|part| matches!(**part, "training" | "validation")).count();
            notes.push(format!(
                "this is the table that the network was trained on: {} of training and validation do not count for R² and the errors",
                counted(seen, "row")
            ));
        }
        if let Some(first) = &self.first_outside {
            let count = self.outside.iter().filter(|features| !features.is_empty()).count();
            let are = if count == 1 { "is" } else { "are" };
            notes.push(format!("{} {are} outside the range of training, first {first}", counted(count, "row")));
        }
        for Unseen { column, example, rows } in &self.unseen {
            notes.push(format!(
                "{} with a {column} that did not occur in training, such as {example:?}: unreliable predictions",
                counted(*rows, "row")
            ));
        }
        notes
    }

    /// Which rows the metrics are over: "the rows with a true value", or "the 50 test rows".
    pub fn measured_rows(&self) -> String {
        match &self.parts {
            None => "the rows with a true value".to_owned(),
            Some(parts) => format!("the {}", counted(parts.iter().filter(|part| **part == "test").count(), "test row")),
        }
    }

    /// The predictions as CSV: the row, counted from 1, the prediction, the true value if the table has it, the part if the table is
    /// the one of the training, and the features outside the range of training if there are any.
    pub fn to_csv(&self) -> String {
        let mut text = format!("row,{}", csv_cell(&format!("predicted {}", self.target)));
        if self.truth.is_some() {
            text += &format!(",{}", csv_cell(&self.target));
        }
        if self.parts.is_some() {
            text += ",part";
        }
        let marks_outside = self.first_outside.is_some();
        if marks_outside {
            text += ",outside the range of training";
        }
        text.push('\n');
        let cell = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        for (row, predicted) in self.predicted.iter().enumerate() {
            _ = write!(text, "{},{}", row + 1, cell(*predicted));
            if let Some(truth) = &self.truth {
                _ = write!(text, ",{}", cell(truth[row]));
            }
            if let Some(parts) = &self.parts {
                _ = write!(text, ",{}", parts[row]);
            }
            if marks_outside {
                _ = write!(text, ",{}", csv_cell(&self.outside[row].join("; ")));
            }
            text.push('\n');
        }
        text
    }
}

/// For each row the features whose value is outside the range of the training part, and the first of them in words.
fn outside(model: &Model, table: &Table) -> (Vec<Vec<String>>, Option<String>) {
    let (mut outside, mut first): (Vec<Vec<String>>, Option<(usize, String)>) = (vec![Vec::new(); table.rows()], None);
    for input in &model.transform.inputs {
        let Input::Number { column: name, range: Some([low, high]), is_date, .. } = input else { continue };
        let Some(column) = table.column(name) else { continue };
        let shown = |value: f64| if *is_date == Some(true) { date(value) } else { value.to_string() };
        for (row, features) in outside.iter_mut().enumerate() {
            let Some(value) = column.number(row).filter(|value| value < low || value > high) else { continue };
            if first.as_ref().is_none_or(|(first, _)| row < *first) {
                let line = table.line(row).map_or_else(String::new, |line| format!(" (line {line})"));
                let (value, low, high) = (shown(value), shown(*low), shown(*high));
                first = Some((row, format!("row {}{line}: {name} {value}, training {low} to {high}", row + 1)));
            }
            features.push(name.clone());
        }
    }
    (outside, first.map(|(_, text)| text))
}

/// The text features of the table with rows whose category did not occur in training.
fn unseen(model: &Model, table: &Table) -> Vec<Unseen> {
    let mut found: Vec<Unseen> = Vec::new();
    for name in model.columns() {
        let known: Vec<&str> = model.transform.inputs.iter().filter_map(|input| input.category_of(name)).collect();
        let Some(column) = table.column(name).filter(|_| !known.is_empty()) else { continue };
        let rows = (0..table.rows()).map(|row| column.text(row)).filter(|text| !text.is_empty());
        let mut rows = rows.filter(|text| !known.contains(&&**text));
        if let Some(example) = rows.next() {
            found.push(Unseen { column: name.to_owned(), example: example.into_owned(), rows: 1 + rows.count() });
        }
    }
    found
}

/// The value of a feature in a row that a user has entered.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A number.
    Number(f64),
    /// A category.
    Text(String),
}

impl Model {
    /// The names of the feature columns, in the order of the inputs.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = self.transform.inputs.iter().map(Input::column).collect();
        columns.dedup();
        columns
    }

    /// The prediction for one row, in the target's unit; `cell` gives the value of each feature column.
    pub fn predict_row(&self, cell: impl Fn(&str) -> Cell) -> f64 {
        let input = |input: &Input| match (input, cell(input.column())) {
            (Input::Number { scale, .. }, Cell::Number(value)) => scale.standardised(value),
            (Input::Text { text, scale, .. }, Cell::Text(chosen)) => {
                scale.standardised(f64::from(u8::from(*text == chosen)))
            }
            // The other kind of value is none.
            (Input::Number { scale, .. } | Input::Text { scale, .. }, _) => scale.standardised(f64::NAN),
        };
        let inputs: Vec<f32> = self.transform.inputs.iter().map(input).collect();
        let inputs = ndarray::Array2::from_shape_vec((1, inputs.len()), inputs).expect("one row");
        let outputs = self.predictor().predict_all(inputs.view());
        self.transform.target_of(outputs[[0, 0]])
    }
}

/// A text as a CSV cell, quoted if necessary.
fn csv_cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
