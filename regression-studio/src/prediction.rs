//! Predictions for the rows of a table, with the true values if the table has the target.

mod csv;
mod outside;
mod row;

use command_line::counted;

pub use self::csv::WriteError;
use self::outside::{Outside, unseen};
pub use self::row::Cell;
use crate::Table;
use crate::intervals;
use crate::intervals::Intervals;
use crate::model::{Model, Outputs, PredictError};
use crate::prepared::{Incomplete, Transform};
use crate::results::{self, Metrics, Parts, TableRows};
use crate::table::{Column, Kind, shortened};

/// The predictions for a table. They take a few bytes per row.
#[derive(Clone, Debug)]
pub struct Predictions {
    /// The target's name.
    pub target: String,
    /// The probability of the intervals, in percent.
    pub percent: u8,
    /// Why there are no intervals, in one line.
    pub why_no_intervals: Option<String>,
    /// The fraction of rows in [`Predictions::metrics`] with the true value in their interval.
    pub coverage: Option<f64>,
    /// The metrics over the rows with a prediction and a true value, if there are any. For a run's
    /// own table, only test rows count.
    pub metrics: Option<Metrics>,
    /// The number of rows without a prediction because a feature is missing or not a number.
    pub skipped: usize,
    /// The reasons for [`Predictions::skipped`], in words.
    why_skipped: String,
    /// The text columns with categories that did not occur in training.
    pub unseen: Vec<Unseen>,
    /// Whether the target's true values are known.
    pub has_truth: bool,
    outputs: Outputs,
    transform: Transform,
    intervals: Option<Intervals>,
    /// The rows' parts, if the network was trained on this table.
    parts: Option<Parts>,
    outside: Outside,
    /// The number of rows with a prediction that is not finite, and a description of the first.
    not_finite: (usize, String),
    /// The columns that identify rows, in the table's order.
    identifiers: Vec<String>,
}

/// A text column with categories that did not occur in training. The network treats such a row as
/// having no category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The column.
    pub column: String,
    /// The first such category.
    pub example: String,
    /// A known category that differs from it only by case and blanks.
    pub alike: Option<String>,
    /// The number of rows.
    pub rows: usize,
}

impl Predictions {
    /// [`Predictions::with_intervals`] at [`intervals::PERCENT`].
    ///
    /// # Errors
    /// See [`Model::predict`].
    pub fn of(model: &Model, rows: Option<&TableRows>, table: &Table) -> Result<Self, PredictError> {
        Self::with_intervals(model, rows, table, intervals::PERCENT)
    }

    /// Predicts every row of a table, with intervals at one of [`intervals::PERCENTS`]. `rows` are
    /// the rows of the run that trained the model. In the run's own table, the metrics exclude rows
    /// that the network was trained on.
    ///
    /// # Errors
    /// See [`Model::predict`].
    pub fn with_intervals(
        model: &Model,
        rows: Option<&TableRows>,
        table: &Table,
        percent: u8,
    ) -> Result<Self, PredictError> {
        let outputs = model.outputs(table)?;
        let outside = Outside::of(model, table);
        let target = &model.transform.target;
        let truth = table.column(target).filter(|column| column.kind() == Kind::Number);
        let parts = rows.filter(|rows| truth.is_some_and(|truth| rows.are_of(truth)));
        let columns = model.columns();
        let incomplete = Incomplete::of(columns.iter().filter_map(|name| table.column(name)), &outputs.is_complete);
        let identifies = |column: &&Column| model.transform.identifiers.iter().any(|name| name == column.name());
        let identifiers = table.columns().iter().filter(identifies).map(|column| column.name().to_owned()).collect();
        let mut predictions = Self {
            target: target.clone(),
            percent,
            why_no_intervals: model.why_no_intervals(percent),
            coverage: None,
            metrics: None,
            skipped: incomplete.rows(),
            why_skipped: incomplete.in_words(),
            unseen: unseen(model, table),
            has_truth: truth.is_some(),
            outputs,
            transform: model.transform.clone(),
            intervals: model.intervals.clone(),
            parts: parts.map(TableRows::letters),
            outside,
            not_finite: (0, String::new()),
            identifiers,
        };
        predictions.measure(truth);
        predictions.find_not_finite(model, table);
        Ok(predictions)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.outputs.values.len()
    }

    /// The prediction for a row, in the target's unit; `None` if a feature is missing or not a
    /// number, or the prediction is not finite.
    pub fn predicted(&self, row: usize) -> Option<f64> {
        let predicted = self.transform.target_of(self.outputs.values[row]);
        Some(predicted).filter(|predicted| predicted.is_finite())
    }

