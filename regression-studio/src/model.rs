//! A trained network with the transform from a table's columns to its inputs and from its output to the target.
//!
//! On disk it is a safetensors file: `layers.i.weight` of shape (inputs, outputs) and `layers.i.bias`, both F32, are W
//! and b; the metadata `neuron` and `transform` are JSON: the hidden neurons, and the meaning of inputs and output. A
//! [`checksum`](neural_net::checksum) covers the whole file.

use std::collections::HashMap;
use std::path::Path;

use neural_net::model_file::{self, Format, Loaded, ModelFileError, TensorFile};
use neural_net::{Architecture, Network, Predictor};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Table;
use crate::background::{Background, SavedBackground};
use crate::intervals::Intervals;
pub use crate::prepared::PredictError;
use crate::prepared::Transform;
use crate::sigmoid::Neuron;

/// The format of model files.
const FORMAT: Format = Format {
    program: PROGRAM,
    name: "regression-studio 2",
    has_checksum: true,
    keys: &["sizes", "neuron", "transform"],
    optional: OPTIONAL,
};
/// The keys of values that models of earlier versions, and of runs that have not ended, lack.
pub(crate) const OPTIONAL: &[&str] = &[INTERVALS, BACKGROUND];
const INTERVALS: &str = "intervals";
const BACKGROUND: &str = "background";
/// The earlier format, without a checksum.
const UNVERIFIED: Format = Format { name: "regression-studio 1", has_checksum: false, ..FORMAT };
/// The reason for which a model lacks intervals or a background.
pub(crate) const NOT_OF_THE_END: &str = "the run has not ended, or is of an earlier version: resume it to its end";
/// The program name in the file formats.
pub(crate) const PROGRAM: &str = "regression-studio";

/// A trained network and the meaning of its inputs and output.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Weights W and biases b, for standardised inputs and output.
    pub network: Network,
    /// The hidden neurons' activation.
    pub neuron: Neuron,
    /// The map from columns to inputs and from the output to the target.
    pub transform: Transform,
    /// The prediction intervals; of a run that has ended.
    pub intervals: Option<Intervals>,
    /// Rows of the training part, with which predictions are compared to explain them; of a run that has ended.
    pub background: Option<Background>,
}

impl Model {
    /// A prediction per row in the target's unit; `None` if a feature of the row is missing or not numeric. A text that
    /// did not occur in training is encoded as none of the known categories.
    ///
    /// # Errors
    /// If the table lacks a feature column, or a numeric feature is a text column there.
    pub fn predict(&self, table: &Table) -> Result<Vec<Option<f64>>, PredictError> {
        let outputs = self.outputs(table)?.into_iter();
        Ok(outputs.map(|output| output.map(|output| self.transform.target_of(output))).collect())
    }

    /// [`Model::predict`], standardised.
    pub(crate) fn outputs(&self, table: &Table) -> Result<Vec<Option<f32>>, PredictError> {
        let (inputs, complete) = self.transform.inputs(table)?;
        let outputs = self.predictor().predict_all(inputs.view());
        let mut outputs = outputs.iter().copied();
        Ok(complete.into_iter().map(|is_complete| if is_complete { outputs.next() } else { None }).collect())
    }

    /// The ends of the interval of a row with this standardised prediction, in the target's unit; `widening` multiplies
    /// its width.
    pub(crate) fn interval(&self, percent: u8, output: f32, widening: f64) -> Option<[f64; 2]> {
        let interval = self.intervals.as_ref()?.interval(percent, f64::from(output), None, widening)?;
        Some(interval.map(|end| self.transform.target_scale.original(end)))
    }

    /// The reason for which predictions have no intervals of this probability, in one line.
    pub fn why_no_intervals(&self, percent: u8) -> Option<String> {
        match &self.intervals {
            Some(intervals) => intervals.why_none(percent),
            None => Some(format!("no {percent} % intervals: {NOT_OF_THE_END}")),
        }
    }

    /// The network that maps standardised inputs to the standardised output.
    pub(crate) fn predictor(&self) -> Predictor {
        Predictor::new(&self.neuron.fold(&self.network))
    }

    /// Writes the model atomically.
    ///
    /// # Errors
    /// If the file cannot be written; the previous file is then unchanged.
    pub fn save(&self, path: &Path) -> Result<(), ModelFileError> {
        let mut metadata = self.metadata();
        metadata.insert("format".to_owned(), FORMAT.name.to_owned());
        model_file::write_tensors(path, &model_file::network_tensors("layers", &self.network), metadata)
    }

