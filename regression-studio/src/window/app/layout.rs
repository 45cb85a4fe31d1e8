//! The window's layout: action bar on top, form on the left, views in the center.

use eframe::egui::{self, Align, Layout, Margin, RichText, Ui};

use super::App;
use crate::window::action::{Action, Tab};
use crate::window::search::Chosen;
use crate::window::{compare, dashboard, recent, theme};

/// Width of the form in points.
const FORM_WIDTH: f32 = 376.0;

impl App {
    /// Draws the window. Returns the user's chosen action.
    pub(super) fn layout(&mut self, ui: &mut Ui) -> Option<Action> {
        let mut action = None;
        let panel = egui::Frame::new().fill(ui.visuals().panel_fill);
        egui::Panel::top("actions").frame(panel.inner_margin(Margin::symmetric(14, 8))).show(ui, |ui| {
            action = self.actions(ui);
        });
        egui::Panel::left("form")
            .resizable(false)
            .exact_size(FORM_WIDTH)
            .frame(panel.inner_margin(Margin { left: 14, right: 4, top: 10, bottom: 8 }))
            .show(ui, |ui| {
                let scroll = egui::ScrollArea::vertical().id_salt("form").auto_shrink(false);
                let inner = scroll.content_margin(Margin { right: 10, ..Margin::ZERO }).show(ui, |ui| {
                    let is_active = self.watched.as_ref().is_some_and(super::Watched::is_active);
                    let has_changed = self.file.as_mut().is_some_and(|file| file.has_changed(ui.ctx()));
                    ui.horizontal(|ui| {
                        for button in [Action::Undo, Action::Redo, Action::Reset] {
                            self.button(ui, button, &mut action);
                        }
                        ui.add_enabled_ui(!is_active, |ui| self.form.presets(ui));
                    });
                    self.form.show(ui, self.table.as_deref(), (self.loading.as_ref(), has_changed), is_active)
                });
                action = action.or(inner.inner);
            });
        egui::CentralPanel::no_frame()
            .frame(panel.inner_margin(Margin { left: 10, right: 14, top: 10, bottom: 10 }))
            .show(ui, |ui| {
                action = action.or(self.tabs(ui));
                ui.add_space(4.0);
                match self.tab {
                    Tab::Data => {
                        let clicked = self.preview.show(ui, self.table.as_deref(), self.form.settings());
                        let is_active = self.watched.as_ref().is_some_and(super::Watched::is_active);
                        if let (Some(name), Some(table), false) = (clicked, &self.table, is_active) {
                            self.form.toggle_feature(&name, table);
                        }
                    }
                    Tab::Findings => {
                        let is_active = self.watched.as_ref().is_some_and(super::Watched::is_active);
                        if let Some(remedy) = self.findings.show(ui, self.table.as_deref(), is_active) {
                            self.apply(&remedy, ui.ctx());
                        }
                    }
                    Tab::Training => {
                        let mut suggestions = vec![Action::UseLogarithms, Action::TrainLonger, Action::SwitchKind];
                        suggestions.retain(|&suggestion| self.disabled_reason(suggestion).is_none());
                        let why_no_check = self.disabled_reason(Action::CrossValidate);
                        let checks = (&mut self.checks, why_no_check.as_deref());
                        let (watched, settings) = (self.watched.as_ref(), self.form.settings());
                        let chosen = dashboard::show(ui, watched, settings, &mut self.scale, &suggestions, checks);
                        action = action.or(chosen);
                    }
                    Tab::Predict => {
                        let buttons = [Action::PredictLoaded, Action::PredictFile, Action::SavePredictions];
                        let buttons = buttons.map(|button| (button, self.disabled_reason(button)));
                        let run = self.watched.as_ref().and_then(|watched| Some((watched, watched.trained_run()?)));
                        let named = run.map(|(watched, run)| (self.runs.name_of(watched), run));
                        let named = named.as_ref().map(|(name, run)| (name.as_str(), *run));
                        action = action.or(self.predict.show(ui, named, &buttons));
                    }
                    Tab::Compare => compare::show(ui, &mut self.runs, &mut self.scale),
                    Tab::Search => {
                        let why_not = self.disabled_reason(Action::Search);
                        let is_active = self.watched.as_ref().is_some_and(super::Watched::is_active);
                        match self.search.show(ui, why_not.as_deref(), is_active) {
                            Some(Chosen::Search) => action = Some(Action::Search),
                            Some(Chosen::Use(run, settings)) => {
                                self.form.replace_with(*settings);
                                self.notice =
                                    format!("The form has the settings of run {run}: Start trains with them.");
                            }
                            None => {}
                        }
                    }
                }
            });
        action
    }

