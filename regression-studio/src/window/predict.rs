//! The Predict view: predictions for the rows of a table, and for one row that the user varies.

mod curve;
mod job;
mod latest;
mod list;
mod what_if;
mod whisker;
mod why;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui::{self, Context, Rect, RichText, Ui};
use neural_net::files::require_distinct;

pub(crate) use self::job::Rows;
use self::job::{Job, Predicted};
use self::what_if::WhatIf;
use super::action::Action;
use super::task::{Panicked, Task};
use super::{number, theme, unsaved};
use crate::saved_run::SavedRun;
use crate::table::csv::Declared;
use crate::{Predictions, Table};

/// Width of the card for one row.
const FORM_WIDTH: f32 = 330.0;
const GAP: f32 = 8.0;
/// Minimum width of the view for showing both cards side by side.
const MIN_WIDTH: f32 = 680.0;

/// The state of the view.
#[derive(Default)]
pub(crate) struct Predict {
    job: Option<Job>,
    shown: Option<Shown>,
    /// The predictions being written, and their file.
    saving: Option<Saving>,
    what_if: WhatIf,
    /// Whether a table had other units than in training, and whether the user accepts them.
    units: Option<bool>,
    /// Whether to show the card for one row if there is no room for both.
    shows_one_row: bool,
}

/// Predictions, their file, and the task that writes them.
type Saving = (Arc<Predictions>, PathBuf, Task<Result<(), String>>);

/// The predictions on display.
struct Shown {
    /// Name of the table.
    name: String,
    of_table: Predicted,
    /// Whether they have not been saved to a file.
    is_unsaved: bool,
}

impl Predict {
    /// Starts predicting these rows. They replace the previous ones.
    pub(crate) fn start(&mut self, run: Arc<SavedRun>, rows: Rows, context: &Context) {
        self.job = Some(Job::start(run, rows, self.units == Some(true), context));
    }

    /// Receives the thread's result. Returns an error in one line.
    pub(crate) fn poll(&mut self) -> Option<String> {
        let (name, result) = self.job.as_ref()?.poll()?;
        self.job = None;
        match result {
            Ok(of_table) => {
                self.shown = Some(Shown { name, of_table, is_unsaved: true });
                None
            }
            Err(failure) => {
                if failure.is_of_units {
                    self.units = Some(false);
                }
                Some(failure.message)
            }
        }
    }

    /// Whether predictions are being computed.
    pub(crate) fn is_busy(&self) -> bool {
        self.job.is_some()
    }

    /// Whether there are predictions to save.
    pub(crate) fn has_predictions(&self) -> bool {
        self.shown.is_some()
    }

    /// The suggested file for the predictions: next to the run folders, named after the table.
    pub(crate) fn suggested_file(&self, folder: &Path) -> PathBuf {
        let name = self.shown.as_ref().map_or("table", |shown| shown.name.split('.').next().unwrap_or("table"));
        folder.join(format!("{}-predicted.csv", unsaved::as_file_name(name)))
    }

    /// Starts writing the predictions.
    pub(crate) fn save(&mut self, path: PathBuf, context: &Context) {
        let Some(Shown { of_table: Predicted { predictions, table, declared, .. }, .. }) = &self.shown else { return };
        let (of_thread, table, file) = (Arc::clone(predictions), Arc::clone(table), path.clone());
        let declared = declared.clone();
        let task = Task::start(context, move || write(&file, &of_thread, &table, &declared));
        self.saving = Some((Arc::clone(predictions), path, task));
    }

    /// The file with the written predictions, or why they could not be written, in one line.
    pub(crate) fn poll_saving(&mut self) -> Option<Result<PathBuf, String>> {
        let (_, path, task) = self.saving.as_ref()?;
        let failed = |Panicked| Err(format!("{}: the saving thread ended unexpectedly", path.display()));
        let written = task.poll()?.unwrap_or_else(failed);
        let (saved, path, _) = self.saving.take()?;
        let shown = self.shown.as_mut().filter(|shown| Arc::ptr_eq(&shown.of_table.predictions, &saved));
        if let (Some(shown), Ok(())) = (shown, &written) {
            shown.is_unsaved = false;
        }
        Some(written.map(|()| path))
    }

