//! Flipped bits in any file of a run are detected, and so are inconsistent values.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use crate::support::{small_settings, small_table, trained};
use neural_net::checksum;
use neural_net::device::TrainingDevice;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use regression_studio::{Model, SavedRun, Settings, run_folder};
use safetensors::SafeTensors;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A finished run of two epochs, saved to a temporary folder.
fn saved() -> (TempDir, SavedRun) {
    static RUN: LazyLock<SavedRun> = LazyLock::new(|| {
        let mut settings = small_settings();
        (settings.network.hidden, settings.training.epochs) = (vec![2], 2);
        (**trained(small_table(40, 1), settings).run.as_ref().unwrap()).clone()
    });
    let folder = tempfile::tempdir().unwrap();
    run_folder::save(folder.path(), &RUN).unwrap();
    (folder, RUN.clone())
}

fn bytes_of(folder: &TempDir, name: &str) -> Vec<u8> {
    fs::read(folder.path().join(name)).unwrap()
}

const PATH: &str = "some/file.safetensors";

fn read_run(bytes: Vec<u8>) -> Result<SavedRun, String> {
    run_folder::parse(Path::new(PATH), bytes).map(|run| run.content).map_err(|error| error.to_string())
}

/// Copies of the file, each with one flipped bit: `count` random bits, or every bit if the file has
/// at most `count`.
fn flips(good: &[u8], count: usize) -> impl Iterator<Item = Vec<u8>> {
    let (bits, mut rng) = (8 * good.len(), ChaCha8Rng::seed_from_u64(test_support::seed(3)));
    let chosen: Vec<usize> = match bits <= count {
        true => (0..bits).collect(),
        false => (0..count).map(|_| rng.random_range(0..bits)).collect(),
    };
    chosen.into_iter().map(|bit| {
        let mut bytes = good.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    })
}

#[track_caller]
fn assert_names_damage(message: &str) {
    assert!(message.starts_with(PATH) && message.contains("damaged") && !message.contains('\n'), "{message}");
}

#[test]
fn a_flipped_bit_in_a_model_or_a_checkpoint_is_rejected() {
    let (folder, run) = saved();
    let model = bytes_of(&folder, "model.safetensors");
    assert_eq!(Model::parse(Path::new(PATH), model.clone()).unwrap().content, run.model);
    for bytes in flips(&model, 5000) {
        assert_names_damage(&Model::parse(Path::new(PATH), bytes).unwrap_err().to_string());
    }
    let checkpoint = bytes_of(&folder, "checkpoint.safetensors");
    assert_eq!(read_run(checkpoint.clone()).unwrap(), run);
    for bytes in flips(&checkpoint, 5000) {
        assert_names_damage(&read_run(bytes).unwrap_err());
    }
}

#[test]
fn a_flipped_bit_in_settings_or_results_is_rejected() {
    let (folder, run) = saved();
    for name in ["settings.toml", "results.toml"] {
        let path = folder.path().join(name);
        let good = fs::read(&path).unwrap();
        for bytes in flips(&good, 1000) {
            fs::write(&path, &bytes).unwrap();
            let message = run_folder::open(folder.path()).unwrap_err().to_string();
            assert!(message.starts_with(path.to_str().unwrap()) && message.contains("damaged"), "{message}");
            // If the first line is no longer a checksum after the flip, the settings alone are
            // still read unchanged.
            if name == "settings.toml"
                && let Ok(settings) = Settings::read(&path)
            {
                assert_eq!(settings, run.settings);
            }
        }
        fs::write(&path, good).unwrap();
    }
    assert_eq!(run_folder::open(folder.path()).unwrap(), run);
}

/// The file with changed metadata. Its checksum is recomputed if it has one.
fn with_metadata(bytes: &[u8], change: impl FnOnce(&mut HashMap<String, String>)) -> Vec<u8> {
    let (_, header) = SafeTensors::read_metadata(bytes).unwrap();
    let mut metadata = header.metadata().clone().unwrap();
    change(&mut metadata);
    let mut changed =
        safetensors::serialize(SafeTensors::deserialize(bytes).unwrap().tensors(), Some(metadata)).unwrap();
    checksum::seal(&mut changed);
    changed
}

/// Metadata that format 1 does not have.
const LATER: [&str; 6] = ["checksum", "settings", "ended", "rows", "intervals", "background"];

#[test]
fn a_run_of_format_1_is_read_with_a_warning() {
    let (folder, run) = saved();
    let older = Model { intervals: None, background: None, ..run.model.clone() };
    let rewrite = |name: &str, change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        fs::write(folder.path().join(name), change(bytes_of(&folder, name))).unwrap();
    };
    let without_first_line = |bytes: Vec<u8>| bytes.splitn(2, |byte| *byte == b'\n').nth(1).unwrap().to_vec();
    rewrite("settings.toml", &without_first_line);
    rewrite("results.toml", &without_first_line);
    let without_checksum = |format: &'static str| {
        move |bytes: Vec<u8>| {
            with_metadata(&bytes, |metadata| {
                metadata.retain(|key, _| !LATER.contains(&key.as_str()));
                metadata.insert("format".to_owned(), format.to_owned());
            })
        }
    };
    rewrite("model.safetensors", &without_checksum("regression-studio 1"));
    rewrite("checkpoint.safetensors", &without_checksum("regression-studio checkpoint 1"));
    let loaded = run_folder::read(folder.path()).unwrap();
    assert_eq!(loaded.content, SavedRun { rows: None, model: older.clone(), ..run.clone() });
    assert!(loaded.unverified.unwrap().to_string().contains("without a checksum"));
    let model = Model::read(&folder.path().join("model.safetensors")).unwrap();
    assert_eq!(model.content, older);
    assert!(model.unverified.is_some());
    // Saving it adds a checksum.
    run_folder::save(folder.path(), &run).unwrap();
    assert!(run_folder::read(folder.path()).unwrap().unverified.is_none());
}

