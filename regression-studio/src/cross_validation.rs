//! Cross-validation: training runs with the same settings, each tested on another part of the rows.

use std::sync::Arc;

use crate::results::Results;
use crate::session::State;
use crate::settings::Fold;
use crate::{Session, Settings, Table};

/// The mean and the spread of a metric over the folds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; NaN for one value.
    pub deviation: f64,
}

impl Spread {
    /// Mean and deviation of the values; NaN if there are none.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, deviation: (squares / (count - 1.0)).sqrt() }
    }
}

/// Trains once for each of `folds` folds and calls `done` with its index and results. By groups and in the order of
/// time as the split of the settings says.
///
/// # Errors
/// The message of the first run that fails or diverges, with the number of its fold.
pub fn run(
    table: &Arc<Table>,
    settings: &Settings,
    folds: usize,
    mut done: impl FnMut(usize, &Results),
) -> Result<Vec<Results>, String> {
    let one = |index: usize| {
        let mut settings = settings.clone();
        settings.split.fold = Some(Fold { index, count: folds });
        let snapshot = Session::start(Arc::clone(table), settings).wait();
        match (&snapshot.state, &snapshot.results) {
            (State::Failed(message) | State::Diverged(message), _) => {
                Err(format!("fold {} of {folds}: {message}", index + 1))
            }
            (_, Some(results)) => {
                done(index, results);
                Ok((**results).clone())
            }
            (_, None) => Err(format!("fold {} of {folds}: training has not ended", index + 1)),
        }
    };
    (0..folds).map(one).collect()
}
