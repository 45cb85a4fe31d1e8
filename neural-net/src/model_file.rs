//! Networks on disk, in the safetensors format, which PyTorch, NumPy and Hugging Face's tools open too.
//!
//! Layer i's weights are the tensor `layers.i.weight` of shape (inputs, outputs), its biases `layers.i.bias`, both F32.
//! The metadata say how to use them: sizes, activations, and the normalisation of the inputs.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use ndarray::{Array1, Array2};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::engine::Parameters;
use crate::files::write_atomically;
use crate::network::{ArchitectureError, ParameterShapeError};
use crate::{Architecture, Network};

/// What the file says of its format; other programs' files say something else or nothing.
const FORMAT: &str = "neural-net 1";
/// How pixels 0 … 255 become inputs.
const NORMALISATION: &str = "pixel / 255";

/// A network with what is known of its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The network.
    pub network: Network<f32>,
    /// The data set that it was trained on.
    pub dataset: String,
}

/// A model file that cannot be read or written. The messages name the file; the cause, where there is one, is their
/// [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum ModelFileError {
    /// The operating system's error.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// "read" or "write".
        action: &'static str,
        /// Why.
        source: io::Error,
    },
    /// It is no safetensors file, or is damaged.
    #[error("{}: no safetensors file, or damaged", path.display())]
    NotSafetensors {
        /// The file.
        path: PathBuf,
        /// Why.
        source: safetensors::SafeTensorError,
    },
    /// It is one, but not of this program.
    #[error("{}: not saved by {program}: {reason}", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// The program whose files were looked for.
        program: &'static str,
        /// What is missing or wrong.
        reason: String,
    },
    /// The layers make no network.
    #[error("{}: its layers make no network", path.display())]
    Architecture {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ArchitectureError,
    },
    /// The tensors do not fit the layers.
    #[error("{}: its tensors do not fit its layers", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// Which.
        source: ParameterShapeError,
    },
}

/// Writes a model, atomically.
///
/// # Errors
/// If the file cannot be written; what was there before is then still there.
pub fn save(path: &Path, model: &Model) -> Result<(), ModelFileError> {
    write_tensors(path, &network_tensors("layers", &model.network), metadata(model))
}

/// Makes sure that a model can be saved to `path` later, before a training that would be lost.
///
/// # Errors
/// If it cannot.
pub fn require_writable(path: &Path) -> Result<(), ModelFileError> {
    crate::files::require_writable(path).map_err(io_error(path, "write"))
}

/// Reads a model.
///
/// # Errors
/// If the file cannot be read, is no model of this program, or does not fit together.
pub fn load(path: &Path) -> Result<Model, ModelFileError> {
    let file = read_ours(path)?;
    let architecture = file.architecture()?;
    let network = file.network("layers", architecture)?;
    Ok(Model { network, dataset: file.metadata("dataset")?.to_owned() })
}

/// The metadata of a network, beside which a checkpoint has more.
pub(crate) fn metadata(model: &Model) -> HashMap<String, String> {
    let architecture = model.network.architecture();
    let sizes: Vec<String> = architecture.sizes().iter().map(ToString::to_string).collect();
    HashMap::from(
        [
            ("format", FORMAT),
            ("sizes", &sizes.join(",")),
            ("hidden_activation", architecture.hidden_activation().name()),
            ("output_activation", architecture.output_activation().name()),
            ("normalisation", NORMALISATION),
            ("dataset", &model.dataset),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    )
}

/// A layer's weights and biases, or their velocities.
type Layer = (Array2<f32>, Array1<f32>);

/// A tensor's name, shape and elements.
pub type NamedTensor = (String, Vec<usize>, Vec<f32>);

/// A network's tensors, under names that begin with `prefix`.
pub fn network_tensors(prefix: &str, network: &Network<f32>) -> Vec<NamedTensor> {
    layer_tensors(prefix, network.weights().iter().zip(network.biases()))
}

/// A network's tensors, and those of its velocities where it has some.
pub fn parameter_tensors(parameters: &Parameters<f32>) -> Vec<NamedTensor> {
    let mut tensors = network_tensors("layers", &parameters.network);
    if let Some(velocities) = &parameters.velocities {
        tensors.extend(layer_tensors("velocities", velocities.iter().map(|(weights, biases)| (weights, biases))));
    }
    tensors
}

/// The tensors of pairs of a matrix and a vector.
fn layer_tensors<'a>(
    prefix: &str,
    layers: impl Iterator<Item = (&'a Array2<f32>, &'a Array1<f32>)>,
) -> Vec<NamedTensor> {
    let pair = |(layer, (weights, biases)): (usize, (&Array2<f32>, &Array1<f32>))| {
        [
            (format!("{prefix}.{layer}.weight"), weights.shape().to_vec(), weights.iter().copied().collect()),
            (format!("{prefix}.{layer}.bias"), biases.shape().to_vec(), biases.to_vec()),
        ]
    };
    layers.enumerate().flat_map(pair).collect()
}

