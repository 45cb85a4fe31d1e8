//! How training runs end: early stopping, best weights, and bit-identical results after any
//! interruption.

use std::sync::Arc;

use crate::support::{small_settings, small_table, trained, wait_until};
use neural_net::Predictor;
use neural_net::device::TrainingDevice;
use regression_studio::prepared::prepare;
use regression_studio::results::MAX_PAIRS;
use regression_studio::results::{Ending, EpochErrors};
use regression_studio::session::State;
use regression_studio::trained::Trained;
use regression_studio::{SavedRun, Session, Snapshot, run_folder};

/// The run without its times, thread count and device name.
fn reproducible(snapshot: &Snapshot) -> SavedRun {
    let mut run = (**snapshot.run.as_ref().unwrap()).clone();
    run.settings.training.threads = None;
    run.history.iter_mut().for_each(|record| record.seconds = 0.0);
    run.checkpoint.progress.seconds = 0.0;
    if let Some((_, results)) = &mut run.ended {
        results.seconds = 0.0;
        results.device.clear();
    }
    run
}

#[test]
fn results_are_those_of_the_best_epoch() {
    let mut settings = small_settings();
    settings.training.epochs = 40;
    let table = small_table(2000, 1);
    let snapshot = trained(table.clone(), settings.clone());
    assert_eq!(snapshot.state, State::Finished(Ending::AllEpochs));
    assert_eq!((snapshot.epoch, snapshot.history.len()), (40, 40));
    let results = snapshot.results.as_ref().unwrap();
    let [training, validation, test] = &results.parts;
    assert_eq!((training.rows, validation.rows, test.rows), (1400, 300, 300));
    assert!(test.network.r2 > 0.95 && test.network.r2 < 1.0, "{test:?}");
    assert!(test.linear.r2 < 0.9 && test.mean.r2 < 0.01, "{test:?}");

    // Find the epoch with the smallest validation error, and recompute that error from the model.
    let best = snapshot.history.iter().min_by(|a, b| a.validation_rmse.total_cmp(&b.validation_rmse)).unwrap();
    assert_eq!(results.best_epoch, best.epoch);
    assert!((validation.network.rmse - best.validation_rmse_in_unit).abs() < 1e-5);
    let prepared = prepare(&table, &settings).unwrap();
    let model = &snapshot.run.as_ref().unwrap().model;
    let Trained::Layers { network, neuron } = &model.network else { panic!("{:?}", model.network) };
    let outputs = Predictor::new(&neuron.fold(network)).predict_all(prepared.test.samples.inputs().view());
    let errors =
        outputs.iter().zip(&*prepared.test.truth).map(|(&output, truth)| model.transform.target_of(output) - truth);
    let errors: Vec<f64> = errors.collect();
    let rmse = (errors.iter().map(|e| e * e).sum::<f64>() / 300.0).sqrt();
    let mae = errors.iter().map(|e| e.abs()).sum::<f64>() / 300.0;
    assert!((test.network.rmse - rmse).abs() < 1e-12 && (test.network.mae - mae).abs() < 1e-12);
    let predicted = snapshot.predicted.as_ref().unwrap();
    assert_eq!((predicted.part.as_str(), predicted.pairs.len()), ("test", 300.min(MAX_PAIRS)));
    assert_eq!(predicted.pairs[7][0], prepared.test.truth[7]);
}

#[test]
fn early_stopping_follows_the_validation_error_and_keeps_the_best_weights() {
    let mut settings = small_settings();
    // With few rows and large steps, the error soon oscillates.
    settings.training.learning_rate = 0.3;
    settings.training.epochs = 500;
    settings.training.patience = Some(4);
    let early = trained(small_table(60, 1), settings.clone());
    assert_eq!(early.state, State::Finished(Ending::EarlyStopped));
    let results = early.results.as_ref().unwrap();
    assert_eq!(results.epochs, results.best_epoch + 4);
    let errors: Vec<f64> = early.history.iter().map(|record| record.validation_rmse).collect();
    let best = errors[results.best_epoch - 1];
    assert!(errors[..results.best_epoch - 1].iter().all(|error| *error > best));
    assert!(errors[results.best_epoch..].iter().all(|error| *error >= best));

    // The final weights equal the weights of a run that ends at that epoch.
    settings.training.epochs = results.best_epoch;
    settings.training.patience = None;
    let short = trained(small_table(60, 1), settings);
    let network = |snapshot: &regression_studio::Snapshot| snapshot.run.as_ref().unwrap().model.network.clone();
    assert_eq!(network(&short), network(&early));
}

#[test]
fn results_are_bit_identical_on_any_number_of_threads() {
    for batch_size in [32, 200] {
        let run = |threads| {
            let mut settings = small_settings();
            settings.training.batch_size = batch_size;
            settings.training.threads = Some(threads);
            reproducible(&trained(small_table(1000, 1), settings))
        };
        let expected = run(1);
        for threads in [2, 3, 8] {
            assert_eq!(run(threads), expected, "{threads} threads");
        }
    }
}

