//! The window's state and event handling.

mod layout;
mod perform;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use command_line::counted;
use eframe::egui::{Context, Ui, ViewportCommand};
use neural_net::model_file::Loaded;

use super::action::{self, Action, Tab};
use super::checks::{Checks, MAX_UNASKED_ROWS};
use super::compare::Runs;
use super::curves::ErrorScale;
use super::dialogs::{self, Failure, PathDialog};
use super::findings::Findings;
use super::form::Form;
use super::loading::{LoadOutcome, Loading, WatchedFile};
use super::predict::{Predict, Rows};
use super::preview::Preview;
use super::saving::Saving;
use super::search::Search;
use super::task::Task;
use super::theme;
use super::unsaved::{self, Recovered};
use super::watched::Watched;
use crate::results::Ending;
use crate::run_folder::RunFolderError;
use crate::session::State;
use crate::{SavedRun, Settings, Table};

/// What the window needs to know about its environment.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether the system's file dialog asks for paths first. Paths can be typed in any case.
    pub uses_system_dialogs: bool,
    /// Whether the other kind of network is tried automatically after a run on a small table.
    pub tries_other_kind: bool,
    /// The default folder for saved runs and predictions.
    pub runs_folder: PathBuf,
    /// The folder for copies of unsaved runs. They are recovered from there if the program ends
    /// unexpectedly. `None` for no copies.
    pub copies_folder: Option<PathBuf>,
}

impl Options {
    /// Options for a desktop program.
    pub fn of_user() -> Self {
        Self {
            uses_system_dialogs: true,
            tries_other_kind: true,
            runs_folder: std::env::home_dir().unwrap_or_default().join("regression-runs"),
            copies_folder: unsaved::copies_folder(),
        }
    }
}

/// Whether the window is about to close.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Closing {
    #[default]
    No,
    /// The user is asked about unsaved runs.
    Asking,
    /// Files are being written.
    Waiting,
    /// The unsaved runs have been saved or discarded.
    Confirmed,
}

/// A run's folder that is being read in the background.
type Opening = (PathBuf, Task<Result<Loaded<SavedRun>, RunFolderError>>);

/// The window's state.
pub struct App {
    form: Form,
    table: Option<Arc<Table>>,
    /// The table's file, in its state when it was read.
    file: Option<WatchedFile>,
    loading: Option<Loading>,
    watched: Option<Watched>,
    checks: Checks,
    search: Search,
    runs: Runs,
    tab: Tab,
    scale: ErrorScale,
    preview: Preview,
    findings: Findings,
    predict: Predict,
    failures: VecDeque<Failure>,
    path_dialog: Option<PathDialog>,
    shows_keys: bool,
    /// Message about the last action, shown next to the buttons.
    notice: String,
    options: Options,
    closing: Closing,
    opening: Option<Opening>,
    saving: Saving,
    copy: Option<unsaved::Copy>,
    /// Threads that remove copies.
    discarding: Vec<JoinHandle<()>>,
    /// The background search for a run that an earlier process left behind.
    finding: Option<Task<Option<Recovered>>>,
    recovered: Option<Recovered>,
}

impl App {
    /// Creates the state with `settings` and starts loading their data.
    pub fn new(context: &Context, settings: Settings, options: Options) -> Self {
        theme::apply(context);
        let loading = Loading::start(&settings.data, None, context);
        let copies = options.copies_folder.clone();
        let finding = copies.map(|folder| Task::start(context, move || Recovered::find(&folder)));
        Self {
            form: Form::new(settings),
            table: None,
            file: None,
            loading: Some(loading),
            watched: None,
            checks: Checks::default(),
            search: Search::default(),
            runs: Runs::default(),
            tab: Tab::Data,
            scale: ErrorScale::default(),
            preview: Preview::default(),
            findings: Findings::default(),
            predict: Predict::default(),
            failures: VecDeque::new(),
            path_dialog: None,
            shows_keys: false,
            notice: String::new(),
            options,
            closing: Closing::No,
            opening: None,
            saving: Saving::default(),
            copy: None,
            discarding: Vec::new(),
            finding,
            recovered: None,
        }
    }

    /// Handles input and draws one frame.
    pub fn show(&mut self, ui: &mut Ui) {
        let context = ui.ctx().clone();
        self.poll_background();
        self.poll_files(&context);
        self.poll_checks(&context);
        if let Some(message) = self.search.poll() {
            self.fail(
                "The search failed",
                message,
                "Change the settings on the left; the runs that have ended are kept.",
            );
        }
        self.keep_copy(&context);
        self.findings.follow(self.table.as_ref(), self.form.settings(), &context);
        if context.input(|input| input.viewport().close_requested())
            && (self.closing != Closing::Confirmed || self.is_writing())
        {
            if self.runs.unsaved().next().is_some() || self.is_writing() {
                context.send_viewport_cmd(ViewportCommand::CancelClose);
            }
            self.close(&context);
        }
        if !self.shows_dialog() {
            self.take_dropped_file(&context);
            let pressed = action::pressed(&context, self.loading.is_some());
            if let Some(action) = pressed.filter(|&action| self.disabled_reason(action).is_none()) {
                self.perform(action, &context);
            }
        }
        if let Some(action) = self.layout(ui) {
            self.perform(action, &context);
        }
        self.dialogs(&context);
    }

