//! Comparison of two runs: error curves, differing settings, results.

use std::sync::Arc;

use eframe::egui::{self, RichText, Ui};

use super::curves::{self, ErrorScale};
use super::typed::{self, TYPED};
use super::watched::Watched;
use super::{number, theme};
use crate::Settings;
use crate::results::Metrics;
use crate::saved_run::SavedRun;
use crate::settings::Field;

/// A run that was trained or opened in this window.
struct Listed {
    name: String,
    run: Arc<SavedRun>,
    /// Its state on disk.
    saved: Option<Arc<SavedRun>>,
}

/// All runs trained or opened in this window.
#[derive(Default)]
pub(crate) struct Runs {
    runs: Vec<Listed>,
    trained: usize,
    /// Indices of the two compared runs.
    chosen: [usize; 2],
}

impl Runs {
    /// Adds a run and selects it with the previous one for comparison; `saved` is its state on disk. Returns its index.
    pub(crate) fn add(&mut self, name: String, run: Arc<SavedRun>, saved: Option<Arc<SavedRun>>) -> usize {
        self.runs.push(Listed { name, run, saved });
        let last = self.runs.len() - 1;
        self.chosen = [last.saturating_sub(1), last];
        last
    }

    /// Adds the current run, or updates it in the list.
    pub(crate) fn update(&mut self, watched: &mut Watched) {
        let Some(run) = watched.snapshot().run.clone() else { return };
        match watched.listed.and_then(|place| self.runs.get_mut(place)) {
            Some(listed) => listed.run = run,
            None => {
                self.trained += 1;
                watched.listed = Some(self.add(format!("Run {}", self.trained), run, None));
            }
        }
    }

    /// Name shown for the run.
    pub(crate) fn name_of(&self, watched: &Watched) -> String {
        let named = watched.listed.and_then(|place| self.runs.get(place));
        named.map_or_else(|| "run".to_owned(), |listed| listed.name.clone())
    }

    /// The runs with at least one epoch that are not on disk, by their names.
    pub(crate) fn unsaved(&self) -> impl Iterator<Item = (&str, &Arc<SavedRun>)> {
        let is_saved = |listed: &Listed| listed.saved.as_ref().is_some_and(|saved| Arc::ptr_eq(saved, &listed.run));
        let unsaved = self.runs.iter().filter(move |listed| !listed.run.history.is_empty() && !is_saved(listed));
        unsaved.map(|listed| (listed.name.as_str(), &listed.run))
    }

    /// Notes that a run is on disk.
    pub(crate) fn mark_saved(&mut self, run: &Arc<SavedRun>) {
        for listed in self.runs.iter_mut().filter(|listed| Arc::ptr_eq(&listed.run, run)) {
            listed.saved = Some(Arc::clone(run));
        }
    }
}

/// Draws the comparison.
pub(crate) fn show(ui: &mut Ui, runs: &mut Runs, scale: &mut ErrorScale) {
    if runs.runs.len() < 2 {
        theme::card(ui, |ui| {
            ui.set_min_size(ui.available_size());
            ui.heading("Compare runs");
            ui.label("A comparison needs two runs: train twice with different settings, or open saved runs.");
        });
        return;
    }
    let palette = theme::palette(ui);
    let colors = [palette.blue, palette.orange];
    theme::card(ui, |ui| {
        let target = runs.runs[runs.chosen[1]].run.settings.data.target.clone();
        ui.horizontal(|ui| {
            for (side, color) in colors.into_iter().enumerate() {
                let label = ui.label(RichText::new(["First", "Second"][side]).color(color).strong());
                choose(ui, runs, side, label.id);
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| scale.show(ui, &target));
        });
        let pair = runs.chosen.map(|place| &runs.runs[place]);
        let epochs = pair.iter().map(|listed| listed.run.history.len()).max().unwrap_or(0);
        let of_run = |(side, Listed { name, run, .. }): (usize, &Listed)| {
            let names = [format!("{name}, training (dashed)"), format!("{name}, validation")];
            curves::of_history(&run.history, *scale, names, [colors[side]; 2])
        };
        let lines = pair.into_iter().enumerate().flat_map(of_run).collect();
        let height = (ui.available_height() * 0.58).max(160.0);
        ui.allocate_ui(egui::vec2(ui.available_width(), height), |ui| {
            curves::show(ui, "of two runs", *scale, epochs, None, lines);
        });
        ui.add_space(6.0);
        egui::ScrollArea::vertical().id_salt("differences").auto_shrink(false).show(ui, |ui| {
            differences(ui, pair);
        });
    });
}

