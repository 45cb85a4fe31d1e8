//! A trained network with the transform from a table's columns to its inputs and from its output to
//! the target.
//!
//! On disk it is a safetensors file. For the MLP of the paper, `layers.i.weight` of shape (inputs,
//! outputs) and `layers.i.bias`, both F32, are W and b. For a tabular network, the tensors below
//! `table.` are its [`State`]. The metadata are JSON: `transform` is the meaning of inputs and
//! output, `neuron` the hidden neurons, `table` the state's integers. A
//! [`checksum`](neural_net::checksum) covers the whole file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ndarray::ArrayView2;
use neural_net::Architecture;
use neural_net::model_file::{self, Format, Loaded, ModelFileError, TensorFile};
use serde::Serialize;
use serde::de::DeserializeOwned;
use table_network::{State, TableNetwork};

use crate::Table;
use crate::background::{Background, SavedBackground};
use crate::intervals::Intervals;
pub use crate::prepared::PredictError;
use crate::prepared::Transform;
use crate::sigmoid::Neuron;
use crate::trained::{self, Trained, TrainedPredictor};

/// The format of model files.
const FORMAT: Format = Format {
    program: PROGRAM,
    name: "regression-studio 2",
    has_checksum: true,
    keys: &["sizes", "neuron", "transform"],
    optional: OPTIONAL,
};
/// The format of a tabular network.
const OF_TABLES: Format = Format { name: "regression-studio table 1", keys: &[TABLE, "transform"], ..FORMAT };
/// The metadata key with the integers of a tabular network's state.
pub(crate) const TABLE: &str = "table";
/// Keys that are absent in models of earlier versions and of unfinished runs.
pub(crate) const OPTIONAL: &[&str] = &[INTERVALS, BACKGROUND];
const INTERVALS: &str = "intervals";
const BACKGROUND: &str = "background";
/// The earlier format, without a checksum.
const UNVERIFIED: Format = Format { name: "regression-studio 1", has_checksum: false, ..FORMAT };
/// Why a model lacks intervals or a background.
pub(crate) const NOT_OF_THE_END: &str = "the run has not ended, or is of an earlier version: resume it to its end";
/// The program name in the file formats.
pub(crate) const PROGRAM: &str = "regression-studio";

/// A trained network and the meaning of its inputs and output.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The network, for standardized inputs and output.
    pub network: Trained,
    /// The map from columns to inputs and from the output to the target.
    pub transform: Transform,
    /// The prediction intervals, once the run has ended.
    pub intervals: Option<Intervals>,
    /// Rows of the training part that explanations compare predictions with, once the run has
    /// ended.
    pub background: Option<Background>,
}

/// A standardized prediction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) value: f32,
    /// The row's spread, if intervals are normalized.
    pub(crate) spread: Option<f64>,
}

/// The standardized predictions for a table's rows.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    /// NaN for an incomplete row, and where the network overflows.
    pub(crate) values: Vec<f32>,
    /// The rows' spreads, if intervals are normalized.
    pub(crate) spreads: Option<Vec<f64>>,
    /// Whether each row has a value of every feature.
    pub(crate) is_complete: Vec<bool>,
}

/// Number of rows encoded at a time.
const BLOCK: usize = 1 << 15;

impl Model {
    /// Predicts each row in the target's unit; `None` if a feature of the row is missing or not
    /// numeric. A text that did not occur in training is encoded as none of the known categories.
    ///
    /// # Errors
    /// If the table lacks a feature column, or has a text column for a numeric feature.
    pub fn predict(&self, table: &Table) -> Result<Vec<Option<f64>>, PredictError> {
        let Outputs { values, is_complete, .. } = self.outputs(table)?;
        let rows = values.into_iter().zip(is_complete);
        Ok(rows.map(|(value, is_complete)| is_complete.then(|| self.transform.target_of(value))).collect())
    }

