//! Predictions for the rows of a table, beside their true values where the table has the target.

use std::fmt::Write;

use command_line::counted;

use crate::Table;
use crate::model::{Model, PredictError};
use crate::prepared::Input;
use crate::results::{self, Metrics};
use crate::table::Kind;

/// The predictions for a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// The target's name.
    pub target: String,
    /// A prediction for each row, in the target's unit; `None` if a feature is missing or not a number.
    pub predicted: Vec<Option<f64>>,
    /// The target of each row, if the table has that column as numbers.
    pub truth: Option<Vec<Option<f64>>>,
    /// The metrics over the rows with a prediction and a true value, if there are any.
    pub metrics: Option<Metrics>,
    /// The number of rows without a prediction.
    pub skipped: usize,
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
    /// Predicts every row of a table.
    ///
    /// # Errors
    /// Those of [`Model::predict`].
    pub fn of(model: &Model, table: &Table) -> Result<Self, PredictError> {
        let predicted = model.predict(table)?;
        let target = &model.transform.target;
        let truth = table.column(target).filter(|column| column.kind() == Kind::Number);
        let truth: Option<Vec<Option<f64>>> =
            truth.map(|column| (0..table.rows()).map(|row| column.number(row)).collect());
        let pairs = predicted.iter().zip(truth.iter().flatten());
        let (known, of_known): (Vec<f64>, Vec<f64>) =
            pairs.filter_map(|(predicted, truth)| Some(((*truth)?, (*predicted)?))).unzip();
        let is_log = model.transform.target_scale.log;
        let metrics = (!known.is_empty()).then(|| results::metrics(&known, &of_known, is_log));
        let skipped = predicted.iter().filter(|prediction| prediction.is_none()).count();
        Ok(Self { target: target.clone(), predicted, truth, metrics, skipped, unseen: unseen(model, table) })
    }

    /// What a user should know about these predictions, one line each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let (skipped, rows) = (self.skipped, self.predicted.len());
        if skipped > 0 {
            let have = if skipped == 1 { "has" } else { "have" };
            notes.push(format!("{skipped} of {rows} rows {have} no prediction: a feature is missing or not a number"));
        }
        for Unseen { column, example, rows } in &self.unseen {
            notes.push(format!(
                "{} with a {column} that did not occur in training, such as {example:?}: unreliable predictions",
                counted(*rows, "row")
            ));
        }
        notes
    }

    /// The predictions as CSV: the row, counted from 1, the prediction, and the true value if the table has it.
    pub fn to_csv(&self) -> String {
        let mut text = format!("row,{}", csv_cell(&format!("predicted {}", self.target)));
        if self.truth.is_some() {
            text += &format!(",{}", csv_cell(&self.target));
        }
        text.push('\n');
        let cell = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        for (row, predicted) in self.predicted.iter().enumerate() {
            _ = write!(text, "{},{}", row + 1, cell(*predicted));
            if let Some(truth) = &self.truth {
                _ = write!(text, ",{}", cell(truth[row]));
            }
            text.push('\n');
        }
        text
    }
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
