//! What is needed to go on, in one file.

use std::path::Path;

use neural_net::model_file::{self, TensorFile, network_tensors, parameter_tensors};

use super::{Checkpoint, Run, RunFolderError};
use crate::model::{self, PROGRAM, from_json, to_json};
use crate::results::Results;
use crate::session::Ending;
use crate::{Model, Settings};

pub(super) const FILE_NAME: &str = "checkpoint.safetensors";
/// What the file says of its format.
const FORMAT: &str = "regression-studio checkpoint 1";

/// The tensors `layers` and `velocities` are the training's, `best` is the model.
pub(super) fn save(folder: &Path, run: &Run) -> Result<(), RunFolderError> {
    let Run { model, history, predicted, checkpoint: Checkpoint { parameters, progress, data_checksum }, .. } = run;
    let mut tensors = parameter_tensors(parameters);
    tensors.extend(network_tensors("best", &model.network));
    let mut metadata = model.metadata();
    let values = [
        ("format", FORMAT.to_owned()),
        ("has_velocities", parameters.velocities.is_some().to_string()),
        ("progress", to_json(progress)),
        ("data_checksum", to_json(data_checksum)),
        ("history", to_json(history)),
        ("predicted", to_json(predicted)),
    ];
    metadata.extend(values.map(|(name, value)| (name.to_owned(), value)));
    Ok(model_file::write_tensors(&folder.join(FILE_NAME), &tensors, metadata)?)
}

pub(super) fn load(folder: &Path, settings: Settings, ended: Option<(Ending, Results)>) -> Result<Run, RunFolderError> {
    let file = TensorFile::read(&folder.join(FILE_NAME), PROGRAM, &[("format", FORMAT)])?;
    let model = Model::from_file(&file, "best")?;
    let architecture = model::architecture(&file, &model.neuron)?;
    let parameters = file.parameters(&architecture, from_json(&file, "has_velocities")?)?;
    let checkpoint = Checkpoint {
        parameters,
        progress: from_json(&file, "progress")?,
        data_checksum: from_json(&file, "data_checksum")?,
    };
    let (history, predicted) = (from_json(&file, "history")?, from_json(&file, "predicted")?);
    let run = Run { settings, history, model, predicted, ended, checkpoint };
    let progress = &run.checkpoint.progress;
    if run.history.len() != progress.epoch || progress.best_epoch > progress.epoch {
        let reason = format!("{} epochs are recorded, and {} are done", run.history.len(), progress.epoch);
        return Err(file.not_ours(reason).into());
    }
    Ok(run)
}
