//! A run on disk: a folder with settings, history, results, plots, model and checkpoint. A run can
//! be opened and resumed from it.
//!
//! | file | content |
//! |---|---|
//! | `settings.toml` | the settings, with the data file's absolute path; a copy reproduces the run |
//! | `history.csv` | one line per epoch |
//! | `results.toml` | the ending and the metrics of each part; only for a run that has ended |
//! | `errors.svg`, `predicted.svg` | the plots |
//! | `predicted.csv`, `split.csv` | the predictions for all test rows, with their intervals; the part of each row |
//! | `model-card.md` | what the network predicts, from which columns, how well, and where not to trust it |
//! | `model.safetensors` | the best epoch's network and its transform, for predictions |
//! | `checkpoint.safetensors` | the whole run, to open and resume it |
//!
//! The checkpoint is self-contained and written last, so the process may be killed at any moment. A
//! run is read only from its checkpoint. The other files are for the user and for predictions. Each
//! file that is read has its own checksum: a single list for the folder would be wrong between the
//! first and the last of several renames. `settings.toml` and `results.toml` have theirs on the
//! first line. If they were edited, they no longer describe the run and are rejected.

mod card;
mod checkpoint;
mod export;

use std::path::{Path, PathBuf};

use neural_net::checksum::{self, Seal};
use neural_net::files::{DirectoryLock, LockError, Overwrites, require_distinct, require_writable, write_atomically};
use neural_net::model_file::{Loaded, ModelFileError};
use neural_net::training::InvalidValue;
use serde::{Deserialize, Serialize};

use crate::results::{Ending, Results};
use crate::saved_run::SavedRun;
use crate::settings::{Problem, SettingsError, Source};
use crate::{Settings, plots};

/// The ending and the results, as stored on disk.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ended {
    ending: Ending,
    results: Results,
}

/// Why a run's folder cannot be read or written. The messages name the file; the underlying error,
/// if any, is the [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum RunFolderError {
    /// An error of the operating system.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// "read", "write" or "remove".
        action: &'static str,
        /// The underlying error.
        source: std::io::Error,
    },
    /// The folder contains no run.
    #[error("{}: no run found: a run's folder contains the file checkpoint.safetensors", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// The run is inconsistent.
    #[error("{}: the run is inconsistent: {invalid}", path.display())]
    Run {
        /// The file.
        path: PathBuf,
        /// The invalid value.
        invalid: InvalidValue,
    },
    /// The run's settings are invalid.
    #[error("{}: the run's settings are invalid: {problem}", path.display())]
    RunSettings {
        /// The checkpoint file.
        path: PathBuf,
        /// The first invalid value.
        problem: Problem,
    },
    /// A file is damaged, is not this program's, or cannot be represented in its format.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// Another process holds the folder's lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The run would overwrite a file that it is trained on.
    #[error(transparent)]
    Overwrites(#[from] Overwrites),
    /// The settings cannot be read.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The network cannot be read or written.
    #[error(transparent)]
    Tensors(#[from] ModelFileError),
}

/// The settings' file name in a run's folder.
pub const SETTINGS: &str = "settings.toml";
/// The model's file name in a run's folder.
pub const MODEL: &str = "model.safetensors";
/// The history's file name in a run's folder.
const HISTORY: &str = "history.csv";
/// The results' file name in a run's folder.
const RESULTS: &str = "results.toml";
/// The files of every run, ended or not.
const OF_EVERY_RUN: [&str; 4] = [checkpoint::FILE_NAME, MODEL, HISTORY, SETTINGS];
/// The additional files of a run that has ended.
const OF_THE_END: [&str; 6] = [RESULTS, PREDICTED, SPLIT, CARD, ERRORS_PLOT, PREDICTED_PLOT];
/// The files of a search for settings, [`crate::search`]. Its best run is in the same folder.
const OF_SEARCH: [&str; 4] = [SEARCH_LOG, SEARCH_RUNS, SEARCH_PLOT, SEARCH_BEST];
pub(crate) const SEARCH_LOG: &str = "search.jsonl";
pub(crate) const SEARCH_RUNS: &str = "search.csv";
pub(crate) const SEARCH_PLOT: &str = "search.svg";
pub(crate) const SEARCH_BEST: &str = "best.toml";
/// The file name of the test part's predictions.
const PREDICTED: &str = "predicted.csv";
/// The file name of the rows' parts.
const SPLIT: &str = "split.csv";
/// The model card's file name in a run's folder.
pub const CARD: &str = "model-card.md";
/// The file name of the plot of the epochs' errors.
const ERRORS_PLOT: &str = "errors.svg";
/// The file name of the plot of predictions.
const PREDICTED_PLOT: &str = "predicted.svg";

/// Whether `folder` contains a run.
pub fn holds_run(folder: &Path) -> bool {
    folder.join(checkpoint::FILE_NAME).exists()
}

/// The files that a run and its model are read from.
pub fn files_read(folder: &Path) -> [PathBuf; 4] {
    [checkpoint::FILE_NAME, MODEL, SETTINGS, RESULTS].map(|name| folder.join(name))
}

/// Checks that no file of a run in `folder` is one of `inputs`; `flag` names the folder.
///
/// # Errors
/// If one is, even by another name.
pub fn require_other_files(folder: &Path, flag: &str, inputs: &[&Path]) -> Result<(), Overwrites> {
    let files: Vec<PathBuf> =
        OF_EVERY_RUN.iter().chain(&OF_THE_END).chain(&OF_SEARCH).map(|name| folder.join(name)).collect();
    require_distinct(files.iter().map(|file| (flag, file.as_path())), inputs)
}

/// A run's folder. It is locked against other processes until this value is dropped.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: DirectoryLock,
}

