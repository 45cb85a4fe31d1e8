//! Intervals and background rows in model files, and files without them.

use std::collections::HashMap;
use std::path::Path;

use neural_net::checksum;
use regression_studio::explanation::ExplanationError;
use regression_studio::{Model, Predictions};
use safetensors::SafeTensors;
use serde_json::{Value, json};

use crate::support::{csv_of, small_settings, small_table, trained};

/// The file of a model, and the model itself.
fn saved() -> (Vec<u8>, Model) {
    let model = trained(small_table(300, 1), small_settings()).run.as_ref().unwrap().model.clone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    model.save(&path).unwrap();
    (std::fs::read(path).unwrap(), model)
}

/// The model in a file with changed metadata.
fn read(bytes: &[u8], change: impl FnOnce(&mut HashMap<String, String>)) -> Result<Model, String> {
    let (_, header) = SafeTensors::read_metadata(bytes).unwrap();
    let mut metadata = header.metadata().clone().unwrap();
    change(&mut metadata);
    let tensors = SafeTensors::deserialize(bytes).unwrap();
    let mut changed = safetensors::serialize(tensors.tensors(), Some(metadata)).unwrap();
    checksum::seal(&mut changed);
    Model::parse(Path::new("a.safetensors"), changed).map(|loaded| loaded.content).map_err(|error| error.to_string())
}

#[test]
fn a_model_file_alone_has_the_same_intervals_and_contributions() {
    let (bytes, model) = saved();
    let loaded = read(&bytes, |_| ()).unwrap();
    assert_eq!(loaded, model);
    let table = small_table(50, 9);
    let of = |model: &Model| {
        let row = model.inputs_of_row(|name| model.cell(&table, name, 7));
        (csv_of(&Predictions::of(model, None, &table).unwrap(), &table), model.contributions(&row).unwrap())
    };
    assert_eq!(of(&loaded), of(&model));
}

#[test]
fn an_older_file_predicts_and_says_what_it_lacks() {
    let (bytes, model) = saved();
    let older = read(&bytes, |metadata| metadata.retain(|key, _| key != "intervals" && key != "background")).unwrap();
    assert_eq!((&older.network, older.intervals.is_none()), (&model.network, true));
    let predictions = Predictions::of(&older, None, &small_table(5, 1)).unwrap();
    assert_eq!(
        predictions.why_no_intervals.unwrap(),
        "no 90 % intervals: the run has not ended, or is of an earlier version: resume it to its end"
    );
    assert_eq!(older.contributions(&[0.0; 4]), Err(ExplanationError::NoBackground));
}

#[test]
fn inconsistent_intervals_and_background_rows_are_rejected_by_name() {
    let (bytes, _) = saved();
    let cases = [
        ("intervals", "/half_widths/0", json!({"percent": 51, "half_width": 0.1}), "intervals.percent"),
        ("intervals", "/half_widths/0", json!({"percent": 50, "half_width": -0.1}), "intervals.50 %"),
        ("intervals", "/half_widths/1", json!({"percent": 50, "half_width": 9.0}), "intervals.percent"),
        ("intervals", "/half_widths/0", json!({"percent": 50, "half_width": null}), "intervals"),
        ("intervals", "/rows", json!(-1), "intervals"),
        ("background", "/0", json!([]), "background"),
        ("background", "/1/3", json!(1e300), "background"),
        ("background", "/1/3", json!("x"), "background"),
        ("background", "", json!([]), "background"),
        ("background", "", json!(vec![vec![0.0; 101]; 3]), "more than 100"),
    ];
    for (key, path, value, name) in cases {
        let message = read(&bytes, |metadata| {
            let mut content: Value = serde_json::from_str(&metadata[key]).unwrap();
            *content.pointer_mut(path).unwrap() = value.clone();
            metadata.insert(key.to_owned(), content.to_string());
        });
        let message = message.unwrap_err();
        assert!(message.contains(name) && !message.contains('\n'), "{key}{path}: {message}");
    }
}
