//! Predictions for the rows of a table, beside their true values where the table has the target.

mod csv;
mod outside;
mod row;

use command_line::counted;

use self::outside::{Outside, unseen};
pub use self::row::Cell;
use crate::Table;
use crate::intervals;
use crate::model::{Model, PredictError};
use crate::prepared::Incomplete;
use crate::results::{self, Metrics, TableRows};
use crate::table::Kind;

/// The predictions for a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// The target's name.
    pub target: String,
    /// A prediction for each row, in the target's unit; `None` if a feature is missing or not a number.
    pub predicted: Vec<Option<f64>>,
    /// The probability of the intervals, in percent.
    pub percent: u8,
    /// The ends of each prediction's interval, in the target's unit, or the reason in one line for which there are
    /// none. Outside the range of training an interval is wider, see [`Input::excess`](crate::prepared::Input::excess),
    /// and has no guarantee.
    pub intervals: Result<Vec<Option<[f64; 2]>>, String>,
    /// The share of the rows of [`Predictions::metrics`] whose interval contains the true value.
    pub coverage: Option<f64>,
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
    /// [`Predictions::with_intervals`] of [`intervals::PERCENT`].
    ///
    /// # Errors
    /// Those of [`Model::predict`].
    pub fn of(model: &Model, rows: Option<&TableRows>, table: &Table) -> Result<Self, PredictError> {
        Self::with_intervals(model, rows, table, intervals::PERCENT)
    }

    /// Predicts every row of a table, with intervals of one of [`intervals::PERCENTS`]. `rows` are those of the run
    /// that the model is from: in the run's own table, the rows that the network was trained on do not count for the
    /// metrics.
    ///
    /// # Errors
    /// Those of [`Model::predict`].
    pub fn with_intervals(
        model: &Model,
        rows: Option<&TableRows>,
        table: &Table,
        percent: u8,
    ) -> Result<Self, PredictError> {
        let outputs = model.outputs(table)?;
        let predicted: Vec<Option<f64>> =
            outputs.iter().map(|output| output.map(|output| model.transform.target_of(output.value))).collect();
        let outside = Outside::of(model, table);
        let intervals = match model.why_no_intervals(percent) {
            Some(reason) => Err(reason),
            None => {
                let rows = outputs.iter().zip(&outside.widening);
                Ok(rows.map(|(output, &widening)| model.interval(percent, (*output)?, widening)).collect())
            }
        };
        let target = &model.transform.target;
        let truth = table.column(target).filter(|column| column.kind() == Kind::Number);
        let truth: Option<Vec<Option<f64>>> =
            truth.map(|column| (0..table.rows()).map(|row| column.number(row)).collect());
        let parts = rows.zip(truth.as_deref()).and_then(|(rows, truth)| rows.parts_of(truth));
        let counts = |row: usize| parts.as_ref().is_none_or(|parts| parts[row] == "test");
        let pairs = predicted.iter().zip(truth.iter().flatten()).enumerate().filter(|(row, _)| counts(*row));
        let measured: Vec<(usize, f64, f64)> =
            pairs.filter_map(|(row, (predicted, truth))| Some((row, (*truth)?, (*predicted)?))).collect();
        let (known, of_known): (Vec<f64>, Vec<f64>) = measured.iter().map(|(_, truth, of)| (*truth, *of)).unzip();
        let is_inside = |intervals: &Vec<Option<[f64; 2]>>, row: usize, truth: f64| {
            intervals[row].is_some_and(|[low, high]| low <= truth && truth <= high)
        };
        let coverage = intervals.as_ref().ok().filter(|_| !measured.is_empty()).map(|intervals| {
            let inside = measured.iter().filter(|(row, truth, _)| is_inside(intervals, *row, *truth)).count();
            inside as f64 / measured.len() as f64
        });
        let is_log = model.transform.target_scale.log;
        let metrics = (!known.is_empty()).then(|| results::metrics(&known, &of_known, is_log));
        let is_predicted: Vec<bool> = predicted.iter().map(Option::is_some).collect();
        let columns = model.columns();
        let incomplete = Incomplete::of(columns.iter().filter_map(|name| table.column(name)), &is_predicted);
        Ok(Self {
            target: target.clone(),
            predicted,
            percent,
            intervals,
            coverage,
            truth,
            metrics,
            parts,
            skipped: incomplete.rows(),
            why_skipped: incomplete.in_words(),
            outside: outside.features,
            first_outside: outside.first,
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
            let intervals =
                if self.intervals.is_ok() { ": their intervals are wider, but without guarantee" } else { "" };
            notes.push(format!(
                "{} {are} outside the range of training, first {first}{intervals}",
                counted(count, "row")
            ));
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
}
