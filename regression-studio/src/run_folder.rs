//! A run on disk: a folder with settings, history, results, plots and model, from which it can be looked at and go on.
//!
//! | file | what |
//! |---|---|
//! | `settings.toml` | what the user chose, with the data file's full path: a copy of it begins the same run again |
//! | `history.csv` | a line for each epoch |
//! | `results.toml` | how it ended, and the errors on each part; only of a run that has ended |
//! | `errors.svg`, `predicted.svg`, `predicted.csv` | the plots, and the second one's points |
//! | `model.safetensors` | the best epoch's network, with all that predictions need |
//! | `checkpoint.safetensors` | what is needed to go on, and to look at the run again |
//!
//! The checkpoint is written last and is complete in itself, so that a process may be killed at any moment. A run is
//! read from it alone; the other files are for the user and for predictions. All files that are read have a checksum of
//! their own, rather than one list for the folder, which would be wrong from the first of several renames to the last.
//! `settings.toml` and `results.toml` have it on the first line: changed, they are rejected, since what they say is no
//! longer what was trained.

mod checkpoint;
mod export;

use std::path::{Path, PathBuf};

use neural_net::checksum::{self, Seal};
use neural_net::engine::Parameters;
use neural_net::files::{DirectoryLock, LockError, require_writable, write_atomically};
use neural_net::model_file::{Loaded, ModelFileError};
use neural_net::training::InvalidValue;
use serde::{Deserialize, Serialize};

use crate::results::{Predicted, Results};
use crate::session::{Ending, EpochRecord};
use crate::settings::{SettingsError, Source};
use crate::sigmoid::Neuron;
use crate::{Model, Settings, plots};

/// A training, finished or not, with all that is kept of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What the user chose.
    pub settings: Settings,
    /// A record for each complete epoch.
    pub history: Vec<EpochRecord>,
    /// The best epoch's network.
    pub model: Model,
    /// True and predicted values of the best epoch.
    pub predicted: Predicted,
    /// How it ended, and with what results; None while it has not.
    pub ended: Option<(Ending, Results)>,
    /// What is needed to go on.
    pub checkpoint: Checkpoint,
}

/// Where a training stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The network as it is trained, and its velocities; see [`crate::sigmoid`].
    pub parameters: Parameters<f32>,
    /// How far it has come.
    pub progress: Progress,
    /// Of the data that it is trained on.
    pub data_checksum: u32,
}

/// How far a training has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Epochs that are complete.
    pub epoch: usize,
    /// Steps of the next epoch that are done.
    pub step: usize,
    /// The summed loss of those steps.
    pub loss: f64,
    /// Seconds of training for those steps.
    pub seconds: f64,
    /// The epoch with the smallest validation error, counted from 1; 0 before the first.
    pub best_epoch: usize,
}

impl Run {
    /// Whether there can be such a run.
    ///
    /// # Errors
    /// The first value that is out of its range, or that does not go with the others.
    pub fn validate(&self) -> Result<(), InvalidValue> {
        let require = InvalidValue::unless;
        let Self { settings, history, model, checkpoint: Checkpoint { progress, .. }, .. } = self;
        let sizes = model.network.architecture().sizes();
        let hidden = &sizes[1..sizes.len() - 1];
        let is_network = settings.network.hidden == hidden && Neuron::of(&settings.network) == model.neuron;
        require(is_network, "network", &format_args!("{hidden:?} hidden units"), "that of the settings")?;
        let Progress { epoch, best_epoch, loss, seconds, .. } = progress;
        require(*epoch == history.len(), "progress.epoch", epoch, &format!("the {} epochs recorded", history.len()))?;
        let is_best = *best_epoch <= *epoch && (*best_epoch > 0 || *epoch == 0);
        require(is_best, "progress.best_epoch", best_epoch, &format!("one of the {epoch} epochs recorded"))?;
        let is_sum = |value: f64| value.is_finite() && value >= 0.0;
        require(loss.is_finite(), "progress.loss", loss, "finite")?;
        require(is_sum(*seconds), "progress.seconds", seconds, "0 or more and finite")?;
        for (index, record) in history.iter().enumerate() {
            let EpochRecord { epoch, seconds, train_rmse, validation_rmse, .. } = record;
            let name = |field: &str| format!("history[{index}].{field}");
            require(*epoch == index + 1, &name("epoch"), epoch, &format!("{}", index + 1))?;
            let values = [("seconds", seconds), ("train_rmse", train_rmse), ("validation_rmse", validation_rmse)];
            for (field, value) in values {
                require(is_sum(*value), &name(field), value, "0 or more and finite")?;
            }
        }
        let best_epoch = self.ended.as_ref().map_or(0, |(_, results)| results.best_epoch);
        require(best_epoch <= *epoch, "results.best_epoch", &best_epoch, &format!("one of the {epoch} epochs recorded"))
    }
}

/// How a run ended, on disk.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ended {
    ending: Ending,
    results: Results,
}