    /// The standardized [`Model::predict`], with the data that intervals need.
    pub(crate) fn outputs(&self, table: &Table) -> Result<Outputs, PredictError> {
        let is_complete = self.transform.complete_rows(table)?;
        let mut values = vec![f32::NAN; table.rows()];
        let mut spreads = self.intervals.as_ref().filter(|of| of.is_normalised).map(|_| vec![f64::NAN; table.rows()]);
        // Blocks keep the memory of the inputs small.
        for first in (0..table.rows()).step_by(BLOCK) {
            let block = first..(first + BLOCK).min(table.rows());
            let rows: Vec<u32> = block.filter(|row| is_complete[*row]).map(|row| row as u32).collect();
            let outputs = self.outputs_of(self.transform.encode(table, &rows).view());
            for (&row, output) in rows.iter().zip(outputs) {
                values[row as usize] = output.value;
                if let (Some(spreads), Some(spread)) = (&mut spreads, output.spread) {
                    spreads[row as usize] = spread;
                }
            }
        }
        Ok(Outputs { values, spreads, is_complete })
    }

    /// The outputs for standardized inputs, rows × inputs.
    pub(crate) fn outputs_of(&self, inputs: ArrayView2<f32>) -> Vec<Output> {
        let (outputs, spreads) = (self.predictor().predict_all(inputs), self.spreads(inputs));
        let spread = |row: usize| spreads.as_ref().map(|spreads| spreads[row]);
        outputs.iter().enumerate().map(|(row, &value)| Output { value, spread: spread(row) }).collect()
    }

    /// The spreads of rows of standardized inputs, rows × inputs; `None` if intervals are not normalized.
    pub(crate) fn spreads(&self, inputs: ArrayView2<f32>) -> Option<Vec<f64>> {
        let intervals = self.intervals.as_ref().filter(|intervals| intervals.is_normalised)?;
        let deviations = self.predictor().deviations(inputs)?;
        deviations.into_iter().map(|deviation| intervals.spread(deviation)).collect()
    }

    /// The ends of the interval around this output, in the target's unit; `widening` multiplies its
    /// width.
    pub(crate) fn interval(&self, percent: u8, output: Output, widening: f64) -> Option<[f64; 2]> {
        let Output { value, spread } = output;
        let interval = self.intervals.as_ref()?.interval(percent, f64::from(value), spread, widening)?;
        Some(interval.map(|end| self.transform.end(end)))
    }

    /// Why predictions have no intervals at this probability, in one line.
    pub fn why_no_intervals(&self, percent: u8) -> Option<String> {
        match &self.intervals {
            Some(intervals) => intervals.why_none(percent),
            None => Some(format!("no {percent} % intervals: {NOT_OF_THE_END}")),
        }
    }

    /// The network that maps standardized inputs to the standardized output.
    pub(crate) fn predictor(&self) -> TrainedPredictor {
        self.network.predictor()
    }

    /// Writes the model atomically.
    ///
    /// # Errors
    /// If the file cannot be written; the previous file is then unchanged.
    pub fn save(&self, path: &Path) -> Result<(), ModelFileError> {
        let mut metadata = self.metadata();
        let (format, prefix) = match &self.network {
            Trained::Layers { .. } => (FORMAT, "layers"),
            Trained::Table(_) => (OF_TABLES, TABLE),
        };
        metadata.insert("format".to_owned(), format.name.to_owned());
        model_file::write_tensors(path, &self.network.tensors(prefix), metadata)
    }

    /// Reads a model.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, is not a model of this program, or is inconsistent.
    pub fn read(path: &Path) -> Result<Loaded<Self>, ModelFileError> {
        Self::of(&TensorFile::read(path, &[FORMAT, UNVERIFIED, OF_TABLES])?)
    }

    /// Reads a model and discards the warning that [`Model::read`] returns.
    ///
    /// # Errors
    /// See [`Model::read`].
    pub fn load(path: &Path) -> Result<Self, ModelFileError> {
        Ok(Self::read(path)?.content)
    }

