//! Runs of the tabular network: errors, files, resuming, and settings that do not suit it.

use std::sync::Arc;

use neural_net::device::TrainingDevice;
use regression_studio::prepared::prepare;
use regression_studio::results::Ending;
use regression_studio::saved_run::TrainingState;
use regression_studio::session::State;
use regression_studio::settings::NetworkKind;
use regression_studio::trained::Trained;
use regression_studio::{Model, Predictions, SavedRun, Session, Settings, Snapshot, run_folder};

use crate::support::{csv_of, small_settings, small_table, trained, wait_until};

fn settings() -> Settings {
    let mut settings = small_settings();
    settings.network.kind = NetworkKind::Table;
    settings.training.epochs = 8;
    settings
}

fn run_of(snapshot: &Snapshot) -> SavedRun {
    (**snapshot.run.as_ref().expect("a run")).clone()
}

/// The results of a run that do not depend on the clock.
fn reproducible(run: SavedRun) -> (Model, TrainingState, Vec<[f64; 2]>) {
    let errors = run.history.iter().map(|record| [record.train_rmse, record.validation_rmse]).collect();
    (run.model, run.checkpoint.state, errors)
}

#[test]
fn it_is_trained_saved_and_predicts_as_before() {
    let (folder, table) = (tempfile::tempdir().unwrap(), small_table(600, 1));
    let snapshot = trained(table.clone(), settings());
    assert_eq!(snapshot.state, State::Finished(Ending::AllEpochs));
    assert!(snapshot.network.is_none() && snapshot.device.starts_with("CPU, "), "{}", snapshot.device);
    let results = snapshot.results.as_ref().unwrap();
    let test = &results.parts[2];
    assert!(test.network.r2 > 0.97 && test.network.r2 > test.linear.r2 + 0.05, "{test:?}");

    // The metrics match the model's own predictions for the test rows.
    let run = run_of(&snapshot);
    let Trained::Table(network) = &run.model.network else { panic!("{:?}", run.model.network) };
    let prepared = prepare(&table, &settings()).unwrap();
    let outputs = network.predict(prepared.test.samples.inputs().view()).unwrap();
    let squares = outputs.iter().zip(&*prepared.test.truth);
    let squares = squares.map(|(&output, truth)| (run.model.transform.target_of(output) - truth).powi(2));
    let rmse = (squares.sum::<f64>() / outputs.len() as f64).sqrt();
    assert!((test.network.rmse - rmse).abs() < 1e-12, "{} {rmse}", test.network.rmse);
    let best = run.history.iter().map(|record| record.validation_rmse).fold(f64::INFINITY, f64::min);
    assert_eq!(run.history[results.best_epoch - 1].validation_rmse, best);

    run_folder::save(folder.path(), &run).unwrap();
    assert_eq!(run_folder::open(folder.path()).unwrap(), run);
    let model = Model::load(&folder.path().join("model.safetensors")).unwrap();
    assert_eq!(model, run.model);
    // The stored intervals of the test rows match the predictions for the whole table.
    let (rows, predictions) = (run.rows.as_ref().unwrap(), Predictions::of(&model, None, &table).unwrap());
    let of_run = rows.intervals();
    assert_eq!(of_run.len(), test.rows);
    for ((row, _), interval) in rows.test().zip(of_run) {
        assert_eq!(predictions.interval(row), Some(*interval), "row {row}");
    }
    let new = small_table(100, 7);
    let [before, after] = [&run.model, &model].map(|model| Predictions::of(model, None, &new).unwrap());
    assert_eq!(csv_of(&before, &new), csv_of(&after, &new));
    assert!(after.coverage.is_some_and(|coverage| coverage > 0.7), "{:?}", after.coverage);
    let card = std::fs::read_to_string(folder.path().join("model-card.md")).unwrap();
    assert!(card.contains(&format!("made for tables: {} members that share", network.members())), "{card}");
}

#[test]
fn a_stopped_run_goes_on_to_the_same_bits_on_other_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (table, mut settings) = (Arc::new(small_table(400, 3)), settings());
    settings.training.threads = Some(1);
    let whole = reproducible(run_of(&Session::start(Arc::clone(&table), settings.clone()).wait()));
    settings.training.threads = Some(3);
    let session = Session::start_epoch(Arc::clone(&table), settings);
    wait_until(&session, |snapshot| snapshot.state == State::Paused);
    session.stop();
    let stopped = run_of(&session.wait());
    assert_eq!(stopped.history.len(), 1);
    run_folder::save(folder.path(), &stopped).unwrap();
    let stopped = run_folder::open(folder.path()).unwrap();
    assert!(reproducible(run_of(&Session::resume(table, stopped).wait())) == whole);
}

#[test]
fn it_needs_the_cpu_and_a_run_keeps_its_kind() {
    let mut on_gpu = settings();
    on_gpu.training.device = TrainingDevice::Cuda;
    let problems: Vec<String> = on_gpu.problems(None).iter().map(ToString::to_string).collect();
    let expected = "Device: the network made for tables trains on the CPU: choose cpu or auto, or the kind layers";
    assert_eq!(problems, [expected]);

    let mut run = run_of(&trained(small_table(60, 1), settings()));
    assert!(run.validate().is_ok());
    run.settings.network.kind = NetworkKind::Layers;
    assert!(run.validate().unwrap_err().to_string().contains("network"));
    let snapshot = Session::resume(Arc::new(small_table(60, 1)), run).wait();
    let expected = State::Failed("the run is of another kind of network: start a new run".to_owned());
    assert_eq!(snapshot.state, expected);
}

#[test]
fn it_stops_after_the_patience_and_keeps_the_best_epoch() {
    let mut settings = settings();
    (settings.training.epochs, settings.training.patience) = (500, Some(3));
    let snapshot = trained(small_table(60, 1), settings);
    assert_eq!(snapshot.state, State::Finished(Ending::EarlyStopped));
    let results = snapshot.results.as_ref().unwrap();
    assert_eq!(results.epochs, results.best_epoch + 3);
    let TrainingState::Table(state) = run_of(&snapshot).checkpoint.state else { panic!("another kind") };
    let kept = state.integers.iter().find(|(name, _)| name == "best_epoch");
    assert_eq!(kept.map(|(_, epoch)| *epoch), Some(results.best_epoch as u64));
}

#[test]
fn batches_epochs_and_patience_follow_from_the_rows() {
    let mut settings = Settings::from_toml(
        "[data]\nfeatures = [\"x\"]\ntarget = \"target\"\n[data.source]\nfile = \"t.csv\"\n[network]\nkind = \"table\"\n",
    )
    .unwrap();
    assert_eq!(settings.network.kind, NetworkKind::Table);
    settings.fill_in_by_rows(&small_table(20_000, 1));
    let options = table_network::Options::for_table(14_000, &[]);
    let training = settings.training;
    assert_eq!(
        (training.batch_size, training.epochs, training.patience),
        (options.batch_size, options.epochs, Some(table_network::Options::patience_for_table(14_000)))
    );
    assert!(Settings::from_toml(&settings.to_toml()).unwrap().network.kind == NetworkKind::Table);
}
