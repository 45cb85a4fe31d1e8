//! The log of a search, to resume from: a line for the settings, then a line for each run that has ended.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use neural_net::files::write_atomically;
use serde::{Deserialize, Serialize};

use super::{SearchError, Tried, settings_of_run};
use crate::Settings;
use crate::settings::{SearchSettings, TrainingSettings};
use crate::table::shortened;

pub(super) const FILE_NAME: &str = crate::run_folder::SEARCH_LOG;
const FORMAT: &str = "regression-studio search 1";

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    format: String,
    /// The settings of the first run, with the ranges, as TOML.
    settings: String,
    /// [`crate::Prepared::checksum`] of the data.
    data_checksum: u32,
}

/// A log that is open for more lines.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Starts a log in a folder that has none.
    pub(super) fn create(folder: &Path, settings: &Settings, data_checksum: u32) -> Result<Self, SearchError> {
        if super::is_in(folder) {
            return Err(SearchError::Exists { path: folder.to_path_buf() });
        }
        let path = folder.join(FILE_NAME);
        let head = Head { format: FORMAT.to_owned(), settings: settings.to_toml(), data_checksum };
        if head.settings.is_empty() {
            let reason = "the path of the data file is not Unicode: rename the file".to_owned();
            return Err(SearchError::Damaged { path, line: 1, reason });
        }
        // At once: a log without its first line would be of no use.
        write_atomically(&path, line(&head, &path)?.as_bytes()).map_err(io_error(&path, "write"))?;
        Self::append_to(path)
    }

    /// Reads the runs of a log, which must have the same settings and data, and opens it for more. A last line that is incomplete, as of
    /// a process that was killed, is removed, and `warn` is called.
    pub(super) fn resume(
        folder: &Path,
        settings: &Settings,
        (table, data_checksum): (&str, u32),
        warn: impl FnOnce(String),
    ) -> Result<(Self, Vec<Tried>), SearchError> {
        if !super::is_in(folder) {
            return Err(SearchError::Missing { path: folder.to_path_buf() });
        }
        let path = folder.join(FILE_NAME);
        let bytes = std::fs::read(&path).map_err(io_error(&path, "read"))?;
        let damaged =
            |line: usize, reason: &str| SearchError::Damaged { path: path.clone(), line, reason: reason.to_owned() };
        let mut lines = bytes.split_inclusive(|&byte| byte == b'\n').enumerate().peekable();
        let (_, first) = lines.next().unwrap_or_default();
        let head =
            serde_json::from_slice::<Head>(first).ok().filter(|head| head.format == FORMAT && first.ends_with(b"\n"));
        let kept = head.as_ref().and_then(|head| Settings::from_toml(&head.settings).ok());
        let (Some(head), Some(kept)) = (head, kept) else {
            return Err(damaged(1, "not the first line of a search of this version"));
        };
        if let Some((key, kept, wanted)) = difference(&kept, settings) {
            return Err(SearchError::Settings { path: folder.to_path_buf(), key, kept, wanted });
        }
        if head.data_checksum != data_checksum {
            return Err(SearchError::Table { path: folder.to_path_buf(), table: table.to_owned() });
        }
        let (mut tried, mut runs) = (Vec::new(), BTreeSet::new());
        // The bytes of complete lines.
        let mut complete = first.len();
        while let Some((index, text)) = lines.next() {
            let parsed = serde_json::from_slice::<Tried>(text).ok().filter(|_| text.ends_with(b"\n"));
            let Some(run) = parsed else {
                if lines.peek().is_some() {
                    return Err(damaged(index + 1, "not a run of the search"));
                }
                break;
            };
            if run.run == 0 || !is_of(&run, settings) || !runs.insert(run.run) {
                return Err(damaged(index + 1, "not a run of these settings, or one that was there before"));
            }
            complete += text.len();
            tried.push(run);
        }
        let log = Self::append_to(path)?;
        if complete < bytes.len() {
            let path = log.path.display();
            warn(format!("{path}: the last line is incomplete, as after an interruption: its run is trained again"));
            log.file.set_len(complete as u64).map_err(io_error(&log.path, "write"))?;
        }
        Ok((log, tried))
    }

    fn append_to(path: PathBuf) -> Result<Self, SearchError> {
        let file = OpenOptions::new().append(true).open(&path).map_err(io_error(&path, "write"))?;
        Ok(Self { path, file })
    }

    /// Appends a run, durably.
    pub(super) fn append(&mut self, tried: &Tried) -> Result<(), SearchError> {
        let line = line(tried, &self.path)?;
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(io_error(&self.path, "write"))
    }
}

fn line(value: &impl Serialize, path: &Path) -> Result<String, SearchError> {
    let text = serde_json::to_string(value).map_err(|error| io_error(path, "write")(error.into()))?;
    Ok(text + "\n")
}

/// Whether a run has the settings that the search draws for it.
fn is_of(tried: &Tried, settings: &Settings) -> bool {
    let Settings { network, training, .. } = settings_of_run(settings, tried.run);
    let drawn = (network.hidden, training.learning_rate, training.regularization);
    drawn == (tried.hidden.clone(), tried.learning_rate, tried.regularization)
}

/// The first setting that differs, and its two values. The threads may differ, since they change no bit.
fn difference(kept: &Settings, wanted: &Settings) -> Option<(String, String, String)> {
    let (kept, wanted) = (values(kept), values(wanted));
    let value = |values: &[(String, String)], key: &str| {
        let value = values.iter().find(|(name, _)| name == key);
        value.map_or_else(|| "no value".to_owned(), |(_, value)| shortened(value).into_owned())
    };
    let differs = |(key, of): &&(String, String)| {
        let of_other = |values: &[(String, String)]| values.iter().any(|(name, value)| name == key && value == of);
        !(of_other(&kept) && of_other(&wanted))
    };
    let (key, _) = kept.iter().chain(&wanted).find(differs)?;
    Some((key.clone(), value(&kept, key), value(&wanted, key)))
}

/// The settings' dotted keys and values, as in a file. By lines: a table of TOML's own integers cannot hold every value that is written.
fn values(settings: &Settings) -> Vec<(String, String)> {
    let ranges = format!("[search]\n{}", toml::to_string(&settings.search).unwrap_or_default());
    let training = TrainingSettings { threads: None, ..settings.training };
    let settings = Settings { training, search: SearchSettings::default(), ..settings.clone() };
    let mut section = String::new();
    let mut values = Vec::new();
    for line in (settings.to_toml() + &ranges).lines() {
        if let Some((key, value)) = line.split_once(" = ") {
            values.push((format!("{section}.{key}"), value.to_owned()));
        } else if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
        }
    }
    values
}

fn io_error(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> SearchError {
    let path = path.to_path_buf();
    move |source| SearchError::Io { path, action, source }
}
