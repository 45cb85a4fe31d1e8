//! The results tile: metrics of the network and the baselines.

use eframe::egui::{self, Align, Layout, Margin, RichText, Sense, Ui, vec2};

use super::action::Action;
use super::{number, theme};
use crate::importance::Importance;
use crate::results::{Metrics, PartResult, Results};

/// Draws the results. `checks` draws the run's checks, and returns the user's chosen action.
pub(crate) fn show(
    ui: &mut Ui,
    results: &Results,
    target: &str,
    checks: impl FnOnce(&mut Ui) -> Option<Action>,
) -> Option<Action> {
    let palette = theme::palette(ui);
    let [.., test] = &results.parts;
    // The margin keeps the scroll bar from covering the numbers.
    let margin = Margin { right: 8, ..Margin::ZERO };
    let scroll = egui::ScrollArea::vertical().id_salt("results").auto_shrink(false).content_margin(margin);
    let inner = scroll.show(ui, |ui| {
        ui.spacing_mut().interact_size.y = ROW_HEIGHT;
        ui.label(
            RichText::new(verdict(test))
                .color(if beats_linear(test) { palette.green } else { palette.orange })
                .strong(),
        );
        if let Some(typical) = test.network.relative_error {
            ui.label(format!(
                "Half of the predictions of unseen rows are within {:.2} % of the true value.",
                100.0 * typical
            ));
        }
        if let Some(intervals) = &results.intervals {
            ui.add(egui::Label::new(intervals.in_words(number::short)).wrap());
        }
        ui.add_space(2.0);
        let action = ui.scope(checks).inner;
        ui.add_space(2.0);
        table(ui, results);
        importance(ui, &results.importance);
        ui.add_space(4.0);
        let (best, epochs) = (results.best_epoch, results.epochs);
        let dropped = match results.dropped {
            0 => String::new(),
            1 => " One incomplete row was dropped.".to_owned(),
            dropped => format!(" {} incomplete rows were dropped.", number::count(dropped)),
        };
        let rows = results.parts.each_ref().map(|part| number::count(part.rows)).join(" : ");
        let facts = format!(
            "Weights of epoch {best} of {epochs}; {} of training on {rows} rows. RMSE and MAE in {target}.{dropped}",
            number::duration(results.seconds)
        );
        ui.label(RichText::new(facts).small().weak());
        for finding in &results.findings {
            ui.label(RichText::new(format!("⚠ {finding}")).small().color(theme::palette(ui).orange));
        }
        for note in &results.notes {
            ui.label(RichText::new(note).small().weak());
        }
        action
    });
    inner.inner
}

/// The features that the network relies on. A bar shows how much the error grows without each.
fn importance(ui: &mut Ui, features: &[Importance]) {
    let Some(largest) = features.first() else { return };
    let palette = theme::palette(ui);
    ui.add_space(6.0);
    let title = ui.label(RichText::new("Importance of the features").small().color(palette.grey));
    title.on_hover_text(
        "Growth of the error on the test part if a feature's values are exchanged between rows. Features that tell the same share their \
         importance.",
    );
    let scale = (largest.error_factor - 1.0).max(f64::MIN_POSITIVE);
    for Importance { column, error_factor } in features {
        ui.horizontal(|ui| {
            let width = ui.available_width();
            let name = egui::Label::new(RichText::new(column.as_str()).small()).truncate();
            ui.allocate_ui_with_layout(vec2(width * 0.4, ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
                ui.set_min_width(width * 0.4);
                ui.add(name);
            });
            let (bar, _) = ui.allocate_exact_size(vec2(width * 0.36, 8.0), Sense::hover());
            let share = ((error_factor - 1.0) / scale).clamp(0.0, 1.0) as f32;
            let filled = bar.with_max_x(bar.left() + bar.width() * share);
            ui.painter().rect_filled(filled, 2.0, palette.blue);
            ui.label(RichText::new(format!("error × {}", number::short(*error_factor))).small().color(palette.grey));
        });
    }
}

