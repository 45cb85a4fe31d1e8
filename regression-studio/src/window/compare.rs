//! Comparison of runs: error curves, differing settings, results.

use std::sync::Arc;

use eframe::egui::{self, Color32, RichText, Ui};

use super::curves::{self, ErrorScale};
use super::typed::{self, TYPED};
use super::watched::Watched;
use super::{number, theme};
use crate::Settings;
use crate::results::Metrics;
use crate::saved_run::SavedRun;
use crate::settings::Field;
use crate::table::DecimalMark;

/// A run that was trained or opened in this window.
struct Listed {
    name: String,
    run: Arc<SavedRun>,
    /// Its state on disk.
    saved: Option<Arc<SavedRun>>,
    /// Whether it is in the comparison.
    is_chosen: bool,
}

/// Width of a name's text field.
const NAME_WIDTH: f32 = 110.0;
/// Maximum number of runs in a comparison. Each has its own color.
const MAX_CHOSEN: usize = 6;

/// All runs trained or opened in this window.
#[derive(Default)]
pub(crate) struct Runs {
    runs: Vec<Listed>,
    trained: usize,
}

impl Runs {
    /// Adds a run to the comparison, replacing the oldest if the comparison is full. `saved` is its
    /// state on disk. Returns the run's index.
    pub(crate) fn add(&mut self, name: String, run: Arc<SavedRun>, saved: Option<Arc<SavedRun>>) -> usize {
        self.runs.push(Listed { name, run, saved, is_chosen: true });
        if self.chosen().count() > MAX_CHOSEN
            && let Some(oldest) = self.runs.iter_mut().find(|listed| listed.is_chosen)
        {
            oldest.is_chosen = false;
        }
        self.runs.len() - 1
    }

    /// The runs in the comparison.
    fn chosen(&self) -> impl Iterator<Item = &Listed> {
        self.runs.iter().filter(|listed| listed.is_chosen)
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

    /// The names and runs that have at least one epoch and are not on disk.
    pub(crate) fn unsaved(&self) -> impl Iterator<Item = (&str, &Arc<SavedRun>)> {
        let is_saved = |listed: &Listed| listed.saved.as_ref().is_some_and(|saved| Arc::ptr_eq(saved, &listed.run));
        let unsaved = self.runs.iter().filter(move |listed| !listed.run.history.is_empty() && !is_saved(listed));
        unsaved.map(|listed| (listed.name.as_str(), &listed.run))
    }

    /// Records that a run is on disk.
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
    let colors = theme::palette(ui).of_runs();
    theme::card(ui, |ui| {
        let target = runs.runs.last().map(|listed| listed.run.settings.data.target.clone()).unwrap_or_default();
        ui.horizontal(|ui| {
            ui.label(RichText::new("Validation error; dashed: training error").weak());
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| scale.show(ui, &target));
        });
        choose(ui, runs);
        let chosen: Vec<&Listed> = runs.chosen().collect();
        let epochs = chosen.iter().map(|listed| listed.run.history.len()).max().unwrap_or(0);
        let of_run = |(Listed { name, run, .. }, color): (&&Listed, Color32)| {
            curves::of_history(&run.history, *scale, [name.clone(), name.clone()], [color; 2])
        };
        let lines = chosen.iter().zip(colors).flat_map(of_run).collect();
        let height = (ui.available_height() * 0.58).max(160.0);
        ui.allocate_ui(egui::vec2(ui.available_width(), height), |ui| {
            curves::show(ui, "of the runs", *scale, epochs, None, lines);
        });
        ui.add_space(6.0);
        egui::ScrollArea::both().id_salt("differences").auto_shrink(false).show(ui, |ui| {
            differences(ui, runs, &colors);
        });
    });
}

