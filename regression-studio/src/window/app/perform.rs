//! Executes the actions, and explains why actions are disabled.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui::{Context, Theme, ViewportCommand};
use neural_net::model_file::Loaded;

use super::{App, Closing};
use crate::findings::Remedy;
use crate::run_folder::{self, RunFolderError};
use crate::saved_run::SavedRun;
use crate::search::{self, SearchError};
use crate::session::State;
use crate::settings::{DataSettings, Source};
use crate::window::action::{Action, Tab};
use crate::window::dialogs::{PathDialog, Purpose};
use crate::window::form::Form;
use crate::window::loading::Loading;
use crate::window::predict::Rows;
use crate::window::recent;
use crate::window::saving::with_causes;
use crate::window::task::{Panicked, Task};
use crate::window::unsaved::{self, Recovered};
use crate::window::watched::Watched;
use crate::{Session, Settings};

impl App {
    /// Why an action is disabled; `None` if it is enabled.
    pub(super) fn disabled_reason(&mut self, action: Action) -> Option<String> {
        let state = self.watched.as_ref().map(|watched| watched.snapshot().state.clone());
        let is_active = self.watched.as_ref().is_some_and(Watched::is_active);
        let reason_if = |is_disabled: bool, reason: &str| is_disabled.then(|| reason.to_owned());
        match action {
            Action::Start => self.start_disabled_reason(),
            Action::Step if state == Some(State::Paused) => None,
            Action::Step => self.start_disabled_reason(),
            Action::Pause => reason_if(state != Some(State::Running), "No training is running."),
            Action::Resume if state == Some(State::Paused) => None,
            Action::Resume => self.resume_disabled_reason(),
            Action::Stop => reason_if(!is_active, "No training is running."),
            Action::SaveRun => {
                let run = self.watched.as_ref().and_then(|watched| watched.snapshot().run.clone());
                reason_if(run.is_none(), "There is no run to save yet: train at least one epoch.")
                    .or_else(|| reason_if(self.saving.folder().is_some(), "A run is being saved."))
            }
            Action::OpenData | Action::BuiltIn | Action::ReadAgain | Action::ReadSheet(_) | Action::OpenRun => {
                reason_if(is_active, "Training is running: stop it first.")
                    .or_else(|| reason_if(self.loading.is_some(), "Data are loading: wait, or cancel."))
                    .or_else(|| reason_if(self.opening.is_some(), "A run is being opened."))
            }
            Action::PredictLoaded | Action::PredictFile => {
                let run = self.watched.as_ref().and_then(Watched::trained_run);
                let is_loaded = action == Action::PredictFile || self.table.is_some();
                reason_if(run.is_none(), "Predictions need a trained network: train one, or open a saved run.")
                    .or_else(|| reason_if(!is_loaded, "No data are loaded: open a file first."))
                    .or_else(|| reason_if(self.predict.is_busy(), "Another table is being predicted."))
            }
            Action::SavePredictions => reason_if(!self.predict.has_predictions(), "There are no predictions to save.")
                .or_else(|| reason_if(self.predict.is_saving(), "The predictions are being saved.")),
            Action::CancelLoading => reason_if(self.loading.is_none(), "No data are loading."),
            Action::UseLogarithms if !self.form.lacks_logarithms() => {
                Some("No other logarithm suits the data.".to_owned())
            }
            Action::UseLogarithms => self.start_disabled_reason(),
            Action::BoostTrees | Action::CrossValidate | Action::TryOtherKind => self.check_disabled_reason(),
            Action::Search => reason_if(self.search.is_working(), "A search is in progress.")
                .or_else(|| self.start_disabled_reason())
                .or_else(|| match search::require_valid(self.form.settings()) {
                    Err(SearchError::Kind) => Some(
                        "The network made for tables chooses its own layers and learning rate: choose layers as the kind of network.".to_owned(),
                    ),
                    Err(error) => Some(error.to_string()),
                    Ok(()) => None,
                }),
            Action::SwitchKind => reason_if(self.checks.better().is_none(), "No other kind of network is better."),
            Action::TrainLonger => match self.watched.as_ref().and_then(Watched::improving_run) {
                Some(run) => self.data_disabled_reason(run),
                None => Some("The error no longer falls, or the run has not ended.".to_owned()),
            },
            Action::Undo | Action::Redo | Action::Reset => {
                let is_possible = match action {
                    Action::Undo => self.form.can_undo(),
                    Action::Redo => self.form.can_redo(),
                    _ => true,
                };
                reason_if(is_active, "Training is running: stop it to change settings.")
                    .or_else(|| reason_if(!is_possible, "There is nothing to do."))
            }
            Action::Show(_) | Action::SwitchTheme | Action::Help | Action::Quit => None,
        }
    }

