//! A saved network is loaded bit by bit, other programs can read it, and an invalid file causes an
//! error that names it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::support::names_in;
use ndarray::{Array1, Array2};
use neural_net::checksum;
use neural_net::model_file::{self, Model, ModelFileError, load, save};
use neural_net::network::{Initialization, Network};
use neural_net::{Activation, Architecture};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use tempfile::TempDir;

fn model() -> Model {
    let architecture = Architecture::new(vec![6, 4, 3], Activation::Tanh, Activation::Softmax).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(3));
    let network = Network::random(architecture, Initialization::Normal, &mut rng);
    Model { network, dataset: "some digits".to_owned(), convention: Default::default() }
}

fn bits(network: &Network) -> Vec<u32> {
    let weights = network.weights().iter().flatten();
    weights.chain(network.biases().iter().flatten()).map(|value| value.to_bits()).collect()
}

/// The contents of a model file, for tests to change.
#[derive(Clone)]
struct Pieces {
    tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)>,
    metadata: Option<HashMap<String, String>>,
}

impl Pieces {
    fn of(bytes: &[u8]) -> Self {
        let (_, header) = SafeTensors::read_metadata(bytes).unwrap();
        let tensors = SafeTensors::deserialize(bytes).unwrap();
        let tensors = tensors
            .iter()
            .map(|(name, tensor)| (name.to_owned(), tensor.dtype(), tensor.shape().to_vec(), tensor.data().to_vec()));
        Self { tensors: tensors.collect(), metadata: header.metadata().clone() }
    }

    fn good() -> Self {
        Self::of(&saved_bytes())
    }

    fn tensor(&mut self, name: &str) -> &mut (String, Dtype, Vec<usize>, Vec<u8>) {
        self.tensors.iter_mut().find(|tensor| tensor.0 == name).unwrap()
    }

    /// Changes a tensor's shape but not its bytes.
    fn reshape(&mut self, name: &str, shape: &[usize]) {
        self.tensor(name).2 = shape.to_vec();
    }

    fn set(&mut self, name: &str, value: &str) {
        self.metadata.as_mut().unwrap().insert(name.to_owned(), value.to_owned());
    }

    fn load(&self) -> Result<Model, ModelFileError> {
        let views = self
            .tensors
            .iter()
            .map(|(name, dtype, shape, bytes)| (name, TensorView::new(*dtype, shape.clone(), bytes).unwrap()));
        let mut bytes = safetensors::serialize(views, self.metadata.clone()).unwrap();
        // With a correct checksum, as if another program had written the file.
        checksum::seal(&mut bytes);
        load_bytes(&bytes)
    }
}

/// The error of loading a good file after `change`.
#[track_caller]
fn error_after(change: impl FnOnce(&mut Pieces)) -> ModelFileError {
    let mut pieces = Pieces::good();
    change(&mut pieces);
    pieces.load().unwrap_err()
}

/// The bytes of [`model`]'s file. Written only once, since each write is synced to disk.
fn saved_bytes() -> Vec<u8> {
    static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let (_directory, path) = new_path();
        save(&path, &model()).unwrap();
        fs::read(path).unwrap()
    });
    BYTES.clone()
}

/// Loads a file with this content. Any error must name it in one line.
fn load_bytes(bytes: &[u8]) -> Result<Model, ModelFileError> {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a-file");
    fs::write(&path, bytes).unwrap();
    let loaded = load(&path);
    if let Err(error) = &loaded {
        assert_names(error, &path);
    }
    loaded
}

#[track_caller]
fn assert_names(error: &ModelFileError, path: &Path) {
    let line = error.to_string();
    assert!(line.contains(path.to_str().unwrap()), "the file is not in {line:?}");
    assert!(!line.contains('\n'), "more than one line: {line:?}");
}

fn new_path() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("model.safetensors");
    (directory, path)
}

