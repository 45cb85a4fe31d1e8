//! A table that is loaded in the background.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use eframe::egui::Context;

use super::form::source_name;
use crate::settings::{Source, SourceError};
use crate::{Settings, Table};

/// A table on its way.
pub(crate) struct Loading {
    source: Source,
    /// What the settings are to be once it is there; None where they stay.
    settings: Option<Settings>,
    /// Thousandths.
    progress: Arc<AtomicU32>,
    cancel: Arc<AtomicBool>,
    result: mpsc::Receiver<Result<Table, SourceError>>,
}

/// What came of it.
pub(crate) enum Loaded {
    /// The table, and the settings that were to come with it.
    Table(Arc<Table>, Source, Option<Box<Settings>>),
    /// One line that says why not.
    Failed(String),
    /// The user did not want it any more.
    Cancelled,
}

impl Loading {
    /// Begins. The window is painted anew as it goes on.
    pub(crate) fn start(source: Source, settings: Option<Settings>, context: &Context) -> Self {
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
            let tell = |share: f32| {
                let before = progress.swap((share * 1000.0) as u32, Ordering::Relaxed);
                if before != (share * 1000.0) as u32 {
                    context.request_repaint_after(Duration::from_millis(30));
                }
            };
            let table = source.table_with(&tell, &cancel);
            // Nobody listens any more where the user has cancelled.
            let _ = sender.send(table);
            context.request_repaint();
        });
        loading
    }

    /// What came of it, once it is there.
    pub(crate) fn poll(&mut self) -> Option<Loaded> {
        if self.cancel.load(Ordering::Relaxed) {
            return Some(Loaded::Cancelled);
        }
        match self.result.try_recv() {
            Ok(Ok(table)) => {
                Some(Loaded::Table(Arc::new(table), self.source.clone(), self.settings.take().map(Box::new)))
            }
            Ok(Err(error)) => Some(Loaded::Failed(error.to_string())),
            Err(mpsc::TryRecvError::Empty) => None,
            Err(mpsc::TryRecvError::Disconnected) => {
                Some(Loaded::Failed(format!("{}: reading it ended unexpectedly", self.name())))
            }
        }
    }

    /// What is loaded.
    pub(crate) fn name(&self) -> String {
        source_name(&self.source)
    }

    /// The share that is done; None where it cannot be told.
    pub(crate) fn progress(&self) -> Option<f32> {
        matches!(self.source, Source::File(_)).then(|| self.progress.load(Ordering::Relaxed) as f32 / 1000.0)
    }

    /// Ends it as soon as the reading thread looks.
    pub(crate) fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}
