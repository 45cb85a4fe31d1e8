//! Networks on disk, in the safetensors format, which NumPy, PyTorch and Hugging Face's tools can
//! also open.
//!
//! Layer i's weights are the tensor `layers.i.weight` of shape (inputs, outputs), its biases
//! `layers.i.bias`, both F32: a layer's outputs are the activation of x · W + b. PyTorch's `Linear`
//! has the shape (outputs, inputs), which [`save_for_pytorch`] writes. The metadata contain the
//! sizes, the activations, the normalization of the inputs, and how the images show their digits if
//! they differ from MNIST's. They also contain the digest of the whole file, which detects damage;
//! see [`crate::checksum`].

mod tensor_file;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use ndarray::{Array1, Array2};
use safetensors::Dtype;
use safetensors::tensor::TensorView;

use crate::data::convention::Convention;
use crate::engine::Parameters;
use crate::files::write_atomically;
use crate::network::{ArchitectureError, ParameterShapeError};
use crate::training::InvalidValue;
use crate::{Network, checksum};

pub use self::tensor_file::{Format, TensorFile};

/// The value of the metadata key `format`. Other programs' files have a different value or none.
const FORMAT: &str = "neural-net 2";
/// The format of files without a checksum.
const UNVERIFIED_FORMAT: &str = "neural-net 1";
/// The value in files for PyTorch. Hugging Face's tools expect it.
const PYTORCH_FORMAT: &str = "pt";
/// The conversion of pixels 0 … 255 to inputs.
const NORMALISATION: &str = "pixel / 255";
/// The other metadata keys of a network.
const KEYS: [&str; 5] = ["sizes", "hidden_activation", "output_activation", "normalisation", "dataset"];
/// The metadata key of the images' [`Convention`]. It is missing in files of networks trained on
/// images like MNIST's.
pub(crate) const IMAGES_KEY: &str = "images";
/// The optional metadata keys of a network: [`IMAGES_KEY`], and the additional ones of a checkpoint.
const OPTIONAL_KEYS: [&str; 3] = [IMAGES_KEY, "run", "momentum"];
/// The other metadata keys of a checkpoint.
pub(crate) const CHECKPOINT_KEYS: [&str; 7] =
    ["sizes", "hidden_activation", "output_activation", "normalisation", "dataset", "run", "momentum"];

/// A network and the name of its training data.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The network.
    pub network: Network,
    /// The data set that it was trained on.
    pub dataset: String,
    /// How the set's images show their digits.
    pub convention: Convention,
}

/// The content of a file, with a warning if it has no checksum.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded<T> {
    /// The content.
    pub content: T,
    /// The warning, if the file has no checksum.
    pub unverified: Option<Unverified>,
}

impl<T> Loaded<T> {
    /// Returns the content. If the file has no checksum, `warn` receives the warning first.
    pub fn into_content(self, warn: impl FnOnce(Unverified)) -> T {
        self.unverified.map(warn);
        self.content
    }
}

/// A file without a checksum. Its `Display` is a one-line warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unverified {
    /// The file.
    pub path: PathBuf,
}

impl fmt::Display for Unverified {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(formatter, "{path}: an earlier version wrote it without a checksum, so damage to it may go unnoticed")
    }
}

/// The error of reading or writing a model file. The messages name the file. The cause, if any, is
/// their [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum ModelFileError {
    /// The operating system's error.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// "read" or "write".
        action: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// The file is not a safetensors file, or is damaged.
    #[error("{}: not a safetensors file, or damaged", path.display())]
    NotSafetensors {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: safetensors::SafeTensorError,
    },
    /// The checksum is wrong or missing.
    #[error("{}: the file is damaged: {reason}; restore it from a copy, or train again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A weight, bias or velocity is infinite or NaN.
    #[error("{}: the tensor {tensor} has a value that is not finite", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The tensor's name.
        tensor: String,
    },
    /// The training run in a checkpoint has an invalid value.
    #[error("{}: its training run is invalid: {invalid}", path.display())]
    Run {
        /// The file.
        path: PathBuf,
        /// The invalid value.
        invalid: InvalidValue,
    },
    /// The file is a safetensors file from another program or of another kind.
    #[error("{}: not saved by {program}: {reason}", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// The program that writes the expected files.
        program: &'static str,
        /// How the file differs.
        reason: String,
    },
    /// The metadata describe an invalid architecture.
    #[error("{}: its layers are not a valid network", path.display())]
    Architecture {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ArchitectureError,
    },
    /// The tensors' shapes differ from the architecture's.
    #[error("{}: its tensors do not fit its layers", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ParameterShapeError,
    },
}

