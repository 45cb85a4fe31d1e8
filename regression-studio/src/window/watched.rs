//! The run that the window shows: a training as it goes on, or one that was opened.

use std::sync::Arc;
use std::time::Duration;

use eframe::egui::Context;

use crate::run_folder::Run;
use crate::session::{Ending, State};
use crate::{Session, Settings, Snapshot, Table};

/// How often the window is painted anew while there is something new, at the most.
const BETWEEN_FRAMES: Duration = Duration::from_millis(16);

/// A training that is watched.
pub(crate) struct Watched {
    /// None: the run was opened.
    session: Option<Session>,
    snapshot: Arc<Snapshot>,
    settings: Settings,
    /// Its place in the list of runs, once it has one.
    pub(crate) listed: Option<usize>,
    /// Whether its failure was shown.
    pub(crate) failure_told: bool,
}

impl Watched {
    /// A training from the first epoch on; of one epoch if `one_epoch`.
    pub(crate) fn start(table: Arc<Table>, settings: Settings, one_epoch: bool, context: &Context) -> Self {
        let session = match one_epoch {
            true => Session::start_epoch(table, settings.clone()),
            false => Session::start(table, settings.clone()),
        };
        Self::of_session(session, settings, context)
    }

    /// A run that goes on.
    pub(crate) fn resume(table: Arc<Table>, run: Run, context: &Context) -> Self {
        let settings = run.settings.clone();
        Self::of_session(Session::resume(table, run), settings, context)
    }

    fn of_session(session: Session, settings: Settings, context: &Context) -> Self {
        let context = context.clone();
        session.set_wake(Box::new(move || context.request_repaint_after(BETWEEN_FRAMES)));
        let snapshot = session.snapshot();
        Self { session: Some(session), snapshot, settings, listed: None, failure_told: false }
    }

    /// A run that was opened.
    pub(crate) fn opened(run: Arc<Run>) -> Self {
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
            network: Some(Arc::new(run.model.network.clone())),
            predicted: Some(Arc::new(run.predicted.clone())),
            notes: results.as_ref().map_or_else(Vec::new, |results| results.notes.clone()).into(),
            results,
            run: Some(run),
            ..Snapshot::default()
        };
        Self { session: None, snapshot: Arc::new(snapshot), settings, listed: None, failure_told: false }
    }

    /// Looks at what is new.
    pub(crate) fn look(&mut self) {
        if let Some(session) = &self.session {
            self.snapshot = session.snapshot();
        }
    }

    /// What is known of it.
    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// What it was started with.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Its training, where there is one.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Whether it has not ended.
    pub(crate) fn is_on(&self) -> bool {
        matches!(self.snapshot.state, State::Preparing | State::Running | State::Paused)
    }

    /// Its run, if it can go on from where it was stopped.
    pub(crate) fn stopped_run(&self) -> Option<&Arc<Run>> {
        let can_go_on = self.snapshot.state == State::Finished(Ending::Stopped);
        self.snapshot.run.as_ref().filter(|run| can_go_on && run.history.len() < run.settings.training.epochs)
    }
}
