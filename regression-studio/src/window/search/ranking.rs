//! The runs of a search as a table, best first.

use eframe::egui::{self, Align, Layout, RichText, Ui, vec2};

use crate::search::Tried;
use crate::window::{number, theme};

/// The columns' titles and widths in points.
const COLUMNS: [(&str, f32); 7] = [
    ("run", 44.0),
    ("layers", 130.0),
    ("learning rate", 92.0),
    ("weight decay", 92.0),
    ("validation RMSE", 112.0),
    ("validation R²", 92.0),
    ("best epoch", 76.0),
];
const ROW_HEIGHT: f32 = 20.0;

/// Draws the table. Returns the number of the run that the user chose.
pub(super) fn show(ui: &mut Ui, tried: &[&Tried], is_training: bool) -> Option<usize> {
    let mut used = None;
    let grey = theme::palette(ui).grey;
    row(ui, COLUMNS.map(|(title, _)| RichText::new(title).small().color(grey)));
    let scroll = egui::ScrollArea::vertical().id_salt("ranking").auto_shrink(false);
    scroll.show_rows(ui, ROW_HEIGHT, tried.len(), |ui, rows| {
        for tried in &tried[rows] {
            ui.horizontal(|ui| {
                row(ui, cells(tried).map(RichText::new));
                let button = egui::Button::new("Use").small();
                let button = ui.add_enabled(!is_training, button).on_hover_text("Put these settings into the form");
                if button.accessible_name(format!("Use run {}", tried.run)).clicked() {
                    used = Some(tried.run);
                }
            });
        }
    });
    used
}

fn cells(tried: &Tried) -> [String; 7] {
    let hidden: Vec<String> = tried.hidden.iter().map(usize::to_string).collect();
    let layers = if hidden.is_empty() { "none".to_owned() } else { hidden.join(" · ") };
    let (rmse, r2, epoch) = match tried.validation {
        Some(of) => (number::short(of.rmse_in_unit), number::short(of.r2), number::count(of.best_epoch)),
        None => ("diverged".to_owned(), "–".to_owned(), "–".to_owned()),
    };
    let (rate, decay) = (tried.learning_rate.to_string(), tried.regularization.to_string());
    [tried.run.to_string(), layers, rate, decay, rmse, r2, epoch]
}

/// A row's cells.
fn row(ui: &mut Ui, cells: [RichText; 7]) {
    ui.horizontal(|ui| {
        for (cell, (title, width)) in cells.into_iter().zip(COLUMNS) {
            let layout = if title == "layers" {
                Layout::left_to_right(Align::Center)
            } else {
                Layout::right_to_left(Align::Center)
            };
            ui.allocate_ui_with_layout(vec2(width, ROW_HEIGHT), layout, |ui| {
                ui.set_min_width(width);
                ui.add(egui::Label::new(cell).truncate());
            });
        }
    });
}
