//! The runs of a search as small multiples: each run's error curves, all with the same axes.

use std::collections::BTreeMap;

use eframe::egui::{self, Align2, Color32, Pos2, Rect, Sense, Stroke, StrokeKind, TextStyle, Ui, pos2, vec2};

use super::Run;
use crate::results::EpochErrors;
use crate::window::{number, theme};

const SIZE: egui::Vec2 = vec2(138.0, 84.0);
const GAP: f32 = 8.0;
/// Height of a cell's title.
const TITLE: f32 = 18.0;
/// The largest standardized error shown; 1 is the error of the mean.
const TOP: f64 = 1.2;

/// Draws the runs in order of their number; `best` has a frame.
pub(super) fn show(ui: &mut Ui, runs: &BTreeMap<usize, Run>, best: Option<usize>) {
    let palette = theme::palette(ui);
    let explained = "Errors by epoch, standardised and logarithmic: blue training, orange validation; the top is 1.2 times the mean's error";
    ui.label(egui::RichText::new(explained).small().color(palette.grey));
    let axes = Axes::of(runs);
    let in_row = (((ui.available_width() + GAP) / (SIZE.x + GAP)) as usize).max(1);
    let runs: Vec<(&usize, &Run)> = runs.iter().collect();
    ui.spacing_mut().item_spacing = vec2(GAP, GAP);
    let scroll = egui::ScrollArea::vertical().id_salt("multiples").auto_shrink(false);
    scroll.show_rows(ui, SIZE.y, runs.len().div_ceil(in_row), |ui, rows| {
        for row in rows {
            ui.horizontal(|ui| {
                for &(&number, run) in runs.iter().skip(row * in_row).take(in_row) {
                    cell(ui, number, run, axes, best == Some(number));
                }
            });
        }
    });
}

/// Draws a run.
fn cell(ui: &mut Ui, number: usize, run: &Run, axes: Axes, is_best: bool) {
    let palette = theme::palette(ui);
    let (area, response) = ui.allocate_exact_size(SIZE, Sense::hover());
    let state = state(run);
    let spoken = format!("Curves of run {number}: {state}{}", if is_best { ", the best" } else { "" });
    response.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Image, true, &spoken));
    let painter = ui.painter_at(area.expand(1.0));
    let frame = if is_best { Stroke::new(2.0, palette.green) } else { Stroke::new(1.0, palette.line) };
    painter.rect_stroke(area, 4.0, frame, StrokeKind::Inside);
    let font = TextStyle::Small.resolve(ui.style());
    let has_diverged = run.tried.as_ref().is_some_and(|tried| tried.validation.is_none());
    let title = if has_diverged { palette.red } else { palette.grey };
    painter.text(area.left_top() + vec2(6.0, 4.0), Align2::LEFT_TOP, format!("run {number}"), font.clone(), title);
    painter.text(area.right_top() + vec2(-6.0, 4.0), Align2::RIGHT_TOP, state, font, title);
    let plot = Rect::from_min_max(area.min + vec2(6.0, TITLE), area.max - vec2(6.0, 5.0));
    let curve = |error: fn(&EpochErrors) -> f64, color: Color32| {
        painter.line(axes.points(&run.history, error, plot), Stroke::new(1.5, color));
    };
    curve(|record| record.train_rmse, palette.blue);
    curve(|record| record.validation_rmse, palette.orange);
}

/// The state of the run, in a few letters.
fn state(run: &Run) -> String {
    match &run.tried {
        None => format!("epoch {}", run.history.len()),
        Some(tried) => {
            tried.validation.map_or_else(|| "diverged".to_owned(), |of| format!("R² {}", number::short(of.r2)))
        }
    }
}

/// The axes shared by all runs.
#[derive(Clone, Copy)]
struct Axes {
    epochs: usize,
    /// The smallest error. It is at the bottom.
    least: f64,
}

impl Axes {
    fn of(runs: &BTreeMap<usize, Run>) -> Self {
        let records = runs.values().flat_map(|run| run.history.iter());
        let errors = records.flat_map(|record| [record.train_rmse, record.validation_rmse]);
        // f64::min ignores NaN.
        let least = errors.fold(TOP / 2.0, f64::min).max(1e-6);
        Self { epochs: runs.values().map(|run| run.history.len()).max().unwrap_or(0).max(2), least }
    }

    /// The positions of a curve's finite errors.
    fn points(self, history: &[EpochErrors], error: fn(&EpochErrors) -> f64, plot: Rect) -> Vec<Pos2> {
        let place = |record: &EpochErrors| {
            let x = (record.epoch - 1) as f32 / (self.epochs - 1) as f32;
            let y = ((error(record) / self.least).ln() / (TOP / self.least).ln()).clamp(0.0, 1.0) as f32;
            pos2(plot.left() + x * plot.width(), plot.bottom() - y * plot.height())
        };
        // More points than pixels would not show more.
        let step = (history.len() / plot.width() as usize).max(1);
        history.iter().filter(|record| error(record).is_finite()).step_by(step).map(place).collect()
    }
}