impl RunFolder {
    /// Locks `folder`, creating it if necessary, and checks that a run can be written to it before any work is done.
    ///
    /// # Errors
    /// If another process holds the lock, or the folder is not writable.
    pub fn lock(folder: &Path) -> Result<Self, RunFolderError> {
        let lock = DirectoryLock::acquire(folder)?;
        let path = folder.join(checkpoint::FILE_NAME);
        require_writable(&path).map_err(io_error(&path, "write"))?;
        Ok(Self { path: folder.to_path_buf(), _lock: lock })
    }

    /// Writes a run to the folder, each file atomically. Results and plots are written only for a run that has ended.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, run: &SavedRun) -> Result<(), RunFolderError> {
        let Self { path: folder, .. } = self;
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            write_atomically(&path, text.as_bytes()).map_err(io_error(&path, "write"))
        };
        let settings = with_full_path(&run.settings).to_toml();
        if settings.is_empty() {
            let reason =
                "the path of the data file is not Unicode, so it cannot be saved as TOML: rename the file".to_owned();
            return Err(RunFolderError::Damaged { path: folder.join(SETTINGS), reason });
        }
        write(SETTINGS, &checksum::seal_text(&settings))?;
        write(HISTORY, &export::history(&run.history))?;
        run.model.save(&folder.join(MODEL))?;
        let results = folder.join(RESULTS);
        let ended = match &run.ended {
            Some((ending, of_run)) => {
                let drawn = |plot: Result<String, plots::PlotError>, name: &str| {
                    plot.map_err(|error| RunFolderError::Damaged { path: folder.join(name), reason: error.to_string() })
                };
                if let Some(rows) = &run.rows {
                    write(PREDICTED, &export::predicted(rows))?;
                    write(SPLIT, &export::split(rows))?;
                }
                write(CARD, &card::text(run, *ending, of_run))?;
                write(ERRORS_PLOT, &drawn(plots::errors(&run.history), ERRORS_PLOT)?)?;
                write(PREDICTED_PLOT, &drawn(plots::predicted(&run.predicted), PREDICTED_PLOT)?)?;
                let ended = Ended { ending: *ending, results: of_run.clone() };
                let text = toml::to_string(&ended).map_err(|error| damaged(&results, &error))?;
                write(RESULTS, &checksum::seal_text(&text))?;
                Some(text)
            }
            // If the run was resumed, its earlier results are obsolete.
            None => {
                for name in OF_THE_END {
                    remove_if_there(&folder.join(name))?;
                }
                None
            }
        };
        checkpoint::save(folder, run, ended)
    }

    /// Removes the files that [`RunFolder::save`] writes for an unfinished run.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn remove(&self) -> Result<(), RunFolderError> {
        // Remove the checkpoint first: without it, the folder contains no run.
        for name in OF_EVERY_RUN {
            remove_if_there(&self.path.join(name))?;
        }
        Ok(())
    }

    /// Removes all files of a run. Ignores files that cannot be removed.
    fn clear(&self) {
        for name in OF_EVERY_RUN.iter().chain(&OF_THE_END) {
            let _ = std::fs::remove_file(self.path.join(name));
        }
    }
}