#[test]
fn part1_model_file_has_the_documented_format() {
    let Pieces { tensors, metadata } = Pieces::good();
    let model = model();
    let expected_metadata = [
        ("format", "neural-net 2"),
        ("sizes", "6,4,3"),
        ("hidden_activation", "tanh"),
        ("output_activation", "softmax"),
        ("normalisation", "pixel / 255"),
        ("dataset", "some digits"),
    ];
    let metadata = metadata.unwrap();
    assert_eq!(metadata.len(), expected_metadata.len() + 1);
    assert!(metadata["checksum"].len() == 64 && metadata["checksum"].bytes().all(|digit| digit.is_ascii_hexdigit()));
    for (name, value) in expected_metadata {
        assert_eq!(metadata[name], value, "{name}");
    }

    assert_eq!(tensors.len(), 4);
    for (name, dtype, shape, bytes) in tensors {
        let elements: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let network = &model.network;
        let expected = match name.as_str() {
            "layers.0.weight" => network.weights()[0].clone().into_dyn(),
            "layers.0.bias" => network.biases()[0].clone().into_dyn(),
            "layers.1.weight" => network.weights()[1].clone().into_dyn(),
            "layers.1.bias" => network.biases()[1].clone().into_dyn(),
            other => panic!("a tensor {other:?}"),
        };
        assert_eq!(dtype, Dtype::F32, "{name}");
        assert_eq!(shape, expected.shape(), "{name}");
        assert!(elements.iter().eq(expected.iter()), "{name}");
    }
}

#[test]
fn part1_model_file_comes_back_for_every_activation() {
    for output in [Activation::Sigmoid, Activation::Relu, Activation::Tanh, Activation::Identity, Activation::Softmax] {
        for hidden in [Activation::Sigmoid, Activation::Relu, Activation::Tanh, Activation::Identity] {
            let architecture = Architecture::new(vec![2, 1, 2], hidden, output).unwrap();
            let network = Network::random(
                architecture,
                Initialization::Xavier,
                &mut ChaCha8Rng::seed_from_u64(test_support::seed(0)),
            );
            let model = Model {
                network,
                dataset: "Ziffern, „quoted“\n\"and\" more".to_owned(),
                convention: Default::default(),
            };
            let (_directory, path) = new_path();
            save(&path, &model).unwrap();
            assert_eq!(load(&path).unwrap(), model);
        }
    }
}

#[test]
fn part1_model_file_replaces_an_older_one_and_leaves_nothing_else() {
    let (directory, path) = new_path();
    fs::write(&path, vec![1; 1 << 20]).unwrap();
    model_file::require_writable(&path).unwrap();
    save(&path, &model()).unwrap();
    assert_eq!(load(&path).unwrap(), model());
    assert_eq!(names_in(directory.path()), ["model.safetensors"]);
}

#[test]
fn part1_model_file_without_a_directory_is_rejected() {
    let (directory, path) = new_path();
    let path = path.with_file_name("gone").join("model.safetensors");
    for error in [save(&path, &model()).unwrap_err(), model_file::require_writable(&path).unwrap_err()] {
        assert!(matches!(error, ModelFileError::Io { action: "write", .. }), "{error:?}");
        assert_names(&error, &path);
    }
    assert!(names_in(directory.path()).is_empty());
}

#[test]
fn part1_model_file_does_not_replace_a_directory() {
    let (directory, path) = new_path();
    fs::create_dir(&path).unwrap();
    for error in [save(&path, &model()).unwrap_err(), model_file::require_writable(&path).unwrap_err()] {
        assert!(matches!(error, ModelFileError::Io { action: "write", .. }), "{error:?}");
        assert_names(&error, &path);
    }
    assert!(path.is_dir());
    assert_eq!(names_in(directory.path()), ["model.safetensors"]);
}

/// A path that ends in a slash is a directory. It is rejected before training, not after it.
#[test]
fn part1_model_file_path_that_ends_in_a_slash_is_rejected_before_training() {
    let (directory, path) = new_path();
    let path = path.join("");
    for error in [save(&path, &model()).unwrap_err(), model_file::require_writable(&path).unwrap_err()] {
        assert!(matches!(error, ModelFileError::Io { action: "write", .. }), "{error:?}");
    }
    assert!(names_in(directory.path()).is_empty());
}

