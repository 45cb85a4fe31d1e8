//! Helpers for several test files.

#![allow(dead_code, reason = "each test file uses some of them")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use neural_net::device::TrainingDevice;
use neural_net::training::{Optimizer, Schedule};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use regression_studio::settings::{HiddenActivation, Settings};
use regression_studio::table::csv::Declared;
use regression_studio::table::{Column, Table};
use regression_studio::{Predictions, Session, Snapshot};

/// The predictions for a table as CSV.
pub(crate) fn csv_of(predictions: &Predictions, table: &Table) -> String {
    let mut text = Vec::new();
    predictions.write_csv(table, &Declared::default(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// A table with `rows` rows: x and y in [−1, 1), direction "up" or "down", and target = sin(3x) +
/// y² + (1 if "up").
pub(crate) fn small_table(rows: usize, seed: u64) -> Table {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut numbers = || -> Vec<f64> { (0..rows).map(|_| rng.random_range(-1.0..1.0)).collect() };
    let (x, y) = (numbers(), numbers());
    let texts: Vec<&str> = (0..rows).map(|row| if row.is_multiple_of(3) { "up" } else { "down" }).collect();
    let target = |row: usize| (3.0 * x[row]).sin() + y[row] * y[row] + f64::from(u8::from(row.is_multiple_of(3)));
    let target: Vec<f64> = (0..rows).map(target).collect();
    let columns = vec![
        Column::of_numbers("x", x),
        Column::of_numbers("y", y),
        Column::of_texts("direction", &texts),
        Column::of_numbers("target", target),
    ];
    Table::new("a small table", columns)
}

/// Settings for [`small_table`].
pub(crate) fn small_settings() -> Settings {
    let mut settings = Settings::default();
    settings.data.features = ["x", "y", "direction"].map(str::to_owned).to_vec();
    settings.data.target = "target".to_owned();
    (settings.data.log_target, settings.data.log_features) = (false, false);
    settings.network.hidden = vec![7, 5];
    settings.network.activation = HiddenActivation::Sigmoid;
    settings.network.gain = 1.5;
    settings.network.threshold = 0.25;
    (settings.training.optimizer, settings.training.learning_rate) = (Optimizer::Sgd, 0.05);
    settings.training.schedule = Schedule::Constant;
    settings.training.batch_size = 32;
    settings.training.epochs = 12;
    settings.training.patience = None;
    settings.training.device = TrainingDevice::Cpu;
    settings
}

/// Waits for a snapshot of the session.
#[track_caller]
pub(crate) fn wait_until(session: &Session, is_wanted: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
    test_support::wait_for("a snapshot", || Some(session.snapshot()).filter(|snapshot| is_wanted(snapshot)))
}

/// Trains to the end.
pub(crate) fn trained(table: Table, settings: Settings) -> Arc<Snapshot> {
    Session::start(Arc::new(table), settings).wait()
}

/// The real stock file. Without it, the calling test is skipped.
#[track_caller]
pub(crate) fn stocks() -> Option<PathBuf> {
    test_support::path_in("STOCKS_CSV", test_support::Need::Stocks)
}

/// The names in a directory, sorted.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
