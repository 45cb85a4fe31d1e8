//! The prediction for one row. The user varies its values.

use std::sync::Arc;

use eframe::egui::{self, RichText, Ui};

use super::latest::Latest;
use super::{curve, whisker, why};
use crate::Table;
use crate::contributions::Contributions;
use crate::explanation::{ExplanationError, FeatureCurves};
use crate::intervals::PERCENT;
use crate::prediction::Cell;
use crate::prepared::{Input, Scale, Transform};
use crate::saved_run::SavedRun;
use crate::window::{number, theme};

/// A slider covers the mean plus and minus this many standard deviations of the training rows.
const RANGE: f64 = 3.0;

/// The row that the user varies.
#[derive(Default)]
pub(super) struct WhatIf {
    /// The transform that the row was made for.
    transform: Option<Transform>,
    /// Name and value of each feature.
    row: Vec<(String, Cell)>,
    /// The row before the user varied it.
    start: Vec<(String, Cell)>,
    /// "Mean row", or the name of the table's row it was copied from.
    name: String,
    predicted: Option<Predicted>,
    contributions: Latest<Request, Result<Contributions, ExplanationError>>,
    /// The feature with the displayed curve.
    curve_of: Option<String>,
    curves: Latest<Request, Option<FeatureCurves>>,
}

/// The inputs that an explanation depends on.
#[derive(Clone)]
struct Request {
    run: Arc<SavedRun>,
    /// The standardized inputs of the row.
    row: Vec<f32>,
    /// The feature of a curve.
    feature: Option<String>,
}

impl PartialEq for Request {
    fn eq(&self, other: &Self) -> bool {
        let bits = |row: &[f32]| -> Vec<u32> { row.iter().map(|value| value.to_bits()).collect() };
        Arc::ptr_eq(&self.run, &other.run) && self.feature == other.feature && bits(&self.row) == bits(&other.row)
    }
}

/// The predictions for the row before and after the changes, with the data they were computed from.
struct Predicted {
    run: Arc<SavedRun>,
    start: Vec<(String, Cell)>,
    row: Vec<(String, Cell)>,
    before: f64,
    now: f64,
    interval: Option<[f64; 2]>,
    /// The standardized inputs of `row`.
    inputs: Vec<f32>,
}

impl WhatIf {
    /// Starts with the mean row of a run, unless the row already matches the run's transform.
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

