//! Detects any flipped bit in a model or checkpoint, and any value that a training run cannot have.

use std::collections::HashMap;
use std::path::Path;

use neural_net::checkpoint::{self, Checkpoint, Run};
use neural_net::checksum::{self, Seal};
use neural_net::model_file::{self, Model, ModelFileError};
use neural_net::network::{Initialization, Network};
use neural_net::preset::Preset;
use neural_net::training::{EpochRecord, Optimizer, Progress, StopAt};
use neural_net::{Activation, Architecture, Hyperparameters};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use safetensors::SafeTensors;
use serde_json::{Value, json};

fn network() -> Network {
    let architecture = Architecture::new(vec![3, 2, 2], Activation::Tanh, Activation::Softmax).unwrap();
    Network::random(architecture, Initialization::Normal, &mut ChaCha8Rng::seed_from_u64(test_support::seed(5)))
}

/// A checkpoint after 2 of 5 epochs with 7 steps each, and 3 more steps.
fn checkpoint() -> Checkpoint {
    let network = network();
    let layers = network.weights().iter().cloned().zip(network.biases().iter().cloned());
    let velocities = Some(layers.clone().map(|(weights, biases)| (weights * 0.5, biases * 0.25)).collect());
    let squares = Some(layers.map(|(weights, biases)| (weights.mapv(|w| w * w), biases.mapv(|b| b * b))).collect());
    let record = |epoch| EpochRecord { epoch, samples: None, seconds: 0.5, loss: 1.25, accuracy: 0.75 };
    let run = Run {
        preset: Preset::Homework,
        hyperparameters: Hyperparameters {
            optimizer: Optimizer::Adam,
            momentum: 0.5,
            batch_size: Some(8),
            epochs: 5,
            stop_at: Some(StopAt { accuracy: 0.9, check_every: 20.try_into().unwrap() }),
            ..Preset::Homework.hyperparameters()
        },
        dataset: "digits".to_owned(),
        convention: Default::default(),
        data_checksum: 7,
        images: (50, 10),
        augment: false,
        progress: Progress { epoch: 2, step: 3, loss: 4.5, seconds: 0.25, history: vec![record(1), record(2)] },
    };
    Checkpoint { parameters: neural_net::engine::Parameters { network, velocities, squares }, run }
}

fn model_bytes() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model");
    model_file::save(
        &path,
        &Model { network: network(), dataset: "digits".to_owned(), convention: Default::default() },
    )
    .unwrap();
    std::fs::read(path).unwrap()
}

fn checkpoint_bytes() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    checkpoint::save(directory.path(), &checkpoint()).unwrap();
    std::fs::read(checkpoint::path_in(directory.path())).unwrap()
}

#[test]
fn part1_equal_models_and_checkpoints_are_equal_files() {
    let (model, checkpoint) = (model_bytes(), checkpoint_bytes());
    for _ in 0..10 {
        assert!(model_bytes() == model && checkpoint_bytes() == checkpoint);
    }
    let header = String::from_utf8_lossy(&model[8..]).into_owned();
    assert!(header.starts_with("{\"__metadata__\":{\"checksum\":"), "{header}");
}

const PATH: &str = "some/file.safetensors";

fn read_model(bytes: Vec<u8>) -> Result<bool, ModelFileError> {
    model_file::parse(Path::new(PATH), bytes).map(|model| model.unverified.is_none())
}

fn read_checkpoint(bytes: Vec<u8>) -> Result<bool, ModelFileError> {
    checkpoint::parse(Path::new(PATH), bytes).map(|checkpoint| checkpoint.unverified.is_none())
}

#[track_caller]
fn assert_one_line(error: &ModelFileError) -> String {
    let line = error.to_string();
    assert!(line.starts_with(PATH) && !line.contains('\n'), "{line}");
    line
}

