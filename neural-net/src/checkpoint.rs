//! Checkpoints of training runs: one safetensors file with the network, the optimizer's state and
//! the progress. It is written atomically, so the last checkpoint remains valid if the process is
//! killed at any moment.
//!
//! A process that writes checkpoints holds a lock on the directory from before it reads the
//! existing checkpoint until it has written its last one: see
//! [`DirectoryLock`](crate::files::DirectoryLock). Reading alone needs no lock.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::data::convention::Convention;
use crate::engine::Parameters;
use crate::model_file::{self, Loaded, Model, ModelFileError, io_error, metadata, parameter_tensors};
use crate::training::{Hyperparameters, InvalidValue, Progress};

/// The file's name in the checkpoint directory.
pub const FILE_NAME: &str = "checkpoint.safetensors";

/// The state of a training run that can be resumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The network and the optimizer's state.
    pub parameters: Parameters,
    /// The settings and the progress.
    pub run: Run,
}

/// The settings that determine a training run's results, except its parameters, and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The preset that it started from.
    pub preset: crate::preset::Preset,
    /// The hyperparameters.
    pub hyperparameters: Hyperparameters,
    /// The data set's name.
    pub dataset: String,
    /// How the images show their digits. Stored in the file's metadata.
    #[serde(skip)]
    pub convention: Convention,
    /// CRC-32 of the training and validation images and their labels.
    pub data_checksum: u32,
    /// Numbers of training and validation images.
    pub images: (usize, usize),
    /// Whether it trains on distorted images.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub augment: bool,
    /// The progress.
    pub progress: Progress,
}

impl Run {
    /// Checks that every value is in range.
    ///
    /// # Errors
    /// The first value that is not, or that contradicts the others.
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

/// The path of the checkpoint file in `directory`.
pub fn path_in(directory: &Path) -> PathBuf {
    directory.join(FILE_NAME)
}

/// Writes a checkpoint to `directory`, which is created if missing.
///
/// # Errors
/// If it cannot be written. An earlier checkpoint is then unchanged.
pub fn save(directory: &Path, checkpoint: &Checkpoint) -> Result<(), ModelFileError> {
    let path = path_in(directory);
    crate::files::create_directory(directory).map_err(io_error(directory, "create"))?;
    let bytes = to_bytes(&path, checkpoint)?;
    crate::files::write_atomically(&path, &bytes).map_err(io_error(&path, "write"))
}

/// The bytes of a checkpoint file, for [`parse`]. Errors name `path`.
///
/// # Errors
/// If a value is not finite.
pub fn to_bytes(path: &Path, checkpoint: &Checkpoint) -> Result<Vec<u8>, ModelFileError> {
    let Checkpoint { parameters, run } = checkpoint;
    let tensors = parameter_tensors(parameters);
    let model = Model { network: parameters.network.clone(), dataset: run.dataset.clone(), convention: run.convention };
    let mut metadata = metadata(&model);
    let run = serde_json::to_string(run).map_err(|error| io_error(path, "write")(error.into()))?;
    metadata.insert("run".to_owned(), run);
    metadata.insert("momentum".to_owned(), parameters.velocities.is_some().to_string());
    model_file::sealed(path, &tensors, metadata)
}

/// Reads the checkpoint in `directory`. `None` if there is none.
///
/// # Errors
/// If the file cannot be read, is damaged, or is not a checkpoint.
pub fn read(directory: &Path) -> Result<Option<Loaded<Checkpoint>>, ModelFileError> {
    let path = path_in(directory);
    match std::fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => parse(&path, read.map_err(io_error(&path, "read"))?).map(Some),
    }
}

/// Reads like [`read`], without the warning about a missing checksum.
///
/// # Errors
/// The errors of [`read`].
pub fn load(directory: &Path) -> Result<Option<Checkpoint>, ModelFileError> {
    Ok(read(directory)?.map(|loaded| loaded.content))
}

/// Parses the bytes of a checkpoint file. Errors name `path`.
///
/// # Errors
/// If it is damaged, is not a checkpoint, or [`Run::validate`] fails.
pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Loaded<Checkpoint>, ModelFileError> {
    let file = model_file::parse_ours(path, bytes, &model_file::CHECKPOINT_KEYS, &[model_file::IMAGES_KEY])?;
    let architecture = file.architecture()?;
    let momentum = file.metadata("momentum")?;
    let has_velocities = momentum
        .parse()
        .map_err(|_| file.not_ours(format!("its momentum is {momentum:?} instead of \"true\" or \"false\"")))?;
    let mut run: Run = serde_json::from_str(file.metadata("run")?)
        .map_err(|error| file.not_ours(format!("its run cannot be read: {error}")))?;
    run.convention = model_file::convention(&file)?;
    run.validate().map_err(|invalid| ModelFileError::Run { path: path.to_path_buf(), invalid })?;
    let parameters = file.parameters(&architecture, has_velocities, run.hyperparameters.optimizer, &[])?;
    Ok(file.loaded(Checkpoint { parameters, run }))
}