    /// Copies a row of a table, if it is complete.
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
            let is_filled = |name: &&str| table.column(name).is_some_and(|column| column.text(row).is_empty());
            let filled: Vec<&str> = self.start.iter().map(|(name, _)| name.as_str()).filter(is_filled).collect();
            let filled = if filled.is_empty() { String::new() } else { format!(", missing: {}", filled.join(", ")) };
            self.name = format!("Row {}{filled}", number::count(row + 1));
        }
    }

    /// The predictions for the row before and after the changes. Recomputed only after a change.
    fn predictions(&mut self, run: &Arc<SavedRun>) -> &Predicted {
        let kept = self.predicted.take().filter(|predicted| {
            Arc::ptr_eq(&predicted.run, run) && predicted.row == self.row && predicted.start == self.start
        });
        let predict = || {
            let before = run.model.predict_row(cells(&self.start));
            let (now, interval) = run.model.predict_row_within(PERCENT, cells(&self.row));
            let inputs = run.model.inputs_of_row(cells(&self.row));
            let (start, row) = (self.start.clone(), self.row.clone());
            Predicted { run: Arc::clone(run), start, row, before, now, interval, inputs }
        };
        let predicted = kept.unwrap_or_else(predict);
        self.predicted.insert(predicted)
    }

    /// Shows the prediction, and a slider or a choice for each feature.
    pub(super) fn show(&mut self, ui: &mut Ui, run: &Arc<SavedRun>) {
        let &Predicted { before, now, interval, ref inputs, .. } = self.predictions(run);
        let request = Request { run: Arc::clone(run), row: inputs.clone(), feature: None };
        self.header(ui, run, before, now);
        match interval {
            Some(interval) => {
                let is_outside = run.model.is_outside(cells(&self.row));
                whisker::show(ui, PERCENT, now, interval, run.model.transform.target_scale, is_outside);
            }
            None => {
                let reason = run.model.why_no_intervals(PERCENT).unwrap_or_default();
                ui.add(egui::Label::new(RichText::new(reason).small().weak()).wrap());
            }
        }
        ui.separator();
        let scroll = egui::ScrollArea::vertical().id_salt("what if").auto_shrink(false);
        scroll.content_margin(egui::Margin { right: 10, ..egui::Margin::ZERO }).show(ui, |ui| {
            self.curve(ui, run, &request, now);
            self.features(ui, run, &request);
        });
    }

    fn header(&mut self, ui: &mut Ui, run: &SavedRun, before: f64, now: f64) {
        let palette = theme::palette(ui);
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
        let text = format!("{} = {}", run.model.transform.target, number::short(now));
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
    }

    /// The choice of a feature, and curves of the prediction over its values.
    fn curve(&mut self, ui: &mut Ui, run: &Arc<SavedRun>, request: &Request, now: f64) {
        if run.model.background.is_none() {
            return;
        }
        ui.horizontal(|ui| {
            let label = ui.label("Curve over");
            let choice = egui::ComboBox::from_id_salt("curve over")
                .selected_text(self.curve_of.as_deref().unwrap_or("no feature"))
                .width(ui.available_width() - 16.0)
                .truncate();
            let response = choice.show_ui(ui, |ui| {
                ui.selectable_value(&mut self.curve_of, None, "no feature");
                for (name, _) in &self.row {
                    ui.selectable_value(&mut self.curve_of, Some(name.clone()), name);
                }
            });
            let tooltip = "The prediction over the values of one feature, the others fixed: for this row, for rows of the training part, and \
                           their mean";
            response.response.labelled_by(label.id).on_hover_text(tooltip);
        });
        let chosen = self.row.iter().find(|(name, _)| Some(name) == self.curve_of.as_ref());
        let Some((name, cell)) = chosen else { return };
        let request = Request { feature: Some(name.clone()), ..request.clone() };
        let of_thread = request.clone();
        let compute = move || {
            let Request { run, row, feature } = of_thread;
            run.model.feature_curves(&feature?, &row).ok().flatten()
        };
        let is_of_feature = |of: &Request| of.feature == request.feature;
        match self.curves.get(&request, ui.ctx(), compute) {
            Some((of, Some(curves), _)) if is_of_feature(of) => {
                curve::show(ui, &run.model.transform, name, curves, (cell, now));
            }
            _ => {
                ui.spinner();
            }
        }
    }

    /// Shows the features with their contributions, sliders and choices.
    fn features(&mut self, ui: &mut Ui, run: &Arc<SavedRun>, request: &Request) {
        let (model, of_thread) = (&run.model, request.clone());
        let compute = move || of_thread.run.model.contributions(&of_thread.row);
        let contributions = self.contributions.get(request, ui.ctx(), compute);
        let bars = match contributions {
            Some((of, Ok(contributions), is_current)) if Arc::ptr_eq(&of.run, run) => {
                let scale = model.transform.target_scale;
                why::caption(ui, contributions, scale);
                why::Bar::of(contributions, scale, is_current)
            }
            // The message replaces the interval, which is shown above.
            Some((_, Err(ExplanationError::NoBackground), _)) if model.intervals.is_none() => Vec::new(),
            Some((_, Err(reason), _)) => {
                ui.add(egui::Label::new(RichText::new(reason.to_string()).small().weak()).wrap());
                Vec::new()
            }
            _ => Vec::new(),
        };
        for (index, (name, cell)) in self.row.iter_mut().enumerate() {
            let label = why::line(ui, name, bars.get(index).copied());
            match cell {
                Cell::Number(value) => {
                    if let Some(scale) = curve::scale_of(&model.transform, name) {
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
    }
}

/// Looks up the cells of a row by their columns' names.
fn cells(row: &[(String, Cell)]) -> impl Fn(&str) -> Cell {
    |column| {
        let found = row.iter().find(|(name, _)| name == column);
        found.map_or(Cell::Number(f64::NAN), |(_, cell)| cell.clone())
    }
}

/// A slider over the usual values of the training rows. Other values can be typed.
fn slider(ui: &mut Ui, value: &mut f64, scale: Scale) -> egui::Response {
    let (low, high) = (scale.original(-RANGE), scale.original(RANGE));
    let step = 10.0_f64.powf(((high - low) / 1000.0).log10().floor());
    ui.spacing_mut().slider_width = (ui.available_width() - 92.0).max(60.0);
    // The rail has the color of an inactive widget, which in the light theme is the same as a
    // card's.
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
