//! Round trips of models, runs and settings through files; damaged files are rejected by name.

use std::fs;

use crate::support::{names_in, small_settings, small_table, trained};
use neural_net::training::{Optimizer, Schedule};
use regression_studio::table::{Column, Table};
use regression_studio::{Model, Predictions, Settings, run_folder};

#[test]
fn predictions_of_a_saved_model_are_bit_identical() {
    let folder = tempfile::tempdir().unwrap();
    // Gains that are not powers of two make folding round.
    for (gain, log) in [(1.7, false), (2.0, true), (0.3, true)] {
        let mut settings = small_settings();
        settings.network.gain = gain;
        (settings.data.log_target, settings.data.log_features) = (log, log);
        settings.training.epochs = 3;
        let snapshot = trained(small_table(400, 1), settings);
        let model = snapshot.run.as_ref().unwrap().model.clone();
        let path = folder.path().join("model.safetensors");
        model.save(&path).unwrap();
        let loaded = Model::load(&path).unwrap();
        assert_eq!(loaded, model);
        let table = small_table(999, 7);
        let bits = |model: &Model| -> Vec<u64> {
            model.predict(&table).unwrap().into_iter().map(|prediction| prediction.unwrap().to_bits()).collect()
        };
        assert_eq!(bits(&loaded), bits(&model));
        assert_eq!(names_in(folder.path()), ["model.safetensors"]);

        // The plotted predictions are the model's predictions.
        let predicted = snapshot.predicted.as_ref().unwrap();
        let all = model.predict(&small_table(400, 1)).unwrap();
        for pair in &predicted.pairs {
            assert!(all.contains(&Some(pair[1])), "{pair:?}");
        }
    }
}

#[test]
fn rows_with_a_missing_feature_have_no_prediction_and_other_columns_are_ignored() {
    let snapshot = trained(small_table(200, 1), small_settings());
    let model = &snapshot.run.as_ref().unwrap().model;
    let whole = small_table(5, 3);
    let mut x = whole.columns()[0].numbers().unwrap().to_vec();
    x[2] = f64::NAN;
    let columns = vec![
        whole.columns()[2].clone(),
        Column::of_numbers("x", x),
        Column::of_texts("unused", &["?"; 5]),
        whole.columns()[1].clone(),
    ];
    let mut expected = model.predict(&whole).unwrap();
    expected[2] = None;
    assert_eq!(model.predict(&Table::new("new.csv", columns.clone())).unwrap(), expected);

    let message = |columns: Vec<Column>| model.predict(&Table::new("new.csv", columns)).unwrap_err().to_string();
    let expected = "new.csv: the model needs a column \"x\", which the table lacks: rename a column or add it";
    assert_eq!(message(vec![columns[0].clone(), columns[3].clone()]), expected);
    let texts = vec![Column::of_texts("x", &["a"; 5]), columns[0].clone(), columns[3].clone()];
    let expected = "new.csv: column \"x\" is a text column (row 1: \"a\"), but the model was trained with numbers in it: correct \
                    these cells, or leave them empty";
    assert_eq!(message(texts), expected);
}

/// A CSV line that begins with a row's number.
fn row_and_text(line: &str) -> (usize, String) {
    let (row, text) = line.split_once(',').unwrap();
    (row.parse().unwrap(), text.to_owned())
}

