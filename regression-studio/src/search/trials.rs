//! The runs of a search, in memory.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{SearchError, Tried, Validation, require_valid, settings_of_run};
use crate::prepared::{Part, Prepared, prepare};
use crate::session::State;
use crate::{Session, Settings, Snapshot, Table, fleet};

/// The runs of a search.
#[derive(Debug)]
pub struct Trials {
    /// The settings of the first run, with the ranges.
    settings: Settings,
    tried: Vec<Tried>,
    /// The variance of the standardised target in the validation part.
    variance: f64,
}

impl Trials {
    /// A search with these settings, of which the runs `tried` have ended before.
    ///
    /// # Errors
    /// If the settings or ranges are invalid, or the table cannot be prepared.
    pub fn new(table: &Table, settings: &Settings, tried: Vec<Tried>) -> Result<Self, SearchError> {
        require_valid(settings)?;
        Ok(Self::of(&prepare(table, settings)?, settings.clone(), tried))
    }

    /// [`Trials::new`] of a table that is prepared.
    pub(super) fn of(prepared: &Prepared, settings: Settings, tried: Vec<Tried>) -> Self {
        Self { settings, tried, variance: variance(&prepared.validation) }
    }

    /// Trains the first `runs` runs, except for those that have ended before, as a [`fleet`]. `watch` gets the number and
    /// snapshots of each, and `keep` each one that has ended. Returns whether all have ended: `false` if `cancel` was set.
    ///
    /// # Errors
    /// If a run fails other than by divergence, or the error of `keep`.
    pub fn train(
        &mut self,
        table: &Arc<Table>,
        runs: usize,
        cancel: &AtomicBool,
        watch: impl Fn(usize, &Snapshot) + Sync,
        mut keep: impl FnMut(&Tried) -> Result<(), SearchError>,
    ) -> Result<bool, SearchError> {
        let waiting: Vec<usize> = (1..=runs).filter(|run| self.tried.iter().all(|tried| tried.run != *run)).collect();
        let members: Vec<Settings> = waiting.iter().map(|&run| settings_of_run(&self.settings, run)).collect();
        let variance = self.variance;
        let mut failed = None;
        let watch = |index: usize, snapshot: &Snapshot| watch(waiting[index], snapshot);
        let outcome = |last: &Snapshot| measured(last, variance);
        let outcomes =
            fleet::train(table, &members, cancel, Session::start_without_test, watch, outcome, |index, outcome| {
                let (run, settings) = (waiting[index], &members[index]);
                let kept = match outcome {
                    Err(message) => Err(SearchError::Run { run, message: message.clone() }),
                    Ok((epochs, seconds, validation)) => {
                        let tried = Tried {
                            run,
                            hidden: settings.network.hidden.clone(),
                            learning_rate: settings.training.learning_rate,
                            regularization: settings.training.regularization,
                            epochs: *epochs,
                            seconds: *seconds,
                            validation: *validation,
                        };
                        keep(&tried).map(|()| self.tried.push(tried))
                    }
                };
                match kept {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        failed.get_or_insert(error);
                        ControlFlow::Break(())
                    }
                }
            });
        failed.map_or(Ok(outcomes.is_some()), Err)
    }

    /// The runs that have ended, in the order of their ends.
    pub fn tried(&self) -> &[Tried] {
        &self.tried
    }

    /// The settings of the first run, with the ranges.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// Runs that have ended, the best first. Runs that diverged are the last; equal ones are in their order.
pub fn ranked<'a>(tried: impl Iterator<Item = &'a Tried>) -> Vec<&'a Tried> {
    let mut ranked: Vec<&Tried> = tried.collect();
    ranked.sort_by(|a, b| a.error().total_cmp(&b.error()).then(a.run.cmp(&b.run)));
    ranked
}

/// Epochs, seconds and validation errors of a run that has ended; the message of one that failed.
fn measured(last: &Snapshot, variance: f64) -> Result<(usize, f64, Option<Validation>), String> {
    let seconds = last.history.iter().map(|record| record.seconds).sum();
    let best = last.best_epoch.checked_sub(1).and_then(|best| last.history.get(best));
    let validation = match (&last.state, best) {
        (State::Failed(message), _) => return Err(message.clone()),
        (State::Finished(_), Some(best)) => Some(Validation {
            best_epoch: best.epoch,
            rmse: best.validation_rmse,
            rmse_in_unit: best.validation_rmse_in_unit,
            r2: 1.0 - best.validation_rmse * best.validation_rmse / variance,
        }),
        _ => None,
    };
    Ok((last.history.len(), seconds, validation))
}

/// The variance of a part's standardised target; NaN if it is constant.
fn variance(part: &Part) -> f64 {
    let targets = || part.samples.targets().iter().map(|&target| f64::from(target));
    let count = part.rows.len() as f64;
    let mean = targets().sum::<f64>() / count;
    let variance = targets().map(|target| (target - mean) * (target - mean)).sum::<f64>() / count;
    if variance > 0.0 { variance } else { f64::NAN }
}
