//! A run on disk: a folder with settings, history, results, plots and model, from which it can be looked at and go on.

use std::path::{Path, PathBuf};

use crate::results::{Predicted, Results};
use crate::session::{Ending, EpochRecord};
use crate::{Model, Settings};

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
    /// A file in it is damaged or none of this program's.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Writes a run into `folder`, which is made if it is not there; each file appears whole or not at all.
///
/// # Errors
/// If something cannot be written.
pub fn save(folder: &Path, run: &Run) -> Result<(), RunFolderError> {
    let error = |action| {
        let path = folder.to_path_buf();
        move |source| RunFolderError::Io { path, action, source }
    };
    std::fs::create_dir_all(folder).map_err(error("create"))?;
    let path = folder.join("settings.toml");
    neural_net::files::write_atomically(&path, run.settings.to_toml().as_bytes()).map_err(error("write"))
}

/// Reads the run in `folder`.
///
/// # Errors
/// If there is none, or a file of it is damaged.
pub fn open(folder: &Path) -> Result<Run, RunFolderError> {
    let path = folder.join("settings.toml");
    Err(RunFolderError::Damaged { path, reason: "no run is there".to_owned() })
}
