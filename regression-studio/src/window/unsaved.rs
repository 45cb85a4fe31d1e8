//! Runs that have not been saved: the question when the window closes, and their copy on disk in case the program does
//! not end in an orderly way.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::run_folder::{self, RunFolder, RunFolderError};
use crate::saved_run::SavedRun;

/// The copy of the last run that has ended and is not saved, in a folder that this process has locked.
#[derive(Debug)]
pub(crate) struct Copy {
    path: PathBuf,
    folder: RunFolder,
    /// The run that was copied last.
    run: Option<Arc<SavedRun>>,
}

impl Copy {
    /// A folder of its own in `parent`.
    pub(crate) fn new(parent: &Path) -> Result<Self, RunFolderError> {
        let path = free_folder(parent, &format!("process-{}", std::process::id()));
        let folder = RunFolder::lock(&path)?;
        Ok(Self { path, folder, run: None })
    }

    /// Copies a run, unless it was copied last.
    pub(crate) fn keep(&mut self, run: &Arc<SavedRun>) -> Result<(), RunFolderError> {
        if self.run.as_ref().is_none_or(|kept| !Arc::ptr_eq(kept, run)) {
            self.run = Some(Arc::clone(run));
            self.folder.save(run)?;
        }
        Ok(())
    }

    /// Removes the copy: the run is saved, or the user has discarded it.
    pub(crate) fn discard(self) {
        let Self { path, folder, .. } = self;
        // Other processes must not take it for a run to recover, so the checkpoint goes while the folder is locked.
        _ = folder.remove();
        drop(folder);
        _ = std::fs::remove_dir_all(path);
    }
}

/// A run's name as that of a file: lower-case letters, digits and hyphens.
pub(crate) fn as_file_name(name: &str) -> String {
    let hyphened = |character: char| if character.is_alphanumeric() { character } else { '-' };
    let name: String = name.to_lowercase().chars().map(hyphened).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "run".to_owned() } else { name.to_owned() }
}

/// A run of a process that did not end in an orderly way.
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

/// The folder `name` in `parent`, or with a number appended if that exists.
pub(crate) fn free_folder(parent: &Path, name: &str) -> PathBuf {
    let numbered = (2..).map(|number| parent.join(format!("{name}-{number}")));
    let mut names = std::iter::once(parent.join(name)).chain(numbered);
    names.find(|path| !path.exists()).expect("the numbers do not end")
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