/// Writes a safetensors file, atomically.
///
/// # Errors
/// If the file cannot be written; what was there before is then still there.
pub fn write_tensors(
    path: &Path,
    tensors: &[NamedTensor],
    metadata: HashMap<String, String>,
) -> Result<(), ModelFileError> {
    let bytes = serialize(tensors, metadata)
        .map_err(|source| ModelFileError::NotSafetensors { path: path.to_path_buf(), source })?;
    write_atomically(path, &bytes).map_err(io_error(path, "write"))
}

/// The bytes of a safetensors file.
fn serialize(
    tensors: &[NamedTensor],
    metadata: HashMap<String, String>,
) -> Result<Vec<u8>, safetensors::SafeTensorError> {
    let bytes: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(_, _, elements)| {
            elements.iter().map(|element| element.to_le_bytes()).collect::<Vec<_>>().into_flattened()
        })
        .collect();
    let views = tensors
        .iter()
        .zip(&bytes)
        .map(|((name, shape, _), bytes)| Ok((name, TensorView::new(Dtype::F32, shape.clone(), bytes)?)));
    let views: Vec<(&String, TensorView)> = views.collect::<Result<_, safetensors::SafeTensorError>>()?;
    safetensors::serialize(views, Some(metadata))
}

/// Reads a file of this program.
pub(crate) fn read_ours(path: &Path) -> Result<TensorFile, ModelFileError> {
    TensorFile::read(path, "neural-net", &[("format", FORMAT), ("normalisation", NORMALISATION)])
}

/// A safetensors file in memory.
#[derive(Debug)]
pub struct TensorFile {
    path: PathBuf,
    program: &'static str,
    bytes: Vec<u8>,
    metadata: HashMap<String, String>,
}

impl TensorFile {
    /// Reads a file that `program` has saved, whose metadata must have these names and values.
    ///
    /// # Errors
    /// If it cannot be read, or is no such file.
    pub fn read(path: &Path, program: &'static str, required: &[(&str, &str)]) -> Result<Self, ModelFileError> {
        let bytes = std::fs::read(path).map_err(io_error(path, "read"))?;
        let (_, header) = SafeTensors::read_metadata(&bytes)
            .map_err(|source| ModelFileError::NotSafetensors { path: path.to_path_buf(), source })?;
        let metadata = header.metadata().clone().unwrap_or_default();
        let file = Self { path: path.to_path_buf(), program, bytes, metadata };
        for &(name, expected) in required {
            let found = file.metadata(name)?;
            if found != expected {
                return Err(file.not_ours(format!("its {name} is {found:?} instead of {expected:?}")));
            }
        }
        Ok(file)
    }