#[test]
fn results_are_bit_identical_after_pauses_and_interruptions() {
    let (table, mut settings) = (Arc::new(small_table(3000, 1)), small_settings());
    settings.training.epochs = 400;
    let expected = reproducible(&Session::start(Arc::clone(&table), settings.clone()).wait());
    let folder = tempfile::tempdir().unwrap();

    let session = Session::start_epoch(Arc::clone(&table), settings.clone());
    let paused = wait_until(&session, |snapshot| snapshot.state == State::Paused || snapshot.state.has_ended());
    assert!(paused.epoch < 400);
    let before = paused.epoch;
    session.step_epoch();
    let paused = wait_until(&session, |snapshot| {
        snapshot.state == State::Paused && snapshot.epoch > before || snapshot.state.has_ended()
    });
    assert!(paused.epoch == before + 1 || paused.state.has_ended());
    session.unpause();
    session.pause();
    session.unpause();
    assert_eq!(reproducible(&session.wait()), expected);

    // Stop at arbitrary steps, at least once, and save and reopen the run each time.
    let mut session = Session::start_epoch(Arc::clone(&table), settings);
    let (mut from, mut interruptions) = ((0, 0), 0);
    let ended = loop {
        let seen = wait_until(&session, |s| (s.epoch, s.step) > from || s.state.has_ended());
        if !seen.state.has_ended() {
            session.stop();
        }
        let ended = session.wait();
        if ended.state != State::Finished(Ending::Stopped) {
            break ended;
        }
        interruptions += 1;
        run_folder::save(folder.path(), ended.run.as_ref().unwrap()).unwrap();
        let run = run_folder::open(folder.path()).unwrap();
        from = (run.checkpoint.progress.epoch, run.checkpoint.progress.step);
        session = Session::resume(Arc::clone(&table), run);
    };
    assert!(interruptions > 0);
    assert_eq!(reproducible(&ended), expected);
}

#[test]
fn a_finished_run_resumes_for_more_epochs_bit_identically() {
    let mut settings = small_settings();
    settings.training.epochs = 5;
    let short = trained(small_table(500, 1), settings.clone());
    settings.training.epochs = 12;
    let long = reproducible(&trained(small_table(500, 1), settings.clone()));
    let run = SavedRun { settings, ..(**short.run.as_ref().unwrap()).clone() };
    assert_eq!(reproducible(&Session::resume(Arc::new(small_table(500, 1)), run).wait()), long);
}

#[test]
fn a_run_does_not_resume_with_other_data() {
    let run = (**trained(small_table(500, 1), small_settings()).run.as_ref().unwrap()).clone();
    let snapshot = Session::resume(Arc::new(small_table(500, 2)), run).wait();
    let State::Failed(message) = &snapshot.state else { panic!("{:?}", snapshot.state) };
    assert!(message.contains("the data differ from those of the run"), "{message}");
}

#[test]
fn a_diverging_run_reports_it_and_keeps_the_previous_state() {
    let mut settings = small_settings();
    settings.network.activation = regression_studio::settings::HiddenActivation::Relu;
    settings.training.learning_rate = 10.0;
    settings.training.momentum = 0.99;
    let snapshot = trained(small_table(500, 1), settings);
    let State::Diverged(message) = &snapshot.state else { panic!("{:?}", snapshot.state) };
    assert!(message.starts_with("training diverged in epoch "), "{message}");
    assert!(message.ends_with("choose a smaller learning rate"), "{message}");
    assert!(snapshot.run.is_some());
}

#[test]
fn training_on_the_gpu_simulator_agrees_with_the_cpu() {
    let mut settings = small_settings();
    settings.network.hidden = vec![4];
    settings.training.epochs = 2;
    let on_cpu = trained(small_table(60, 1), settings.clone());
    settings.training.device = TrainingDevice::Simulator;
    let snapshot = trained(small_table(60, 1), settings);
    assert_eq!(snapshot.state, State::Finished(Ending::AllEpochs));
    assert!(snapshot.device.starts_with("GPU simulator"), "{}", snapshot.device);
    let errors = |snapshot: &Snapshot| {
        snapshot.history.iter().map(|record: &EpochErrors| record.validation_rmse).collect::<Vec<_>>()
    };
    for (got, expected) in errors(&snapshot).iter().zip(errors(&on_cpu)) {
        assert!((got - expected).abs() < 1e-4, "{got} {expected}");
    }
}

#[test]
fn a_dropped_session_stops_and_invalid_settings_are_reported() {
    let mut settings = small_settings();
    settings.training.epochs = 1_000_000;
    // A million epochs would take hours.
    drop(Session::start(Arc::new(small_table(5000, 1)), settings.clone()));
    settings.training.learning_rate = 0.0;
    let snapshot = trained(small_table(50, 1), settings);
    let State::Failed(message) = &snapshot.state else { panic!("{:?}", snapshot.state) };
    assert!(message.starts_with("Learning rate: 0 is out of range, must be greater than 0"), "{message}");
}