    fn start_disabled_reason(&mut self) -> Option<String> {
        if self.watched.as_ref().is_some_and(Watched::is_active) {
            return Some("Training is running: stop it to start a new run.".to_owned());
        }
        if self.loading.is_some() {
            return Some("The data are still loading.".to_owned());
        }
        if self.opening.is_some() {
            return Some("A run is being opened.".to_owned());
        }
        let Some(table) = self.table.clone() else { return Some("No data are loaded: open a file first.".to_owned()) };
        match self.form.problems(Some(&table)) {
            [] => None,
            [problem] => Some(problem.to_string()),
            [problem, others @ ..] => Some(format!("{problem} (and {} more)", others.len())),
        }
    }

    fn resume_disabled_reason(&self) -> Option<String> {
        let Some(run) = self.watched.as_ref().and_then(Watched::stopped_run) else {
            return Some("No run is paused or stopped.".to_owned());
        };
        self.data_disabled_reason(run)
    }

    /// Why no check can start for the shown run.
    fn check_disabled_reason(&self) -> Option<String> {
        let watched = self.watched.as_ref().filter(|watched| !watched.is_active());
        let Some(run) = watched.and_then(Watched::trained_run).filter(|run| run.ended.is_some()) else {
            return Some("No training run has ended.".to_owned());
        };
        if self.checks.is_working() {
            return Some("Another check is in progress.".to_owned());
        }
        self.data_disabled_reason(run)
    }

    /// Why this run cannot continue with the loaded data.
    fn data_disabled_reason(&self, run: &SavedRun) -> Option<String> {
        if self.loading.is_some() {
            return Some("The data are still loading.".to_owned());
        }
        let has_its_data = self.table.is_some() && reads_the_same(&self.form.settings().data, &run.settings.data);
        (!has_its_data).then(|| "The run was trained on other data: open them first.".to_owned())
    }

    /// Executes an action, which must be enabled.
    pub(super) fn perform(&mut self, action: Action, context: &Context) {
        match action {
            Action::OpenData => {
                let path = match &self.form.settings().data.source {
                    Source::File(path) => path.display().to_string(),
                    Source::Demo { .. } | Source::Synthetic { .. } => String::new(),
                };
                self.ask(Purpose::OpenData, path, context);
            }
            Action::BuiltIn => self.load(Settings::default().data.source, None, context),
            Action::ReadAgain => {
                let settings = self.form.settings().clone();
                self.load(settings.data.source.clone(), Some(settings), context);
            }
            Action::ReadSheet(index) => {
                let mut settings = self.form.settings().clone();
                settings.data.sheet = self.table.as_ref().and_then(|table| table.sheets().get(index).cloned());
                // Declarations apply only to the columns of one sheet.
                (settings.data.columns, settings.data.missing) = Default::default();
                self.load(settings.data.source.clone(), Some(settings), context);
            }
            Action::CancelLoading => self.loading.iter().for_each(Loading::cancel),
            Action::Start => self.start(false, context),
            Action::Step if self.session().is_some() && self.watched.as_ref().is_some_and(Watched::is_active) => {
                self.session().into_iter().for_each(Session::step_epoch);
            }
            Action::Step => self.start(true, context),
            Action::Pause => self.session().into_iter().for_each(Session::pause),
            Action::Resume => self.resume(context),
            Action::Stop => self.session().into_iter().for_each(Session::stop),
            Action::OpenRun => self.ask(Purpose::OpenRun, String::new(), context),
            Action::SaveRun => {
                let name = self.watched.as_ref().map_or_else(|| "run".to_owned(), |watched| self.runs.name_of(watched));
                self.ask(Purpose::SaveRun, self.folder_for(&name).display().to_string(), context);
            }
            Action::TrainLonger => self.train_longer(context),
            Action::BoostTrees | Action::CrossValidate | Action::TryOtherKind => {
                if let (Some(table), Some(watched)) = (self.table.clone(), &self.watched) {
                    match (action, watched.trained_run()) {
                        (Action::CrossValidate, _) => self.checks.cross_validate(table, watched.settings(), context),
                        (Action::BoostTrees, Some(run)) => self.checks.boost_trees(table, Arc::clone(run), context),
                        _ => self.checks.try_other_kind(table, watched.settings(), context),
                    }
                }
            }
            Action::Search => {
                if let Some(table) = &self.table {
                    self.search.start(table, self.form.settings(), context);
                    self.tab = Tab::Search;
                }
            }
            Action::SwitchKind => {
                if let Some(run) = self.checks.better().cloned() {
                    self.form.replace_with(run.settings.clone());
                    self.watch(Watched::opened(run));
                    self.tab = Tab::Training;
                }
            }
            Action::Undo => self.form.undo(),
            Action::Redo => self.form.redo(),
            Action::Reset => self.form.reset(self.table.as_deref()),
            Action::UseLogarithms => {
                if let Some(table) = &self.table {
                    self.form.take_suggested(table);
                    self.start(false, context);
                }
            }
            Action::PredictLoaded => {
                let name = self.form.settings().data.source.name();
                let rows = self.table.clone().map(|table| Rows::Loaded(table, name));
                rows.into_iter().for_each(|rows| self.predict_rows(rows, context));
            }
            Action::PredictFile => self.ask(Purpose::PredictFile, String::new(), context),
            Action::SavePredictions => {
                let file = self.predict.suggested_file(&self.options.runs_folder);
                self.ask(Purpose::SavePredictions, file.display().to_string(), context);
            }
            Action::Show(tab) => self.tab = tab,
            Action::SwitchTheme => {
                let other = if context.theme() == Theme::Dark { Theme::Light } else { Theme::Dark };
                context.set_theme(other);
            }
            Action::Help => self.shows_keys = true,
            Action::Quit => self.close(context),
        }
    }