/// A folder that cannot be written, or that holds no run. The messages name the file; the cause, where there is one, is
/// their [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum RunFolderError {
    /// The operating system's error.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// "read", "write", "replace" or "remove".
        action: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// There is no run.
    #[error("{}: no run is there: a run's folder has a file checkpoint.safetensors", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// The run is none that there can be.
    #[error("{}: its run is not possible: {invalid}", path.display())]
    Run {
        /// The file.
        path: PathBuf,
        /// Which value, and why.
        invalid: InvalidValue,
    },
    /// A file in it is damaged or none of this program's, or has no form in which it can be written.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process writes there.
    #[error(transparent)]
    Lock(#[from] LockError),
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

/// Whether there is a run in `folder`.
pub fn holds_run(folder: &Path) -> bool {
    folder.join(checkpoint::FILE_NAME).exists()
}

/// A run's folder that no other process writes to until this is dropped.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: DirectoryLock,
}

impl RunFolder {
    /// Locks `folder`, which is made if it is not there, and makes sure that a run can be written into it, before work
    /// is done that would be lost.
    ///
    /// # Errors
    /// If another process has it, or it cannot be written to.
    pub fn lock(folder: &Path) -> Result<Self, RunFolderError> {
        let lock = DirectoryLock::acquire(folder)?;
        let path = folder.join(checkpoint::FILE_NAME);
        require_writable(&path).map_err(io_error(&path, "write"))?;
        Ok(Self { path: folder.to_path_buf(), _lock: lock })
    }

    /// Writes a run into the folder; each file appears whole or not at all. Of a run that has not ended there are no
    /// results and plots.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn save(&self, run: &Run) -> Result<(), RunFolderError> {
        let Self { path: folder, .. } = self;
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            write_atomically(&path, text.as_bytes()).map_err(io_error(&path, "write"))
        };
        let settings = with_full_path(&run.settings).to_toml();
        if settings.is_empty() {
            let reason = "the path of the data file is not Unicode, which settings cannot keep: rename it".to_owned();
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
                write("predicted.csv", &export::predicted(&run.predicted))?;
                write("errors.svg", &drawn(plots::errors(&run.history), "errors.svg")?)?;
                write("predicted.svg", &drawn(plots::predicted(&run.predicted), "predicted.svg")?)?;
                let ended = Ended { ending: *ending, results: of_run.clone() };
                let text = toml::to_string(&ended).map_err(|error| damaged(&results, &error))?;
                write(RESULTS, &checksum::seal_text(&text))?;
                Some(text)
            }
            // Those of the same run before it went on are no longer true.
            None if results.exists() => {
                std::fs::remove_file(&results).map_err(io_error(&results, "replace"))?;
                None
            }
            None => None,
        };
        checkpoint::save(folder, run, ended)
    }

    /// Removes what [`RunFolder::save`] wrote of a run that has not ended.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn remove(&self) -> Result<(), RunFolderError> {
        // The checkpoint first: without it there is no run.
        for name in [checkpoint::FILE_NAME, MODEL, HISTORY, SETTINGS] {
            let path = self.path.join(name);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed.map_err(io_error(&path, "remove"))?,
            }
        }
        Ok(())
    }
}

/// Writes a run into `folder`, which is made if it is not there, as [`RunFolder::save`] does.
///
/// # Errors
/// If another process has the folder locked, or something cannot be written.
pub fn save(folder: &Path, run: &Run) -> Result<(), RunFolderError> {
    RunFolder::lock(folder)?.save(run)
}

/// Reads the run in `folder`.
///
/// # Errors
/// If there is none, or a file of it is damaged.
pub fn read(folder: &Path) -> Result<Loaded<Run>, RunFolderError> {
    if !holds_run(folder) {
        return Err(RunFolderError::NoRun { path: folder.to_path_buf() });
    }
    let file = checkpoint::read(folder)?;
    let (settings, results) = (folder.join(SETTINGS), folder.join(RESULTS));
    if file.is_verified() {
        require_sealed(&settings)?;
        require_sealed(&results)?;
        return checkpoint::run(&file, checkpoint::settings(&file)?, checkpoint::ended(&file)?);
    }
    // An earlier version kept these in files of their own alone.
    let ended = match std::fs::read_to_string(&results) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        text => {
            let text = text.map_err(io_error(&results, "read"))?;
            Some(toml::from_str(&text).map_err(|error| damaged(&results, &error))?)
        }
    };
    checkpoint::run(&file, Settings::read(&settings)?, ended)
}

/// The run in the bytes of a checkpoint file that has a checksum; errors name `path`.
///
/// # Errors
/// If it is damaged, is no checkpoint, or has values that no run can have.
pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Loaded<Run>, RunFolderError> {
    let file = checkpoint::parse(path, bytes)?;
    checkpoint::run(&file, checkpoint::settings(&file)?, checkpoint::ended(&file)?)
}

/// Reads a run for callers that cannot show a warning: [`read`] has it.
///
/// # Errors
/// Those of [`read`].
pub fn open(folder: &Path) -> Result<Run, RunFolderError> {
    Ok(read(folder)?.content)
}

/// Makes sure that a text, if it is there, is as it was written.
fn require_sealed(path: &Path) -> Result<(), RunFolderError> {
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        text => text.map_err(io_error(path, "read"))?,
    };
    match std::str::from_utf8(&text).map(checksum::check_text) {
        Ok(Seal::Intact) => Ok(()),
        _ => {
            let reason = "the file is damaged, or was edited: put it back as it was, or remove it, which loses nothing";
            Err(RunFolderError::Damaged { path: path.to_path_buf(), reason: reason.to_owned() })
        }
    }
}

/// The settings with a path to the data that is right in any folder.
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