fn remove_if_there(path: &Path) -> Result<(), RunFolderError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(io_error(path, "remove")),
    }
}

/// Locks `folder` and writes a run to it, like [`RunFolder::save`]. If that fails and the folder
/// had no run before, the files are removed again.
///
/// # Errors
/// If another process holds the lock, a file cannot be written, or one is the table that the run was trained on.
pub fn save(folder: &Path, run: &SavedRun) -> Result<(), RunFolderError> {
    if let Source::File(table) = &run.settings.data.source {
        require_other_files(folder, "saving", &[table])?;
    }
    let (is_new, had_run) = (!folder.exists(), holds_run(folder));
    let locked = RunFolder::lock(folder)?;
    locked.save(run).inspect_err(|_| {
        // For example on a full disk: the written files are useless without the checkpoint. The
        // first error is the one reported.
        if !had_run {
            locked.clear();
        }
        drop(locked);
        if is_new {
            let _ = std::fs::remove_dir(folder);
        }
    })
}

/// Reads the run in `folder`.
///
/// # Errors
/// If there is none, or one of its files is damaged.
pub fn read(folder: &Path) -> Result<Loaded<SavedRun>, RunFolderError> {
    if !holds_run(folder) {
        return Err(RunFolderError::NoRun { path: folder.to_path_buf() });
    }
    let file = checkpoint::open(folder)?;
    let (settings, results) = (folder.join(SETTINGS), folder.join(RESULTS));
    if file.is_verified() {
        require_sealed(&settings)?;
        require_sealed(&results)?;
        return checkpoint::saved_run(&file, checkpoint::settings(&file)?, checkpoint::ended(&file)?);
    }
    // Checkpoint format 1 keeps settings and results only in separate files.
    let ended = match std::fs::read_to_string(&results) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        text => {
            let text = text.map_err(io_error(&results, "read"))?;
            Some(toml::from_str(&text).map_err(|error| damaged(&results, &error))?)
        }
    };
    checkpoint::saved_run(&file, Settings::read(&settings)?, ended)
}

/// Parses the bytes of a checkpoint file with a checksum; errors name `path`.
///
/// # Errors
/// If it is damaged, is not a checkpoint, or the run is inconsistent.
pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Loaded<SavedRun>, RunFolderError> {
    let file = checkpoint::parse(path, bytes)?;
    checkpoint::saved_run(&file, checkpoint::settings(&file)?, checkpoint::ended(&file)?)
}

/// Reads a run and discards the warning that [`read`] returns.
///
/// # Errors
/// See [`read`].
pub fn open(folder: &Path) -> Result<SavedRun, RunFolderError> {
    Ok(read(folder)?.content)
}

/// Verifies a text file's checksum, if the file exists.
fn require_sealed(path: &Path) -> Result<(), RunFolderError> {
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        text => text.map_err(io_error(path, "read"))?,
    };
    match std::str::from_utf8(&text).map(checksum::check_text) {
        Ok(Seal::Intact) => Ok(()),
        _ => {
            let reason = "the file is damaged or was edited: restore it, or remove it, which loses nothing";
            Err(RunFolderError::Damaged { path: path.to_path_buf(), reason: reason.to_owned() })
        }
    }
}

/// The settings with an absolute path to the data.
pub fn with_full_path(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    if let Source::File(path) = &mut settings.data.source
        && let Ok(full) = std::path::absolute(&path)
    {
        *path = full;
    }
    settings
}

fn damaged(path: &Path, error: &impl ToString) -> RunFolderError {
    RunFolderError::Damaged { path: path.to_path_buf(), reason: error.to_string().trim().replace('\n', "; ") }
}

fn io_error(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> RunFolderError {
    let path = path.to_path_buf();
    move |source| RunFolderError::Io { path, action, source }
}