fn choose(ui: &mut Ui, runs: &mut Runs, side: usize, label: egui::Id) {
    let mut chosen = runs.chosen[side];
    let combo = egui::ComboBox::from_id_salt(("run", side)).selected_text(&runs.runs[chosen].name).width(140.0);
    let response = combo.show_ui(ui, |ui| {
        for (place, listed) in runs.runs.iter().enumerate() {
            ui.selectable_value(&mut chosen, place, &listed.name);
        }
    });
    response.response.labelled_by(label);
    runs.chosen[side] = chosen;
}

/// A metric's name and accessor.
type Figure = (&'static str, fn(&Metrics) -> Option<f64>);

/// The table of differing settings, followed by the test part's metrics.
fn differences(ui: &mut Ui, pair: [&Listed; 2]) {
    let palette = theme::palette(ui);
    egui::Grid::new("differences").num_columns(3).spacing([32.0, 4.0]).striped(true).show(ui, |ui| {
        ui.label("");
        for (Listed { name, .. }, color) in pair.into_iter().zip([palette.blue, palette.orange]) {
            ui.label(RichText::new(name).color(color).strong());
        }
        ui.end_row();
        for field in Field::ALL {
            let values = pair.map(|listed| value(&listed.run.settings, field));
            if values[0] != values[1] {
                line(ui, field.label(), values);
            }
        }
        line(ui, "Epochs trained", pair.map(|listed| number::count(listed.run.history.len())));
        let figures: [Figure; 4] = [
            ("Test RMSE", |test| Some(test.rmse)),
            ("Test MAE", |test| Some(test.mae)),
            ("Test R²", |test| Some(test.r2)),
            ("Test R² (log)", |test| test.r2_log),
        ];
        for (name, figure) in figures {
            let of_run = |listed: &Listed| {
                let (_, results) = listed.run.ended.as_ref()?;
                figure(&results.parts[2].network)
            };
            let values = pair.map(of_run);
            if values.iter().any(Option::is_some) {
                line(ui, name, values.map(|value| value.map_or_else(|| "–".to_owned(), number::short)));
            }
        }
    });
}

fn line(ui: &mut Ui, name: &str, values: [String; 2]) {
    ui.label(RichText::new(name).color(theme::palette(ui).grey));
    for value in values {
        ui.label(value);
    }
    ui.end_row();
}

/// A field's value in words.
fn value(settings: &Settings, field: Field) -> String {
    let on = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
    match field {
        Field::Source => settings.data.source.name(),
        Field::Features => settings.data.features.join(", "),
        Field::Target => settings.data.target.clone(),
        Field::LogTarget => on(settings.data.log_target),
        Field::LogFeatures => on(settings.data.log_features),
        Field::BadRows => format!("{:?}", settings.data.bad_rows).to_lowercase(),
        Field::SplitOrder => format!("{:?}", settings.split.order).to_lowercase(),
        Field::Schedule => settings.training.schedule.name().to_owned(),
        Field::Activation => format!("{:?}", settings.network.activation).to_lowercase(),
        Field::Device => format!("{:?}", settings.training.device).to_lowercase(),
        field if TYPED.contains(&field) => match typed::text_of(settings, field) {
            text if text.is_empty() => typed::hint(field).to_owned(),
            text => text,
        },
        _ => String::new(),
    }
}