    /// A value of its metadata.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn metadata(&self, name: &str) -> Result<&str, ModelFileError> {
        let value = self.metadata.get(name);
        value.map(String::as_str).ok_or_else(|| self.not_ours(format!("its metadata have no {name:?}")))
    }

    /// An error that names the file.
    pub fn not_ours(&self, reason: String) -> ModelFileError {
        ModelFileError::NotOurs { path: self.path.clone(), program: self.program, reason }
    }

    pub(crate) fn architecture(&self) -> Result<Architecture, ModelFileError> {
        let sizes = self.metadata("sizes")?;
        let sizes: Vec<usize> = sizes
            .split(',')
            .map(|size| size.trim().parse().map_err(|_| self.not_ours(format!("sizes {sizes:?} are no numbers"))))
            .collect::<Result<_, _>>()?;
        let activation = |name: &str| {
            let value = self.metadata(name)?;
            clap::ValueEnum::from_str(value, false).map_err(|_| self.not_ours(format!("unknown {name} {value:?}")))
        };
        Architecture::new(sizes, activation("hidden_activation")?, activation("output_activation")?)
            .map_err(|source| ModelFileError::Architecture { path: self.path.clone(), source })
    }

    /// The network whose tensors' names begin with `prefix`.
    ///
    /// # Errors
    /// If the tensors are not there, or do not fit the architecture.
    pub fn network(&self, prefix: &str, architecture: Architecture) -> Result<Network<f32>, ModelFileError> {
        let count = architecture.layers();
        let (weights, biases) = self.layers(prefix, count)?.into_iter().unzip();
        let network = Network::new(architecture, weights, biases)
            .map_err(|source| ModelFileError::Shape { path: self.path.clone(), source })?;
        let surplus = format!("{prefix}.{count}.weight");
        match self.tensors()?.tensor(&surplus) {
            Ok(_) => Err(self.not_ours(format!("it has a tensor {surplus:?}, but by its sizes only {count} layers"))),
            Err(_) => Ok(network),
        }
    }

    /// What [`parameter_tensors`] made tensors of.
    ///
    /// # Errors
    /// If the tensors are not there, or do not fit the architecture.
    pub fn parameters(
        &self,
        architecture: &Architecture,
        has_velocities: bool,
    ) -> Result<Parameters<f32>, ModelFileError> {
        let network = self.network("layers", architecture.clone())?;
        let velocities = match has_velocities {
            // They have a network's shapes, and are checked like one.
            true => {
                let changes = self.network("velocities", architecture.clone())?;
                Some(changes.weights().iter().cloned().zip(changes.biases().iter().cloned()).collect())
            }
            false => None,
        };
        Ok(Parameters { network, velocities })
    }

    fn tensors(&self) -> Result<SafeTensors<'_>, ModelFileError> {
        SafeTensors::deserialize(&self.bytes)
            .map_err(|source| ModelFileError::NotSafetensors { path: self.path.clone(), source })
    }

    /// Pairs of a matrix and a vector, under names that begin with `prefix`.
    fn layers(&self, prefix: &str, count: usize) -> Result<Vec<Layer>, ModelFileError> {
        let tensors = self.tensors()?;
        let tensor = |name: String, dimensions: usize| {
            let tensor = tensors.tensor(&name).map_err(|_| self.not_ours(format!("it has no tensor {name:?}")))?;
            if tensor.dtype() != Dtype::F32 || tensor.shape().len() != dimensions {
                let (dtype, shape) = (tensor.dtype(), tensor.shape());
                let reason =
                    format!("{name} is {dtype:?} of shape {shape:?} instead of F32 with {dimensions} dimensions");
                return Err(self.not_ours(reason));
            }
            let elements: Vec<f32> =
                tensor.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            Ok((tensor.shape().to_vec(), elements))
        };
        let misshapen = |error: ndarray::ShapeError| self.not_ours(error.to_string());
        let layer = |index: usize| {
            let (shape, elements) = tensor(format!("{prefix}.{index}.weight"), 2)?;
            let weights = Array2::from_shape_vec((shape[0], shape[1]), elements).map_err(misshapen)?;
            let (_, elements) = tensor(format!("{prefix}.{index}.bias"), 1)?;
            Ok((weights, Array1::from(elements)))
        };
        (0..count).map(layer).collect()
    }
}

pub(crate) fn io_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> ModelFileError {
    let path = path.to_path_buf();
    move |source| ModelFileError::Io { path, action, source }
}
