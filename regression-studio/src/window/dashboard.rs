//! The training view: status, network, error curves, results, predictions.

use eframe::egui::{self, Rect, RichText, Ui, UiBuilder, vec2};

use super::action::Action;
use super::checks::Checks;
use super::curves::{self, ErrorScale};
use super::network_drawing::{self, Drawing};
use super::watched::Watched;
use super::{number, results_card, scatter, theme};
use crate::results::Ending;
use crate::session::State;
use crate::settings::NetworkKind;
use crate::{Settings, Snapshot};

const GAP: f32 = 8.0;
/// Minimum width of the view for showing tiles side by side.
const MIN_WIDTH: f32 = 680.0;
/// Height of a tile in a single column.
const COLUMN_TILE: f32 = 300.0;

/// What the view shows.
struct View<'a> {
    has_run: bool,
    snapshot: &'a Snapshot,
    settings: &'a Settings,
    /// What could improve the result.
    suggestions: &'a [Action],
}

/// Draws the view. Without a run, it shows the network described by the settings. Returns the
/// user's chosen action. `suggestions` could improve the result. `checks` are the run's checks,
/// with the reason why no more can start.
pub(crate) fn show(
    ui: &mut Ui,
    watched: Option<&Watched>,
    chosen: &Settings,
    scale: &mut ErrorScale,
    suggestions: &[Action],
    checks: (&mut Checks, Option<&str>),
) -> Option<Action> {
    let empty = std::sync::Arc::new(Snapshot::default());
    let view = View {
        has_run: watched.is_some(),
        snapshot: watched.map_or(&*empty, |watched| watched.snapshot()),
        settings: watched.map_or(chosen, Watched::settings),
        suggestions,
    };
    let right = ui.max_rect().right();
    theme::card(ui, |ui| status(ui, view.has_run, view.snapshot));
    ui.add_space(GAP - ui.spacing().item_spacing.y);
    let area = ui.available_rect_before_wrap().with_max_x(right);
    if area.width() >= MIN_WIDTH {
        return view.tiles(ui, quarters(area), scale, checks);
    }
    let scroll = egui::ScrollArea::vertical().id_salt("tiles").auto_shrink(false);
    scroll.show(ui, |ui| view.tiles(ui, column(ui.available_rect_before_wrap()), scale, checks)).inner
}

impl View<'_> {
    /// Draws the four tiles in these areas.
    fn tiles(
        &self,
        ui: &mut Ui,
        places: [Rect; 4],
        scale: &mut ErrorScale,
        (checks, why_no_check): (&mut Checks, Option<&str>),
    ) -> Option<Action> {
        let Self { has_run, snapshot, settings, suggestions } = *self;
        let [network, errors, results, predicted] = places;
        let mut action = None;
        let legend = |ui: &mut Ui| weights_legend(ui, settings.network.kind);
        tile(ui, network, "Network", legend, |ui| {
            let drawing = Drawing::new(snapshot, settings);
            network_drawing::show(ui, &drawing);
        });
        let target = &settings.data.target;
        let shown = *scale;
        tile(
            ui,
            errors,
            "Error",
            |ui| scale.show(ui, target),
            |ui| {
                let palette = theme::palette(ui);
                let names = ["training".to_owned(), "validation".to_owned()];
                let lines = curves::of_history(&snapshot.history, shown, names, [palette.blue, palette.orange]);
                let best = (snapshot.best_epoch, palette.green);
                let epochs = if has_run { snapshot.epochs.min(snapshot.epoch.max(10) * 2) } else { 10 };
                let epochs = if matches!(snapshot.state, State::Finished(_)) { snapshot.epoch } else { epochs };
                curves::show(ui, "over the epochs", shown, epochs, Some(best), lines.into());
            },
        );
        tile(
            ui,
            results,
            "Results",
            |_| (),
            |ui| match (&snapshot.results, &snapshot.state) {
                (Some(results), State::Finished(_)) => {
                    for &suggestion in suggestions {
                        let button = theme::primary_button(ui, suggestion.label());
                        if ui.add(button).on_hover_text(suggestion.tooltip(ui.ctx())).clicked() {
                            action = Some(suggestion);
                        }
                    }
                    let kind = settings.network.kind;
                    let has_trees = results.parts[2].trees.is_some();
                    let show_checks = |ui: &mut Ui| checks.show(ui, kind, has_trees, why_no_check);
                    action = action.or(results_card::show(ui, results, target, show_checks));
                }
                _ => so_far(ui, snapshot, target),
            },
        );
        let title = match &snapshot.predicted {
            Some(predicted) => format!("Predicted over true: {} part", predicted.part),
            None => "Predicted over true".to_owned(),
        };
        tile(
            ui,
            predicted,
            &title,
            |_| (),
            |ui| match &snapshot.predicted {
                Some(predicted) => scatter::show(ui, predicted),
                None => {
                    hint(
                        ui,
                        "Shown after the first epoch: one point per row; perfect predictions are on the diagonal.",
                    );
                }
            },
        );
        ui.advance_cursor_after_rect(network.union(predicted));
        action
    }
}

/// Four tiles in one column.
fn column(area: Rect) -> [Rect; 4] {
    let size = vec2(area.width() - GAP, COLUMN_TILE);
    [0.0, 1.0, 2.0, 3.0].map(|index| Rect::from_min_size(area.min + vec2(0.0, index * (COLUMN_TILE + GAP)), size))
}

