//! Intervals of small tables. They are calibrated with networks that were each trained without one
//! fold.

use std::sync::Arc;

use regression_studio::intervals::{FOLDS, MAX_CROSS_ROWS, rank};
use regression_studio::prepared::prepare;
use regression_studio::session::State;
use regression_studio::settings::{Fold, NetworkKind, SplitOrder};
use regression_studio::table::{Column, Role, Table};
use regression_studio::{Session, Settings, Snapshot};

use crate::coverage::noisy_table;
use crate::support::{small_settings, small_table, trained};

fn settings(kind: NetworkKind) -> Settings {
    let mut settings = small_settings();
    settings.data.features = vec!["x".to_owned(), "y".to_owned()];
    settings.network.kind = kind;
    settings.training.epochs = 4;
    settings
}

/// Some rows of a table of numbers.
fn rows_of(table: &Table, rows: &[usize]) -> Table {
    let of_rows = |column: &Column| {
        let numbers = rows.iter().map(|&row| column.number(row).unwrap()).collect();
        Column::of_numbers(column.name(), numbers)
    };
    let columns = table.columns().iter().filter(|column| column.numbers().is_some());
    Table::new("some rows", columns.map(of_rows).collect())
}

/// The training and validation rows, each with its error from a run on these rows without its fold.
fn of_folds(snapshot: &Snapshot, table: &Table, settings: &Settings) -> Vec<(usize, f64)> {
    let rows = snapshot.run.as_ref().unwrap().rows.clone().unwrap();
    let calibrating: Vec<usize> = rows.parts().filter(|(_, part)| *part != "test").map(|(row, _)| row).collect();
    let table = Arc::new(rows_of(table, &calibrating));
    let mut errors = Vec::new();
    for index in 0..FOLDS {
        let mut settings = settings.clone();
        settings.split.fold = Some(Fold { index, count: FOLDS });
        let of_fold = Session::start(Arc::clone(&table), settings).wait();
        let rows = of_fold.run.as_ref().unwrap().rows.clone().unwrap();
        errors.extend(rows.test().map(|(row, [truth, of])| (calibrating[row], (truth - of).abs())));
    }
    assert_eq!(errors.len(), calibrating.len());
    errors
}

#[test]
fn half_widths_are_those_of_runs_without_each_fold() {
    let (table, settings) = (small_table(200, 3), settings(NetworkKind::Layers));
    let snapshot = trained(table.clone(), settings.clone());
    let intervals = snapshot.run.as_ref().unwrap().model.intervals.clone().unwrap();
    assert_eq!((intervals.folds, intervals.rows), (Some(FOLDS), 170));
    let scale = prepare(&table, &settings).unwrap().transform.target_scale;
    let errors = of_folds(&snapshot, &table, &settings);
    // The ratio of the network's errors on the validation part to the fold networks' errors there.
    let run = snapshot.run.as_ref().unwrap();
    let validation: Vec<usize> =
        run.rows.as_ref().unwrap().parts().filter(|(_, part)| *part == "validation").map(|(row, _)| row).collect();
    let (predicted, truth) = (run.model.predict(&table).unwrap(), table.column("target").unwrap());
    let own: f64 = validation.iter().map(|&row| (truth.number(row).unwrap() - predicted[row].unwrap()).abs()).sum();
    let of_folds: f64 = errors.iter().filter(|(row, _)| validation.contains(row)).map(|(_, error)| error).sum();
    let factor = (own / of_folds).max(1.0);
    let mut errors: Vec<f64> = errors.iter().map(|(_, error)| factor * error / scale.deviation).collect();
    errors.sort_by(f64::total_cmp);
    for percent in [50, 80, 90, 95, 99] {
        let expected = errors[rank(errors.len(), percent).unwrap() - 1];
        let half_width = intervals.half_width(percent).unwrap();
        assert!((half_width - expected).abs() < 1e-5 * expected, "{percent} %: {half_width} {expected}");
    }
}

/// Like in `coverage`, with 204 calibration rows and 36 test rows per split.
#[test]
fn intervals_of_small_tables_cover_ninety_percent() {
    for kind in [NetworkKind::Layers, NetworkKind::Table] {
        let mut coverages = Vec::new();
        for seed in 0..20 {
            let mut settings = settings(kind);
            settings.training.epochs = 20;
            (settings.split.seed, settings.training.seed) = (seed, seed);
            let snapshot = trained(noisy_table(240, 7), settings);
            let measured = snapshot.results.as_ref().unwrap().intervals.clone().unwrap();
            assert_eq!((measured.percent, measured.rows, measured.folds), (90, 204, Some(FOLDS)));
            coverages.push(measured.coverage.unwrap());
        }
        let deviation = (0.09 * (1.0 / 204.0 + 1.0 / 36.0_f64)).sqrt();
        let mean = coverages.iter().sum::<f64>() / 20.0;
        assert!((mean - 0.9).abs() < 4.0 * deviation / 20.0_f64.sqrt(), "{mean}: {coverages:?}");
        assert!(coverages.iter().all(|coverage| (coverage - 0.9).abs() < 4.5 * deviation), "{coverages:?}");
    }
}

#[test]
fn large_tables_and_orders_of_time_are_calibrated_by_the_validation_part() {
    let mut by_time = settings(NetworkKind::Layers);
    by_time.split.order = SplitOrder::Time;
    for (rows, settings) in [(MAX_CROSS_ROWS, settings(NetworkKind::Layers)), (200, by_time)] {
        let snapshot = trained(small_table(rows, 1), settings);
        let measured = snapshot.results.as_ref().unwrap().intervals.clone().unwrap();
        assert_eq!((measured.rows, measured.folds), (rows * 15 / 100, None));
    }
}

#[test]
fn folds_keep_groups_together_on_any_number_of_threads() {
    // With five groups, the training and validation part have fewer groups than there are folds.
    // The validation part then calibrates.
    for (size, folds) in [(40, None), (10, Some(FOLDS))] {
        let (table, mut settings) = (small_table(200, 5), settings(NetworkKind::Table));
        let person = Column::of_numbers("person", (0..200).map(|row| f64::from(row / size)).collect());
        let table = Table::new("people", table.columns().iter().cloned().chain([person]).collect());
        settings.data.columns.insert("person".to_owned(), Role::Group);
        let of_threads = |threads: usize| {
            settings.training.threads = Some(threads);
            let snapshot = trained(table.clone(), settings.clone());
            assert!(matches!(snapshot.state, State::Finished(_)), "{:?}", snapshot.state);
            snapshot.run.as_ref().unwrap().model.intervals.clone().unwrap()
        };
        let [one, three] = [1, 3].map(of_threads);
        assert_eq!((&one, one.folds), (&three, folds));
    }
}