    /// Whether predictions are being written.
    pub(crate) fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    /// Draws the view for a run with this name. `buttons` are actions with the reasons why they are
    /// disabled. Returns the user's chosen action.
    pub(crate) fn show(
        &mut self,
        ui: &mut Ui,
        run: Option<(&str, &Arc<SavedRun>)>,
        buttons: &[(Action, Option<String>)],
    ) -> Option<Action> {
        let Some((name, run)) = run else {
            return theme::card(ui, |ui| {
                ui.set_min_size(ui.available_size());
                ui.heading("Predict");
                ui.label("Predictions need a trained network: train one, or open a saved run.");
                ui.add_space(4.0);
                ui.button(Action::OpenRun.label()).clicked().then_some(Action::OpenRun)
            });
        };
        self.what_if.follow(run);
        let is_narrow = ui.available_width() < MIN_WIDTH;
        if is_narrow {
            ui.horizontal(|ui| {
                ui.selectable_value(&mut self.shows_one_row, false, "All rows");
                ui.selectable_value(&mut self.shows_one_row, true, "One row");
            });
        }
        let area = ui.available_rect_before_wrap();
        let (rows, one_row) = match is_narrow {
            true => (area, area),
            false => {
                let (rows, one_row) = area.split_left_right_at_x(area.right() - FORM_WIDTH - GAP);
                (rows, one_row.with_min_x(one_row.left() + GAP))
            }
        };
        let (shows_rows, shows_one_row) = (!is_narrow || !self.shows_one_row, !is_narrow || self.shows_one_row);
        let card = |ui: &mut Ui, area: Rect, id: &str, contents: &mut dyn FnMut(&mut Ui)| {
            ui.scope_builder(egui::UiBuilder::new().max_rect(area).id_salt(id), |ui| {
                theme::card(ui, |ui| {
                    ui.set_min_size(ui.available_size());
                    contents(ui);
                });
            });
        };
        let mut action = None;
        if shows_rows {
            card(ui, rows, "rows", &mut |ui| action = self.rows(ui, name, run, buttons));
        }
        if shows_one_row {
            card(ui, one_row, "one row", &mut |ui| self.what_if.show(ui, run));
        }
        ui.advance_cursor_after_rect(area);
        action
    }

    /// The buttons, the summary and the rows.
    fn rows(
        &mut self,
        ui: &mut Ui,
        name: &str,
        run: &SavedRun,
        buttons: &[(Action, Option<String>)],
    ) -> Option<Action> {
        let mut action = None;
        let target = &run.model.transform.target;
        ui.horizontal(|ui| {
            ui.heading(format!("Predict {target}"));
            ui.label(RichText::new(format!("with {name}")).weak());
        });
        ui.horizontal_wrapped(|ui| {
            for (button, reason) in buttons {
                let is_next = match *button {
                    Action::SavePredictions => self.shown.as_ref().is_some_and(|shown| shown.is_unsaved),
                    _ => *button == Action::PredictLoaded && self.shown.is_none(),
                };
                let widget = match is_next && reason.is_none() {
                    true => theme::primary_button(ui, button.label()),
                    false => egui::Button::new(button.label()),
                };
                let tooltip = button.tooltip(ui.ctx());
                let response = ui.add_enabled(reason.is_none(), widget).on_hover_text(&tooltip);
                let why = reason.as_deref().unwrap_or_default();
                let response = response.on_disabled_hover_text(format!("{tooltip}\n{why}"));
                if response.clicked() {
                    action = Some(*button);
                }
            }
        });
        if let Some(accepts) = &mut self.units {
            let text = "Accept numbers with another currency or unit than in training";
            ui.checkbox(accepts, text).on_hover_text("Tick it and predict again: the numbers are taken as they are.");
        }
        ui.add_space(2.0);
        if let Some(job) = &self.job {
            ui.horizontal(|ui| {
                ui.spinner();
                ui.label(format!("Predicting {}…", job.name()));
            });
            return action;
        }
        match &self.shown {
            Some(shown) => {
                summary(ui, shown);
                if let Some(row) = list::show(ui, &shown.of_table.predictions, &shown.of_table.table) {
                    self.what_if.take_row(&shown.of_table.table, row);
                    self.shows_one_row = true;
                }
            }
            None => {
                ui.label(
                    RichText::new(
                        "Open a table with the same feature columns. Its rows are listed here with their predictions, which can be saved.",
                    )
                    .weak(),
                );
            }
        }
        action
    }
}

/// Writes predictions for the rows of `table`, which was read from a file with the declarations
/// `declared`.
fn write(path: &Path, predictions: &Predictions, table: &Table, declared: &Declared) -> Result<(), String> {
    require_distinct([("saving", path)], &[table.source()]).map_err(|error| error.to_string())?;
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.map_err(|error| format!("{}: cannot write: {error}", path.display()))?;
    predictions.save_csv(path, table, declared).map_err(|error| error.to_string())
}

fn summary(ui: &mut Ui, shown: &Shown) {
    let palette = theme::palette(ui);
    let Predicted { predictions, notes, measured_rows, .. } = &shown.of_table;
    let predicted = predictions.rows() - predictions.skipped;
    ui.label(format!("{}: {} rows predicted", shown.name, number::count(predicted)));
    if let Some(metrics) = predictions.metrics {
        ui.label(format!(
            "Over {measured_rows}: R² {}, typical error (RMSE) {}, mean absolute error {}",
            number::short(metrics.r2),
            number::short(metrics.rmse),
            number::short(metrics.mae)
        ));
    }
    match (&predictions.why_no_intervals, predictions.coverage) {
        (Some(reason), _) => _ = ui.add(egui::Label::new(RichText::new(reason).weak()).wrap()),
        (None, Some(coverage)) => {
            let percent = predictions.percent;
            ui.label(format!("The {percent} % intervals contain the true value in {:.1} % of them", 100.0 * coverage));
        }
        (None, None) => {}
    }
    for note in notes {
        ui.add(egui::Label::new(RichText::new(format!("⚠ {note}")).color(palette.orange)).wrap());
    }
    ui.label(RichText::new("Click a row to vary it.").small().weak());
    ui.add_space(2.0);
}
