//! Cross-validation: training runs with the same settings, each tested on another part of the rows.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::results::{PartResult, Results};
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

    /// Mean and deviation of a figure of each fold's test part.
    pub fn of_tests(folds: &[Results], figure: impl Fn(&PartResult) -> f64) -> Self {
        let values: Vec<f64> = folds.iter().map(|results| figure(&results.parts[2])).collect();
        Self::of(&values)
    }

    /// Mean and deviation of the coverage of the folds' intervals; `None` if a fold has none.
    pub fn of_coverages(folds: &[Results]) -> Option<Self> {
        let coverage = |results: &Results| results.intervals.as_ref()?.coverage;
        Some(Self::of(&folds.iter().map(coverage).collect::<Option<Vec<f64>>>()?))
    }
}

/// Trains once for each of `folds` folds and calls `done` with its index and results. By groups and in the order of
/// time as the split of the settings says. `None` if `cancel` was set.
///
/// # Errors
/// The message of the first run that fails or diverges, with the number of its fold.
pub fn run(
    table: &Arc<Table>,
    settings: &Settings,
    folds: usize,
    cancel: &AtomicBool,
    mut done: impl FnMut(usize, &Results),
) -> Result<Option<Vec<Results>>, String> {
    let one = |index: usize| {
        let mut settings = settings.clone();
        settings.split.fold = Some(Fold { index, count: folds });
        let snapshot = Session::start(Arc::clone(table), settings).wait_unless(cancel, |_| ())?;
        let results = match (&snapshot.state, &snapshot.results) {
            (State::Failed(message) | State::Diverged(message), _) => {
                Err(format!("fold {} of {folds}: {message}", index + 1))
            }
            (_, Some(results)) => {
                done(index, results);
                Ok((**results).clone())
            }
            (_, None) => Err(format!("fold {} of {folds}: training has not ended", index + 1)),
        };
        Some(results)
    };
    // The outer collection ends at a cancellation, the inner one at an error.
    (0..folds).map(one).collect::<Option<Result<Vec<Results>, String>>>().transpose()
}
