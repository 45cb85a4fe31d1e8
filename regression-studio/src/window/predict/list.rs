//! The list of rows with their predictions.

use eframe::egui::{self, Align2, Color32, Rect, Sense, TextStyle, Ui, pos2, vec2};

use crate::window::{number, theme};
use crate::{Predictions, Table};

const ROW_HEIGHT: f32 = 24.0;
const NUMBER_WIDTH: f32 = 76.0;

/// Shows the rows with their predictions. Returns the row that was clicked.
pub(super) fn show(ui: &mut Ui, predictions: &Predictions, table: &Table) -> Option<usize> {
    let palette = theme::palette(ui);
    let mut columns = vec![("predicted", palette.blue)];
    if predictions.has_truth {
        columns.extend([("true", ui.visuals().text_color()), ("error", palette.grey)]);
    }
    columns.extend(predictions.part(0).is_some().then_some(("part", palette.grey)));
    let width = |ui: &Ui| ((ui.available_width() - NUMBER_WIDTH) / columns.len() as f32).clamp(70.0, 150.0);
    let line = |ui: &Ui, area: Rect, width: f32, number: &str, cells: &[(String, Color32)]| {
        let font = TextStyle::Body.resolve(ui.style());
        let text = |right: f32, text: &str, color| {
            ui.painter().text(pos2(right, area.center().y), Align2::RIGHT_CENTER, text, font.clone(), color);
        };
        text(area.left() + NUMBER_WIDTH - 10.0, number, palette.grey);
        for (index, (cell, color)) in cells.iter().enumerate() {
            text(area.left() + NUMBER_WIDTH + (index + 1) as f32 * width - 10.0, cell, *color);
        }
    };
    let column_width = width(ui);
    let size = vec2(ui.available_width(), ROW_HEIGHT);
    let (area, _) = ui.allocate_exact_size(size, Sense::hover());
    let names: Vec<(String, Color32)> = columns.iter().map(|(name, color)| ((*name).to_owned(), *color)).collect();
    line(ui, area, column_width, "row", &names);
    ui.painter().hline(area.x_range(), area.bottom(), egui::Stroke::new(1.0, palette.line));

    let mut clicked = None;
    let scroll = egui::ScrollArea::vertical().id_salt("predictions").auto_shrink(false);
    scroll.show_rows(ui, ROW_HEIGHT - ui.spacing().item_spacing.y, predictions.rows(), |ui, rows| {
        for row in rows {
            let size = vec2(ui.available_width(), ROW_HEIGHT - ui.spacing().item_spacing.y);
            let (area, response) = ui.allocate_exact_size(size, Sense::click());
            let background = match (response.hovered(), row % 2) {
                (true, _) => Some(ui.visuals().widgets.hovered.bg_fill),
                (false, 1) => Some(palette.stripe),
                _ => None,
            };
            if let Some(color) = background {
                ui.painter().rect_filled(area.expand2(vec2(0.0, ui.spacing().item_spacing.y / 2.0)), 0.0, color);
            }
            let predicted = predictions.predicted(row);
            let shown = |value: Option<f64>| value.map_or("–".to_owned(), number::short);
            let mut cells = vec![shown(predicted)];
            if predictions.has_truth {
                let truth = predictions.truth(table, row);
                let error = predicted.zip(truth).map(|(predicted, truth)| predicted - truth);
                cells.extend([shown(truth), shown(error)]);
            }
            cells.extend(predictions.part(row).map(str::to_owned));
            let spoken: Vec<String> =
                columns.iter().zip(&cells).map(|((name, _), cell)| format!("{name} {cell}")).collect();
            let outside = predictions.outside(row);
            let mark = (!outside.is_empty()).then(|| format!("outside the range of training: {}", outside.join(", ")));
            let interval = predictions.interval(row);
            let interval = interval.map(|ends| {
                let [low, high] = ends.map(number::short);
                format!("{} % interval {low} to {high}", predictions.percent)
            });
            let more: Vec<String> = mark.iter().chain(&interval).cloned().collect();
            let spoken = [spoken, more.clone()].concat().join(", ");
            let spoken = format!("Row {}: {spoken}", row + 1);
            response.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Row, true, &spoken));
            let mut cells: Vec<(String, Color32)> =
                cells.into_iter().zip(&columns).map(|(cell, (_, color))| (cell, *color)).collect();
            if mark.is_some() {
                cells[0] = (format!("⚠ {}", cells[0].0), palette.orange);
            }
            if !more.is_empty() {
                response.clone().on_hover_text(more.join("\n"));
            }
            line(ui, area, column_width, &number::count(row + 1), &cells);
            if response.clicked() {
                clicked = Some(row);
            }
        }
    });
    clicked
}
