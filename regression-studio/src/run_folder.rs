//! A run on disk: a folder with settings, history, results, plots and model, from which it can be looked at and go on.
//!
//! | file | what |
//! |---|---|
//! | `settings.toml` | what the user chose, with the data file's full path: it begins the same run anew |
//! | `history.csv` | a line for each epoch |
//! | `results.toml` | how it ended, and the errors on each part; only of a run that has ended |
//! | `errors.svg`, `predicted.svg`, `predicted.csv` | the plots, and the second one's points |
//! | `model.safetensors` | the best epoch's network, with all that predictions need |
//! | `checkpoint.safetensors` | what is needed to go on, and to look at the run again |
//!
//! The checkpoint is written last and is complete in itself, so that a process may be killed at any moment.

mod checkpoint;
mod export;

use std::path::{Path, PathBuf};

use neural_net::engine::Parameters;
use neural_net::files::write_atomically;
use neural_net::model_file::ModelFileError;
use serde::{Deserialize, Serialize};

use crate::results::{Predicted, Results};
use crate::session::{Ending, EpochRecord};
use crate::settings::{SettingsError, Source};
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

/// How a run ended, on disk.
#[derive(Serialize, Deserialize)]
struct Ended {
    ending: Ending,
    results: Results,
}

/// A folder that cannot be written, or that holds no run. The messages name the file.
#[derive(Debug, thiserror::Error)]
pub enum RunFolderError {
    /// The operating system's error.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// "read", "write" or "create".
        action: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// There is no run.
    #[error("{}: no run is there: a run's folder has the files settings.toml and checkpoint.safetensors", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// A file in it is damaged or none of this program's.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
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
/// The results' file name in a run's folder.
const RESULTS: &str = "results.toml";

/// Whether there is a run in `folder`.
pub fn holds_run(folder: &Path) -> bool {
    folder.join(checkpoint::FILE_NAME).exists()
}

/// Makes `folder` if it is not there, and sure that a run can be written into it, before work is done that would be lost.
///
/// # Errors
/// If it cannot.
pub fn require_writable(folder: &Path) -> Result<(), RunFolderError> {
    std::fs::create_dir_all(folder).map_err(io_error(folder, "create"))?;
    let path = folder.join(checkpoint::FILE_NAME);
    neural_net::files::require_writable(&path).map_err(io_error(&path, "write"))
}

/// Writes a run into `folder`, which is made if it is not there; each file appears whole or not at all. Of a run that has not
/// ended there are no results and plots.
///
/// # Errors
/// If something cannot be written.
pub fn save(folder: &Path, run: &Run) -> Result<(), RunFolderError> {
    std::fs::create_dir_all(folder).map_err(io_error(folder, "create"))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        write_atomically(&path, text.as_bytes()).map_err(io_error(&path, "write"))
    };
    write(SETTINGS, &with_full_path(&run.settings).to_toml())?;
    write("history.csv", &export::history(&run.history))?;
    run.model.save(&folder.join(MODEL))?;
    let results = folder.join(RESULTS);
    match &run.ended {
        Some((ending, of_run)) => {
            let drawn = |plot: Result<String, plots::PlotError>, name: &str| {
                plot.map_err(|error| RunFolderError::Damaged { path: folder.join(name), reason: error.to_string() })
            };
            write("predicted.csv", &export::predicted(&run.predicted))?;
            write("errors.svg", &drawn(plots::errors(&run.history), "errors.svg")?)?;
            write("predicted.svg", &drawn(plots::predicted(&run.predicted), "predicted.svg")?)?;
            let ended = Ended { ending: *ending, results: of_run.clone() };
            let text = toml::to_string(&ended).map_err(|error| damaged(&results, &error))?;
            write(RESULTS, &text)?;
        }
        // Those of the same run before it went on are no longer true.
        None if results.exists() => std::fs::remove_file(&results).map_err(io_error(&results, "replace"))?,
        None => {}
    }
    checkpoint::save(folder, run)
}

/// Reads the run in `folder`.
///
/// # Errors
/// If there is none, or a file of it is damaged.
pub fn open(folder: &Path) -> Result<Run, RunFolderError> {
    if !holds_run(folder) {
        return Err(RunFolderError::NoRun { path: folder.to_path_buf() });
    }
    let settings = Settings::read(&folder.join(SETTINGS))?;
    let results = folder.join(RESULTS);
    let ended = match std::fs::read_to_string(&results) {
        Ok(text) => {
            let Ended { ending, results } = toml::from_str(&text).map_err(|error| damaged(&results, &error))?;
            Some((ending, results))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(io_error(&results, "read")(error)),
    };
    checkpoint::load(folder, settings, ended)
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
