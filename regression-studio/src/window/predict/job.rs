//! Predictions computed in the background.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};

use eframe::egui::Context;

use crate::saved_run::SavedRun;
use crate::settings::Source;
use crate::{Predictions, Table};

/// The rows to predict.
pub(crate) enum Rows {
    /// Those of a table that is loaded, and its name.
    Loaded(Arc<Table>, String),
    /// Those of a file.
    File(PathBuf),
}

type Outcome = Result<(Arc<Table>, Predictions), String>;

/// A prediction in progress. It cannot be cancelled: the largest table takes seconds.
pub(super) struct Job {
    name: String,
    result: mpsc::Receiver<Outcome>,
}

impl Job {
    /// Starts a thread, which requests a repaint at its end.
    pub(super) fn start(run: Arc<SavedRun>, rows: Rows, context: &Context) -> Self {
        let (sender, result) = mpsc::channel();
        let context = context.clone();
        let name = match &rows {
            Rows::Loaded(_, name) => name.clone(),
            Rows::File(path) => Source::File(path.clone()).name(),
        };
        std::thread::spawn(move || {
            // The receiver is gone if the window was closed.
            let _ = sender.send(predict(&run, rows));
            context.request_repaint();
        });
        Self { name, result }
    }

    /// Name of the table.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Name and result, if the thread has ended.
    pub(super) fn poll(&self) -> Option<(String, Outcome)> {
        let outcome = match self.result.try_recv() {
            Ok(outcome) => outcome,
            Err(mpsc::TryRecvError::Empty) => return None,
            Err(mpsc::TryRecvError::Disconnected) => {
                Err(format!("{}: the predicting thread ended unexpectedly", self.name))
            }
        };
        Some((self.name.clone(), outcome))
    }
}

fn predict(run: &SavedRun, rows: Rows) -> Outcome {
    let table = match rows {
        Rows::Loaded(table, _) => table,
        Rows::File(path) => {
            let (declared, cancel) = (run.model.transform.declared(), AtomicBool::new(false));
            let table = Source::File(path).table_with(&declared, &|_| (), &cancel);
            Arc::new(table.map_err(|error| error.to_string())?)
        }
    };
    let predictions = Predictions::of(&run.model, run.rows.as_deref(), &table).map_err(|error| error.to_string())?;
    Ok((table, predictions))
}