/// Flips every bit of the file, and thousands of pairs of bits.
#[track_caller]
fn assert_flips_are_rejected(good: &[u8], read: impl Fn(Vec<u8>) -> Result<bool, ModelFileError>) {
    assert!(read(good.to_vec()).unwrap());
    let flipped = |bits: &[usize]| {
        let mut bytes = good.to_vec();
        bits.iter().for_each(|bit| bytes[bit / 8] ^= 1 << (bit % 8));
        bytes
    };
    let mut by_checksum = 0;
    for bit in 0..8 * good.len() {
        let error = read(flipped(&[bit])).expect_err("a file with a flipped bit");
        by_checksum += usize::from(matches!(error, ModelFileError::Damaged { .. }));
        assert!(assert_one_line(&error).contains("damaged"), "bit {bit}: {error}");
    }
    // The other flips make the header unreadable.
    assert!(by_checksum > 8 * good.len() / 2, "{by_checksum} of {}", 8 * good.len());
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    for _ in 0..2000 {
        let bits: [usize; 2] = std::array::from_fn(|_| rng.random_range(0..8 * good.len()));
        assert!(bits[0] == bits[1] || read(flipped(&bits)).is_err(), "{bits:?}");
    }
}

#[test]
fn part1_checksums_reject_a_model_with_any_bit_flipped() {
    assert_flips_are_rejected(&model_bytes(), read_model);
}

#[test]
fn part1_checksums_reject_a_checkpoint_with_any_bit_flipped() {
    assert_flips_are_rejected(&checkpoint_bytes(), read_checkpoint);
    // Read as by `neural-net evaluate`.
    assert_flips_are_rejected(&checkpoint_bytes(), read_model);
}

/// A file with changed metadata, and with a new checksum if it has the key.
fn with_metadata(bytes: &[u8], change: impl FnOnce(&mut HashMap<String, String>)) -> Vec<u8> {
    let (_, header) = SafeTensors::read_metadata(bytes).unwrap();
    let mut metadata = header.metadata().clone().unwrap();
    change(&mut metadata);
    let mut changed =
        safetensors::serialize(SafeTensors::deserialize(bytes).unwrap().tensors(), Some(metadata)).unwrap();
    checksum::seal(&mut changed);
    changed
}

/// A file in format 1, which has no checksum.
fn without_checksum(bytes: &[u8]) -> Vec<u8> {
    with_metadata(bytes, |metadata| {
        metadata.remove("checksum");
        metadata.insert("format".to_owned(), "neural-net 1".to_owned());
    })
}

#[test]
fn part1_checksums_missing_in_format_1_cause_a_warning() {
    let loaded = model_file::parse(Path::new(PATH), without_checksum(&model_bytes())).unwrap();
    assert_eq!(loaded.content.network, network());
    let warning = loaded.unverified.unwrap().to_string();
    assert!(
        warning.starts_with(PATH) && warning.contains("without a checksum") && !warning.contains('\n'),
        "{warning}"
    );
    let loaded = checkpoint::parse(Path::new(PATH), without_checksum(&checkpoint_bytes())).unwrap();
    assert_eq!(loaded.content, checkpoint());
    assert!(loaded.unverified.is_some());
}

#[test]
fn part1_checksums_cannot_be_omitted() {
    let lines = [
        // The format with a checksum, without the key.
        with_metadata(&model_bytes(), |metadata| drop(metadata.remove("checksum"))),
        // The format without a checksum, with the key.
        with_metadata(&model_bytes(), |metadata| drop(metadata.insert("format".into(), "neural-net 1".into()))),
        with_metadata(&model_bytes(), |metadata| drop(metadata.insert("format".into(), "neural-net 3".into()))),
    ]
    .map(|bytes| assert_one_line(&read_model(bytes).unwrap_err()));
    for (line, part) in lines.iter().zip(["its checksum is missing", "have \"checksum\"", "\"neural-net 3\""]) {
        assert!(line.contains(part), "{line}");
    }
    assert_eq!(checksum::check(b"no file of ours"), Seal::Missing);
    assert!(!checksum::seal(&mut b"\x20\0\0\0\0\0\0\0{\"__metadata__\":{\"checksum\":\"00".to_vec()));
}

