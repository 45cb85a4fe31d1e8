//! A trained network with all that a prediction needs: what to do with a table's columns, and with the network's output.
//!
//! On disk it is a safetensors file: `layers.i.weight` of shape (inputs, outputs) and `layers.i.bias`, both F32, are W and b;
//! the metadata `neuron` and `transform` say, as JSON, what neurons they belong to and what inputs and output mean. A
//! [`checksum`](neural_net::checksum) covers the whole file.

use std::collections::HashMap;
use std::path::Path;

use neural_net::model_file::{self, Format, Loaded, ModelFileError, TensorFile};
use neural_net::{Architecture, Network, Predictor};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Table;
use crate::prepared::Transform;
use crate::sigmoid::Neuron;

/// The model's files; other programs' files say something else or nothing.
const FORMAT: Format = Format {
    program: PROGRAM,
    name: "regression-studio 2",
    has_checksum: true,
    keys: &["sizes", "neuron", "transform"],
    optional: &[],
};
/// The same before they had checksums.
const UNVERIFIED: Format = Format { name: "regression-studio 1", has_checksum: false, ..FORMAT };
/// The program that such files are of.
pub(crate) const PROGRAM: &str = "regression-studio";

/// A trained network and what its inputs and output mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The weights W and biases b, for standardised inputs and output.
    pub network: Network<f32>,
    /// What its hidden neurons do.
    pub neuron: Neuron,
    /// From columns to inputs, and from the output to the target.
    pub transform: Transform,
}

/// A table that a model cannot be used on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PredictError {
    /// A feature is missing, or of the wrong kind.
    #[error("{table}: {reason}")]
    Column {
        /// Where the table comes from.
        table: String,
        /// Which column, and what is wrong.
        reason: String,
    },
}

impl Model {
    /// A prediction for each row, in the target's unit; None where a feature is missing or no number. A text that the
    /// training did not know is none of those that it knew.
    ///
    /// # Errors
    /// If the table lacks a feature, or has texts where there were numbers.
    pub fn predict(&self, table: &Table) -> Result<Vec<Option<f64>>, PredictError> {
        let (inputs, complete) = self.transform.inputs(table)?;
        let outputs = Predictor::new(&self.neuron.fold(&self.network)).predict_all(inputs.view());
        let mut outputs = outputs.iter().map(|&output| self.transform.target_of(output));
        Ok(complete.into_iter().map(|is_complete| if is_complete { outputs.next() } else { None }).collect())
    }

    /// Writes the model, atomically.
    ///
    /// # Errors
    /// If the file cannot be written; what was there before is then still there.
    pub fn save(&self, path: &Path) -> Result<(), ModelFileError> {
        let mut metadata = self.metadata();
        metadata.insert("format".to_owned(), FORMAT.name.to_owned());
        model_file::write_tensors(path, &model_file::network_tensors("layers", &self.network), metadata)
    }

    /// Reads a model.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, is no model of this program, or does not fit together.
    pub fn read(path: &Path) -> Result<Loaded<Self>, ModelFileError> {
        Self::of(&TensorFile::read(path, &[FORMAT, UNVERIFIED])?)
    }

    /// Reads a model for callers that cannot show a warning: [`Model::read`] has it.
    ///
    /// # Errors
    /// Those of [`Model::read`].
    pub fn load(path: &Path) -> Result<Self, ModelFileError> {
        Ok(Self::read(path)?.content)
    }

    /// The model in the bytes of a file; errors name `path`.
    ///
    /// # Errors
    /// Those of [`Model::read`], except that it cannot be read.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Loaded<Self>, ModelFileError> {
        Self::of(&TensorFile::parse(path, bytes, &[FORMAT, UNVERIFIED])?)
    }

    fn of(file: &TensorFile) -> Result<Loaded<Self>, ModelFileError> {
        let model = Self::from_file(file, "layers")?;
        file.reject_other_tensors(&["layers"], model.network.architecture().layers())?;
        Ok(file.loaded(model))
    }

    /// What a file says of the network beside its tensors.
    pub(crate) fn metadata(&self) -> HashMap<String, String> {
        let sizes = to_json(&self.network.architecture().sizes());
        let values = [("sizes", sizes), ("neuron", to_json(&self.neuron)), ("transform", to_json(&self.transform))];
        values.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// The model in a file with such metadata, whose tensors' names begin with `prefix`.
    pub(crate) fn from_file(file: &TensorFile, prefix: &str) -> Result<Self, ModelFileError> {
        let (neuron, transform): (Neuron, Transform) = (from_json(file, "neuron")?, from_json(file, "transform")?);
        let network = file.network(prefix, architecture(file, &neuron)?)?;
        let inputs = network.architecture().inputs();
        if inputs != transform.inputs.len() {
            let named = transform.inputs.len();
            return Err(file.not_ours(format!("its network has {inputs} inputs, and {named} are named")));
        }
        neuron.validate().and_then(|()| transform.validate()).map_err(|reason| file.not_ours(reason.to_string()))?;
        let folded = neuron.fold(&network);
        let mut values = folded.weights().iter().flatten().chain(folded.biases().iter().flatten());
        if !values.all(|value| value.is_finite()) {
            return Err(
                file.not_ours("its weights are not finite once the gain and the threshold are folded in".to_owned())
            );
        }
        Ok(Self { network, neuron, transform })
    }
}

/// The shape of the network in a file.
pub(crate) fn architecture(file: &TensorFile, neuron: &Neuron) -> Result<Architecture, ModelFileError> {
    let sizes: Vec<usize> = from_json(file, "sizes")?;
    let [inputs, hidden @ .., 1] = &sizes[..] else {
        return Err(file.not_ours(format!("sizes {sizes:?} are not those of a network with one output")));
    };
    neuron.architecture(*inputs, hidden).map_err(|error| file.not_ours(error.to_string()))
}

/// Plain data as JSON, which always works.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// What [`to_json`] made, from a file's metadata.
pub(crate) fn from_json<T: DeserializeOwned>(file: &TensorFile, name: &str) -> Result<T, ModelFileError> {
    serde_json::from_str(file.metadata(name)?)
        .map_err(|error| file.not_ours(format!("its {name} cannot be read: {error}")))
}