    /// The ends of the interval around a row's prediction, in the target's unit. Outside the range
    /// of training the interval is wider, see [`Input::excess`](crate::prepared::Input::excess),
    /// and has no guarantee.
    pub fn interval(&self, row: usize) -> Option<[f64; 2]> {
        let predicted = self.predicted(row).map(|_| f64::from(self.outputs.values[row]))?;
        let spread = self.outputs.spreads.as_ref().map(|spreads| spreads[row]);
        let interval =
            self.intervals.as_ref()?.interval(self.percent, predicted, spread, self.outside.widening(row))?;
        Some(interval.map(|end| self.transform.end(end))).filter(|ends| ends.iter().all(|end| end.is_finite()))
    }

    /// The target of a row in the predicted table, if the table has it as a number.
    pub fn truth(&self, table: &Table, row: usize) -> Option<f64> {
        table.column(&self.target)?.number(row)
    }

    /// The part of a row, if the network was trained on this table: "training", "validation" or
    /// "test", and empty for an unused row.
    pub fn part(&self, row: usize) -> Option<&'static str> {
        Some(self.parts.as_ref()?.of_row(row))
    }

    /// The features of a row with a value outside the range of the training part.
    pub fn outside(&self, row: usize) -> Vec<&str> {
        self.outside.features(row)
    }

    /// Computes metrics and coverage from the true values.
    fn measure(&mut self, truth: Option<&Column>) {
        let is_measured = |row: &usize| self.part(*row).is_none_or(|part| part == "test");
        let measured = (0..self.rows()).filter(is_measured);
        let measured = measured.filter_map(|row| Some((row, truth?.number(row)?, self.predicted(row)?)));
        let (mut known, mut of_known, mut inside) = (Vec::new(), Vec::new(), 0);
        for (row, truth, predicted) in measured {
            inside += usize::from(self.interval(row).is_some_and(|[low, high]| low <= truth && truth <= high));
            known.push(truth);
            of_known.push(predicted);
        }
        if !known.is_empty() {
            let coverage = inside as f64 / known.len() as f64;
            self.coverage = self.why_no_intervals.is_none().then_some(coverage);
            self.metrics = Some(results::metrics(&known, &of_known, self.transform.target_scale.log));
        }
    }

    /// Finds the complete rows with an overflowing prediction, and reports the most extreme value
    /// of the first.
    fn find_not_finite(&mut self, model: &Model, table: &Table) {
        let is_lost = |row: &usize| self.outputs.is_complete[*row] && self.predicted(*row).is_none();
        let count = (0..self.rows()).filter(is_lost).count();
        let Some(row) = (0..self.rows()).find(is_lost) else { return };
        let inputs = model.transform.inputs.iter().filter_map(|input| {
            let value = table.column(input.column())?.number(row)?;
            Some((input, value, input.scale().in_deviations(value).abs()))
        });
        let farthest = inputs.max_by(|(_, _, a), (_, _, b)| a.total_cmp(b));
        let value =
            farthest.map_or_else(String::new, |(input, value, _)| format!(": {}", outside::described(input, value)));
        self.not_finite = (count, format!("row {}{}{value}", row + 1, outside::line(table, row)));
    }

    /// What a user should know about these predictions, one line each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let (skipped, rows) = (self.skipped, self.rows());
        if skipped > 0 {
            let have = if skipped == 1 { "has" } else { "have" };
            notes.push(format!("{skipped} of {rows} rows {have} no prediction: {}", self.why_skipped));
        }
        if let (count @ 1.., first) = &self.not_finite {
            let has = if *count == 1 { "has" } else { "have" };
            notes.push(format!(
                "{} {has} no prediction, since it is not a finite number, first {first}: correct the value",
                counted(*count, "row")
            ));
        }
        if let Some(parts) = &self.parts {
            let seen = parts.iter().filter(|(_, part)| *part != "test").count();
            notes.push(format!(
                "this is the table that the network was trained on: {} of training and validation do not count for R² and the errors",
                counted(seen, "row")
            ));
        }
        if let Some(first) = &self.outside.first {
            let count = self.outside.rows();
            let are = if count == 1 { "is" } else { "are" };
            let intervals =
                if self.why_no_intervals.is_none() { ": their intervals are wider, but without guarantee" } else { "" };
            notes.push(format!(
                "{} {are} outside the range of training, first {first}{intervals}",
                counted(count, "row")
            ));
        }
        for Unseen { column, example, alike, rows } in &self.unseen {
            let alike = alike.as_ref().map_or_else(String::new, |alike| format!(" (training has {alike:?})"));
            notes.push(format!(
                "{} with a {column} that did not occur in training, such as {:?}{alike}: unreliable predictions",
                counted(*rows, "row"),
                shortened(example)
            ));
        }
        notes
    }

    /// The rows that the metrics cover: "the rows with a true value", or "the 50 test rows".
    pub fn measured_rows(&self) -> String {
        match &self.parts {
            None => "the rows with a true value".to_owned(),
            Some(parts) => {
                format!("the {}", counted(parts.iter().filter(|(_, part)| *part == "test").count(), "test row"))
            }
        }
    }
}
