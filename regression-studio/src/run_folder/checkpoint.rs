//! The checkpoint file, which contains a whole run.

use std::path::Path;
use std::sync::Arc;

use neural_net::model_file::{self, Format, Loaded, ModelFileError, TensorFile, parameter_tensors};

use super::{Ended, RunFolderError, with_full_path};
use crate::model::{self, PROGRAM, TABLE, from_json, to_json};
use crate::saved_run::{Checkpoint, SavedRun, TrainingState};
use crate::trained::{state_tensors, states};
use crate::{Model, Settings};

pub(super) const FILE_NAME: &str = "checkpoint.safetensors";
/// The format of checkpoint files.
const FORMAT: Format = Format {
    program: PROGRAM,
    name: "regression-studio checkpoint 2",
    has_checksum: true,
    keys: &[
        "sizes",
        "neuron",
        "transform",
        "has_velocities",
        "progress",
        "data_checksum",
        "history",
        "predicted",
        "settings",
    ],
    optional: &["ended", "rows", model::OPTIONAL[0], model::OPTIONAL[1]],
};
/// The format for runs of a tabular network.
const OF_TABLES: Format = Format {
    name: "regression-studio table checkpoint 1",
    keys: &[TABLE, RUN, "transform", "progress", "data_checksum", "history", "predicted", "settings"],
    ..FORMAT
};
/// The key for a tabular network's training: the integers of its state. The state's tensors are
/// below the same name.
const RUN: &str = "run";
/// The earlier format, without a checksum, settings and results.
const UNVERIFIED: Format = Format {
    name: "regression-studio checkpoint 1",
    has_checksum: false,
    keys: &["sizes", "neuron", "transform", "has_velocities", "progress", "data_checksum", "history", "predicted"],
    optional: &[],
    ..FORMAT
};

/// Writes a checkpoint. The tensors `layers`, `velocities` and `squares`, or `run`, are the
/// training state; `best` is the model. `ended` is the text of `results.toml`.
pub(super) fn save(folder: &Path, run: &SavedRun, ended: Option<String>) -> Result<(), RunFolderError> {
    let SavedRun { model, history, predicted, checkpoint: Checkpoint { state, progress, data_checksum }, .. } = run;
    let (format, of_state, mut tensors) = match state {
        TrainingState::Layers(parameters) => {
            let has_velocities = ("has_velocities", parameters.velocities.is_some().to_string());
            (FORMAT, has_velocities, parameter_tensors(parameters))
        }
        TrainingState::Table(state) => (OF_TABLES, (RUN, to_json(&state.integers)), state_tensors(RUN, state)),
    };
    tensors.extend(model.network.tensors("best"));
    let mut metadata = model.metadata();
    let values = [
        ("format", format.name.to_owned()),
        of_state,
        ("progress", to_json(progress)),
        ("data_checksum", to_json(data_checksum)),
        ("history", to_json(history)),
        ("predicted", to_json(predicted)),
        ("settings", with_full_path(&run.settings).to_toml()),
    ];
    let rows = run.rows.as_ref().map(|rows| ("rows", to_json(&**rows)));
    let values = values.into_iter().chain(ended.map(|text| ("ended", text))).chain(rows);
    metadata.extend(values.map(|(name, value)| (name.to_owned(), value)));
    Ok(model_file::write_tensors(&folder.join(FILE_NAME), &tensors, metadata)?)
}

pub(super) fn open(folder: &Path) -> Result<TensorFile, ModelFileError> {
    TensorFile::read(&folder.join(FILE_NAME), &[FORMAT, UNVERIFIED, OF_TABLES])
}

/// Parses a self-contained checkpoint with a checksum.
pub(super) fn parse(path: &Path, bytes: Vec<u8>) -> Result<TensorFile, ModelFileError> {
    TensorFile::parse(path, bytes, &[FORMAT, OF_TABLES])
}

/// The settings in a checkpoint with a checksum.
pub(super) fn settings(file: &TensorFile) -> Result<Settings, ModelFileError> {
    Settings::from_toml(file.metadata("settings")?)
        .map_err(|message| file.not_ours(format!("its settings cannot be read: {message}")))
}

/// The ending and results in a checkpoint with a checksum, if the run has ended.
pub(super) fn ended(file: &TensorFile) -> Result<Option<Ended>, ModelFileError> {
    let Ok(text) = file.metadata("ended") else { return Ok(None) };
    let ended = toml::from_str(text).map_err(|error| {
        let message = error.to_string().trim().replace('\n', "; ");
        file.not_ours(format!("its results cannot be read: {message}"))
    })?;
    Ok(Some(ended))
}

/// The run in a checkpoint.
pub(super) fn saved_run(
    file: &TensorFile,
    settings: Settings,
    ended: Option<Ended>,
) -> Result<Loaded<SavedRun>, RunFolderError> {
    let (model, state) = match file.metadata(TABLE) {
        Ok(_) => {
            let [best, run] = states(file, ["best", RUN], [from_json(file, TABLE)?, from_json(file, RUN)?])?;
            (Model::of_table(file, &best)?, TrainingState::Table(run))
        }
        Err(_) => {
            let (model, architecture) = Model::of_layers(file, "best")?;
            let has_velocities = from_json(file, "has_velocities")?;
            let optimizer = settings.training.optimizer;
            let parameters = file.parameters(&architecture, has_velocities, optimizer, &["best"])?;
            (model, TrainingState::Layers(parameters))
        }
    };
    let checkpoint =
        Checkpoint { state, progress: from_json(file, "progress")?, data_checksum: from_json(file, "data_checksum")? };
    let (history, predicted) = (from_json(file, "history")?, from_json(file, "predicted")?);
    let ended = ended.map(|Ended { ending, results }| (ending, results));
    let rows = match file.metadata("rows") {
        Ok(_) => Some(Arc::new(from_json(file, "rows")?)),
        Err(_) => None,
    };
    let run = SavedRun { settings, history, model, predicted, ended, rows, checkpoint };
    if let Some(problem) = run.settings.problems(None).into_iter().next() {
        return Err(RunFolderError::RunSettings { path: file.path().to_path_buf(), problem });
    }
    run.validate().map_err(|invalid| RunFolderError::Run { path: file.path().to_path_buf(), invalid })?;
    Ok(file.loaded(run))
}
