//! Predictions computed in the background.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use eframe::egui::Context;

use crate::saved_run::SavedRun;
use crate::settings::Source;
use crate::window::task::{Panicked, Task};
use crate::{Predictions, Table};

/// The rows to predict.
pub(crate) enum Rows {
    /// Those of a table that is loaded, and its name.
    Loaded(Arc<Table>, String),
    /// Those of a file.
    File(PathBuf),
}

/// The predictions for a table, with what depends on all its rows.
pub(super) struct Predicted {
    pub(super) table: Arc<Table>,
    pub(super) predictions: Arc<Predictions>,
    /// [`Predictions::notes`].
    pub(super) notes: Vec<String>,
    /// [`Predictions::measured_rows`].
    pub(super) measured_rows: String,
}

/// A prediction in progress. It cannot be cancelled: the largest table takes seconds.
pub(super) struct Job {
    name: String,
    result: Task<Result<Predicted, String>>,
}

impl Job {
    /// Starts a thread, which requests a repaint at its end.
    pub(super) fn start(run: Arc<SavedRun>, rows: Rows, context: &Context) -> Self {
        let name = match &rows {
            Rows::Loaded(_, name) => name.clone(),
            Rows::File(path) => Source::File(path.clone()).name(),
        };
        Self { name, result: Task::start(context, move || predict(&run, rows)) }
    }

    /// Name of the table.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Name and result, if the thread has ended.
    pub(super) fn poll(&self) -> Option<(String, Result<Predicted, String>)> {
        let failed = |Panicked| Err(format!("{}: the predicting thread ended unexpectedly", self.name));
        Some((self.name.clone(), self.result.poll()?.unwrap_or_else(failed)))
    }
}

fn predict(run: &SavedRun, rows: Rows) -> Result<Predicted, String> {
    let table = match rows {
        Rows::Loaded(table, _) => table,
        Rows::File(path) => {
            let (declared, cancel) = (run.model.transform.declared(), AtomicBool::new(false));
            let table = Source::File(path).table_with(&declared, &|_| (), &cancel);
            Arc::new(table.map_err(|error| error.to_string())?)
        }
    };
    let predictions = Predictions::of(&run.model, run.rows.as_deref(), &table).map_err(|error| error.to_string())?;
    let (notes, measured_rows) = (predictions.notes(), predictions.measured_rows());
    Ok(Predicted { table, predictions: Arc::new(predictions), notes, measured_rows })
}
