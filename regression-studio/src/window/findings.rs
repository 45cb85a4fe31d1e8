//! The view of findings that a user should decide on before training.

use std::sync::Arc;

use eframe::egui::{self, Context, RichText, Ui};

use super::task::Task;
use super::theme;
use crate::findings::{self, Finding, Remedy};
use crate::settings::{DataSettings, SplitOrder};
use crate::{Settings, Table};

/// The state of the view.
#[derive(Default)]
pub(crate) struct Findings {
    /// The table and settings that `found` belongs to, or that are being searched.
    of: Option<(Arc<Table>, DataSettings, SplitOrder)>,
    task: Option<Task<Vec<Finding>>>,
    found: Vec<Finding>,
}

impl Findings {
    /// Looks for findings in the background if the table or the settings have changed.
    pub(crate) fn follow(&mut self, table: Option<&Arc<Table>>, settings: &Settings, context: &Context) {
        if let Some(found) = self.task.as_ref().and_then(Task::poll) {
            (self.task, self.found) = (None, found.unwrap_or_default());
        }
        let Some(table) = table else { return };
        let is_same = self.of.as_ref().is_some_and(|(of, data, order)| {
            Arc::ptr_eq(of, table) && *order == settings.split.order && *data == settings.data
        });
        if is_same || self.task.is_some() {
            return;
        }
        self.of = Some((Arc::clone(table), settings.data.clone(), settings.split.order));
        let (table, settings) = (Arc::clone(table), settings.clone());
        self.task = Some(Task::start(context, move || findings::find(&table, &settings)));
    }

    /// The number of findings.
    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    /// Draws the view. Returns the user's chosen remedy. No remedy can be chosen while a run is
    /// active.
    pub(crate) fn show(&self, ui: &mut Ui, table: Option<&Table>, is_training: bool) -> Option<Remedy> {
        let palette = theme::palette(ui);
        theme::card(ui, |ui| {
            ui.set_min_size(ui.available_size());
            let mut chosen = None;
            egui::ScrollArea::vertical().id_salt("findings").auto_shrink(false).show(ui, |ui| {
                ui.heading("Before you train");
                if self.task.is_some() {
                    ui.horizontal(|ui| {
                        ui.spinner();
                        ui.label("Looking for findings…");
                    });
                } else if self.found.is_empty() {
                    ui.label(RichText::new("No findings: nothing to decide before training.").color(palette.green));
                } else {
                    ui.label(RichText::new("What the table shows, and what only you can decide.").weak());
                }
                for Finding { text, remedy } in &self.found {
                    ui.add_space(6.0);
                    ui.add(egui::Label::new(RichText::new(format!("⚠ {text}")).color(palette.orange)).wrap());
                    if let Some(remedy) = remedy {
                        let button = ui.add_enabled(!is_training, egui::Button::new(remedy.label()));
                        let why = "Training is running: stop it to change settings.";
                        if button.on_disabled_hover_text(why).clicked() {
                            chosen = Some(remedy.clone());
                        }
                    }
                }
                let notes = table.map(Table::notes).unwrap_or_default();
                if !notes.is_empty() {
                    ui.add_space(12.0);
                    ui.heading("How the file was read");
                }
                for note in notes {
                    ui.add_space(2.0);
                    ui.add(egui::Label::new(&note.text).wrap());
                }
            });
            chosen
        })
    }
}
