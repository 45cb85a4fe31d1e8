//! Several runs at once: each has the same bits as a single run, and they end and fail as if run
//! one after another.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use neural_net::device::TrainingDevice;
use regression_studio::cross_validation::{self, Repeats};
use regression_studio::results::Results;
use regression_studio::session::State;
use regression_studio::settings::{Fold, HiddenActivation, NetworkKind, Settings};
use regression_studio::{Session, Snapshot, Table, fleet};

use crate::support::{small_settings, small_table};

/// Results without times and without the device, because its name includes the number of threads.
fn without_times(results: &Results) -> Results {
    Results { seconds: 0.0, device: String::new(), ..results.clone() }
}

fn alone(table: &Arc<Table>, settings: Settings) -> Results {
    without_times(Session::start(Arc::clone(table), settings).wait().results.as_ref().unwrap())
}

#[test]
fn members_have_the_bits_of_their_single_runs_on_any_number_of_threads() {
    // In each run on the smaller table, additional networks calibrate the intervals.
    for (rows, kind) in [(300, NetworkKind::Layers), (1200, NetworkKind::Layers), (300, NetworkKind::Table)] {
        let (table, mut settings) = (Arc::new(small_table(rows, 1)), small_settings());
        (settings.network.kind, settings.training.epochs) = (kind, 4);
        let of_fold = |index| {
            let mut settings = settings.clone();
            settings.split.fold = Some(Fold { index, count: 3 });
            alone(&table, settings)
        };
        let of_seed = |index| {
            let mut settings = settings.clone();
            settings.training.seed += index;
            alone(&table, settings)
        };
        let expected = [(Repeats::Folds(3), [0, 1, 2].map(of_fold)), (Repeats::Seeds(3), [0, 1, 2].map(of_seed))];
        for (repeats, expected) in expected {
            assert!(expected[0] != expected[1] && expected[1] != expected[2]);
            for threads in [1, 3, 7] {
                settings.training.threads = Some(threads);
                let mut ended = Vec::new();
                let done = |index: usize, results: &Results| ended.push((index, without_times(results)));
                let results = cross_validation::run(&table, &settings, repeats, &AtomicBool::new(false), done);
                let results: Vec<Results> = results.unwrap().unwrap().iter().map(without_times).collect();
                assert_eq!(results, expected, "{rows} rows, {repeats:?}, {threads} threads");
                ended.sort_by_key(|(index, _)| *index);
                assert!(ended.into_iter().eq(expected.iter().cloned().enumerate()));
            }
        }
    }
}

#[test]
fn members_on_one_device_have_the_bits_of_their_single_runs() {
    let (table, mut settings) = (Arc::new(small_table(60, 1)), small_settings());
    settings.training.device = TrainingDevice::Simulator;
    (settings.training.epochs, settings.training.batch_size) = (2, 16);
    let member = |(hidden, seed, learning_rate): (&[usize], u64, f64)| {
        let mut settings = settings.clone();
        settings.network.hidden = hidden.to_vec();
        (settings.training.seed, settings.training.learning_rate) = (seed, learning_rate);
        if learning_rate == 10.0 {
            (settings.network.activation, settings.training.batch_size) = (HiddenActivation::Relu, 1);
        }
        settings
    };
    // The last one is too large for one block, and the one before it diverges.
    let members: [(&[usize], u64, f64); 5] =
        [(&[7, 5], 1, 0.05), (&[7, 5], 2, 0.05), (&[4], 1, 0.1), (&[7, 5], 1, 10.0), (&[90, 80], 1, 0.05)];
    let mut members = members.map(member);
    let last = |last: &Snapshot| {
        let run = last.run.as_ref().unwrap();
        let errors: Vec<_> = run.history.iter().map(|record| (record.train_rmse, record.validation_rmse)).collect();
        let results = last.results.as_ref().map(|results| without_times(results));
        (last.state.clone(), errors, run.model.clone(), run.checkpoint.state.clone(), results, last.device.clone())
    };
    let single = |settings: &Settings| last(&Session::start(Arc::clone(&table), settings.clone()).wait());
    let expected: Vec<_> = members.iter().map(single).collect();
    assert!(matches!(expected[3].0, State::Diverged(_)) && matches!(expected[4].0, State::Finished(_)));
    let is_of_one_block = expected.iter().map(|last| last.5.contains("network_train_small"));
    assert!(is_of_one_block.eq([true, true, true, true, false]));
    for threads in [1, 5] {
        members.iter_mut().for_each(|settings| settings.training.threads = Some(threads));
        let go_on = |_: usize, _: &_| ControlFlow::Continue(());
        let never = AtomicBool::new(false);
        let outcomes = fleet::train(&table, &members, &never, Session::start_on, |_, _| (), last, go_on);
        assert_eq!(outcomes.unwrap(), expected, "{threads} at once");
    }
}

#[test]
fn the_first_fold_that_fails_is_named() {
    // Folds 13 to 20 have no rows.
    let (table, mut settings) = (Arc::new(small_table(12, 1)), small_settings());
    for threads in [1, 4] {
        settings.training.threads = Some(threads);
        let never = AtomicBool::new(false);
        let message = cross_validation::run(&table, &settings, Repeats::Folds(20), &never, |_, _| ()).unwrap_err();
        assert!(message.starts_with("fold 13 of 20: ") && message.contains("choose fewer folds"), "{message}");
    }
}

#[test]
fn a_cancelled_fleet_stops_what_it_trains() {
    let (table, first) = (Arc::new(small_table(300, 1)), small_settings());
    for threads in [1, 3] {
        let mut first = first.clone();
        first.training.threads = Some(threads);
        let mut endless = first.clone();
        endless.training.epochs = 1_000_000;
        let (members, cancel) = ([vec![first], vec![endless; 9]].concat(), AtomicBool::new(false));
        let mut ended = Vec::new();
        let done = |index: usize, _: &()| {
            ended.push(index);
            cancel.store(true, Ordering::Relaxed);
            ControlFlow::Continue(())
        };
        assert_eq!(fleet::train(&table, &members, &cancel, Session::start_on, |_, _| (), |_| (), done), None);
        assert_eq!(ended, [0]);
    }
}