/// A check box for each run. At most as many can be chosen as there are colors.
fn choose(ui: &mut Ui, runs: &mut Runs) {
    let mut colors = theme::palette(ui).of_runs().into_iter();
    let is_full = runs.chosen().count() >= MAX_CHOSEN;
    egui::ScrollArea::horizontal().id_salt("runs").auto_shrink([false, true]).show(ui, |ui| {
        ui.horizontal(|ui| {
            for listed in &mut runs.runs {
                let color = if listed.is_chosen { colors.next() } else { None };
                let name = RichText::new(&listed.name).color(color.unwrap_or(ui.visuals().weak_text_color()));
                let can_change = listed.is_chosen || !is_full;
                ui.add_enabled(can_change, egui::Checkbox::new(&mut listed.is_chosen, name.strong()))
                    .on_disabled_hover_text(format!(
                        "At most {MAX_CHOSEN} runs are compared: clear another one first."
                    ));
            }
        });
    });
}

/// A metric's name and accessor.
type Figure = (&'static str, fn(&Metrics) -> Option<f64>);

/// The table of differing settings, followed by the test part's metrics. The names can be edited.
fn differences(ui: &mut Ui, runs: &mut Runs, colors: &[Color32]) {
    let count = runs.chosen().count();
    egui::Grid::new("differences").num_columns(1 + count).spacing([24.0, 4.0]).striped(true).show(ui, |ui| {
        ui.label(RichText::new("Name").color(theme::palette(ui).grey));
        for (listed, color) in runs.runs.iter_mut().filter(|listed| listed.is_chosen).zip(colors) {
            let edit = egui::TextEdit::singleline(&mut listed.name).text_color(*color);
            ui.add_sized([NAME_WIDTH, ui.spacing().interact_size.y], edit).on_hover_text("A name for this run");
        }
        ui.end_row();
        let chosen: Vec<&Listed> = runs.chosen().collect();
        for field in Field::ALL {
            let values: Vec<String> = chosen.iter().map(|listed| value(&listed.run.settings, field)).collect();
            if values.iter().any(|value| *value != values[0]) {
                line(ui, field.label(), values);
            }
        }
        line(ui, "Epochs trained", chosen.iter().map(|listed| number::count(listed.run.history.len())).collect());
        let figures: [Figure; 4] = [
            ("Test RMSE", |test| Some(test.rmse)),
            ("Test MAE", |test| Some(test.mae)),
            ("Test R²", |test| Some(test.r2)),
            ("Test R² (log)", |test| test.r2_log),
        ];
        for (name, figure) in figures {
            let of_run = |listed: &&Listed| {
                let (_, results) = listed.run.ended.as_ref()?;
                figure(&results.parts[2].network)
            };
            let values: Vec<Option<f64>> = chosen.iter().map(of_run).collect();
            if values.iter().any(Option::is_some) {
                let shown = values.into_iter().map(|value| value.map_or_else(|| "–".to_owned(), number::short));
                line(ui, name, shown.collect());
            }
        }
    });
}

fn line(ui: &mut Ui, name: &str, values: Vec<String>) {
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
        Field::DecimalMark => settings.data.decimal_mark.map_or("", DecimalMark::name).to_owned(),
        Field::Header => match settings.data.header {
            Some(true) => "names".to_owned(),
            Some(false) => "a row".to_owned(),
            None => String::new(),
        },
        Field::Features => settings.data.features.join(", "),
        Field::Target => settings.data.target.clone(),
        Field::LogTarget => on(settings.data.log_target),
        Field::LogFeatures => on(settings.data.log_features),
        Field::BadRows => format!("{:?}", settings.data.bad_rows).to_lowercase(),
        Field::SplitOrder => format!("{:?}", settings.split.order).to_lowercase(),
        Field::Duplicates => format!("{:?}", settings.split.duplicates).to_lowercase(),
        Field::Optimizer => settings.training.optimizer.name().to_owned(),
        Field::Schedule => settings.training.schedule.name().to_owned(),
        Field::Kind => format!("{:?}", settings.network.kind).to_lowercase(),
        Field::Activation => format!("{:?}", settings.network.activation).to_lowercase(),
        Field::Device => format!("{:?}", settings.training.device).to_lowercase(),
        field if TYPED.contains(&field) => match typed::text_of(settings, field) {
            text if text.is_empty() => typed::hint(field).to_owned(),
            text => text,
        },
        _ => String::new(),
    }
}