/// Divides the area into four tiles with a gap.
fn quarters(area: Rect) -> [Rect; 4] {
    let left = (area.width() - GAP) * 0.5;
    let upper = (area.height() - GAP) * 0.5;
    let (left, right) = (area.left()..=area.left() + left, area.left() + left + GAP..=area.right());
    let (upper, lower) = (area.top()..=area.top() + upper, area.top() + upper + GAP..=area.bottom());
    [
        Rect::from_x_y_ranges(left.clone(), upper.clone()),
        Rect::from_x_y_ranges(right.clone(), upper),
        Rect::from_x_y_ranges(left, lower.clone()),
        Rect::from_x_y_ranges(right, lower),
    ]
}

/// A card at `area` with a title, and switches to the right of the title.
fn tile(ui: &mut Ui, area: Rect, title: &str, switches: impl FnOnce(&mut Ui), contents: impl FnOnce(&mut Ui)) {
    let builder = UiBuilder::new().max_rect(area).id_salt((title.split(':').next(), "tile"));
    ui.scope_builder(builder, |ui| {
        theme::card(ui, |ui| {
            ui.set_min_size(ui.available_size());
            ui.horizontal(|ui| {
                ui.heading(title);
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), switches);
            });
            contents(ui);
        });
    });
}

/// Explains the colors of the drawn weights, from right to left.
fn weights_legend(ui: &mut Ui, kind: NetworkKind) {
    let palette = theme::palette(ui);
    if kind == NetworkKind::Table {
        ui.label(RichText::new("the layers that the members share").small().color(palette.grey));
        return;
    }
    for (text, color) in [("negative", palette.orange), ("positive", palette.blue), ("weights:", palette.grey)] {
        ui.label(RichText::new(text).small().color(color));
    }
}

/// Contents of the results tile during training: the errors of the last and the best epoch.
fn so_far(ui: &mut Ui, snapshot: &Snapshot, target: &str) {
    hint(ui, "Shown after training: metrics of the network, linear least squares and the mean.");
    let best = snapshot.history.iter().find(|record| record.epoch == snapshot.best_epoch);
    for (name, record) in [("Last", snapshot.history.last()), ("Best", best)] {
        let Some(record) = record else { continue };
        let error = format!(
            "{name} epoch, {}: validation error {}, or {} in the unit of {target}",
            record.epoch,
            number::short(record.validation_rmse),
            number::short(record.validation_rmse_in_unit)
        );
        ui.label(error);
    }
}

fn hint(ui: &mut Ui, text: &str) {
    ui.add(egui::Label::new(RichText::new(text).weak()).wrap());
}

/// The status line.
fn status(ui: &mut Ui, has_run: bool, snapshot: &Snapshot) {
    let palette = theme::palette(ui);
    ui.set_width(ui.available_width());
    let (text, color) = match &snapshot.state {
        _ if !has_run => ("Ready".to_owned(), palette.grey),
        State::Preparing => ("Preparing data…".to_owned(), palette.blue),
        State::Running => ("Training".to_owned(), palette.blue),
        State::Paused => ("Paused".to_owned(), palette.orange),
        State::Calibrating => ("Calibrating intervals…".to_owned(), palette.blue),
        State::Finished(Ending::AllEpochs) => ("Finished".to_owned(), palette.green),
        State::Finished(Ending::EarlyStopped) => ("Finished early".to_owned(), palette.green),
        State::Finished(Ending::Stopped) => ("Stopped".to_owned(), palette.orange),
        State::Diverged(_) => ("Diverged".to_owned(), palette.red),
        State::Failed(_) => ("Failed".to_owned(), palette.red),
    };
    ui.horizontal(|ui| {
        ui.label(RichText::new(text).heading().color(color));
        let done = snapshot.epoch as f32 + snapshot.step as f32 / snapshot.steps.max(1) as f32;
        let share = if snapshot.epochs > 0 { done / snapshot.epochs as f32 } else { 0.0 };
        let share = if matches!(snapshot.state, State::Finished(_)) { 1.0 } else { share };
        ui.add(egui::ProgressBar::new(share).desired_width(160.0).desired_height(8.0).fill(color));
        let shown = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
        let epoch = (snapshot.epochs > 0).then(|| format!("{} / {}", snapshot.epoch, snapshot.epochs));
        let speed = (snapshot.samples_per_second > 0.0).then(|| number::count(snapshot.samples_per_second as usize));
        let facts = [
            ("Epoch", shown(epoch)),
            (
                "Time left",
                shown(
                    snapshot
                        .seconds_left
                        .filter(|_| !matches!(snapshot.state, State::Finished(_)))
                        .map(number::duration),
                ),
            ),
            ("Samples per second", shown(speed)),
            ("Device", if snapshot.device.is_empty() { "–".to_owned() } else { snapshot.device.clone() }),
        ];
        // A narrow window shows only the first facts.
        let count = if ui.max_rect().width() < MIN_WIDTH { 2 } else { facts.len() };
        for (name, value) in facts.into_iter().take(count) {
            ui.add_space(8.0);
            ui.spacing_mut().item_spacing = vec2(5.0, 0.0);
            ui.label(RichText::new(name).small().color(palette.grey));
            // The parentheses explain the value and appear only in the tooltip.
            let short = value.split(" (").next().unwrap_or_default();
            let label = egui::Label::new(RichText::new(short).strong()).truncate();
            ui.add(label).on_hover_text(format!("{name}: {value}"));
        }
    });
}