/// Most readers use the last of two equal keys. They would see a different network than readers
/// that use the first.
#[test]
fn part1_checksums_do_not_permit_duplicate_keys() {
    let bytes = model_bytes();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    let tensor = &header[header.find("\"layers.0.bias\"").unwrap()..];
    let tensor = &tensor[..=tensor.find('}').unwrap()];
    for twice in [
        header.replacen("\"sizes\":", "\"sizes\":\"3,2,2\",\"sizes\":", 1),
        header.replacen(tensor, &format!("{tensor},{tensor}"), 1),
    ] {
        assert_ne!(twice, header);
        let mut changed = (twice.len() as u64).to_le_bytes().to_vec();
        changed.extend(twice.as_bytes());
        changed.extend(&bytes[8 + length..]);
        checksum::seal(&mut changed);
        let line = assert_one_line(&read_model(changed).unwrap_err());
        assert!(line.contains("is duplicate"), "{line}");
    }
}

/// A checkpoint with a different value in its run, at a JSON pointer such as /progress/epoch.
fn with_run(path: &str, value: Value) -> Vec<u8> {
    with_metadata(&checkpoint_bytes(), |metadata| {
        let mut run: Value = serde_json::from_str(&metadata["run"]).unwrap();
        let (parent, key) = path.rsplit_once('/').unwrap();
        match run.pointer_mut(parent).unwrap() {
            Value::Object(object) => drop(object.insert(key.to_owned(), value)),
            Value::Array(array) => array[key.parse::<usize>().unwrap()] = value,
            other => panic!("{path}: {other}"),
        }
        metadata.insert("run".to_owned(), run.to_string());
    })
}

#[test]
fn part1_checkpoint_of_an_impossible_run_is_rejected_by_the_values_name() {
    assert!(read_checkpoint(with_run("/progress/epoch", json!(3))).unwrap(), "a valid change is accepted");
    let huge = json!(u64::MAX);
    let cases = [
        ("/hyperparameters/learning_rate", json!(0.0), "hyperparameters.learning_rate"),
        ("/hyperparameters/learning_rate", json!(-0.1), "hyperparameters.learning_rate"),
        ("/hyperparameters/learning_rate", json!(null), "its run cannot be read"),
        ("/hyperparameters/learning_rate_factors", json!([1.0, 0.0]), "hyperparameters.learning_rate_factors"),
        ("/hyperparameters/momentum", json!(1.0), "hyperparameters.momentum"),
        ("/hyperparameters/weight_decay", json!(-1e-9), "hyperparameters.weight_decay"),
        ("/hyperparameters/batch_size", json!(0), "hyperparameters.batch_size"),
        ("/hyperparameters/epochs", json!(0), "hyperparameters.epochs"),
        ("/hyperparameters/report_every", json!(0), "hyperparameters.report_every"),
        ("/hyperparameters/stop_at/accuracy", json!(1.5), "hyperparameters.stop_at.accuracy"),
        ("/hyperparameters/stop_at/check_every", json!(0), "its run cannot be read"),
        ("/hyperparameters/batch_sizE", json!(16), "batch_sizE"),
        ("/images/0", json!(0), "images"),
        ("/images/1", huge.clone(), "images"),
        ("/progress/epoch", json!(6), "progress.epoch"),
        ("/progress/epoch", huge.clone(), "progress.epoch"),
        // The last epoch is done, and the step is not 0.
        ("/progress/epoch", json!(5), "progress.step"),
        ("/progress/step", json!(7), "progress.step"),
        ("/progress/step", huge.clone(), "progress.step"),
        ("/progress/seconds", json!(-1.0), "progress.seconds"),
        ("/progress/steps", json!(1), "steps"),
        ("/progress/history/0/epoch", json!(0), "progress.history[0].epoch"),
        ("/progress/history/0/epoch", json!(2), "progress.history[1].epoch"),
        ("/progress/history/1/epoch", json!(3), "progress.history[1].epoch"),
        ("/progress/history/1/epoch", huge.clone(), "progress.history[1].epoch"),
        ("/progress/history/1/samples", json!(50), "progress.history[1].samples"),
        ("/progress/history/1/accuracy", json!(1.01), "progress.history[1].accuracy"),
        ("/progress/history/1/seconds", json!(-0.5), "progress.history[1].seconds"),
        ("/progress/history/1/accurracy", json!(1.0), "accurracy"),
        ("/seed", json!(1), "seed"),
    ];
    for (path, value, name) in cases {
        let line = assert_one_line(&read_checkpoint(with_run(path, value.clone())).unwrap_err());
        assert!(line.contains(name), "{path} = {value}: {line}");
    }
    // A number of epochs that overflows when multiplied by the number of samples.
    let bytes = with_metadata(&with_run("/hyperparameters/epochs", huge.clone()), |metadata| {
        let mut run: Value = serde_json::from_str(&metadata["run"]).unwrap();
        run["progress"]["epoch"] = json!(i64::MAX);
        run["progress"]["step"] = json!(0);
        metadata.insert("run".to_owned(), run.to_string());
    });
    let line = assert_one_line(&read_checkpoint(bytes).unwrap_err());
    assert!(line.contains("progress.epoch"), "{line}");
}