    /// Opens or saves at a path chosen by the user.
    pub(super) fn use_path(&mut self, purpose: Purpose, path: PathBuf, context: &Context) {
        match purpose {
            Purpose::OpenData => {
                recent::remember(purpose, &path, context);
                self.load(Source::File(path), None, context);
            }
            Purpose::OpenRun => self.open_run(&path, context),
            Purpose::SaveRun => self.save_run(&path, context),
            Purpose::PredictFile => self.predict_rows(Rows::File(path), context),
            Purpose::SavePredictions => {
                self.notice = format!("Saving {}…", path.display());
                self.predict.save(path, context);
            }
        }
    }

    /// Loads a table in the background, and then applies `settings` if given.
    pub(super) fn load(&mut self, source: Source, settings: Option<Settings>, context: &Context) {
        if self.watched.as_ref().is_none_or(|watched| !watched.is_active()) && settings.is_none() {
            self.tab = Tab::Data;
        }
        let data = match &settings {
            Some(settings) => settings.data.clone(),
            None if self.form.settings().data.source == source => self.form.settings().data.clone(),
            None => DataSettings { source, ..DataSettings::default() },
        };
        self.loading = Some(Loading::start(&data, settings, context));
    }

    /// Changes the settings as a finding proposes. If this changes which cells are missing, the
    /// table is read again.
    pub(super) fn apply(&mut self, remedy: &Remedy, context: &Context) {
        match (remedy, &self.table) {
            (Remedy::RemoveFeature(name), Some(table)) => self.form.toggle_feature(name, table),
            _ => {
                let mut settings = self.form.settings().clone();
                remedy.apply(&mut settings);
                self.load(settings.data.source.clone(), Some(settings), context);
            }
        }
    }

    /// Predicts rows with the shown run's network.
    pub(super) fn predict_rows(&mut self, rows: Rows, context: &Context) {
        if let Some(run) = self.watched.as_ref().and_then(Watched::trained_run) {
            self.predict.start(Arc::clone(run), rows, context);
        }
    }

    fn session(&self) -> Option<&Session> {
        self.watched.as_ref().and_then(Watched::session)
    }

    fn ask(&mut self, purpose: Purpose, suggestion: String, context: &Context) {
        self.path_dialog = Some(PathDialog::new(purpose, suggestion, self.options.uses_system_dialogs, context));
    }

    fn start(&mut self, one_epoch: bool, context: &Context) {
        let Some(table) = self.table.clone() else { return };
        self.watch(Watched::start(table, self.form.settings().clone(), one_epoch, context));
        self.tab = Tab::Training;
        self.notice.clear();
    }

    fn resume(&mut self, context: &Context) {
        let Some(watched) = &self.watched else { return };
        match (watched.stopped_run(), &self.table) {
            (Some(run), Some(_)) => {
                let run = Arc::unwrap_or_clone(Arc::clone(run));
                self.go_on(run, context);
            }
            _ => self.session().into_iter().for_each(Session::unpause),
        }
    }

    /// Continues the run for as many epochs as it already has.
    fn train_longer(&mut self, context: &Context) {
        let Some(run) = self.watched.as_ref().and_then(Watched::improving_run) else { return };
        let mut run = Arc::unwrap_or_clone(Arc::clone(run));
        run.settings.training.epochs += run.history.len();
        self.go_on(run, context);
    }

    /// Resumes a run on the loaded table, under the same name.
    fn go_on(&mut self, run: SavedRun, context: &Context) {
        let Some(table) = self.table.clone() else { return };
        let listed = self.watched.as_ref().and_then(|watched| watched.listed);
        let mut resumed = Watched::resume(table, run, context);
        resumed.listed = listed;
        self.form = Form::new(resumed.settings().clone());
        self.watch(resumed);
        self.tab = Tab::Training;
    }

