//! A field of the form: label, input, unit and tooltip.

use eframe::egui::{self, Align, Layout, Response, RichText, Stroke, Ui, vec2};

use crate::settings::Field;
use crate::window::{theme, typed};

/// Width of the label column in points.
const LABEL_WIDTH: f32 = 170.0;
/// Width of the longest label. Its field has no unit.
const LONG_LABEL_WIDTH: f32 = 216.0;

/// A row of the form.
pub(super) struct Row {
    field: Field,
    is_wrong: bool,
}

impl Row {
    pub(super) fn new(field: Field, is_wrong: bool) -> Self {
        Self { field, is_wrong }
    }

    /// Shows label, input and unit. Returns whether the input changed.
    pub(super) fn show(self, ui: &mut Ui, input: impl FnOnce(&mut Ui) -> Response) -> bool {
        let Self { field, is_wrong } = self;
        let inner = ui.horizontal(|ui| {
            let label = label(ui, field, is_wrong);
            let response = input(ui).labelled_by(label.id);
            if !field.unit().is_empty() {
                ui.label(RichText::new(field.unit()).small().weak());
            }
            explain(&label, field);
            response
        });
        explain(&inner.inner, field);
        inner.inner.changed()
    }
}

/// A field's label, in the form's first column.
fn label(ui: &mut Ui, field: Field, is_wrong: bool) -> Response {
    let height = ui.spacing().interact_size.y;
    let width = if field == Field::OneHotLimit { LONG_LABEL_WIDTH } else { LABEL_WIDTH };
    let layout = Layout::left_to_right(Align::Center);
    let inner = ui.allocate_ui_with_layout(vec2(width, height), layout, |ui| {
        ui.set_min_width(width);
        let mut text = RichText::new(field.label());
        if is_wrong {
            text = text.color(theme::palette(ui).red);
        }
        ui.add(egui::Label::new(text).truncate())
    });
    inner.inner
}

/// A text input.
pub(super) fn text(ui: &mut Ui, field: Field, text: &mut String, is_wrong: bool, width: f32) -> Response {
    ui.scope(|ui| {
        if is_wrong {
            let wrong = Stroke::new(2.0, theme::palette(ui).red);
            let widgets = &mut ui.visuals_mut().widgets;
            for widget in [&mut widgets.inactive, &mut widgets.hovered, &mut widgets.active] {
                widget.bg_stroke = wrong;
            }
            ui.visuals_mut().selection.stroke = wrong;
        }
        let edit = egui::TextEdit::singleline(text).hint_text(typed::hint(field)).desired_width(width - 16.0);
        explain(&ui.add(edit.margin(vec2(8.0, 4.0)).align(egui::Align2::LEFT_CENTER)), field)
    })
    .inner
}

/// A drop-down list.
pub(super) fn choice<T: Copy + PartialEq>(ui: &mut Ui, field: Field, value: &mut T, choices: &[(T, &str)]) {
    ui.horizontal(|ui| {
        let label = label(ui, field, false);
        explain(&label, field);
        let name = choices.iter().find(|(choice, _)| choice == value).map_or("", |(_, name)| name);
        let combo = egui::ComboBox::from_id_salt(field).selected_text(name).width(ui.available_width());
        let response = combo.show_ui(ui, |ui| {
            for (choice, name) in choices {
                ui.selectable_value(value, *choice, *name);
            }
        });
        explain(&response.response.labelled_by(label.id), field);
    });
}

/// A check box.
pub(super) fn switch(ui: &mut Ui, field: Field, value: &mut bool) {
    explain(&ui.checkbox(value, field.label()), field);
}

/// Adds the field's tooltip: label, explanation, range and unit.
pub(super) fn explain(response: &Response, field: Field) -> Response {
    let explained = |ui: &mut Ui| {
        ui.set_max_width(340.0);
        ui.strong(field.label());
        ui.label(field.explanation());
        let unit = if field.unit().is_empty() { String::new() } else { format!(" ({})", field.unit()) };
        ui.label(RichText::new(format!("Range: {}{unit}", field.range())).weak());
    };
    response.clone().on_hover_ui(explained).on_disabled_hover_ui(explained)
}
