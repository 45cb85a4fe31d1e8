//! Random search for hidden layers, learning rate and weight decay (J. Bergstra and Y. Bengio, "Random Search for Hyper-Parameter
//! Optimization", Journal of Machine Learning Research 13, 2012).
//!
//! All runs have the same split and training seed. The best one has the smallest validation error; the test part is not looked at. Run 1 has
//! the settings of the file. The settings of each other run are drawn from [`SearchSettings`] by a random stream of its own.
//! The first 50 of 100 runs are therefore those of a search of 50.
//!
//! | file in the folder | content |
//! |---|---|
//! | `search.jsonl` | the settings, then a line for each run as it ends, from which the search is resumed |
//! | `search.csv`, `search.svg` | all runs as a table and as plots |
//! | `best.toml` | the settings of the best run |

mod log;
mod trials;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use neural_net::files::write_atomically;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use self::log::Log;
pub use self::trials::{Trials, ranked};
use crate::prepared::{PrepareError, prepare};
use crate::settings::{NetworkKind, SearchSettings};
pub use crate::tried::{Tried, Validation};
use crate::{Settings, Table, plots, run_folder};

/// The file name of the table of all runs.
pub const RUNS: &str = run_folder::SEARCH_RUNS;
/// The file name of the plots.
pub const PLOT: &str = run_folder::SEARCH_PLOT;
/// The file name of the best run's settings.
pub const BEST: &str = run_folder::SEARCH_BEST;

/// A search that cannot be made, or its files.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// An error of the operating system.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// "read" or "write".
        action: &'static str,
        /// The underlying error.
        source: io::Error,
    },
    /// The kind of network has nothing to search for.
    #[error(
        "network.kind = \"table\" chooses its own layers and learning rate, so there is nothing to search for: use --set \
         network.kind=layers, or train without --search"
    )]
    Kind,
    /// A range cannot be drawn from: the key, the problem and a remedy.
    #[error("{0}")]
    Range(String),
    /// The table cannot be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The folder contains a search, and none is to be resumed.
    #[error("{}: the folder contains a search: resume it with --resume, or choose another folder with --out", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// The folder contains no search.
    #[error("{}: no search found: its folder contains the file search.jsonl; start one without --resume", path.display())]
    Missing {
        /// The folder.
        path: PathBuf,
    },
    /// The search that is to be resumed has other settings.
    #[error("{}: its search has {key} = {kept}, not {wanted}: start a new search with another --out", path.display())]
    Settings {
        /// The folder.
        path: PathBuf,
        /// The first setting that differs.
        key: String,
        /// Its value in the search.
        kept: String,
        /// Its value now.
        wanted: String,
    },
    /// The search that is to be resumed has another table.
    #[error("{}: its search has another table: the rows of {table} have changed; start a new search with another --out", path.display())]
    Table {
        /// The folder.
        path: PathBuf,
        /// The table's source.
        table: String,
    },
    /// The log is damaged or was edited.
    #[error("{}, line {line}: {reason}: restore it, or start a new search with another --out", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The number of the line.
        line: usize,
        /// The problem.
        reason: String,
    },
    /// A run failed, other than by divergence.
    #[error("run {run} of the search: {message}")]
    Run {
        /// Its number.
        run: usize,
        /// The message.
        message: String,
    },
}

/// The settings of a run of the search, which is counted from 1.
pub fn settings_of_run(settings: &Settings, run: usize) -> Settings {
    let mut settings = settings.clone();
    let SearchSettings { layers: [fewest, most], widths, learning_rate, regularization, seed } =
        std::mem::take(&mut settings.search);
    if run > 1 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(run as u64);
        settings.training.learning_rate = logarithmic(&mut rng, learning_rate);
        settings.training.regularization = logarithmic(&mut rng, regularization);
        let layers = rng.random_range(fewest..=most);
        settings.network.hidden = (0..layers).filter_map(|_| widths.choose(&mut rng).copied()).collect();
    }
    settings
}

/// A number with three significant digits, of a uniformly drawn logarithm.
fn logarithmic(rng: &mut ChaCha8Rng, [low, high]: [f64; 2]) -> f64 {
    let (from, to) = (libm::log(low), libm::log(high));
    let value = libm::exp(from + (to - from) * rng.random::<f64>());
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    rounded.clamp(low, high)
}

/// Whether `folder` contains a search.
pub fn is_in(folder: &Path) -> bool {
    folder.join(log::FILE_NAME).exists()
}

