//! A finished run of the regression studio, the source of valid files.

use std::sync::Arc;

use anyhow::{Result, bail};
use regression_studio::settings::{DataSettings, NetworkKind, NetworkSettings, Settings, Source, TrainingSettings};
use regression_studio::table::{Column, Table};
use regression_studio::{SavedRun, Session};

/// The run's training table: two numeric columns and one text column.
pub(super) fn table() -> Table {
    let values = |scale: f64| (0..40).map(|row| scale * f64::from(row * 7 % 11)).collect::<Vec<f64>>();
    let texts: Vec<&str> = (0..40).map(|row| ["north", "south"][row % 2]).collect();
    let columns = vec![
        Column::of_numbers("size", values(1.0)),
        Column::of_texts("side", &texts),
        Column::of_numbers("price", values(3.0)),
    ];
    Table::new("table", columns)
}

/// The run's settings.
pub(crate) fn settings() -> Settings {
    Settings {
        data: DataSettings {
            // An absolute path, since a run is saved with one: the cases must not depend on the current directory.
            source: Source::File("/table.csv".into()),
            features: ["size", "side"].map(str::to_owned).to_vec(),
            target: "price".to_owned(),
            ..DataSettings::default()
        },
        network: NetworkSettings { hidden: vec![3], ..NetworkSettings::default() },
        training: TrainingSettings { epochs: 3, batch_size: 8, threads: Some(1), ..TrainingSettings::default() },
        ..Settings::default()
    }
}

/// A finished run of a kind of network whose files are the same in every process: its times are constants.
///
/// # Errors
/// If the training run fails.
pub(super) fn run(kind: NetworkKind) -> Result<SavedRun> {
    let mut settings = settings();
    settings.network.kind = kind;
    let snapshot = Session::start(Arc::new(table()), settings).wait();
    let Some(run) = &snapshot.run else { bail!("the base run has no result: {:?}", snapshot.state) };
    let mut run = SavedRun::clone(run);
    run.history.iter_mut().for_each(|record| record.seconds = 0.5);
    run.checkpoint.progress.seconds = 0.0;
    if let Some((_, results)) = &mut run.ended {
        results.seconds = 1.5;
    }
    Ok(run)
}
