//! The settings form, with units and validation messages.

mod columns;
mod field;
mod presets;

use std::collections::{BTreeMap, HashMap};

use eframe::egui::util::undoer::Undoer;
use eframe::egui::{self, RichText, Ui};
use neural_net::training::{Optimizer, Schedule};

pub(super) use self::columns::{describe, kind};
use self::field::Row;
use super::action::Action;
use super::loading::Loading;
use super::typed::{self, TYPED};
use super::{number, theme};
use crate::prepared::{Logarithms, suggested_logarithms};
use crate::settings::problems::MAX_NEURONS;
use crate::settings::{
    BadRows, ByRows, DataSettings, Duplicates, Field, HiddenActivation, NetworkKind, Problem, Source, SplitOrder,
};
use crate::table::{Column, DecimalMark, Kind};
use crate::{Settings, Table};
use neural_net::device::TrainingDevice;

/// Maximum number of hidden layers with buttons for their neurons.
const MAX_LAYERS_WITH_BUTTONS: usize = 8;
/// Number of neurons when the button adds the first hidden layer.
const FIRST_LAYER: usize = 32;

/// The settings being edited, and the contents of their input fields.
pub(crate) struct Form {
    settings: Settings,
    /// Contents of the text fields.
    texts: HashMap<Field, String>,
    /// One problem for each text that cannot be parsed.
    unread: Vec<Problem>,
    /// All problems, cached for the state in `checked`.
    problems: Vec<Problem>,
    checked: Option<(Settings, Option<*const Table>)>,
    /// The suggested logarithms for the table, cached like the problems.
    suggested: Logarithms,
    /// Earlier settings for the same data set, to undo changes.
    undoer: Undoer<Settings>,
    /// Whether the rarely changed inputs are shown.
    shows_advanced: bool,
}

