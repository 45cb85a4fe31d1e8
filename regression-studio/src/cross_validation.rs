//! Repeated training runs with the same settings except for the fold or the seed, and the spread of their errors.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::results::{PartResult, Results};
use crate::session::State;
use crate::settings::Fold;
use crate::{Session, Settings, Snapshot, Table, fleet};

/// The mean and the spread of a metric over the runs.
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

    /// Mean and deviation of a figure of each run's test part.
    pub fn of_tests(runs: &[Results], figure: impl Fn(&PartResult) -> f64) -> Self {
        let values: Vec<f64> = runs.iter().map(|results| figure(&results.parts[2])).collect();
        Self::of(&values)
    }

    /// Mean and deviation of the coverage of the runs' intervals; `None` if a run has none.
    pub fn of_coverages(runs: &[Results]) -> Option<Self> {
        let coverage = |results: &Results| results.intervals.as_ref()?.coverage;
        Some(Self::of(&runs.iter().map(coverage).collect::<Option<Vec<f64>>>()?))
    }
}

/// The way in which the runs differ, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// Cross-validation: each run has another fold of the rows as its test part. By groups and in the order of time if the settings'
    /// split says so.
    Folds(usize),
    /// The same split, and the training seed of the settings, the next one, and so on.
    Seeds(usize),
}

impl Repeats {
    /// The settings of each run.
    pub fn members(self, settings: &Settings) -> Vec<Settings> {
        let member = |index: usize| {
            let mut settings = settings.clone();
            match self {
                Self::Folds(count) => settings.split.fold = Some(Fold { index, count }),
                Self::Seeds(_) => settings.training.seed = settings.training.seed.wrapping_add(index as u64),
            }
            settings
        };
        (0..self.count()).map(member).collect()
    }

    /// The number of runs.
    pub fn count(self) -> usize {
        match self {
            Self::Folds(count) | Self::Seeds(count) => count,
        }
    }

    /// The name of a run in a sentence: "fold 1 of 5".
    pub fn name(self, index: usize) -> String {
        let noun = match self {
            Self::Folds(_) => "fold",
            Self::Seeds(_) => "seed",
        };
        format!("{noun} {} of {}", index + 1, self.count())
    }
}

/// Trains all runs as a [`fleet`], and calls `done` with the index and results of each. `None` if `cancel` was set.
///
/// # Errors
/// The message of the first run that fails or diverges, with its name.
pub fn run(
    table: &Arc<Table>,
    settings: &Settings,
    repeats: Repeats,
    cancel: &AtomicBool,
    mut done: impl FnMut(usize, &Results),
) -> Result<Option<Vec<Results>>, String> {
    let outcome = |last: &Snapshot| match (&last.state, &last.results) {
        (State::Failed(message) | State::Diverged(message), _) => Err(message.clone()),
        (_, Some(results)) => Ok((**results).clone()),
        (_, None) => Err("training has not ended".to_owned()),
    };
    let members = repeats.members(settings);
    let outcomes = fleet::train(
        table,
        &members,
        cancel,
        Session::start_on,
        |_, _| (),
        outcome,
        |index, outcome| match outcome {
            Ok(results) => {
                done(index, results);
                ControlFlow::Continue(())
            }
            Err(_) => ControlFlow::Break(()),
        },
    );
    let named = |(index, outcome): (usize, Result<Results, String>)| {
        outcome.map_err(|message| format!("{}: {message}", repeats.name(index)))
    };
    outcomes.map(|outcomes| outcomes.into_iter().enumerate().map(named).collect()).transpose()
}