/// The name has the maximum length, so the temporary file's name is too long.
#[cfg(unix)]
#[test]
fn part1_model_file_survives_when_its_successor_cannot_be_written() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("m".repeat(255));
    fs::write(&path, saved_bytes()).unwrap();
    let error = save(&path, &Model { dataset: "other".to_owned(), ..model() }).unwrap_err();
    assert!(matches!(error, ModelFileError::Io { action: "write", .. }), "{error:?}");
    assert_names(&error, &path);
    assert_eq!(load(&path).unwrap(), model());
}

#[test]
fn part1_model_file_that_is_missing_or_a_directory_is_rejected() {
    let (directory, path) = new_path();
    for path in [path.as_path(), directory.path()] {
        let error = load(path).unwrap_err();
        assert!(matches!(error, ModelFileError::Io { action: "read", .. }), "{error:?}");
        assert_names(&error, path);
    }
}

#[test]
fn part1_model_file_of_another_kind_is_rejected() {
    let huge_header = [u64::MAX.to_le_bytes().as_slice(), b"{}"].concat();
    let texts =
        [b"".as_slice(), b"{}", b"These are the weights: 0.1, 0.2 and 0.3.\n", b"\x89PNG\r\n\x1a\n", &huge_header];
    for bytes in texts {
        let error = load_bytes(bytes).unwrap_err();
        assert!(matches!(error, ModelFileError::NotSafetensors { .. }), "{error:?}");
    }
}

#[test]
fn part1_model_file_of_another_program_is_rejected() {
    for metadata in [None, Some(HashMap::new()), Some(HashMap::from([("format".to_owned(), "pt".to_owned())]))] {
        let error = error_after(|pieces| pieces.metadata = metadata);
        assert!(matches!(error, ModelFileError::NotOurs { .. }), "{error:?}");
        assert!(error.to_string().contains("not saved by neural-net"), "{error}");
    }
}