    /// The current settings.
    pub fn settings(&self) -> &Settings {
        self.form.settings()
    }

    fn shows_dialog(&self) -> bool {
        let asks = matches!(self.closing, Closing::Asking | Closing::Waiting) || self.recovered.is_some();
        asks || self.shows_keys || self.path_dialog.is_some() || !self.failures.is_empty()
    }

    /// Receives new results from the loading and the training thread.
    fn poll_background(&mut self) {
        match self.loading.as_mut().and_then(Loading::poll) {
            None => {}
            Some(LoadOutcome::Table(table, statistics, source, settings)) => {
                self.file = self.loading.take().and_then(Loading::into_file);
                if let Some(settings) = settings {
                    self.form = Form::new(*settings);
                }
                self.form.take_table(source, &table);
                self.preview = Preview::of(statistics);
                self.table = Some(table);
            }
            Some(LoadOutcome::Cancelled) => self.loading = None,
            Some(LoadOutcome::Failed(message)) => {
                self.loading = None;
                self.fail("The data could not be loaded", message, "Correct the file, or open another one.");
            }
        }
        if let Some(message) = self.predict.poll() {
            self.fail(
                "The table could not be predicted",
                message,
                "Open a table with the columns and units that the network was trained on.",
            );
        }
        let Some(watched) = &mut self.watched else { return };
        watched.refresh();
        if let State::Failed(message) | State::Diverged(message) = watched.snapshot().state.clone()
            && !watched.failure_shown
        {
            watched.failure_shown = true;
            self.fail("Training failed", message, "Change the settings on the left, then start again.");
            return;
        }
        self.runs.update(watched);
    }

    /// Shows another run, or none.
    fn watch(&mut self, watched: Watched) {
        self.checks = self.checks.of_next_run();
        self.watched = Some(watched);
    }

    /// Receives the results of checks, and tries the other kind of network on a small table.
    fn poll_checks(&mut self, context: &Context) {
        let Some(run) = self.watched.as_ref().and_then(Watched::trained_run).map(Arc::clone) else { return };
        if let Some(message) = self.checks.poll(&run) {
            self.fail("The check failed", message, "Change the settings on the left, or choose fewer folds.");
        }
        if let (Some(run), Some(watched)) = (self.checks.take_extended(), &mut self.watched) {
            watched.extend(run);
        }
        let Some(watched) = self.watched.as_ref().filter(|watched| watched.session().is_some()) else { return };
        let has_ended = matches!(watched.snapshot().state, State::Finished(Ending::AllEpochs | Ending::EarlyStopped));
        let is_small =
            self.options.tries_other_kind && self.table.as_ref().is_some_and(|table| table.rows() <= MAX_UNASKED_ROWS);
        if has_ended && is_small && !self.checks.has_tried_other && self.disabled_reason(Action::TryOtherKind).is_none()
        {
            self.perform(Action::TryOtherKind, context);
        }
    }

    /// Receives results from the threads that read and write runs and predictions.
    fn poll_files(&mut self, context: &Context) {
        if let Some(found) = self.finding.as_ref().and_then(Task::poll) {
            (self.finding, self.recovered) = (None, found.unwrap_or(None));
        }
        if let Some(read) = self.opening.as_ref().and_then(|(_, task)| task.poll())
            && let Some((folder, _)) = self.opening.take()
        {
            self.opened(&folder, read, context);
        }
        if let Some(((run, folder), saved)) = self.saving.poll(context) {
            self.saved(&run, &folder, saved, context);
        }
        match self.predict.poll_saving() {
            None => {}
            Some(Ok(path)) => self.notice = format!("Saved {}", path.display()),
            Some(Err(message)) => {
                self.notice.clear();
                self.closing = Closing::No;
                self.fail("The predictions could not be saved", message, "Choose another file and save again.");
            }
        }
        self.discarding.retain(|thread| !thread.is_finished());
        if matches!(self.closing, Closing::Waiting | Closing::Confirmed) && !self.is_writing() {
            self.close(context);
        }
    }

    /// Whether files are being written. The program must not end before they are.
    fn is_writing(&self) -> bool {
        self.saving.folder().is_some() || self.predict.is_saving() || !self.discarding.is_empty()
    }