#[test]
fn a_run_is_read_as_saved() {
    let folder = tempfile::tempdir().unwrap();
    let table = small_table(300, 1);
    let run = (**trained(table.clone(), small_settings()).run.as_ref().unwrap()).clone();
    run_folder::save(folder.path(), &run).unwrap();
    assert_eq!(run_folder::open(folder.path()).unwrap(), run);
    let names = [
        "checkpoint.safetensors",
        "errors.svg",
        "history.csv",
        "model-card.md",
        "model.safetensors",
        "predicted.csv",
        "predicted.svg",
        "results.toml",
        "settings.toml",
        "split.csv",
    ];
    assert_eq!(names_in(folder.path()), names);
    assert_eq!(Model::load(&folder.path().join("model.safetensors")).unwrap(), run.model);
    let history = fs::read_to_string(folder.path().join("history.csv")).unwrap();
    assert_eq!(history.lines().count(), 13);
    let last: Vec<f64> = history.lines().last().unwrap().split(',').map(|cell| cell.parse().unwrap()).collect();
    assert_eq!(last[3], run.history[11].validation_rmse);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let parts: Vec<(usize, String)> = read("split.csv").lines().skip(1).map(row_and_text).collect();
    let (_, results) = run.ended.as_ref().unwrap();
    for part in &results.parts {
        assert_eq!(parts.iter().filter(|(_, name)| *name == part.name).count(), part.rows);
    }
    let of_table = Predictions::of(&run.model, run.rows.as_deref(), &table).unwrap();
    let tests: Vec<usize> = parts.iter().filter(|(_, name)| name == "test").map(|(row, _)| *row).collect();
    let predicted: Vec<(usize, String)> = read("predicted.csv").lines().skip(1).map(row_and_text).collect();
    assert_eq!(predicted.iter().map(|(row, _)| *row).collect::<Vec<_>>(), tests);
    for (row, values) in predicted {
        let truth = table.column("target").unwrap().number(row - 1).unwrap();
        let (predicted, [low, high]) = (of_table.predicted(row - 1).unwrap(), of_table.interval(row - 1).unwrap());
        assert_eq!(values, format!("{truth},{predicted},{low},{high}"), "row {row}");
    }
    let card = read("model-card.md");
    let r2 = format!("| test | the network | {:.4} |", results.parts[2].network.r2);
    for part in ["# A network that predicts target", &r2, "| direction |", "## Limits"] {
        assert!(card.contains(part), "{part:?} is not in\n{card}");
    }
    for plot in ["errors.svg", "predicted.svg"] {
        let svg = fs::read_to_string(folder.path().join(plot)).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && svg.contains("<circle"), "{plot}");
    }
    // An unfinished run has no results.
    run_folder::save(folder.path(), &regression_studio::SavedRun { ended: None, ..run.clone() }).unwrap();
    assert_eq!(
        names_in(folder.path()),
        ["checkpoint.safetensors", "history.csv", "model.safetensors", "settings.toml"]
    );
    assert_eq!(run_folder::open(folder.path()).unwrap(), regression_studio::SavedRun { ended: None, ..run });
}

#[test]
fn damaged_files_are_rejected_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = (**trained(small_table(100, 1), small_settings()).run.as_ref().unwrap()).clone();
    let message = || run_folder::open(folder.path()).unwrap_err().to_string();
    assert!(message().contains("no run found"), "{}", message());
    run_folder::save(folder.path(), &run).unwrap();
    for (name, content) in [("settings.toml", "[data"), ("results.toml", "ending = 7"), ("checkpoint.safetensors", "x")]
    {
        let path = folder.path().join(name);
        let kept = fs::read(&path).unwrap();
        fs::write(&path, content).unwrap();
        assert!(message().starts_with(&path.display().to_string()), "{}", message());
        assert!(!message().contains('\n'), "{}", message());
        fs::write(&path, kept).unwrap();
    }
    // Files with content that is also in the checkpoint may be missing, but not different.
    let results = folder.path().join("results.toml");
    let of_other = fs::read_to_string(&results).unwrap().replace("all-epochs", "stopped");
    fs::write(&results, of_other).unwrap();
    assert!(message().contains("remove it, which loses nothing"), "{}", message());
    for name in ["settings.toml", "results.toml"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    assert_eq!(run_folder::open(folder.path()).unwrap(), run);
    // A checkpoint is not a model, and a model is not a checkpoint.
    let (model, checkpoint) = (folder.path().join("model.safetensors"), folder.path().join("checkpoint.safetensors"));
    assert!(Model::load(&checkpoint).unwrap_err().to_string().contains("not saved by regression-studio"));
    fs::copy(&model, &checkpoint).unwrap();
    assert!(message().contains("not saved by regression-studio"), "{}", message());
}