/// Writes a model atomically.
///
/// # Errors
/// If the file cannot be written. An earlier file is then unchanged.
pub fn save(path: &Path, model: &Model) -> Result<(), ModelFileError> {
    write_tensors(path, &network_tensors("layers", &model.network), metadata(model))
}

/// Checks that a model can be saved to `path`. Called before training, since the result would
/// otherwise be lost.
///
/// # Errors
/// If the file cannot be written.
pub fn require_writable(path: &Path) -> Result<(), ModelFileError> {
    crate::files::require_writable(path).map_err(io_error(path, "write"))
}

/// Reads a model, or a checkpoint's network.
///
/// # Errors
/// If the file cannot be read, is damaged, is not a model of this program, or is inconsistent.
pub fn read(path: &Path) -> Result<Loaded<Model>, ModelFileError> {
    parse(path, std::fs::read(path).map_err(io_error(path, "read"))?)
}

/// Reads like [`read`], without the warning about a missing checksum.
///
/// # Errors
/// The errors of [`read`].
pub fn load(path: &Path) -> Result<Model, ModelFileError> {
    Ok(read(path)?.content)
}

/// Parses the bytes of a model file. Errors name `path`.
///
/// # Errors
/// The errors of [`read`], except I/O errors.
pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Loaded<Model>, ModelFileError> {
    let file = parse_ours(path, bytes, &KEYS, &OPTIONAL_KEYS)?;
    let architecture = file.architecture()?;
    let network = file.network("layers", architecture)?;
    file.reject_other_tensors(&["layers", "velocities", "squares"], network.architecture().layers())?;
    let (dataset, convention) = (file.metadata("dataset")?.to_owned(), convention(&file)?);
    Ok(file.loaded(Model { network, dataset, convention }))
}

/// The image convention in a file's metadata.
pub(crate) fn convention(file: &TensorFile) -> Result<Convention, ModelFileError> {
    let Ok(text) = file.metadata(IMAGES_KEY) else { return Ok(Convention::default()) };
    text.parse().map_err(|_| file.not_ours(format!("unknown {IMAGES_KEY} {text:?}")))
}

/// Writes a model atomically as the state of a `torch.nn.Sequential` of `Linear` layers, each
/// followed by an activation. Layer i's weights are the tensor `2i.weight` of shape (outputs,
/// inputs), its biases `2i.bias`. [`read`] cannot read such files.
///
/// # Errors
/// If the file cannot be written. An earlier file is then unchanged.
pub fn save_for_pytorch(path: &Path, model: &Model) -> Result<(), ModelFileError> {
    let layers = model.network.weights().iter().zip(model.network.biases()).enumerate();
    let tensors = layers.flat_map(|(layer, (weights, biases))| {
        // The activations are the modules in between.
        let (module, transposed) = (2 * layer, weights.t());
        [
            (format!("{module}.weight"), transposed.shape().to_vec(), transposed.iter().copied().collect()),
            (format!("{module}.bias"), biases.shape().to_vec(), biases.to_vec()),
        ]
    });
    let tensors: Vec<NamedTensor> = tensors.collect();
    let mut metadata = metadata(model);
    metadata.insert("format".to_owned(), PYTORCH_FORMAT.to_owned());
    write_tensors(path, &tensors, metadata)
}

