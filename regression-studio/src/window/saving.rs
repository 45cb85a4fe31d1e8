//! Writes runs to folders in the background, one after the other: a large one takes seconds.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui::Context;

use super::task::{Panicked, Task};
use crate::run_folder::{self, RunFolderError};
use crate::saved_run::SavedRun;

/// A run, and the folder that it is written to.
type Place = (Arc<SavedRun>, PathBuf);

/// Runs to save.
#[derive(Default)]
pub(crate) struct Saving {
    current: Option<(Place, Task<Result<(), RunFolderError>>)>,
    waiting: VecDeque<Place>,
}

impl Saving {
    /// Writes a run after the runs queued before it.
    pub(crate) fn save(&mut self, run: Arc<SavedRun>, folder: PathBuf, context: &Context) {
        self.waiting.push_back((run, folder));
        self.start_next(context);
    }

    /// The next written run, its folder, and the outcome; an error is one line. After an error, the
    /// waiting runs are not written.
    pub(crate) fn poll(&mut self, context: &Context) -> Option<(Place, Result<(), String>)> {
        let (_, task) = self.current.as_ref()?;
        let saved = task.poll()?;
        let (place, _) = self.current.take()?;
        let saved = match saved {
            Ok(saved) => saved.map_err(with_causes),
            Err(Panicked) => Err(format!("{}: the saving thread ended unexpectedly", place.1.display())),
        };
        if saved.is_err() {
            self.waiting.clear();
        }
        self.start_next(context);
        Some((place, saved))
    }

    /// The folder being written to.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.current.as_ref().map(|((_, folder), _)| folder.as_path())
    }

    fn start_next(&mut self, context: &Context) {
        if self.current.is_none()
            && let Some((run, folder)) = self.waiting.pop_front()
        {
            let (of_thread, path) = (Arc::clone(&run), folder.clone());
            let task = Task::start(context, move || run_folder::save(&path, &of_thread));
            self.current = Some(((run, folder), task));
        }
    }
}

/// The error with its causes in one line, as the command line prints it.
pub(crate) fn with_causes(error: RunFolderError) -> String {
    format!("{:#}", anyhow::Error::from(error))
}
