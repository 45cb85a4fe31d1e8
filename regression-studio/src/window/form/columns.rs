//! Selects the target and the feature columns.

use eframe::egui::{self, RichText, Ui};

use super::{Form, field};
use crate::Table;
use crate::settings::{DataSettings, Field, Source};
use crate::table::{Column, Kind, Role};
use crate::window::number;

/// The list of target columns.
pub(super) fn target(ui: &mut Ui, form: &mut Form, table: Option<&Table>) {
    let names: Vec<&str> = numbers(table).map(Column::name).collect();
    let mut chosen = form.settings.data.target.clone();
    let row = field::Row::new(Field::Target, form.is_wrong(Field::Target));
    row.show(ui, |ui| {
        let text = if chosen.is_empty() { "choose a column" } else { &chosen };
        let combo =
            egui::ComboBox::from_id_salt(Field::Target).selected_text(text).width(ui.available_width()).truncate();
        let response = combo.show_ui(ui, |ui| {
            for name in &names {
                ui.selectable_value(&mut chosen, (*name).to_owned(), *name);
            }
        });
        response.response
    });
    if chosen != form.settings.data.target {
        // The target must not be a feature.
        form.settings.data.features.retain(|feature| *feature != chosen);
        form.settings.data.target = chosen;
    }
    form.note(ui, Field::Target);
}

/// One check box per feature column.
pub(super) fn features(ui: &mut Ui, form: &mut Form, table: Option<&Table>) {
    let Some(table) = table else { return };
    ui.horizontal(|ui| {
        let label = ui.label(Field::Features.label());
        field::explain(&label, Field::Features);
        let chosen = format!("{} of {} columns", form.settings.data.features.len(), table.columns().len());
        ui.label(RichText::new(chosen).small().weak());
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            if ui.small_button("none").on_hover_text("Clear the selection").clicked() {
                form.settings.data.features.clear();
            }
            if ui
                .small_button("numbers")
                .on_hover_text("Select all numeric columns except dates and the target")
                .clicked()
            {
                let target = &form.settings.data.target;
                let names = numbers(Some(table)).filter(|column| !column.is_date()).map(Column::name);
                let names = names.filter(|name| name != target);
                form.settings.data.features = names.map(str::to_owned).collect();
            }
        });
    });
    let frame = egui::Frame::canvas(ui.style()).inner_margin(6).corner_radius(6);
    frame.show(ui, |ui| {
        egui::ScrollArea::vertical().id_salt("features").max_height(146.0).auto_shrink([false, true]).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            ui.spacing_mut().interact_size.y = 20.0;
            let is_file = matches!(form.settings.data.source, Source::File(_));
            for column in table.columns() {
                ui.horizontal(|ui| {
                    let name = column.name();
                    let is_target = name == form.settings.data.target;
                    let may_be_used = !is_target && form.settings.data.role(name).is_none_or(Role::may_be_used);
                    ui.add_enabled_ui(may_be_used, |ui| feature(ui, &mut form.settings.data.features, column, table));
                    if is_file {
                        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                            role(ui, &mut form.settings.data, column);
                        });
                    }
                });
            }
        });
    });
    form.note(ui, Field::Features);
}

fn feature(ui: &mut Ui, features: &mut Vec<String>, column: &Column, table: &Table) {
    let mut is_chosen = features.iter().any(|feature| feature == column.name());
    let label = egui::Checkbox::new(&mut is_chosen, column.name());
    if ui.add(label).on_hover_text(describe(column)).changed() {
        toggle(features, column.name(), table);
    }
}

/// Enough for all roles without scrolling.
const ROLES_HEIGHT: f32 = 420.0;

/// A column's role: declared, or detected from its cells.
fn role(ui: &mut Ui, data: &mut DataSettings, column: &Column) {
    let (name, before) = (column.name(), data.role(column.name()));
    let mut chosen = before;
    let found = |role: Option<Role>| role.map_or(kind(column), Role::name);
    let list =
        egui::ComboBox::from_id_salt(("role", name)).selected_text(found(chosen)).width(96.0).height(ROLES_HEIGHT);
    let response = list.show_ui(ui, |ui| {
        ui.selectable_value(&mut chosen, None, format!("as the cells show ({})", kind(column)));
        for role in Role::ALL {
            ui.selectable_value(&mut chosen, Some(role), role.name());
        }
    });
    response
        .response
        .on_hover_text(format!("What {name} is, where its cells don't show it"))
        .accessible_name(format!("Role of {name}"));
    if chosen != before {
        match chosen {
            Some(role) => drop(data.columns.insert(name.to_owned(), role)),
            None => drop(data.columns.remove(name)),
        }
    }
}

/// A column's kind, in one word.
pub(in crate::window) fn kind(column: &Column) -> &'static str {
    match column.kind() {
        Kind::Number if column.is_date() => "date",
        Kind::Number => "number",
        Kind::Text => "text",
    }
}

/// Adds a column to the features, or removes it.
pub(super) fn toggle(features: &mut Vec<String>, name: &str, table: &Table) {
    match features.iter().position(|feature| feature == name) {
        Some(index) => drop(features.remove(index)),
        None => {
            features.push(name.to_owned());
            // Keep the table's order: the network must not depend on the order of the clicks.
            features.sort_by_key(|name| table.columns().iter().position(|column| column.name() == name));
        }
    }
}

/// Kind and missing values of a column, in words.
pub(in crate::window) fn describe(column: &Column) -> String {
    let kind = match column.categories() {
        Some(categories) => format!("{} categories", number::count(categories.names.len())),
        None if column.is_date() => "dates, used as days since 1970-01-01".to_owned(),
        None => "numbers".to_owned(),
    };
    let gaps = match (column.missing(), column.not_numeric()) {
        (0, 0) => "nothing missing".to_owned(),
        (missing, 0) => format!("{} missing", number::count(missing)),
        (0, wrong) => format!("{} unreadable", number::count(wrong)),
        (missing, wrong) => format!("{} missing, {} unreadable", number::count(missing), number::count(wrong)),
    };
    format!("{kind}, {gaps}")
}

fn numbers(table: Option<&Table>) -> impl Iterator<Item = &Column> {
    table.into_iter().flat_map(Table::columns).filter(|column| column.kind() == Kind::Number)
}