impl Form {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            texts: texts_of(&settings),
            settings,
            unread: Vec::new(),
            problems: Vec::new(),
            checked: None,
            suggested: Logarithms::default(),
            undoer: Undoer::default(),
            shows_advanced: false,
        }
    }

    /// Whether there is a change to undo.
    pub(crate) fn can_undo(&self) -> bool {
        self.undoer.has_undo(&self.settings)
    }

    /// Whether an undone change can be made again.
    pub(crate) fn can_redo(&self) -> bool {
        self.undoer.has_redo(&self.settings)
    }

    /// Undoes the last change.
    pub(crate) fn undo(&mut self) {
        if let Some(before) = self.undoer.undo(&self.settings).cloned() {
            self.replace(before);
        }
    }

    /// Redoes the change that was undone last.
    pub(crate) fn redo(&mut self) {
        if let Some(after) = self.undoer.redo(&self.settings).cloned() {
            self.replace(after);
        }
    }

    /// Resets everything except data set, target and features to its default, and the logarithms to
    /// the table's suggestion.
    pub(crate) fn reset(&mut self, table: Option<&Table>) {
        let defaults = Settings::default();
        let DataSettings { samples, log_target, log_features, bad_rows, one_hot_limit, .. } = defaults.data;
        let kept = self.settings.data.clone();
        let data = DataSettings { samples, log_target, log_features, bad_rows, one_hot_limit, ..kept };
        self.change(|form| {
            form.replace(Settings { data, ..defaults });
            if let Some(table) = table {
                form.take_suggested(table);
                form.fill_in_by_rows(table);
            }
        });
    }

    /// Makes a change as a single undo step.
    fn change(&mut self, change: impl FnOnce(&mut Self)) {
        self.undoer.add_undo(&self.settings);
        change(self);
        self.undoer.add_undo(&self.settings);
    }

    /// Replaces the settings for the same table. This can be undone.
    pub(crate) fn replace_with(&mut self, settings: Settings) {
        self.change(|form| form.replace(settings));
    }

    fn replace(&mut self, settings: Settings) {
        self.texts = texts_of(&settings);
        (self.settings, self.unread, self.checked) = (settings, Vec::new(), None);
    }

    /// The edited settings; valid only if there are no problems.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// All problems, in the form's order; recomputed only after a change.
    pub(crate) fn problems(&mut self, table: Option<&Table>) -> &[Problem] {
        let table_of = table.map(std::ptr::from_ref);
        let is_fresh =
            self.checked.as_ref().is_some_and(|(settings, of)| *settings == self.settings && *of == table_of);
        if !is_fresh {
            let found = self.settings.problems(table);
            let readable =
                found.into_iter().filter(|problem| self.unread.iter().all(|text| text.field != problem.field));
            self.problems = self.unread.iter().cloned().chain(readable).collect();
            let place = |problem: &Problem| Field::ALL.iter().position(|&field| field == problem.field);
            self.problems.sort_by_key(place);
            self.suggested = table.map(|table| suggested_logarithms(table, &self.settings.data)).unwrap_or_default();
            self.checked = Some((self.settings.clone(), table_of));
        }
        &self.problems
    }

    /// Adopts a loaded table. If it lacks a chosen column, or no feature is chosen, its last
    /// numeric column becomes the target. The other usable columns become the features: numbers,
    /// and texts with few categories.
    pub(crate) fn take_table(&mut self, source: Source, table: &Table) {
        if self.settings.data.source != source {
            // Columns of the previous table cannot be restored, and its declarations do not apply.
            self.undoer = Undoer::default();
            let data = &mut self.settings.data;
            data.sheet = None;
            (data.decimal_mark, data.encoding, data.first_year, data.header) = (None, None, None, None);
            (data.columns, data.missing) = (BTreeMap::new(), BTreeMap::new());
            if matches!(source, Source::Demo { .. }) {
                // Use the demo's own features and target, not merely columns that would suit any
                // table.
                let DataSettings { features, target, .. } = DataSettings::default();
                (data.features, data.target, data.source) = (features, target, source);
                self.take_suggested(table);
                self.fill_in_by_rows(table);
                return;
            }
        }
        let data = &mut self.settings.data;
        data.source = source;
        let is_there = |name: &String| table.column(name).is_some();
        let may_be_used = |name: &str| data.columns.get(name).is_none_or(|role| role.may_be_used());
        data.features.retain(|name| may_be_used(name));
        let fits = !data.features.is_empty() && data.features.iter().all(is_there) && is_there(&data.target);
        if fits {
            self.settings.fill_in_by_rows(table);
            self.texts = texts_of(&self.settings);
            return;
        }
        let usable =
            || table.columns().iter().filter(|column| may_be_used(column.name()) && column.missing() < table.rows());
        let is_number = |column: &&Column| column.kind() == Kind::Number && !column.is_date();
        let is_target = |column: &&Column| is_number(column) && !table.numbers_rows(column.name());
        let target = usable().rfind(is_target).map_or("", Column::name).to_owned();
        let limit = data.one_hot_limit;
        let has_few_categories =
            |column: &&Column| column.categories().is_some_and(|of| (2..=limit).contains(&of.names.len()));
        let features = usable().filter(|column| is_number(column) || has_few_categories(column));
        let features: Vec<&str> = features.map(Column::name).filter(|name| **name != target).collect();
        let (numbering, others): (Vec<&str>, Vec<&str>) =
            features.into_iter().partition(|name| table.numbers_rows(name));
        // A column that numbers the rows is better than no feature.
        let features = if others.is_empty() { numbering } else { others };
        data.features = features.into_iter().map(str::to_owned).collect();
        data.target = target;
        self.take_suggested(table);
        self.fill_in_by_rows(table);
    }

    /// Sets batch size, epochs and patience to suit the number of rows.
    fn fill_in_by_rows(&mut self, table: &Table) {
        self.settings.training.by_rows = ByRows::ALL;
        self.settings.fill_in_by_rows(table);
        self.texts = texts_of(&self.settings);
    }

    /// Sets the logarithms to suit the table.
    pub(crate) fn take_suggested(&mut self, table: &Table) {
        let Logarithms { target, features } = suggested_logarithms(table, &self.settings.data);
        (self.settings.data.log_target, self.settings.data.log_features) = (target, features);
    }

    /// Adds a column of the table to the features, or removes it. The target does not change.
    pub(crate) fn toggle_feature(&mut self, name: &str, table: &Table) {
        let data = &mut self.settings.data;
        if data.target != name {
            columns::toggle(&mut data.features, name, table);
        }
    }

    /// Whether a logarithm is suggested for the table, but not used.
    pub(crate) fn lacks_logarithms(&self) -> bool {
        let data = &self.settings.data;
        (self.suggested.target && !data.log_target) || (self.suggested.features && !data.log_features)
    }

    /// Draws the form. Returns the user's chosen action.
    pub(crate) fn show(
        &mut self,
        ui: &mut Ui,
        table: Option<&Table>,
        (loading, has_changed): (Option<&Loading>, bool),
        is_training: bool,
    ) -> Option<Action> {
        self.problems(table);
        ui.spacing_mut().item_spacing.y = 5.0;
        if is_training {
            ui.label(RichText::new("Locked during training: stop it to change settings.").small().weak());
        }
        let mut action = None;
        self.undoer.feed_state(ui.input(|input| input.time), &self.settings);
        ui.add_enabled_ui(!is_training, |ui| {
            section(ui, "Data", |ui| {
                action = self.data_set(ui, table, (loading, has_changed));
                action = action.or_else(|| self.sheet(ui, table?));
                let before = self.settings.data.declared();
                self.reading(ui);
                self.typed(ui, Field::Samples);
                columns::target(ui, self, table);
                columns::features(ui, self, table);
                if self.settings.data.declared() != before {
                    action = Some(Action::ReadAgain);
                }
                self.data_switches(ui);
            });
            section(ui, "Split", |ui| self.split(ui));
            section(ui, "Network", |ui| self.network(ui, table));
            section(ui, "Training", |ui| self.training(ui));
            section(ui, "Advanced", |ui| self.advanced(ui));
        });
        action
    }

    /// Shows the table, and the ways to load another one. `has_changed` means that its file changed
    /// after it was read.
    fn data_set(
        &self,
        ui: &mut Ui,
        table: Option<&Table>,
        (loading, has_changed): (Option<&Loading>, bool),
    ) -> Option<Action> {
        let mut action = None;
        if let Some(loading) = loading {
            ui.label(format!("Loading {}…", loading.name()));
            ui.horizontal(|ui| {
                let bar = match loading.progress() {
                    Some(share) => egui::ProgressBar::new(share).show_percentage(),
                    None => egui::ProgressBar::new(0.0).animate(true),
                };
                ui.add(bar.desired_width(ui.available_width() - 84.0));
                if ui.button("Cancel").on_hover_text("Keep the current data (Esc)").clicked() {
                    action = Some(Action::CancelLoading);
                }
            });
            return action;
        }
        let name = self.settings.data.source.name();
        let row = Row::new(Field::Source, self.is_wrong(Field::Source));
        row.show(ui, |ui| ui.add(egui::Label::new(RichText::new(name).strong()).truncate()));
        if let Some(table) = table {
            let columns = table.columns().len();
            let size = format!("{} rows, {columns} columns", number::count(table.rows()));
            ui.label(RichText::new(size).small().weak());
        }
        if has_changed {
            let text = "⚠ The file has changed since it was read.";
            ui.add(egui::Label::new(RichText::new(text).color(theme::palette(ui).orange)).wrap());
            if ui.button(Action::ReadAgain.label()).on_hover_text(Action::ReadAgain.tooltip(ui.ctx())).clicked() {
                action = Some(Action::ReadAgain);
            }
        }
        ui.horizontal(|ui| {
            let open = ui.button("Open file…").on_hover_text("Open a table: .csv, .xlsx or .ods (Ctrl+O)");
            if open.clicked() {
                action = Some(Action::OpenData);
            }
            let is_other = !matches!(self.settings.data.source, Source::Demo { .. }) || table.is_none();
            let built_in = ui.add_enabled(is_other, egui::Button::new(Action::BuiltIn.label()));
            let built_in = built_in.on_hover_text(Action::BuiltIn.explanation());
            if built_in.on_disabled_hover_text("Already loaded.").clicked() {
                action = Some(Action::BuiltIn);
            }
        });
        action
    }

    /// The sheet of a workbook with several sheets. Returns the action if the user chooses another
    /// one.
    fn sheet(&self, ui: &mut Ui, table: &Table) -> Option<Action> {
        let choices: Vec<(usize, &str)> = table.sheets().iter().map(String::as_str).enumerate().collect();
        let shown = choices.iter().position(|(_, name)| Some(*name) == table.sheet()).filter(|_| choices.len() > 1)?;
        let mut chosen = shown;
        field::choice(ui, Field::Sheet, &mut chosen, &choices);
        (chosen != shown).then_some(Action::ReadSheet(chosen))
    }

    /// Shows the declarations for a file.
    fn reading(&mut self, ui: &mut Ui) {
        if !matches!(self.settings.data.source, Source::File(_)) {
            return;
        }
        let marks =
            [(None, "as the cells show"), (Some(DecimalMark::Point), "point"), (Some(DecimalMark::Comma), "comma")];
        field::choice(ui, Field::DecimalMark, &mut self.settings.data.decimal_mark, &marks);
        let headers = [(None, "as the rows show"), (Some(true), "names"), (Some(false), "a row")];
        field::choice(ui, Field::Header, &mut self.settings.data.header, &headers);
    }

    fn data_switches(&mut self, ui: &mut Ui) {
        field::switch(ui, Field::LogTarget, &mut self.settings.data.log_target);
        self.note(ui, Field::LogTarget);
        if self.suggested.target && !self.settings.data.log_target {
            suggestion(ui, "Suggested: the target spans several powers of ten.");
        }
        field::switch(ui, Field::LogFeatures, &mut self.settings.data.log_features);
        self.note(ui, Field::LogFeatures);
        if self.suggested.features && !self.settings.data.log_features {
            suggestion(ui, "Suggested: a feature spans several powers of ten.");
        }
        let choices = [
            (BadRows::Drop, "drop"),
            (BadRows::Mean, "fill in the mean"),
            (BadRows::Median, "fill in the median"),
            (BadRows::Error, "stop with an error"),
        ];
        field::choice(ui, Field::BadRows, &mut self.settings.data.bad_rows, &choices);
    }

    fn split(&mut self, ui: &mut Ui) {
        let shares = [Field::TrainShare, Field::ValidationShare, Field::TestShare];
        ui.columns_const(|cells: &mut [Ui; 3]| {
            for (ui, field) in cells.iter_mut().zip(shares) {
                let label = ui.label(RichText::new(field.label()).small());
                let is_wrong = self.is_wrong(field);
                let width = ui.available_width();
                field::text(ui, field, self.texts.entry(field).or_default(), is_wrong, width).labelled_by(label.id);
                field::explain(&label, field);
            }
        });
        for field in shares {
            self.set_from_text(field);
            self.note(ui, field);
        }
        let choices = [(SplitOrder::Shuffled, "shuffled"), (SplitOrder::Time, "time")];
        field::choice(ui, Field::SplitOrder, &mut self.settings.split.order, &choices);
        let choices = [(Duplicates::Together, "in one part"), (Duplicates::Apart, "each for itself")];
        field::choice(ui, Field::Duplicates, &mut self.settings.split.duplicates, &choices);
    }

    fn network(&mut self, ui: &mut Ui, table: Option<&Table>) {
        let mut kind = self.settings.network.kind;
        let choices = [(NetworkKind::Layers, "layers"), (NetworkKind::Table, "made for tables")];
        field::choice(ui, Field::Kind, &mut kind, &choices);
        if kind != self.settings.network.kind {
            self.settings.network.kind = kind;
            if let Some(table) = table {
                self.fill_in_by_rows(table);
            }
        }
        if kind == NetworkKind::Table {
            suggestion(ui, "It chooses its own layers and learning rate.");
        }
        ui.add_enabled_ui(kind == NetworkKind::Layers, |ui| {
            self.typed(ui, Field::Hidden);
            self.layers(ui);
            let choices = [
                (HiddenActivation::Sigmoid, "sigmoid"),
                (HiddenActivation::Tanh, "tanh"),
                (HiddenActivation::Relu, "ReLU"),
            ];
            field::choice(ui, Field::Activation, &mut self.settings.network.activation, &choices);
        });
    }

    /// Buttons that add and remove hidden layers, and neurons in each.
    fn layers(&mut self, ui: &mut Ui) {
        let mut hidden = self.settings.network.hidden.clone();
        ui.horizontal_wrapped(|ui| {
            for (index, units) in hidden.iter_mut().enumerate().take(MAX_LAYERS_WITH_BUTTONS) {
                let layer = index + 1;
                let step = (*units / 8).max(1);
                let fewer = ui.add_enabled(*units > 1, egui::Button::new("−").small());
                let tooltip = format!("Fewer neurons in layer {layer}");
                if fewer.on_hover_text(&tooltip).accessible_name(&tooltip).clicked() {
                    *units -= step;
                }
                ui.label(RichText::new(units.to_string()).small());
                let tooltip = format!("More neurons in layer {layer}");
                let more = ui.add_enabled(*units < MAX_NEURONS, egui::Button::new("+").small());
                if more.on_hover_text(&tooltip).accessible_name(&tooltip).clicked() {
                    *units = (*units + step).min(MAX_NEURONS);
                }
                ui.add_space(6.0);
            }
        });
        ui.horizontal(|ui| {
            // Use half of the last layer's neurons, as networks usually narrow toward their output.
            let units = hidden.last().map_or(FIRST_LAYER, |units| (units / 2).max(1));
            let add = ui.small_button("Add layer").on_hover_text(format!("Add a hidden layer of {units} neurons"));
            if add.clicked() {
                hidden.push(units);
            }
            let remove = ui.add_enabled(!hidden.is_empty(), egui::Button::new("Remove layer").small());
            if remove.on_hover_text("Remove the last hidden layer").clicked() {
                hidden.pop();
            }
        });
        if hidden != self.settings.network.hidden {
            self.settings.network.hidden = hidden;
            self.retype(Field::Hidden);
        }
    }

    fn training(&mut self, ui: &mut Ui) {
        ui.add_enabled_ui(self.settings.network.kind == NetworkKind::Layers, |ui| {
            let mut optimizer = self.settings.training.optimizer;
            field::choice(ui, Field::Optimizer, &mut optimizer, &[(Optimizer::Sgd, "SGD"), (Optimizer::Adam, "Adam")]);
            if optimizer != self.settings.training.optimizer {
                self.settings.training.set_optimizer(optimizer);
                self.retype(Field::LearningRate);
            }
            self.typed(ui, Field::LearningRate);
            let choices = Schedule::ALL.map(|schedule| (schedule, schedule.name()));
            field::choice(ui, Field::Schedule, &mut self.settings.training.schedule, &choices);
        });
        for field in [Field::BatchSize, Field::Epochs, Field::Patience] {
            self.typed(ui, field);
        }
    }

    /// Rarely changed inputs, shown by a button. They are always visible if one of them is invalid.
    fn advanced(&mut self, ui: &mut Ui) {
        const FIELDS: [Field; 9] = [
            Field::OneHotLimit,
            Field::SplitSeed,
            Field::Gain,
            Field::Threshold,
            Field::Momentum,
            Field::Regularization,
            Field::Seed,
            Field::Device,
            Field::Threads,
        ];
        let is_wrong = FIELDS.into_iter().any(|field| self.is_wrong(field));
        let is_shown = self.shows_advanced || is_wrong;
        let label = if is_shown { "Show less" } else { "Show more" };
        let button = ui.add_enabled(!is_wrong, egui::Button::new(label).small());
        let what = "Gain and threshold of the sigmoid, momentum, regularization, seeds, device and threads";
        if button.on_hover_text(what).on_disabled_hover_text("One of these inputs is wrong.").clicked() {
            self.shows_advanced = !self.shows_advanced;
        }
        if !is_shown {
            return;
        }
        self.typed(ui, Field::OneHotLimit);
        let is_shuffled = self.settings.split.order == SplitOrder::Shuffled;
        ui.add_enabled_ui(is_shuffled, |ui| self.typed(ui, Field::SplitSeed));
        let has_layers = self.settings.network.kind == NetworkKind::Layers;
        let is_sigmoid = has_layers && self.settings.network.activation == HiddenActivation::Sigmoid;
        ui.add_enabled_ui(is_sigmoid, |ui| {
            self.typed(ui, Field::Gain);
            self.typed(ui, Field::Threshold);
        });
        ui.add_enabled_ui(has_layers, |ui| {
            self.typed(ui, Field::Momentum);
            self.typed(ui, Field::Regularization);
        });
        self.typed(ui, Field::Seed);
        let choices = [
            (TrainingDevice::Auto, "automatic"),
            (TrainingDevice::Cpu, "CPU"),
            (TrainingDevice::Cuda, "CUDA"),
            (TrainingDevice::Simulator, "simulator"),
            (TrainingDevice::Ptx, "PTX interpreter"),
        ];
        field::choice(ui, Field::Device, &mut self.settings.training.device, &choices);
        self.note(ui, Field::Device);
        self.typed(ui, Field::Threads);
    }

    /// A text field with its label, unit and validation messages.
    fn typed(&mut self, ui: &mut Ui, field: Field) {
        let is_wrong = self.is_wrong(field);
        let row = Row::new(field, self.is_wrong(field));
        let text = self.texts.entry(field).or_default();
        let changed = row.show(ui, |ui| {
            let width = if field == Field::Hidden { ui.available_width() - 44.0 } else { 96.0 };
            field::text(ui, field, text, is_wrong, width)
        });
        if changed {
            self.set_from_text(field);
        }
        self.note(ui, field);
    }

    /// Shows the setting in its text field, replacing what was typed.
    fn retype(&mut self, field: Field) {
        self.texts.insert(field, typed::text_of(&self.settings, field));
        self.set_from_text(field);
    }

    /// Parses a field's text into the settings, or records the problem.
    fn set_from_text(&mut self, field: Field) {
        let text = self.texts.get(&field).map_or("", String::as_str);
        let before = self.unread.len();
        self.unread.retain(|problem| problem.field != field);
        if let Err(message) = typed::set(&mut self.settings, field, text) {
            self.unread.push(Problem { field, message });
        }
        if before > 0 || !self.unread.is_empty() {
            self.checked = None;
        }
    }

    fn is_wrong(&self, field: Field) -> bool {
        self.problems.iter().any(|problem| problem.field == field)
    }

    /// Shows a field's validation messages.
    fn note(&self, ui: &mut Ui, field: Field) {
        for problem in self.problems.iter().filter(|problem| problem.field == field) {
            let color = theme::palette(ui).red;
            ui.label(RichText::new(format!("⚠ {problem}")).small().color(color));
        }
    }
}

/// The contents of the text fields.
fn texts_of(settings: &Settings) -> HashMap<Field, String> {
    TYPED.into_iter().map(|field| (field, typed::text_of(settings, field))).collect()
}

fn suggestion(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).small().color(theme::palette(ui).blue));
}

fn section(ui: &mut Ui, title: &str, add_contents: impl FnOnce(&mut Ui)) {
    theme::card(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.heading(title);
        ui.add_space(2.0);
        add_contents(ui);
    });
    ui.add_space(4.0);
}