/// The metadata of a network. A checkpoint adds its own.
pub(crate) fn metadata(model: &Model) -> HashMap<String, String> {
    let architecture = model.network.architecture();
    let sizes: Vec<String> = architecture.sizes().iter().map(ToString::to_string).collect();
    let mut metadata = HashMap::from(
        [
            ("format", FORMAT),
            ("sizes", &sizes.join(",")),
            ("hidden_activation", architecture.hidden_activation().name()),
            ("output_activation", architecture.output_activation().name()),
            ("normalisation", NORMALISATION),
            ("dataset", &model.dataset),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    if model.convention != Convention::default() {
        metadata.insert(IMAGES_KEY.to_owned(), model.convention.to_string());
    }
    metadata
}

/// A tensor's name, shape and elements.
pub type NamedTensor = (String, Vec<usize>, Vec<f32>);

/// A network's tensors, with `prefix` before their names.
pub fn network_tensors(prefix: &str, network: &Network) -> Vec<NamedTensor> {
    layer_tensors(prefix, network.weights().iter().zip(network.biases()))
}

/// The tensors of a network and its optimizer's state.
pub fn parameter_tensors(parameters: &Parameters) -> Vec<NamedTensor> {
    let mut tensors = network_tensors("layers", &parameters.network);
    for (prefix, state) in [("velocities", &parameters.velocities), ("squares", &parameters.squares)] {
        let layers = state.iter().flatten().map(|(weights, biases)| (weights, biases));
        tensors.extend(layer_tensors(prefix, layers));
    }
    tensors
}

/// The tensors of layers, each a matrix and a vector.
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

/// Writes a safetensors file with a checksum, atomically.
///
/// # Errors
/// If a value is not finite, or the file cannot be written. An earlier file is then unchanged.
pub fn write_tensors(
    path: &Path,
    tensors: &[NamedTensor],
    metadata: HashMap<String, String>,
) -> Result<(), ModelFileError> {
    write_atomically(path, &sealed(path, tensors, metadata)?).map_err(io_error(path, "write"))
}

/// The bytes that [`write_tensors`] writes. Errors name `path`.
pub(crate) fn sealed(
    path: &Path,
    tensors: &[NamedTensor],
    mut metadata: HashMap<String, String>,
) -> Result<Vec<u8>, ModelFileError> {
    // Reading rejects non-finite values.
    if let Some((tensor, ..)) = tensors.iter().find(|(_, _, elements)| !elements.iter().all(|value| value.is_finite()))
    {
        return Err(ModelFileError::NotFinite { path: path.to_path_buf(), tensor: tensor.clone() });
    }
    metadata.insert(checksum::KEY.to_owned(), checksum::NO_DIGEST.to_owned());
    let mut bytes = serialize(tensors, metadata)
        .map_err(|source| ModelFileError::NotSafetensors { path: path.to_path_buf(), source })?;
    assert!(checksum::seal(&mut bytes), "the metadata have the key of the checksum");
    Ok(bytes)
}

/// Serializes tensors and metadata to the bytes of a safetensors file.
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
    let mut file = safetensors::serialize(views, Some(metadata))?;
    sort_header(&mut file);
    Ok(file)
}

/// Sorts the keys in the header of a safetensors file, so equal contents give equal files.
fn sort_header(file: &mut [u8]) {
    let (length, rest) = file.split_first_chunk_mut::<8>().expect("a safetensors file begins with its header's length");
    let header = &mut rest[..u64::from_le_bytes(*length) as usize];
    // serde_json's map is sorted.
    let keys: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(header).expect("the header is a JSON object");
    let sorted = serde_json::to_vec(&keys).expect("JSON can be written as JSON");
    header[..sorted.len()].copy_from_slice(&sorted);
    header[sorted.len()..].fill(b' ');
}

/// Parses the bytes of one of this program's files. Its metadata have the keys `keys` and may have
/// the keys `optional`.
pub(crate) fn parse_ours(
    path: &Path,
    bytes: Vec<u8>,
    keys: &'static [&'static str],
    optional: &'static [&'static str],
) -> Result<TensorFile, ModelFileError> {
    let format = Format { program: "neural-net", name: FORMAT, has_checksum: true, keys, optional };
    let unverified = Format { name: UNVERIFIED_FORMAT, has_checksum: false, ..format };
    let file = TensorFile::parse(path, bytes, &[format, unverified])?;
    let normalisation = file.metadata("normalisation")?;
    if normalisation != NORMALISATION {
        return Err(file.not_ours(format!("its normalisation is {normalisation:?} instead of {NORMALISATION:?}")));
    }
    Ok(file)
}

pub(crate) fn io_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> ModelFileError {
    let path = path.to_path_buf();
    move |source| ModelFileError::Io { path, action, source }
}
