//! The run shown in the window: a live training session, or an opened saved run.

use std::sync::Arc;
use std::time::Duration;

use eframe::egui::Context;

use crate::results::Ending;
use crate::saved_run::SavedRun;
use crate::session::State;
use crate::{Session, Settings, Snapshot, Table};

/// Minimum interval between repaints caused by new snapshots.
const REPAINT_INTERVAL: Duration = Duration::from_millis(16);

/// The run shown in the window.
pub(crate) struct Watched {
    /// `None` for an opened run.
    session: Option<Session>,
    snapshot: Arc<Snapshot>,
    settings: Settings,
    /// Its index in the list of runs, once added.
    pub(crate) listed: Option<usize>,
    /// Whether its failure has been shown.
    pub(crate) failure_shown: bool,
}

impl Watched {
    /// Starts a new run; pauses after one epoch if `one_epoch`.
    pub(crate) fn start(table: Arc<Table>, settings: Settings, one_epoch: bool, context: &Context) -> Self {
        let session = match one_epoch {
            true => Session::start_epoch(table, settings.clone()),
            false => Session::start(table, settings.clone()),
        };
        Self::of_session(session, settings, context)
    }

    /// Resumes a run.
    pub(crate) fn resume(table: Arc<Table>, run: SavedRun, context: &Context) -> Self {
        let settings = run.settings.clone();
        Self::of_session(Session::resume(table, run), settings, context)
    }

    fn of_session(session: Session, settings: Settings, context: &Context) -> Self {
        let context = context.clone();
        session.set_wake(Box::new(move || context.request_repaint_after(REPAINT_INTERVAL)));
        let snapshot = session.snapshot();
        Self { session: Some(session), snapshot, settings, listed: None, failure_shown: false }
    }

    /// Shows a saved run.
    pub(crate) fn opened(run: Arc<SavedRun>) -> Self {
        let settings = run.settings.clone();
        let results = run.ended.as_ref().map(|(_, results)| Arc::new(results.clone()));
        let inputs: Vec<String> = run.model.transform.inputs.iter().map(crate::prepared::Input::label).collect();
        let snapshot = Snapshot {
            state: State::Finished(run.ended.as_ref().map_or(Ending::Stopped, |(ending, _)| *ending)),
            epoch: run.history.len(),
            epochs: settings.training.epochs,
            history: Arc::new(run.history.clone()),
            best_epoch: results.as_ref().map_or(0, |results| results.best_epoch),
            device: results.as_ref().map_or_else(String::new, |results| results.device.clone()),
            inputs: inputs.into(),
            network: run.model.network.layers().map(|network| Arc::new(network.clone())),
            predicted: Some(Arc::new(run.predicted.clone())),
            findings: results.as_ref().map_or_else(Vec::new, |results| results.findings.clone()).into(),
            notes: results.as_ref().map_or_else(Vec::new, |results| results.notes.clone()).into(),
            results,
            run: Some(run),
            ..Snapshot::default()
        };
        Self { session: None, snapshot: Arc::new(snapshot), settings, listed: None, failure_shown: false }
    }

    /// Replaces a finished run with one that has more results.
    pub(crate) fn extend(&mut self, run: Arc<SavedRun>) {
        let results = run.ended.as_ref().map(|(_, results)| Arc::new(results.clone()));
        self.snapshot = Arc::new(Snapshot { results, run: Some(run), ..(*self.snapshot).clone() });
        // The session has nothing more to report.
        self.session = None;
    }

    /// Reads the session's latest snapshot.
    pub(crate) fn refresh(&mut self) {
        if let Some(session) = &self.session {
            self.snapshot = session.snapshot();
        }
    }

    /// The latest snapshot.
    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The run's settings.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The training session; `None` for an opened run.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Whether training has not ended.
    pub(crate) fn is_active(&self) -> bool {
        !self.snapshot.state.has_ended()
    }

    /// The run, once its network has been trained for an epoch.
    pub(crate) fn trained_run(&self) -> Option<&Arc<SavedRun>> {
        self.snapshot.run.as_ref().filter(|run| !run.history.is_empty())
    }

    /// The run, if it could still improve: all its epochs are done, the last one was the best, and
    /// the validation error fell by at least one percent in the last tenth of them.
    pub(crate) fn improving_run(&self) -> Option<&Arc<SavedRun>> {
        let is_done = self.snapshot.state == State::Finished(Ending::AllEpochs);
        let is_best = self.snapshot.results.as_ref().is_some_and(|results| results.best_epoch == results.epochs);
        let errors = &self.snapshot.history;
        let last = errors.last().map(|record| record.validation_rmse);
        let before =
            errors.len().checked_sub(1 + (errors.len() / 10).max(1)).map(|epoch| errors[epoch].validation_rmse);
        let is_falling = last.zip(before).is_some_and(|(last, before)| last <= 0.99 * before);
        self.snapshot.run.as_ref().filter(|_| is_done && is_best && is_falling)
    }

    /// The run, if it was stopped and has epochs left.
    pub(crate) fn stopped_run(&self) -> Option<&Arc<SavedRun>> {
        let is_stopped = self.snapshot.state == State::Finished(Ending::Stopped);
        self.snapshot.run.as_ref().filter(|run| is_stopped && run.history.len() < run.settings.training.epochs)
    }
}