#[test]
fn part1_checkpoint_with_wrong_metadata_is_rejected_by_the_keys_name() {
    let cases: [(&str, Option<&str>, &str); 6] = [
        ("momentum", Some("tsue"), "momentum is \"tsue\""),
        ("momentum", None, "no \"momentum\""),
        // The file has tensors of velocities.
        ("momentum", Some("false"), "velocities."),
        ("run", None, "no \"run\""),
        ("epochs", Some("7"), "\"epochs\", which is not known"),
        ("run", Some("{}"), "missing field"),
    ];
    for (key, value, part) in cases {
        let bytes = with_metadata(&checkpoint_bytes(), |metadata| match value {
            Some(value) => drop(metadata.insert(key.to_owned(), value.to_owned())),
            None => drop(metadata.remove(key)),
        });
        let line = assert_one_line(&read_checkpoint(bytes).unwrap_err());
        assert!(line.contains(part), "{key}: {line}");
    }
    let bytes = with_metadata(&checkpoint_bytes(), |metadata| {
        let run = metadata["run"].replacen("\"data_checksum\"", "\"data_checksum\":8,\"data_checksum\"", 1);
        metadata.insert("run".to_owned(), run);
    });
    let line = assert_one_line(&read_checkpoint(bytes).unwrap_err());
    assert!(line.contains("duplicate field `data_checksum`"), "{line}");
}

#[test]
fn part1_checkpoint_and_model_with_values_that_are_not_finite_are_rejected_by_the_tensors_name() {
    for tensor in ["layers.0.weight", "layers.1.bias", "velocities.1.weight", "squares.0.bias"] {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut bytes = checkpoint_bytes();
            let data = SafeTensors::deserialize(&bytes).unwrap().tensor(tensor).unwrap().data().as_ptr();
            let start = data.addr() - bytes.as_ptr().addr() + 4;
            bytes[start..start + 4].copy_from_slice(&value.to_le_bytes());
            checksum::seal(&mut bytes);
            let line = assert_one_line(&read_checkpoint(bytes).unwrap_err());
            assert!(line.contains(tensor) && line.contains("not finite"), "{line}");
        }
    }
}

#[test]
fn part1_checkpoint_with_a_negative_mean_squared_gradient_is_rejected() {
    let mut checkpoint = checkpoint();
    checkpoint.parameters.squares.as_mut().unwrap()[1].1[0] = -0.5;
    let directory = tempfile::tempdir().unwrap();
    checkpoint::save(directory.path(), &checkpoint).unwrap();
    let bytes = std::fs::read(checkpoint::path_in(directory.path())).unwrap();
    let line = assert_one_line(&read_checkpoint(bytes).unwrap_err());
    assert!(line.contains("its mean squared gradients contain -0.5, which is below 0"), "{line}");
}

#[test]
fn part1_checksums_of_texts_are_on_their_first_line() {
    let text = "[data]\nrows = 7\n";
    let sealed = checksum::seal_text(text);
    assert!(sealed.starts_with("# sha256 ") && sealed.ends_with(&format!("\n{text}")), "{sealed}");
    assert_eq!((checksum::check_text(&sealed), checksum::check_text(text)), (Seal::Intact, Seal::Missing));
    for bit in 0..8 * sealed.len() {
        let mut bytes = sealed.clone().into_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let seal = String::from_utf8(bytes).map(|text| checksum::check_text(&text));
        // With a damaged prefix, the text has no digest.
        let expected = if bit / 8 < "# sha256 ".len() { Seal::Missing } else { Seal::Broken };
        assert!(seal.is_err() || seal == Ok(expected), "bit {bit}: {seal:?}");
    }
}