#[test]
fn part1_model_file_without_some_metadata_is_rejected() {
    for name in ["format", "sizes", "hidden_activation", "output_activation", "dataset"] {
        let error = error_after(|pieces| {
            pieces.metadata.as_mut().unwrap().remove(name);
        });
        assert!(matches!(error, ModelFileError::NotOurs { .. }), "{error:?}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn part1_model_file_without_a_tensor_is_rejected() {
    for name in ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"] {
        let error = error_after(|pieces| pieces.tensors.retain(|tensor| tensor.0 != name));
        assert!(matches!(error, ModelFileError::NotOurs { .. }), "{error:?}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

/// Wrong shapes with the right number of elements.
#[test]
fn part1_model_file_with_a_misshapen_tensor_is_rejected() {
    for (name, shape) in [("layers.0.weight", [4, 6].as_slice()), ("layers.0.weight", &[24, 1])] {
        let error = error_after(|pieces| pieces.reshape(name, shape));
        let ModelFileError::Shape { source, .. } = &error else { panic!("{error:?}") };
        assert_eq!((source.layer, &source.found, &source.expected), (0, &shape.to_vec(), &vec![6, 4]));
    }
    let cases = [("layers.1.weight", [12].as_slice()), ("layers.1.weight", &[2, 2, 3]), ("layers.1.bias", &[1, 3])];
    for (name, shape) in cases {
        let error = error_after(|pieces| pieces.reshape(name, shape));
        assert!(matches!(error, ModelFileError::NotOurs { .. }), "{error:?}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn part1_model_file_with_biases_of_another_length_is_rejected() {
    let error = error_after(|pieces| {
        *pieces.tensor("layers.1.bias") = ("layers.1.bias".into(), Dtype::F32, vec![4], vec![0; 16]);
    });
    let ModelFileError::Shape { source, .. } = &error else { panic!("{error:?}") };
    assert_eq!((source.what, source.layer, &source.expected), ("biases", 1, &vec![3]));
}

#[test]
fn part1_model_file_with_another_element_type_is_rejected() {
    for (dtype, size) in [(Dtype::F16, 2), (Dtype::F64, 8), (Dtype::I32, 4), (Dtype::U8, 1)] {
        let tensor = ("layers.0.weight".to_owned(), dtype, vec![6, 4], vec![0; 24 * size]);
        let error = error_after(|pieces| *pieces.tensor("layers.0.weight") = tensor);
        assert!(matches!(error, ModelFileError::NotOurs { .. }), "{error:?}");
        let line = error.to_string();
        assert!(line.contains("layers.0.weight") && line.contains(&format!("{dtype:?}")), "{line}");
    }
}

#[test]
fn part1_model_file_with_wrong_sizes_is_rejected() {
    let error = |sizes: &str| error_after(|pieces| pieces.set("sizes", sizes));
    for sizes in ["", "6,x,3", "6,4,-3", "6;4;3", "6,4,3,", "18446744073709551616,4,3"] {
        assert!(matches!(error(sizes), ModelFileError::NotOurs { .. }), "{sizes}");
    }
    for sizes in ["6", "6,0,3", "0,4,3"] {
        assert!(matches!(error(sizes), ModelFileError::Architecture { .. }), "{sizes}");
    }
    for sizes in ["6,5,3", "3,4,6", "6,3", "18446744073709551615,4,3"] {
        assert!(matches!(error(sizes), ModelFileError::Shape { .. }), "{sizes}");
    }
    assert!(matches!(error("6,4,3,2"), ModelFileError::NotOurs { .. }), "there is no third layer");
}

/// The sizes are only the first layer's, which would be a different network.
#[test]
fn part1_model_file_with_a_layer_more_than_its_sizes_is_rejected() {
    error_after(|pieces| pieces.set("sizes", "6,4"));
}

#[test]
fn part1_model_file_with_an_unknown_activation_is_rejected() {
    for name in ["hidden_activation", "output_activation"] {
        let error = error_after(|pieces| pieces.set(name, "swish"));
        assert!(matches!(error, ModelFileError::NotOurs { .. }), "{error:?}");
        assert!(error.to_string().contains("swish"), "{error}");
    }
    let error = error_after(|pieces| pieces.set("hidden_activation", "softmax"));
    assert!(matches!(error, ModelFileError::Architecture { .. }), "{error:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Any finite bit pattern, including −0 and subnormal floats.
    #[test]
    fn part1_model_file_is_loaded_bit_by_bit(pattern in prop::collection::vec(any::<u32>(), 24 + 4 + 12 + 3)) {
        let finite = |bits: u32| if f32::from_bits(bits).is_finite() { bits } else { bits & !(1 << 23) };
        let mut values = pattern.iter().map(|&bits| f32::from_bits(finite(bits)));
        let mut next = |count: usize| -> Vec<f32> { values.by_ref().take(count).collect() };
        let weights = [(6, 4), (4, 3)].map(|shape| Array2::from_shape_vec(shape, next(shape.0 * shape.1)).unwrap());
        let biases = [4, 3].map(|count| Array1::from(next(count)));
        let architecture = model().network.architecture().clone();
        let network = Network::new(architecture, weights.to_vec(), biases.to_vec()).unwrap();
        let (_directory, path) = new_path();
        save(&path, &Model { network: network.clone(), dataset: String::new(), convention: Default::default() }).unwrap();
        let loaded = load(&path).unwrap();
        prop_assert_eq!(bits(&loaded.network), bits(&network));
        prop_assert_eq!(loaded.network.architecture(), network.architecture());
    }
}

proptest! {
    #[test]
    fn part1_model_file_that_is_truncated_is_rejected(length: prop::sample::Index) {
        let bytes = saved_bytes();
        let error = load_bytes(&bytes[..length.index(bytes.len())]).unwrap_err();
        let is_named = matches!(error, ModelFileError::NotSafetensors { .. } | ModelFileError::Damaged { .. });
        prop_assert!(is_named && error.to_string().contains("damaged"), "{:?}", error);
    }

    #[test]
    fn part1_model_file_with_trailing_bytes_is_rejected(tail in prop::collection::vec(any::<u8>(), 1..50)) {
        let error = load_bytes(&[saved_bytes(), tail].concat()).unwrap_err();
        prop_assert!(matches!(error, ModelFileError::Damaged { .. }), "{:?}", error);
    }

    #[test]
    fn part1_model_file_with_a_changed_byte_is_rejected(index: prop::sample::Index, change in 1..=255_u8) {
        let mut bytes = saved_bytes();
        let index = index.index(bytes.len());
        bytes[index] ^= change;
        prop_assert!(load_bytes(&bytes).is_err());
        // With a new checksum, the file may be valid or invalid; reading it never panics.
        checksum::seal(&mut bytes);
        let _ = load_bytes(&bytes);
    }

    #[test]
    fn part1_model_file_of_random_bytes_is_rejected(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(load_bytes(&bytes).is_err());
    }
}

/// Reads a file like `torch.nn.Sequential`: module m's `Linear` computes x · Wᵀ + b. It uses only
/// NumPy and the format's own description (https://github.com/huggingface/safetensors): the
/// header's length in 8 bytes, its JSON, the data.
const AS_PYTORCH: &str = r#"
import json, sys
import numpy as np
data = open(sys.argv[1], "rb").read()
length = int.from_bytes(data[:8], "little")
header = json.loads(data[8 : 8 + length])
metadata = header.pop("__metadata__")
assert metadata["format"] == "pt", metadata
state = {}
for name, tensor in header.items():
    begin, end = tensor["data_offsets"]
    assert tensor["dtype"] == "F32", tensor
    state[name] = np.frombuffer(data[8 + length + begin : 8 + length + end], "<f4").reshape(tensor["shape"])
sizes = [int(size) for size in metadata["sizes"].split(",")]
layers = len(sizes) - 1
assert sorted(state) == sorted(f"{2 * i}.{kind}" for i in range(layers) for kind in ("weight", "bias")), list(state)
activations = {"tanh": np.tanh, "softmax": lambda z: np.exp(z) / np.exp(z).sum()}
x = np.array(json.loads(sys.argv[2]))
for i in range(layers):
    weight, bias = state[f"{2 * i}.weight"], state[f"{2 * i}.bias"]
    assert weight.shape == (sizes[i + 1], sizes[i]), weight.shape
    z = x @ weight.T + bias
    x = activations[metadata["hidden_activation" if i + 1 < layers else "output_activation"]](z)
print(json.dumps(x.tolist()))
"#;

#[test]
fn part1_model_file_for_pytorch_is_read_by_its_convention() {
    let Some(python) = test_support::python_with_numpy() else { return };
    // With a square layer, a transposed reading would not cause an error.
    for sizes in [vec![6, 4, 3], vec![5, 5, 5, 5]] {
        let architecture = Architecture::new(sizes.clone(), Activation::Tanh, Activation::Softmax).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(11));
        let network = Network::random(architecture, Initialization::Normal, &mut rng);
        let (weights, biases) = (network.weights().to_vec(), network.biases());
        let biases =
            biases.iter().map(|biases| Array1::from_shape_fn(biases.len(), |i| 0.3 - i as f32 / 7.0)).collect();
        let network = Network::new(network.architecture().clone(), weights, biases).unwrap();
        let inputs: Vec<f32> = (0_u8..).take(sizes[0]).map(|i| f32::from(i) / 5.0 - 0.4).collect();
        let expected = network.predict(&inputs);
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("for-pytorch.safetensors");
        let model = Model { network, ..model() };
        model_file::save_for_pytorch(&path, &model).unwrap();

        let mut command = std::process::Command::new(&python);
        let output = command.args(["-c", AS_PYTORCH]).arg(&path).arg(format!("{inputs:?}")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let found: Vec<f64> = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - f64::from(*expected)).abs() < 1e-6, "{found} and {expected}");
        }

        let error = load(&path).unwrap_err().to_string();
        assert!(error.ends_with("it is for PyTorch; give a file without --save-for"), "{error}");
    }
}
