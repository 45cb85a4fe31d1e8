//! The window's state and event handling.

mod layout;
mod perform;

use std::collections::VecDeque;
use std::sync::Arc;

use eframe::egui::{Context, Ui};

use super::action::{self, Action, Tab};
use super::compare::Runs;
use super::curves::ErrorScale;
use super::dialogs::{self, Failure, PathDialog};
use super::form::Form;
use super::loading::{LoadOutcome, Loading};
use super::predict::{Predict, Rows};
use super::preview::Preview;
use super::theme;
use super::watched::Watched;
use crate::session::State;
use crate::{Settings, Table};

/// The window's state.
pub struct App {
    form: Form,
    table: Option<Arc<Table>>,
    loading: Option<Loading>,
    watched: Option<Watched>,
    runs: Runs,
    tab: Tab,
    scale: ErrorScale,
    preview: Preview,
    predict: Predict,
    failures: VecDeque<Failure>,
    path_dialog: Option<PathDialog>,
    shows_keys: bool,
    /// Message about the last action, shown beside the buttons.
    notice: String,
    uses_system_dialogs: bool,
}

impl App {
    /// Creates the state with `settings` and starts loading their data.
    ///
    /// If `uses_system_dialogs`, paths are requested through the system's file dialog first; they can be typed in any
    /// case.
    pub fn new(context: &Context, settings: Settings, uses_system_dialogs: bool) -> Self {
        theme::apply(context);
        let loading = Loading::start(settings.data.source.clone(), None, context);
        Self {
            form: Form::new(settings),
            table: None,
            loading: Some(loading),
            watched: None,
            runs: Runs::default(),
            tab: Tab::Data,
            scale: ErrorScale::default(),
            preview: Preview::default(),
            predict: Predict::default(),
            failures: VecDeque::new(),
            path_dialog: None,
            shows_keys: false,
            notice: String::new(),
            uses_system_dialogs,
        }
    }

    /// Handles input and draws one frame.
    pub fn show(&mut self, ui: &mut Ui) {
        let context = ui.ctx().clone();
        self.poll_background();
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
        self.shows_keys || self.path_dialog.is_some() || !self.failures.is_empty()
    }

    /// Takes new results of the loading and the training thread.
    fn poll_background(&mut self) {
        match self.loading.as_mut().and_then(Loading::poll) {
            None => {}
            Some(LoadOutcome::Table(table, source, settings)) => {
                self.loading = None;
                if let Some(settings) = settings {
                    self.form = Form::new(*settings);
                }
                self.form.take_table(source, &table);
                self.preview = Preview::default();
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
                "Open a table with the columns that the network was trained on.",
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

    /// What a dropped file does: on the predictions' view it is predicted, on the others opened.
    fn opening_action(&self) -> Action {
        if self.tab == Tab::Predict { Action::PredictFile } else { Action::OpenData }
    }

    fn fail(&mut self, title: &'static str, message: String, hint: &'static str) {
        self.failures.push_back(Failure { title, message, hint });
    }

    fn dialogs(&mut self, context: &Context) {
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