/// A search in a folder, which the caller has locked.
#[derive(Debug)]
pub struct Search {
    folder: PathBuf,
    log: Log,
    trials: Trials,
    /// What a user should decide before training, one line each.
    pub findings: Vec<String>,
    /// Notes on the data, one line each.
    pub notes: Vec<String>,
}

impl Search {
    /// Starts or resumes a search in `folder`. `warn` is called with a warning about what an interruption has left incomplete.
    ///
    /// # Errors
    /// If the settings or ranges are invalid, the table cannot be prepared, the folder's search has another table or other settings, or a
    /// file cannot be read or written.
    pub fn open(
        folder: &Path,
        table: &Table,
        settings: &Settings,
        resume: bool,
        warn: impl FnOnce(String),
    ) -> Result<Self, SearchError> {
        require_valid(settings)?;
        let prepared = prepare(table, settings)?;
        let (settings, checksum) = (run_folder::with_full_path(settings), prepared.checksum());
        let (log, tried) = match resume {
            true => Log::resume(folder, &settings, (table.source(), checksum), warn)?,
            false => (Log::create(folder, &settings, checksum)?, Vec::new()),
        };
        let trials = Trials::of(&prepared, settings, tried);
        let (findings, notes) = (prepared.findings, prepared.notes);
        Ok(Self { folder: folder.to_path_buf(), log, trials, findings, notes })
    }

    /// [`Trials::train`]. Each run is kept in the folder as it ends, and passed to `done`.
    ///
    /// # Errors
    /// If a run fails other than by divergence, or the log cannot be written.
    pub fn train(
        &mut self,
        table: &Arc<Table>,
        runs: usize,
        cancel: &AtomicBool,
        mut done: impl FnMut(&Tried),
    ) -> Result<bool, SearchError> {
        let log = &mut self.log;
        self.trials.train(table, runs, cancel, |_, _| (), |tried| log.append(tried).map(|()| done(tried)))
    }

    /// The runs that have ended among the first `runs`, as [`ranked`].
    pub fn ranked(&self, runs: usize) -> Vec<&Tried> {
        ranked(self.trials.tried().iter().filter(|tried| tried.run <= runs))
    }

    /// The settings of a run, with which it can be trained alone.
    pub fn settings_of(&self, tried: &Tried) -> Settings {
        settings_of_run(self.trials.settings(), tried.run)
    }

    /// Writes the table and the plots of the runs that have ended among the first `runs`.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, runs: usize) -> Result<(), SearchError> {
        let mut tried = self.ranked(runs);
        tried.sort_by_key(|tried| tried.run);
        self.write(RUNS, &table_of(&tried))?;
        let plot = plots::search(&tried).map_err(|error| SearchError::Io {
            path: self.folder.join(PLOT),
            action: "write",
            source: io::Error::other(error),
        })?;
        self.write(PLOT, &plot)
    }

    /// Writes the settings of the best run.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save_best(&self, best: &Tried) -> Result<(), SearchError> {
        self.write(BEST, &self.settings_of(best).to_toml())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), SearchError> {
        let path = self.folder.join(name);
        write_atomically(&path, text.as_bytes()).map_err(|source| SearchError::Io { path, action: "write", source })
    }
}

/// Checks the kind of network and the ranges.
///
/// # Errors
/// If there is nothing to search for, or a range cannot be drawn from.
pub fn require_valid(settings: &Settings) -> Result<(), SearchError> {
    if settings.network.kind == NetworkKind::Table {
        return Err(SearchError::Kind);
    }
    settings.search.problem().map_or(Ok(()), |problem| Err(SearchError::Range(problem)))
}

/// The runs as CSV, in their order.
fn table_of(tried: &[&Tried]) -> String {
    let mut text = "run,hidden,learning rate,regularization,best epoch,epochs,validation RMSE standardised,validation RMSE,validation R²,\
                    seconds,state\n"
        .to_owned();
    for Tried { run, hidden, learning_rate, regularization, epochs, seconds, validation } in tried {
        let hidden: Vec<String> = hidden.iter().map(usize::to_string).collect();
        let (errors, state) = match validation {
            Some(Validation { best_epoch, rmse, rmse_in_unit, r2 }) => {
                ([best_epoch.to_string(), rmse.to_string(), rmse_in_unit.to_string(), r2.to_string()], "finished")
            }
            None => (Default::default(), "diverged"),
        };
        let [best_epoch, rmse, in_unit, r2] = errors;
        let hidden = hidden.join(" ");
        text += &format!(
            "{run},{hidden},{learning_rate},{regularization},{best_epoch},{epochs},{rmse},{in_unit},{r2},{seconds:.3},{state}\n"
        );
    }
    text
}
