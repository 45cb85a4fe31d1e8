//! Interrupted trainings on disk: one safetensors file with the network, the velocities, and how far the training has
//! come. It is written atomically, so that a process may be killed at any moment and the last checkpoint stands.
//!
//! A process that writes checkpoints locks the directory before it reads the one that is there, and until it has
//! written its last: see [`DirectoryLock`](crate::files::DirectoryLock). Reading alone needs no lock.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::engine::Parameters;
use crate::model_file::{self, Loaded, Model, ModelFileError, io_error, metadata, parameter_tensors, write_tensors};
use crate::training::{Hyperparameters, InvalidValue, Progress};

/// The file's name in the checkpoint directory.
pub const FILE_NAME: &str = "checkpoint.safetensors";

/// A training that can go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The network and its velocities.
    pub parameters: Parameters<f32>,
    /// What else is known.
    pub run: Run,
}

/// What a training's results depend on beside its parameters, and how far it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The name of the preset that it started from.
    pub preset: crate::preset::Preset,
    /// How it is trained.
    pub hyperparameters: Hyperparameters,
    /// The data set.
    pub dataset: String,
    /// A checksum of the training samples.
    pub data_checksum: u32,
    /// Training and validation images.
    pub images: (usize, usize),
    /// How far it has come.
    pub progress: Progress,
}

impl Run {
    /// Whether there can be such a training run.
    ///
    /// # Errors
    /// The first value that is out of its range, or that does not go with the others.
    pub fn validate(&self) -> Result<(), InvalidValue> {
        let (train, validation) = self.images;
        let is_countable = train > 0 && train.checked_add(validation).is_some_and(|all| u32::try_from(all).is_ok());
        InvalidValue::unless(
            is_countable,
            "images",
            &format_args!("{train}, {validation}"),
            "1 or more, and below 2³²",
        )?;
        self.hyperparameters.validate()?;
        self.progress.validate(&self.hyperparameters, train)
    }
}

/// The checkpoint file in `directory`.
pub fn path_in(directory: &Path) -> PathBuf {
    directory.join(FILE_NAME)
}

/// Writes a checkpoint into `directory`, which is created if missing.
///
/// # Errors
/// If it cannot be written; the checkpoint that was there before is then still there.
pub fn save(directory: &Path, checkpoint: &Checkpoint) -> Result<(), ModelFileError> {
    let path = path_in(directory);
    crate::files::create_directory(directory).map_err(io_error(directory, "create"))?;
    let Checkpoint { parameters, run } = checkpoint;
    let tensors = parameter_tensors(parameters);
    let model = Model { network: parameters.network.clone(), dataset: run.dataset.clone() };
    let mut metadata = metadata(&model);
    let run = serde_json::to_string(run).map_err(|error| io_error(&path, "write")(error.into()))?;
    metadata.insert("run".to_owned(), run);
    metadata.insert("momentum".to_owned(), parameters.velocities.is_some().to_string());
    write_tensors(&path, &tensors, metadata)
}

/// Reads the checkpoint in `directory`; None if there is none.
///
/// # Errors
/// If the file cannot be read, is damaged, or is no checkpoint.
pub fn read(directory: &Path) -> Result<Option<Loaded<Checkpoint>>, ModelFileError> {
    let path = path_in(directory);
    match std::fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => parse(&path, read.map_err(io_error(&path, "read"))?).map(Some),
    }
}

/// Reads a checkpoint for callers that cannot show a warning: [`read`] has it.
///
/// # Errors
/// Those of [`read`].
pub fn load(directory: &Path) -> Result<Option<Checkpoint>, ModelFileError> {
    Ok(read(directory)?.map(|loaded| loaded.content))
}

/// The checkpoint in the bytes of a file; errors name `path`.
///
/// # Errors
/// If it is damaged, is no checkpoint, or has values that no training run can have.
pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Loaded<Checkpoint>, ModelFileError> {
    let file = model_file::parse_ours(path, bytes, &model_file::CHECKPOINT_KEYS, &[])?;
    let architecture = file.architecture()?;
    let momentum = file.metadata("momentum")?;
    let has_velocities = momentum
        .parse()
        .map_err(|_| file.not_ours(format!("its momentum is {momentum:?} instead of \"true\" or \"false\"")))?;
    let parameters = file.parameters(&architecture, has_velocities)?;
    let prefixes = if has_velocities { &["layers", "velocities"][..] } else { &["layers"] };
    file.reject_other_tensors(prefixes, architecture.layers())?;
    let run: Run = serde_json::from_str(file.metadata("run")?)
        .map_err(|error| file.not_ours(format!("its run cannot be read: {error}")))?;
    run.validate().map_err(|invalid| ModelFileError::Run { path: path.to_path_buf(), invalid })?;
    Ok(file.loaded(Checkpoint { parameters, run }))
}