/// An error, compared with the mean's error: a linear model of logarithms may be wrong by powers of
/// ten.
fn error(error: f64, of_mean: f64) -> String {
    if error > 1000.0 * of_mean { "far off".to_owned() } else { number::short(error) }
}

/// A one-sentence summary.
fn verdict(test: &PartResult) -> String {
    let share = |metrics: &Metrics| {
        let r2 = metrics.r2_log.unwrap_or(metrics.r2);
        match r2 {
            _ if !r2.is_finite() => "–".to_owned(),
            // 100 % is reserved for a perfect network.
            _ if r2 > 0.999 && r2 < 1.0 => "more than 99.9 %".to_owned(),
            _ => format!("{:.1} %", 100.0 * r2.max(0.0)),
        }
    };
    let scale = if test.network.r2_log.is_some() { " of the logarithm's variance" } else { " of the variance" };
    format!(
        "On unseen rows the network explains {}{scale}; linear least squares {}.",
        share(&test.network),
        share(&test.linear)
    )
}

fn beats_linear(test: &PartResult) -> bool {
    let r2 = |metrics: &Metrics| metrics.r2_log.unwrap_or(metrics.r2);
    r2(&test.network) > r2(&test.linear)
}

/// Titles and widths of the columns; widths as fractions of the tile.
const COLUMNS: [(&str, f32); 6] =
    [("part", 0.18), ("model", 0.15), ("RMSE", 0.19), ("MAE", 0.18), ("R²", 0.15), ("R² (log)", 0.15)];
const ROW_HEIGHT: f32 = 18.0;

fn table(ui: &mut Ui, results: &Results) {
    let palette = theme::palette(ui);
    ui.spacing_mut().item_spacing.y = 0.0;
    row(ui, COLUMNS.map(|(title, _)| RichText::new(title).small().color(palette.grey)));
    for part in &results.parts {
        for (name, metrics) in part.models() {
            let is_network = name == "network";
            let style = |text: String| match is_network {
                true => RichText::new(text).strong(),
                false => RichText::new(text).color(palette.grey),
            };
            let Metrics { rmse, mae, r2, r2_log, .. } = *metrics;
            let title = if is_network { part.name.clone() } else { String::new() };
            let errors = [error(rmse, part.mean.rmse), error(mae, part.mean.mae)];
            let [rmse, mae] = errors;
            let figures = [rmse, mae, share(r2), r2_log.map_or_else(String::new, share)];
            let [rmse, mae, r2, r2_log] = figures.map(style);
            row(ui, [RichText::new(title), style(name.to_owned()), rmse, mae, r2, r2_log]);
        }
    }
}

/// A row with left-aligned texts and right-aligned numbers.
fn row(ui: &mut Ui, cells: [RichText; 6]) {
    let width = ui.available_width();
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        for (index, (text, (_, share))) in cells.into_iter().zip(COLUMNS).enumerate() {
            let layout = match index {
                0 | 1 => Layout::left_to_right(Align::Center),
                _ => Layout::right_to_left(Align::Center),
            };
            ui.allocate_ui_with_layout(vec2(width * share, ROW_HEIGHT), layout, |ui| {
                ui.set_min_size(vec2(width * share, ROW_HEIGHT));
                ui.set_max_height(ROW_HEIGHT);
                if !text.text().is_empty() {
                    ui.label(text);
                }
            });
        }
    });
}

/// R² with three decimals, or a bound if it is far below 0 or almost 1.
fn share(r2: f64) -> String {
    match r2 {
        _ if r2.is_nan() => "–".to_owned(),
        _ if r2 < -99.0 => "< −99".to_owned(),
        _ if r2 > 0.9995 && r2 < 1.0 => "> 0.999".to_owned(),
        // Adding 0 makes a rounded −0.000 positive.
        _ => format!("{:.3}", (r2 * 1000.0).round() / 1000.0 + 0.0).replace('-', "−"),
    }
}