    fn actions(&mut self, ui: &mut Ui) -> Option<Action> {
        let mut action = None;
        let start_disabled_reason = self.disabled_reason(Action::Start);
        let is_active = self.watched.as_ref().is_some_and(super::Watched::is_active);
        ui.horizontal(|ui| {
            for button in [Action::Start, Action::Pause, Action::Resume, Action::Step, Action::Stop] {
                self.button(ui, button, &mut action);
            }
            ui.separator();
            for button in [Action::OpenRun, Action::SaveRun] {
                self.button(ui, button, &mut action);
            }
            let may_open = self.disabled_reason(Action::OpenRun).is_none();
            if let Some((purpose, path)) = recent::menu(ui, may_open) {
                self.use_path(purpose, path, ui.ctx());
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                self.button(ui, Action::Help, &mut action);
                let icon = if ui.visuals().dark_mode { "☀" } else { "🌙" };
                let switch = ui.button(icon).on_hover_text(Action::SwitchTheme.tooltip(ui.ctx()));
                if switch.accessible_name(Action::SwitchTheme.label()).clicked() {
                    action = Some(Action::SwitchTheme);
                }
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    let palette = theme::palette(ui);
                    let (text, color) = match start_disabled_reason {
                        Some(reason) if !is_active && self.loading.is_none() => {
                            (format!("⚠ Start: {reason}"), palette.red)
                        }
                        _ => (self.notice.clone(), palette.grey),
                    };
                    if !text.is_empty() {
                        let label = egui::Label::new(RichText::new(&text).color(color)).truncate();
                        ui.add(label).on_hover_text(&text);
                    }
                });
            });
        });
        action
    }

    /// An action's button. If it is disabled, its tooltip gives the reason.
    fn button(&mut self, ui: &mut Ui, action: Action, chosen: &mut Option<Action>) {
        let reason = self.disabled_reason(action);
        let button = match (action, &reason) {
            (Action::Start, None) => theme::primary_button(ui, action.label()),
            _ => egui::Button::new(action.label()),
        };
        let tooltip = action.tooltip(ui.ctx());
        let response = ui.add_enabled(reason.is_none(), button).on_hover_text(&tooltip);
        let response = response.on_disabled_hover_text(format!("{tooltip}\n{}", reason.as_deref().unwrap_or_default()));
        if response.clicked() {
            *chosen = Some(action);
        }
    }

    fn tabs(&self, ui: &mut Ui) -> Option<Action> {
        let mut action = None;
        ui.horizontal(|ui| {
            for tab in [Tab::Data, Tab::Findings, Tab::Training, Tab::Predict, Tab::Compare, Tab::Search] {
                let show = Action::Show(tab);
                let label = match (tab, self.findings.count()) {
                    (Tab::Findings, 1..) => format!("⚠ {} ({})", show.label(), self.findings.count()),
                    _ => show.label().to_owned(),
                };
                let button = egui::Button::selectable(self.tab == tab, label);
                if ui.add(button).on_hover_text(show.tooltip(ui.ctx())).clicked() {
                    action = Some(show);
                }
            }
        });
        action
    }
}
