//! Loading of a table in the background.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use eframe::egui::Context;
use rayon::prelude::*;

use crate::settings::{DataSettings, Source, SourceError};
use crate::table::Statistics;
use crate::{Settings, Table};

/// A load in progress.
pub(crate) struct Loading {
    source: Source,
    /// Settings to apply after loading, if any.
    settings: Option<Settings>,
    /// Progress in thousandths.
    progress: Arc<AtomicU32>,
    cancel: Arc<AtomicBool>,
    result: mpsc::Receiver<Result<(Table, Vec<Statistics>), SourceError>>,
}

/// The result of loading.
pub(crate) enum LoadOutcome {
    /// The table, summaries of its columns, its source, and the settings to apply.
    Table(Arc<Table>, Vec<Statistics>, Source, Option<Box<Settings>>),
    /// A one-line message.
    Failed(String),
    /// Cancelled by the user.
    Cancelled,
}

impl Loading {
    /// Starts a loading thread, which requests repaints as it progresses.
    pub(crate) fn start(data: &DataSettings, settings: Option<Settings>, context: &Context) -> Self {
        let (source, declared) = (data.source.clone(), data.declared());
        let (sender, result) = mpsc::channel();
        let (progress, cancel) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let loading = Self {
            source: source.clone(),
            settings,
            progress: Arc::clone(&progress),
            cancel: Arc::clone(&cancel),
            result,
        };
        let context = context.clone();
        std::thread::spawn(move || {
            let report = |share: f32| {
                let before = progress.swap((share * 1000.0) as u32, Ordering::Relaxed);
                if before != (share * 1000.0) as u32 {
                    context.request_repaint_after(Duration::from_millis(30));
                }
            };
            let with_statistics = |table: Table| {
                let statistics = table.columns().par_iter().map(Statistics::of).collect();
                (table, statistics)
            };
            let table = source.table_with(&declared, &report, &cancel).map(with_statistics);
            // The receiver is gone if the user has cancelled.
            let _ = sender.send(table);
            context.request_repaint();
        });
        loading
    }

    /// The result, if loading has ended.
    pub(crate) fn poll(&mut self) -> Option<LoadOutcome> {
        if self.cancel.load(Ordering::Relaxed) {
            return Some(LoadOutcome::Cancelled);
        }
        match self.result.try_recv() {
            Ok(Ok((table, statistics))) => {
                let settings = self.settings.take().map(Box::new);
                Some(LoadOutcome::Table(Arc::new(table), statistics, self.source.clone(), settings))
            }
            Ok(Err(error)) => Some(LoadOutcome::Failed(error.to_string())),
            Err(mpsc::TryRecvError::Empty) => None,
            Err(mpsc::TryRecvError::Disconnected) => {
                Some(LoadOutcome::Failed(format!("{}: the loading thread ended unexpectedly", self.name())))
            }
        }
    }

    /// Name shown for the data set.
    pub(crate) fn name(&self) -> String {
        self.source.name()
    }

    /// The fraction loaded, 0 … 1; `None` for synthetic data, which report no progress.
    pub(crate) fn progress(&self) -> Option<f32> {
        matches!(self.source, Source::File(_)).then(|| self.progress.load(Ordering::Relaxed) as f32 / 1000.0)
    }

    /// Requests cancellation; the loading thread stops at its next check.
    pub(crate) fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}