    /// Parses the bytes of a model file; errors name `path`.
    ///
    /// # Errors
    /// As for [`Model::read`], except I/O errors.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Loaded<Self>, ModelFileError> {
        Self::of(&TensorFile::parse(path, bytes, &[FORMAT, UNVERIFIED, OF_TABLES])?)
    }

    fn of(file: &TensorFile) -> Result<Loaded<Self>, ModelFileError> {
        if file.metadata(TABLE).is_ok() {
            let [state] = trained::states(file, [TABLE], [from_json(file, TABLE)?])?;
            return Ok(file.loaded(Self::of_table(file, &state)?));
        }
        let (model, architecture) = Self::of_layers(file, "layers")?;
        file.reject_other_tensors(&["layers"], architecture.layers())?;
        Ok(file.loaded(model))
    }

    /// The file's metadata besides the tensors.
    pub(crate) fn metadata(&self) -> HashMap<String, String> {
        let of_network = match &self.network {
            Trained::Layers { network, neuron } => {
                vec![("sizes", to_json(&network.architecture().sizes())), ("neuron", to_json(neuron))]
            }
            Trained::Table(network) => vec![(TABLE, to_json(&network.state().integers))],
        };
        let values = of_network.into_iter().chain([("transform", to_json(&self.transform))]);
        let intervals = self.intervals.as_ref().map(|intervals| (INTERVALS, to_json(intervals)));
        let background =
            self.background.as_ref().map(|background| (BACKGROUND, to_json(&background.saved(&self.transform))));
        let values = values.chain(intervals).chain(background);
        values.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Reads an MLP from a file with this metadata; the tensors' names begin with `prefix`.
    pub(crate) fn of_layers(file: &TensorFile, prefix: &str) -> Result<(Self, Architecture), ModelFileError> {
        let neuron: Neuron = from_json(file, "neuron")?;
        let architecture = architecture(file, &neuron)?;
        let network = file.network(prefix, architecture.clone())?;
        neuron.validate().map_err(|reason| file.not_ours(reason.to_string()))?;
        let folded = neuron.fold(&network);
        let mut values = folded.weights().iter().flatten().chain(folded.biases().iter().flatten());
        if !values.all(|value| value.is_finite()) {
            return Err(
                file.not_ours("its weights are not finite after folding in the gain and the threshold".to_owned())
            );
        }
        Ok((Self::with(file, Trained::Layers { network, neuron })?, architecture))
    }

    /// Restores a tabular network from its state and a file with this metadata.
    pub(crate) fn of_table(file: &TensorFile, state: &State) -> Result<Self, ModelFileError> {
        let network = TableNetwork::from_state(state).map_err(|error| file.not_ours(error.to_string()))?;
        let model = Self::with(file, Trained::Table(Arc::new(network)))?;
        match &model.network {
            Trained::Table(network) if network.kinds() != trained::kinds(&model.transform.inputs) => {
                Err(file.not_ours("its network and its transform have other kinds of inputs".to_owned()))
            }
            _ => Ok(model),
        }
    }

    /// Adds the file's transform, intervals and background to a network.
    fn with(file: &TensorFile, network: Trained) -> Result<Self, ModelFileError> {
        let transform: Transform = from_json(file, "transform")?;
        let (inputs, expected) = (network.inputs(), transform.inputs.len());
        if inputs != expected {
            return Err(file.not_ours(format!("its network has {inputs} inputs, but its transform has {expected}")));
        }
        transform.validate().map_err(|reason| file.not_ours(reason.to_string()))?;
        let intervals: Option<Intervals> = optional(file, INTERVALS)?;
        intervals.iter().try_for_each(Intervals::validate).map_err(|reason| file.not_ours(reason.to_string()))?;
        let background: Option<SavedBackground> = optional(file, BACKGROUND)?;
        let background = background.map(|saved| Background::from_saved(&saved, &transform)).transpose();
        let background = background.map_err(|reason| file.not_ours(format!("its {reason}")))?;
        Ok(Self { network, transform, intervals, background })
    }
}

/// The architecture of the network in a file.
fn architecture(file: &TensorFile, neuron: &Neuron) -> Result<Architecture, ModelFileError> {
    let sizes: Vec<usize> = from_json(file, "sizes")?;
    let [inputs, hidden @ .., 1] = &sizes[..] else {
        return Err(file.not_ours(format!("sizes {sizes:?} do not describe a network with one output")));
    };
    neuron.architecture(*inputs, hidden).map_err(|error| file.not_ours(error.to_string()))
}

/// Serializes plain data to JSON, which cannot fail.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Deserializes a metadata value written by [`to_json`].
pub(crate) fn from_json<T: DeserializeOwned>(file: &TensorFile, name: &str) -> Result<T, ModelFileError> {
    serde_json::from_str(file.metadata(name)?)
        .map_err(|error| file.not_ours(format!("its {name} cannot be read: {error}")))
}

/// [`from_json`] of a value that a file may lack.
fn optional<T: DeserializeOwned>(file: &TensorFile, name: &str) -> Result<Option<T>, ModelFileError> {
    if file.metadata(name).is_ok() { from_json(file, name).map(Some) } else { Ok(None) }
}