#[test]
fn an_inconsistent_run_is_rejected_by_the_values_name() {
    let (folder, run) = saved();
    let good = bytes_of(&folder, "checkpoint.safetensors");
    let settings = run_folder::with_full_path(&run.settings).to_toml();
    let cases = [
        ("progress", "/epoch", json!(3), "progress.epoch"),
        ("progress", "/epoch", json!(u64::MAX), "progress.epoch"),
        ("progress", "/best_epoch", json!(3), "progress.best_epoch"),
        ("progress", "/best_epoch", json!(0), "progress.best_epoch"),
        ("progress", "/seconds", json!(-1.0), "progress.seconds"),
        ("progress", "/loss", json!(null), "progress"),
        ("progress", "/steps", json!(3), "steps"),
        ("history", "/1/epoch", json!(7), "history[1].epoch"),
        ("history", "/1/train_rmse", json!(-0.5), "history[1].train_rmse"),
        ("history", "/0/epochs", json!(1), "epochs"),
        ("neuron", "/gain", json!(0.0), "neuron.gain"),
        ("neuron", "/gain", json!(7.5), "that of the settings"),
        ("neuron", "/gain", json!(1e300), "not finite after folding in the gain"),
        ("transform", "/target_scale/deviation", json!(0.0), "deviation of \"target\""),
        ("transform", "/inputs/0/number/scale/deviation", json!(-1.0), "deviation of \"x\""),
        ("transform", "/inputs/0/number/scale/mean", json!(null), "transform"),
        ("transform", "/inputs/0/number/columm", json!("y"), "columm"),
        ("predicted", "/names", json!("y"), "names"),
        ("rows", "/parts", json!("lvt"), "rows.test"),
        ("rows", "/test", json!([]), "rows.test"),
    ];
    for (key, path, value, name) in cases {
        let bytes = with_metadata(&good, |metadata| {
            let mut content: Value = serde_json::from_str(&metadata[key]).unwrap();
            let (parent, field) = path.rsplit_once('/').unwrap();
            content.pointer_mut(parent).unwrap()[field] = value.clone();
            metadata.insert(key.to_owned(), content.to_string());
        });
        let message = read_run(bytes).unwrap_err();
        assert!(
            message.starts_with(PATH) && message.contains(name) && !message.contains('\n'),
            "{key}{path}: {message}"
        );
    }
    for (key, value, part) in [
        ("has_velocities", "tsue", "has_velocities"),
        ("has_velocities", "false", "velocities."),
        ("settings", "[data", "its settings cannot be read: line 1"),
        (
            "settings",
            &settings.replace("momentum = 0.9", "momentum = nan"),
            "settings are invalid: Momentum: NaN is out",
        ),
        ("settings", &settings.replace("train = 70.0", "train = -70.0"), "settings are invalid: Training part: -70"),
        ("ended", "ending = 7", "its results cannot be read"),
        ("epochs", "3", "\"epochs\", which is not known"),
    ] {
        let bytes = with_metadata(&good, |metadata| drop(metadata.insert(key.to_owned(), value.to_owned())));
        let message = read_run(bytes).unwrap_err();
        assert!(message.contains(part) && !message.contains('\n'), "{key}: {message}");
    }
}

/// The number of steps per epoch depends on the data, so only resuming can check it.
#[test]
fn a_run_beyond_the_steps_of_its_epoch_does_not_resume() {
    let (_, mut run) = saved();
    run.settings.training.epochs = 9;
    run.settings.training.device = TrainingDevice::Cpu;
    run.checkpoint.progress.step = usize::MAX;
    let snapshot = regression_studio::Session::resume(std::sync::Arc::new(small_table(40, 1)), run).wait();
    let message = format!("{:?}", snapshot.state);
    assert!(message.contains("cannot be resumed at step"), "{message}");
}

#[test]
fn a_run_that_cannot_be_saved_leaves_its_folder_as_it_was() {
    let (_, run) = saved();
    let parent = tempfile::tempdir().unwrap();
    for obstacle in ["model.safetensors", "model-card.md", "checkpoint.safetensors"] {
        let folder = parent.path().join(obstacle.replace('.', "-"));
        // A folder with the name of a file causes a failure, as a full disk would.
        fs::create_dir_all(folder.join(obstacle).join("kept")).unwrap();
        fs::write(folder.join("notes.txt"), "mine").unwrap();
        let message = run_folder::save(&folder, &run).unwrap_err().to_string();
        assert!(message.contains(obstacle), "{message}");
        let mut left: Vec<String> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, [obstacle, "notes.txt"], "{obstacle}");
    }
}
