//! Interrupted trainings on disk: one safetensors file with the network, the velocities, and how far the training has
//! come. It is written atomically, so that a process may be killed at any moment and the last checkpoint stands.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::engine::Parameters;
use crate::model_file::{Model, ModelFileError, io_error, metadata, parameter_tensors, read_ours, write_tensors};
use crate::training::{Hyperparameters, Progress};

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
    std::fs::create_dir_all(directory).map_err(io_error(directory, "create"))?;
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
/// If the file cannot be read or is no checkpoint.
pub fn load(directory: &Path) -> Result<Option<Checkpoint>, ModelFileError> {
    let path = path_in(directory);
    if !path.try_exists().map_err(io_error(&path, "read"))? {
        return Ok(None);
    }
    let file = read_ours(&path)?;
    let architecture = file.architecture()?;
    let has_velocities = file.metadata("momentum")? == "true";
    let parameters = file.parameters(&architecture, has_velocities)?;
    let run = serde_json::from_str(file.metadata("run")?)
        .map_err(|error| file.not_ours(format!("its run cannot be read: {error}")))?;
    Ok(Some(Checkpoint { parameters, run }))
}
