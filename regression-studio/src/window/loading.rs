//! Loads a table in the background.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime};

use eframe::egui::Context;
use rayon::prelude::*;

use crate::settings::{DataSettings, Source, SourceError};
use crate::table::Statistics;
use crate::{Settings, Table};

/// A file. Its size and time of modification reveal changes.
pub(crate) struct WatchedFile {
    path: PathBuf,
    stamp: (Option<SystemTime>, u64),
    /// The time of the last check, in seconds of the window's time, and its result.
    checked: f64,
    has_changed: bool,
}

impl WatchedFile {
    fn of(source: &Source) -> Option<Self> {
        let Source::File(path) = source else { return None };
        Some(Self { path: path.clone(), stamp: Self::stamp(path)?, checked: 0.0, has_changed: false })
    }

    /// Whether the file changed after it was read. A missing file does not count as changed. Checks
    /// at most once per second.
    pub(crate) fn has_changed(&mut self, context: &Context) -> bool {
        let now = context.input(|input| input.time);
        if now - self.checked >= 1.0 {
            self.checked = now;
            self.has_changed = Self::stamp(&self.path).is_some_and(|stamp| stamp != self.stamp);
        }
        self.has_changed
    }

    fn stamp(path: &Path) -> Option<(Option<SystemTime>, u64)> {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok(), metadata.len()))
    }
}

/// A load in progress.
pub(crate) struct Loading {
    source: Source,
    /// The file being read, in its state at the beginning.
    file: Option<WatchedFile>,
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
    /// Canceled by the user.
    Cancelled,
}

impl Loading {
    /// Starts a loading thread. It requests repaints as it progresses.
    pub(crate) fn start(data: &DataSettings, settings: Option<Settings>, context: &Context) -> Self {
        let (source, declared) = (data.source.clone(), data.declared());
        let (sender, result) = mpsc::channel();
        let (progress, cancel) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let loading = Self {
            source: source.clone(),
            file: WatchedFile::of(&source),
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
            // The receiver is gone if the user canceled.
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

    /// The file that was read.
    pub(crate) fn into_file(self) -> Option<WatchedFile> {
        self.file
    }

    /// Name shown for the data set.
    pub(crate) fn name(&self) -> String {
        self.source.name()
    }

    /// The fraction loaded, 0 … 1; `None` for generated data, which does not report progress.
    pub(crate) fn progress(&self) -> Option<f32> {
        matches!(self.source, Source::File(_)).then(|| self.progress.load(Ordering::Relaxed) as f32 / 1000.0)
    }

    /// Requests cancellation; the loading thread stops at its next check.
    pub(crate) fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}
