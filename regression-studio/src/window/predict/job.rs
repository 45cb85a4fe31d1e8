//! Predictions computed in the background.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use eframe::egui::Context;

use crate::saved_run::SavedRun;
use crate::settings::Source;
use crate::table::csv::Declared;
use crate::window::task::{Panicked, Task};
use crate::{Predictions, Table};

/// The rows to predict.
pub(crate) enum Rows {
    /// The rows of a loaded table, and its name.
    Loaded(Arc<Table>, String),
    /// The rows of a file.
    File(PathBuf),
}

/// The predictions for a table, with the results that depend on all of its rows.
pub(super) struct Predicted {
    pub(super) table: Arc<Table>,
    /// The declarations for the table's file.
    pub(super) declared: Declared,
    pub(super) predictions: Arc<Predictions>,
    /// [`Predictions::notes`].
    pub(super) notes: Vec<String>,
    /// [`Predictions::measured_rows`].
    pub(super) measured_rows: String,
}

/// Why there are no predictions.
pub(super) struct Failure {
    /// One line.
    pub(super) message: String,
    /// Whether the numbers have another currency or unit than in training. The user may accept
    /// that.
    pub(super) is_of_units: bool,
}

/// A prediction in progress. It cannot be canceled: the largest table takes only seconds.
pub(super) struct Job {
    name: String,
    result: Task<Result<Predicted, Failure>>,
}

impl Job {
    /// Starts a thread. It requests a repaint at its end.
    pub(super) fn start(run: Arc<SavedRun>, rows: Rows, accepts_units: bool, context: &Context) -> Self {
        let name = match &rows {
            Rows::Loaded(_, name) => name.clone(),
            Rows::File(path) => Source::File(path.clone()).name(),
        };
        Self { name, result: Task::start(context, move || predict(&run, rows, accepts_units)) }
    }

    /// Name of the table.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Name and result, if the thread has ended.
    pub(super) fn poll(&self) -> Option<(String, Result<Predicted, Failure>)> {
        let failed = |Panicked| {
            let message = format!("{}: the predicting thread ended unexpectedly", self.name);
            Err(Failure { message, is_of_units: false })
        };
        Some((self.name.clone(), self.result.poll()?.unwrap_or_else(failed)))
    }
}

fn predict(run: &SavedRun, rows: Rows, accepts_units: bool) -> Result<Predicted, Failure> {
    let failure = |message| Failure { message, is_of_units: false };
    let (table, declared) = match rows {
        Rows::Loaded(table, _) => (table, run.settings.data.declared()),
        Rows::File(path) => {
            let (declared, cancel) = (run.model.transform.declared(), AtomicBool::new(false));
            let table = Source::File(path).table_with(&declared, &|_| (), &cancel);
            (Arc::new(table.map_err(|error| failure(error.to_string()))?), declared)
        }
    };
    if !accepts_units {
        let checked = run.model.transform.check_units(&table);
        checked.map_err(|error| Failure { message: error.to_string(), is_of_units: true })?;
    }
    let predictions = Predictions::of(&run.model, run.rows.as_deref(), &table);
    let predictions = predictions.map_err(|error| failure(error.to_string()))?;
    let (notes, measured_rows) = (predictions.notes(), predictions.measured_rows());
    Ok(Predicted { table, declared, predictions: Arc::new(predictions), notes, measured_rows })
}