    /// Starts reading a run.
    fn open_run(&mut self, folder: &Path, context: &Context) {
        self.notice = format!("Opening {}…", folder.display());
        let path = folder.to_owned();
        self.opening = Some((folder.to_owned(), Task::start(context, move || run_folder::read(&path))));
    }

    /// Shows a run after it was read.
    pub(super) fn opened(
        &mut self,
        folder: &Path,
        read: Result<Result<Loaded<SavedRun>, RunFolderError>, Panicked>,
        context: &Context,
    ) {
        self.notice.clear();
        let ended = |Panicked| format!("{}: the opening thread ended unexpectedly", folder.display());
        match read.map_err(ended).and_then(|read| read.map_err(with_causes)) {
            Ok(Loaded { content: run, unverified }) => {
                recent::remember(Purpose::OpenRun, folder, context);
                let run = Arc::new(run);
                let name =
                    folder.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned());
                let mut watched = Watched::opened(Arc::clone(&run));
                watched.listed = Some(self.runs.add(name, Arc::clone(&run), Some(Arc::clone(&run))));
                self.watch(watched);
                self.notice = match unverified {
                    None => format!("Opened {}", folder.display()),
                    Some(unverified) => format!("Opened {unverified}"),
                };
                self.tab = Tab::Training;
                let has_its_data =
                    self.table.is_some() && reads_the_same(&self.form.settings().data, &run.settings.data);
                match has_its_data {
                    true => self.form = Form::new(run.settings.clone()),
                    false => self.load(run.settings.data.source.clone(), Some(run.settings.clone()), context),
                }
            }
            Err(message) => {
                self.fail("The run could not be opened", message, "Choose the folder of a saved run.");
            }
        }
    }

    /// A new folder for a run with this name.
    fn folder_for(&self, name: &str) -> PathBuf {
        unsaved::free_folder(&self.options.runs_folder, &unsaved::as_file_name(name), &[])
    }

    /// Closes the window after asking about unsaved runs and waiting for pending writes.
    pub(super) fn close(&mut self, context: &Context) {
        if self.closing != Closing::Confirmed {
            if self.saving.folder().is_some() || self.predict.is_saving() {
                self.closing = Closing::Waiting;
                return;
            }
            if self.runs.unsaved().next().is_some() {
                self.closing = Closing::Asking;
                return;
            }
        }
        self.discard_copy();
        match self.is_writing() {
            true => self.closing = Closing::Confirmed,
            false => context.send_viewport_cmd(ViewportCommand::Close),
        }
    }

    /// Saves all unsaved runs to new folders.
    pub(super) fn save_all(&mut self, context: &Context) {
        let mut folders: Vec<PathBuf> = Vec::new();
        let unsaved: Vec<_> = self.runs.unsaved().map(|(name, run)| (name.to_owned(), Arc::clone(run))).collect();
        for (name, run) in unsaved {
            let folder = unsaved::free_folder(&self.options.runs_folder, &unsaved::as_file_name(&name), &folders);
            folders.push(folder.clone());
            self.saving.save(run, folder, context);
        }
    }

    /// Records that a run was saved, or why it was not.
    pub(super) fn saved(&mut self, run: &Arc<SavedRun>, folder: &Path, saved: Result<(), String>, context: &Context) {
        match saved {
            Ok(()) => {
                self.runs.mark_saved(run);
                recent::remember(Purpose::SaveRun, folder, context);
                self.notice = format!("Saved to {}", folder.display());
            }
            Err(message) => {
                self.notice.clear();
                self.closing = Closing::No;
                self.fail("The run could not be saved", message, "Choose another folder and save again.");
            }
        }
    }

    /// Shows the run that an earlier process left behind.
    pub(super) fn open_recovered(&mut self, recovered: &Recovered, context: &Context) {
        let run = Arc::clone(&recovered.run);
        let mut watched = Watched::opened(Arc::clone(&run));
        watched.listed = Some(self.runs.add("Recovered run".to_owned(), Arc::clone(&run), None));
        self.watch(watched);
        self.tab = Tab::Training;
        self.load(run.settings.data.source.clone(), Some(run.settings.clone()), context);
    }

    fn save_run(&mut self, folder: &Path, context: &Context) {
        let Some(run) = self.watched.as_ref().and_then(|watched| watched.snapshot().run.clone()) else { return };
        self.notice = format!("Saving to {}…", folder.display());
        self.saving.save(run, folder.to_owned(), context);
    }
}

/// Whether both settings give the same table.
fn reads_the_same(a: &DataSettings, b: &DataSettings) -> bool {
    a.source == b.source && a.declared() == b.declared()
}