    /// Removes the copy of unsaved runs.
    fn discard_copy(&mut self) {
        self.discarding.extend(self.copy.take().map(unsaved::Copy::discard));
    }

    /// Copies a finished, unsaved run, and removes the copy once no run is unsaved.
    fn keep_copy(&mut self, context: &Context) {
        if let Some(error) = self.copy.as_ref().and_then(unsaved::Copy::failure) {
            // Reported only once: without the folder there is no further attempt.
            self.options.copies_folder = None;
            self.notice = format!("⚠ Unsaved runs would be lost in a crash: {error}");
        }
        let Some(parent) = self.options.copies_folder.as_ref().filter(|_| self.closing != Closing::Confirmed) else {
            return;
        };
        if self.runs.unsaved().next().is_none() {
            self.discard_copy();
            return;
        }
        let Some(watched) = self.watched.as_ref().filter(|watched| !watched.is_active()) else { return };
        let Some(run) = watched.trained_run() else { return };
        if self.runs.unsaved().any(|(_, unsaved)| Arc::ptr_eq(unsaved, run)) {
            match &mut self.copy {
                Some(copy) => copy.keep(run),
                None => self.copy.insert(unsaved::Copy::new(parent.clone(), context)).keep(run),
            }
        }
    }

    /// Asks whether to open a recovered run, and asks about unsaved runs before the window closes.
    fn questions(&mut self, context: &Context) {
        if let Some(recovered) = &self.recovered {
            let run = &recovered.run;
            let lines = [
                format!(
                    "The program ended before a run was saved: {} on {}.",
                    counted(run.history.len(), "epoch"),
                    run.settings.data.source.name()
                ),
                "Open it to view, resume or save it.".to_owned(),
            ];
            let answer = dialogs::question(context, "Recover a run", &lines, &["Open run", "Discard", "Later"]);
            if let (Some(answer), Some(recovered)) = (answer, self.recovered.take_if(|_| answer.is_some())) {
                match answer {
                    0 => {
                        self.open_recovered(&recovered, context);
                        // Write the run's new copy first.
                        self.keep_copy(context);
                        match &self.copy {
                            Some(copy) => copy.then_remove(recovered),
                            None => recovered.remove(),
                        }
                    }
                    1 => recovered.remove(),
                    _ => {}
                }
            }
        } else if self.closing == Closing::Asking {
            let names: Vec<&str> = self.runs.unsaved().map(|(name, _)| name).collect();
            let lines = [
                format!("Not saved: {}.", names.join(", ")),
                format!("Save puts each into a new folder in {}.", self.options.runs_folder.display()),
            ];
            let answer = dialogs::question(context, "Save before closing?", &lines, &["Save", "Discard", "Cancel"]);
            match answer {
                None => {}
                Some(0) => {
                    self.closing = Closing::Waiting;
                    self.save_all(context);
                }
                Some(1) => {
                    self.closing = Closing::Confirmed;
                    self.close(context);
                }
                Some(_) => self.closing = Closing::No,
            }
        }
    }

    fn take_dropped_file(&mut self, context: &Context) {
        let dropped = context.input(|input| input.raw.dropped_files.first().cloned());
        if let Some(path) = dropped.map(|file| file.path().to_path_buf())
            && self.disabled_reason(self.opening_action()).is_none()
        {
            if self.tab == Tab::Predict {
                return self.predict_rows(Rows::File(path), context);
            }
            self.load(crate::settings::Source::File(path), None, context);
        }
    }

    /// What a dropped file does: the Predict view predicts it, the other views open it.
    fn opening_action(&self) -> Action {
        if self.tab == Tab::Predict { Action::PredictFile } else { Action::OpenData }
    }

    fn fail(&mut self, title: &'static str, message: String, hint: &'static str) {
        self.failures.push_back(Failure { title, message, hint });
    }

    fn dialogs(&mut self, context: &Context) {
        if self.failures.is_empty() && (self.recovered.is_some() || self.closing == Closing::Asking) {
            return self.questions(context);
        }
        if self.closing == Closing::Waiting {
            return dialogs::waiting(context, "The program ends when its files are written…");
        }
        if let Some(failure) = self.failures.front() {
            if dialogs::failure(context, failure) {
                self.failures.pop_front();
            }
        } else if let Some(dialog) = &mut self.path_dialog {
            if let Some(path) = dialog.show(context) {
                let purpose = dialog.purpose();
                self.path_dialog = None;
                if let Some(path) = path {
                    self.use_path(purpose, path, context);
                }
            }
        } else if self.shows_keys && dialogs::keys(context) {
            self.shows_keys = false;
        }
    }
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut Ui, _: &mut eframe::Frame) {
        self.show(ui);
    }
}