/// Saves as the window does, to a folder that the user chooses.
#[test]
fn a_run_is_not_saved_over_the_table_that_it_was_trained_on() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("split.csv");
    fs::write(&table, "a table").unwrap();
    let mut run = (**trained(small_table(100, 1), small_settings()).run.as_ref().unwrap()).clone();
    run.settings.data.source = regression_studio::settings::Source::File(table.clone());
    let message = run_folder::save(folder.path(), &run).unwrap_err().to_string();
    assert!(message.starts_with("saving ") && message.contains("split.csv, which is read"), "{message}");
    assert_eq!(fs::read_to_string(table).unwrap(), "a table");
    assert_eq!(names_in(folder.path()), ["split.csv"]);
}

/// TOML cannot represent the path, so the run could not be read again.
#[cfg(unix)]
#[test]
fn a_run_on_a_file_with_a_non_unicode_name_is_not_saved() {
    use std::os::unix::ffi::OsStrExt;
    let root = tempfile::tempdir().unwrap();
    let mut run = (**trained(small_table(100, 1), small_settings()).run.as_ref().unwrap()).clone();
    let name = std::ffi::OsStr::from_bytes(b"/prices\xff.csv");
    run.settings.data.source = regression_studio::settings::Source::File(name.into());
    let message = run_folder::save(&root.path().join("run"), &run).unwrap_err().to_string();
    assert!(message.contains("settings.toml: the path of the data file is not Unicode"), "{message}");
    assert!(names_in(root.path()).is_empty());
}

/// With a logarithmic target, an error in the target's unit may overflow.
#[test]
fn a_run_with_infinite_errors_is_readable() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = (**trained(small_table(100, 1), small_settings()).run.as_ref().unwrap()).clone();
    run.history[2].validation_rmse_in_unit = f64::INFINITY;
    run.predicted.pairs[3][1] = f64::NEG_INFINITY;
    run_folder::save(folder.path(), &run).unwrap();
    let read = run_folder::open(folder.path()).unwrap();
    assert!(!read.history[2].validation_rmse_in_unit.is_finite() && !read.predicted.pairs[3][1].is_finite());
    assert_eq!(read.history[3..], run.history[3..]);
}

#[test]
fn settings_are_read_as_written() {
    let mut settings = small_settings();
    assert_eq!(Settings::from_toml(&settings.to_toml()).unwrap(), settings);
    settings.data.source = regression_studio::settings::Source::File("a b/ü \"q\".csv".into());
    settings.data.samples = Some(17);
    settings.training.patience = None;
    settings.training.threads = Some(3);
    assert_eq!(Settings::from_toml(&settings.to_toml()).unwrap(), settings);
    let wrong = settings.to_toml().replace("momentum", "momemtum");
    let message = Settings::from_toml(&wrong).unwrap_err();
    assert!(message.starts_with("line ") && message.contains("momemtum") && !message.contains('\n'), "{message}");
}

#[test]
fn omitted_training_settings_follow_from_those_that_are_there() {
    let training = |lines: &str| {
        let data = "[data]\nsource.file = \"a.csv\"\nfeatures = [\"x\"]\ntarget = \"y\"\n";
        let training = Settings::from_toml(&format!("{data}[training]\n{lines}")).unwrap().training;
        (training.optimizer, training.learning_rate, training.schedule)
    };
    let (constant, cosine) = (Schedule::Constant, Schedule::Cosine);
    assert_eq!(training("epochs = 3"), (Optimizer::Adam, 0.003, cosine));
    assert_eq!(training("optimizer = \"sgd\""), (Optimizer::Sgd, 0.02, cosine));
    // As written by versions with only one optimizer and, before that, only one schedule.
    assert_eq!(training("learning_rate = 0.1\nschedule = \"cosine\""), (Optimizer::Sgd, 0.1, cosine));
    assert_eq!(training("learning_rate = 0.1"), (Optimizer::Sgd, 0.1, constant));

    let changed = |values: &[&str]| {
        let training = Settings::default().with_values(values).unwrap().training;
        (training.optimizer, training.learning_rate)
    };
    assert_eq!(changed(&["training.optimizer=sgd"]), (Optimizer::Sgd, 0.02));
    assert_eq!(changed(&["training.learning_rate=0.2", "training.optimizer=sgd"]), (Optimizer::Sgd, 0.2));
    assert_eq!(changed(&["training.optimizer=sgd", "training.learning_rate=0.2"]), (Optimizer::Sgd, 0.2));
}