    /// Reads a model.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, is not a model of this program, or is inconsistent.
    pub fn read(path: &Path) -> Result<Loaded<Self>, ModelFileError> {
        Self::of(&TensorFile::read(path, &[FORMAT, UNVERIFIED])?)
    }

    /// Reads a model and discards the warning that [`Model::read`] returns.
    ///
    /// # Errors
    /// Those of [`Model::read`].
    pub fn load(path: &Path) -> Result<Self, ModelFileError> {
        Ok(Self::read(path)?.content)
    }

    /// Parses the bytes of a model file; errors name `path`.
    ///
    /// # Errors
    /// Those of [`Model::read`], except I/O errors.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Loaded<Self>, ModelFileError> {
        Self::of(&TensorFile::parse(path, bytes, &[FORMAT, UNVERIFIED])?)
    }

    fn of(file: &TensorFile) -> Result<Loaded<Self>, ModelFileError> {
        let model = Self::from_file(file, "layers")?;
        file.reject_other_tensors(&["layers"], model.network.architecture().layers())?;
        Ok(file.loaded(model))
    }

    /// The file's metadata besides the tensors.
    pub(crate) fn metadata(&self) -> HashMap<String, String> {
        let sizes = to_json(&self.network.architecture().sizes());
        let values = [("sizes", sizes), ("neuron", to_json(&self.neuron)), ("transform", to_json(&self.transform))];
        let intervals = self.intervals.as_ref().map(|intervals| (INTERVALS, to_json(intervals)));
        let background =
            self.background.as_ref().map(|background| (BACKGROUND, to_json(&background.saved(&self.transform))));
        let values = values.into_iter().chain(intervals).chain(background);
        values.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Reads the model from a file with this metadata; the tensors' names begin with `prefix`.
    pub(crate) fn from_file(file: &TensorFile, prefix: &str) -> Result<Self, ModelFileError> {
        let (neuron, transform): (Neuron, Transform) = (from_json(file, "neuron")?, from_json(file, "transform")?);
        let network = file.network(prefix, architecture(file, &neuron)?)?;
        let inputs = network.architecture().inputs();
        if inputs != transform.inputs.len() {
            let expected = transform.inputs.len();
            return Err(file.not_ours(format!("its network has {inputs} inputs, but its transform has {expected}")));
        }
        neuron.validate().and_then(|()| transform.validate()).map_err(|reason| file.not_ours(reason.to_string()))?;
        let folded = neuron.fold(&network);
        let mut values = folded.weights().iter().flatten().chain(folded.biases().iter().flatten());
        if !values.all(|value| value.is_finite()) {
            return Err(
                file.not_ours("its weights are not finite after folding in the gain and the threshold".to_owned())
            );
        }
        let intervals: Option<Intervals> = optional(file, INTERVALS)?;
        intervals.iter().try_for_each(Intervals::validate).map_err(|reason| file.not_ours(reason.to_string()))?;
        let background: Option<SavedBackground> = optional(file, BACKGROUND)?;
        let background = background.map(|saved| Background::from_saved(&saved, &transform)).transpose();
        let background = background.map_err(|reason| file.not_ours(format!("its {reason}")))?;
        Ok(Self { network, neuron, transform, intervals, background })
    }
}

/// The architecture of the network in a file.
pub(crate) fn architecture(file: &TensorFile, neuron: &Neuron) -> Result<Architecture, ModelFileError> {
    let sizes: Vec<usize> = from_json(file, "sizes")?;
    let [inputs, hidden @ .., 1] = &sizes[..] else {
        return Err(file.not_ours(format!("sizes {sizes:?} do not describe a network with one output")));
    };
    neuron.architecture(*inputs, hidden).map_err(|error| file.not_ours(error.to_string()))
}

/// Serialises plain data to JSON, which cannot fail.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Deserialises a metadata value written by [`to_json`].
pub(crate) fn from_json<T: DeserializeOwned>(file: &TensorFile, name: &str) -> Result<T, ModelFileError> {
    serde_json::from_str(file.metadata(name)?)
        .map_err(|error| file.not_ours(format!("its {name} cannot be read: {error}")))
}

/// [`from_json`] of a value that a file may lack.
fn optional<T: DeserializeOwned>(file: &TensorFile, name: &str) -> Result<Option<T>, ModelFileError> {
    if file.metadata(name).is_ok() { from_json(file, name).map(Some) } else { Ok(None) }
}
