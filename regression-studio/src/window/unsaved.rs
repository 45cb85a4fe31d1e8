//! Unsaved runs: the question when the window closes, and a copy on disk in case the program
//! terminates unexpectedly.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use eframe::egui::Context;

use super::task::Wake;
use crate::run_folder::{self, RunFolder, RunFolderError};
use crate::saved_run::SavedRun;

/// The copy of the last finished, unsaved run, in a folder locked by this process. A thread writes
/// it, since a large run takes seconds.
#[derive(Debug)]
pub(crate) struct Copy {
    /// The run copied last.
    run: Option<Arc<SavedRun>>,
    orders: mpsc::Sender<Order>,
    failures: mpsc::Receiver<RunFolderError>,
    thread: JoinHandle<()>,
}

/// What the thread does next.
enum Order {
    /// Write this run.
    Keep(Arc<SavedRun>),
    /// Remove a run that another process left behind.
    Remove(Recovered),
    /// Remove the copy, and end the thread.
    Discard,
}

impl Copy {
    /// Creates a folder for this process in `parent`.
    pub(crate) fn new(parent: PathBuf, context: &Context) -> Self {
        let (orders, of_thread) = mpsc::channel();
        let (failed, failures) = mpsc::channel();
        let wake = Wake(context.clone());
        let thread = std::thread::spawn(move || {
            // Dropped last: the requested frame must see the thread's end.
            let _wake = wake;
            let path = free_folder(&parent, &format!("process-{}", std::process::id()), &[]);
            match RunFolder::lock(&path) {
                Ok(folder) => copy(&path, folder, &of_thread, &failed),
                Err(error) => _ = failed.send(error),
            }
        });
        Self { run: None, orders, failures, thread }
    }

    /// Copies a run, unless it is the run copied last.
    pub(crate) fn keep(&mut self, run: &Arc<SavedRun>) {
        if self.run.as_ref().is_none_or(|kept| !Arc::ptr_eq(kept, run)) {
            self.run = Some(Arc::clone(run));
            self.order(Order::Keep(Arc::clone(run)));
        }
    }

    /// Removes a recovered run, after all copies ordered before.
    pub(crate) fn then_remove(&self, recovered: Recovered) {
        self.order(Order::Remove(recovered));
    }

    /// Why a run could not be copied.
    pub(crate) fn failure(&self) -> Option<RunFolderError> {
        self.failures.try_recv().ok()
    }

    /// Removes the copy, because the run is saved or the user discarded it. The process must not
    /// end before the thread does.
    #[must_use]
    pub(crate) fn discard(self) -> JoinHandle<()> {
        self.order(Order::Discard);
        self.thread
    }

    fn order(&self, order: Order) {
        // The thread ends early if it cannot lock the folder, and reports that.
        _ = self.orders.send(order);
    }
}

/// Carries out orders until the copy is discarded or all senders are gone.
fn copy(path: &Path, folder: RunFolder, orders: &mpsc::Receiver<Order>, failed: &mpsc::Sender<RunFolderError>) {
    while let Ok(order) = orders.recv() {
        match order {
            Order::Keep(run) => {
                if let Err(error) = folder.save(&run) {
                    _ = failed.send(error);
                }
            }
            Order::Remove(recovered) => recovered.remove(),
            Order::Discard => {
                // Other processes must not mistake it for a run to recover, so the checkpoint is
                // removed while the folder is locked.
                _ = folder.remove();
                drop(folder);
                _ = std::fs::remove_dir_all(path);
                return;
            }
        }
    }
}

/// A run's name as a file name: lower-case letters, digits and hyphens.
pub(crate) fn as_file_name(name: &str) -> String {
    let hyphened = |character: char| if character.is_alphanumeric() { character } else { '-' };
    let name: String = name.to_lowercase().chars().map(hyphened).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "run".to_owned() } else { name.to_owned() }
}

/// A run from a process that terminated unexpectedly.
#[derive(Debug)]
pub(crate) struct Recovered {
    path: PathBuf,
    pub(crate) run: Arc<SavedRun>,
}

impl Recovered {
    /// The first such run in `parent` that no running process has locked.
    pub(crate) fn find(parent: &Path) -> Option<Self> {
        let folders = std::fs::read_dir(parent).ok()?.filter_map(Result::ok).map(|entry| entry.path());
        folders.filter(|path| run_folder::holds_run(path)).find_map(|path| {
            let _lock = RunFolder::lock(&path).ok()?;
            let run = Arc::new(run_folder::open(&path).ok()?);
            Some(Self { path, run })
        })
    }

    /// Removes it from disk.
    pub(crate) fn remove(&self) {
        _ = std::fs::remove_dir_all(&self.path);
    }
}

/// The user's folder for copies of unsaved runs.
pub(crate) fn copies_folder() -> Option<PathBuf> {
    let project = directories::ProjectDirs::from("", "", "regression-studio")?;
    Some(project.data_local_dir().join("unsaved"))
}

/// The folder `name` in `parent`. If it exists or is one of `taken`, a number is appended.
pub(crate) fn free_folder(parent: &Path, name: &str, taken: &[PathBuf]) -> PathBuf {
    let numbered = (2..).map(|number| parent.join(format!("{name}-{number}")));
    let mut names = std::iter::once(parent.join(name)).chain(numbered);
    names.find(|path| !path.exists() && !taken.contains(path)).expect("the numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::as_file_name;

    #[test]
    fn a_name_as_that_of_a_file_has_no_separators() {
        for (name, expected) in
            [("Run 1", "run-1"), ("../../etc/passwd", "etc-passwd"), (" ", "run"), ("Größe = 5", "größe---5")]
        {
            assert_eq!(as_file_name(name), expected);
        }
    }
}
