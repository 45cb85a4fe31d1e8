//! The prediction for one row, whose values the user varies.

use std::sync::Arc;

use eframe::egui::{self, RichText, Ui};

use crate::Table;
use crate::prediction::Cell;
use crate::prepared::{Input, Scale, Transform};
use crate::saved_run::SavedRun;
use crate::window::{number, theme};

/// A slider covers the mean plus and minus this many standard deviations of the training rows.
const RANGE: f64 = 3.0;

/// The row that is varied.
#[derive(Default)]
pub(super) struct WhatIf {
    /// The transform for which the row was made.
    transform: Option<Transform>,
    /// Name and value of each feature.
    row: Vec<(String, Cell)>,
    /// The row before the user varied it.
    start: Vec<(String, Cell)>,
    /// "Mean row", or the row of a table that was taken.
    name: String,
    predicted: Option<Predicted>,
}

/// The predictions for the row before and after the changes, with what they were computed from.
struct Predicted {
    run: Arc<SavedRun>,
    start: Vec<(String, Cell)>,
    row: Vec<(String, Cell)>,
    before: f64,
    now: f64,
}

impl WhatIf {
    /// Begins with the mean row of a run, unless the row fits it already.
    pub(super) fn follow(&mut self, run: &SavedRun) {
        let transform = &run.model.transform;
        if self.transform.as_ref() == Some(transform) {
            return;
        }
        let middle = |name: &str| {
            let of_column: Vec<&Input> = transform.inputs.iter().filter(|input| input.column() == name).collect();
            match of_column[0] {
                Input::Number { scale, .. } => Cell::Number(scale.original(0.0)),
                // The most frequent category.
                Input::Text { .. } => {
                    let share = |input: &&&Input| match input {
                        Input::Text { scale, .. } | Input::Number { scale, .. } => scale.mean,
                    };
                    let usual = of_column.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
                    let text = usual.and_then(|input| input.category_of(name)).unwrap_or_default();
                    Cell::Text(text.to_owned())
                }
            }
        };
        self.row = run.model.columns().into_iter().map(|name| (name.to_owned(), middle(name))).collect();
        self.start = self.row.clone();
        "Mean row".clone_into(&mut self.name);
        self.transform = Some(transform.clone());
    }

    /// Takes a row of a table, if it is complete.
    pub(super) fn take_row(&mut self, table: &Table, row: usize) {
        let of_table = |(name, before): &(String, Cell)| {
            let column = table.column(name)?;
            let input = self.transform.as_ref()?.inputs.iter().find(|input| input.column() == name);
            let cell = match (before, input?) {
                (Cell::Number(_), Input::Number { fill, .. }) => Cell::Number(column.number(row).or(*fill)?),
                (Cell::Number(_), Input::Text { .. }) => return None,
                (Cell::Text(_), _) => Cell::Text(column.text(row).into_owned()),
            };
            Some((name.clone(), cell))
        };
        if let Some(taken) = self.row.iter().map(of_table).collect::<Option<Vec<_>>>() {
            self.row.clone_from(&taken);
            self.start = taken;
            self.name = format!("Row {}", number::count(row + 1));
        }
    }

    /// The predictions for the row before and after the changes; computed again only after a change.
    fn predictions(&mut self, run: &Arc<SavedRun>) -> (f64, f64) {
        let kept = self.predicted.take().filter(|predicted| {
            Arc::ptr_eq(&predicted.run, run) && predicted.row == self.row && predicted.start == self.start
        });
        let predicted = kept.unwrap_or_else(|| {
            let predict = |row: &[(String, Cell)]| {
                run.model.predict_row(|column| {
                    let found = row.iter().find(|(name, _)| name == column);
                    found.map_or(Cell::Number(f64::NAN), |(_, cell)| cell.clone())
                })
            };
            let (before, now) = (predict(&self.start), predict(&self.row));
            Predicted { run: Arc::clone(run), start: self.start.clone(), row: self.row.clone(), before, now }
        });
        let values = (predicted.before, predicted.now);
        self.predicted = Some(predicted);
        values
    }

    /// The prediction, and a slider or a choice for each feature.
    pub(super) fn show(&mut self, ui: &mut Ui, run: &Arc<SavedRun>) {
        let (model, palette) = (&run.model, theme::palette(ui));
        let (before, now) = self.predictions(run);
        ui.horizontal(|ui| {
            ui.heading("What if");
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let is_varied = self.row != self.start;
                let reset = ui.add_enabled(is_varied, egui::Button::new("Reset row"));
                if reset.on_hover_text("Undo the changes of this row").clicked() {
                    self.row.clone_from(&self.start);
                }
            });
        });
        ui.label(RichText::new(format!("{}: predicted {}", self.name, number::short(before))).weak());
        let text = format!("{} = {}", model.transform.target, number::short(now));
        ui.label(RichText::new(text).heading().color(palette.blue));
        if self.row != self.start {
            let change = now - before;
            let share = if before == 0.0 {
                String::new()
            } else {
                format!(" ({:+.1} %)", 100.0 * change / before.abs()).replace('-', "−")
            };
            let sign = if change > 0.0 { "+" } else { "" };
            ui.label(format!("{sign}{}{share} by these changes", number::short(change)));
        }
        ui.separator();
        egui::ScrollArea::vertical().id_salt("what if").auto_shrink(false).show(ui, |ui| {
            for (name, cell) in &mut self.row {
                let label = ui.label(RichText::new(name.as_str()).strong());
                match cell {
                    Cell::Number(value) => {
                        if let Some(scale) = scale_of(&model.transform, name) {
                            slider(ui, value, scale).labelled_by(label.id);
                        }
                    }
                    Cell::Text(chosen) => {
                        let categories = model.transform.inputs.iter().filter_map(|input| input.category_of(name));
                        let choice = egui::ComboBox::from_id_salt(("category", name.as_str()))
                            .selected_text(chosen.clone())
                            .width(ui.available_width() - 16.0);
                        let response = choice.show_ui(ui, |ui| {
                            for category in categories {
                                ui.selectable_value(chosen, category.to_owned(), category);
                            }
                        });
                        response.response.labelled_by(label.id);
                    }
                }
                ui.add_space(2.0);
            }
        });
    }
}

fn scale_of(transform: &Transform, name: &str) -> Option<Scale> {
    transform.inputs.iter().find_map(|input| match input {
        Input::Number { column, scale, .. } if column == name => Some(*scale),
        _ => None,
    })
}

/// A slider over the usual values of the training rows; other values can be typed.
fn slider(ui: &mut Ui, value: &mut f64, scale: Scale) -> egui::Response {
    let (low, high) = (scale.original(-RANGE), scale.original(RANGE));
    let step = 10.0_f64.powf(((high - low) / 1000.0).log10().floor());
    ui.spacing_mut().slider_width = (ui.available_width() - 92.0).max(60.0);
    // The rail has the colour of a resting widget, which is that of a card in the light theme.
    ui.visuals_mut().widgets.inactive.bg_fill = theme::palette(ui).line;
    let slider = egui::Slider::new(value, low..=high)
        .logarithmic(scale.log)
        .clamping(egui::SliderClamping::Never)
        .smart_aim(true)
        .custom_formatter(|value, _| number::short(value))
        .custom_parser(|text| text.replace([',', ' '], "").replace('−', "-").parse().ok())
        .drag_value_speed(step);
    ui.add(slider)
}
