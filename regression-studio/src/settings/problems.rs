//! Validates the settings: finds every invalid value and suggests a remedy.

use neural_net::device::TrainingDevice;

use super::{Field, HiddenActivation, NetworkKind, Settings, Source};
use crate::Table;
use crate::table::{Column, Kind, Role, are_alike, csv, shortened};

/// An invalid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field.
    pub field: Field,
    /// One line: the problem and a remedy.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.field.label(), self.message)
    }
}

/// Maximum numbers of hidden layers and of neurons per layer.
pub(super) const MAX_LAYERS: usize = 8;
pub(crate) const MAX_NEURONS: usize = 1024;
/// Maximum number of different texts or whole numbers in a target before they are no longer
/// considered classes.
pub(crate) const MAX_CLASSES: usize = 10;
/// Minimum number of rows: two to train on, one to validate, one to test.
pub(crate) const MIN_ROWS: usize = 4;

pub(super) fn problems(settings: &Settings, table: Option<&Table>) -> Vec<Problem> {
    let mut found = Found(Vec::new());
    found.data(settings, table);
    found.split(settings);
    found.network(settings);
    found.training(settings);
    found.0
}

/// The message for a text column with too many categories.
fn too_many_categories(column: &Column, texts: usize, limit: usize) -> String {
    let name = column.name();
    match &csv::units(column)[..] {
        [] if let Some(looks) = column.looks_like() => {
            format!("{name:?} is read as text with {texts} categories, more than the limit of {limit}: {looks}")
        }
        [] => format!("{name:?} has {texts} categories, more than the limit of {limit}: remove it or raise the limit"),
        units => {
            let shown: Vec<String> = units.iter().take(4).map(|unit| format!("{unit:?}")).collect();
            let more = if units.len() > shown.len() { ", …" } else { "" };
            format!(
                "{name:?} has numbers with different units, {}{more}, and is read as text with {texts} categories: give \
                 all numbers one unit, or remove it",
                shown.join(", ")
            )
        }
    }
}

/// The message for a text column as target.
fn not_numeric(column: &Column, table: &Table) -> String {
    let name = column.name();
    let texts = column.categories().map(|categories| categories.names.iter().collect::<Vec<_>>()).unwrap_or_default();
    let note = table.notes().iter().find(|note| note.column.as_deref() == Some(name));
    match &texts[..] {
        _ if let Some(note) = note => format!("{name:?} is a text column: choose a numeric column ({})", note.text),
        [no, yes] => format!(
            "{name:?} is a text column of {:?} and {:?}: classification is not offered; give it as 0 and 1 to predict a number \
             near the share of 1, or choose a numeric column",
            shortened(no),
            shortened(yes)
        ),
        [_, _, ..] if texts.len() <= MAX_CLASSES => format!(
            "{name:?} is a text column of {} classes: classification is not offered; choose a numeric column",
            texts.len()
        ),
        _ => format!("{name:?} is a text column: choose a numeric column"),
    }
}

/// The column with a name that differs from `name` only by case and blanks.
fn meant<'a>(table: &'a Table, name: &str) -> Option<&'a str> {
    table.columns().iter().map(Column::name).find(|column| are_alike(column, name))
}

struct Found(Vec<Problem>);

impl Found {
    fn require(&mut self, is_valid: bool, field: Field, message: impl FnOnce() -> String) {
        if !is_valid {
            self.0.push(Problem { field, message: message() });
        }
    }

    /// Requires a number to be in the field's range.
    fn in_range(&mut self, field: Field, value: impl std::fmt::Display, is_valid: bool) {
        self.require(is_valid, field, || format!("{value} is out of range, must be {}", field.range()));
    }

    fn data(&mut self, Settings { data, .. }: &Settings, table: Option<&Table>) {
        if let Source::Demo { rows, .. } | Source::Synthetic { rows, .. } = data.source {
            let is_valid = (MIN_ROWS..=100_000_000).contains(&rows);
            self.require(is_valid, Field::Source, || format!("{rows} rows are out of range, must be 4 … 100,000,000"));
        }
        if let Some(samples) = data.samples {
            self.in_range(Field::Samples, samples, samples >= MIN_ROWS);
        }
        self.in_range(Field::OneHotLimit, data.one_hot_limit, (2..=1000).contains(&data.one_hot_limit));
        self.require(!data.features.is_empty(), Field::Features, || "no column is chosen: choose at least one".into());
        self.require(!data.target.is_empty(), Field::Target, || "no column is chosen: choose a numeric column".into());
        let is_feature = data.features.contains(&data.target);
        self.require(!is_feature, Field::Target, || {
            format!("{:?} is also a feature, which leaks the target: remove it from the features", data.target)
        });
        for (index, name) in data.features.iter().enumerate() {
            let is_first = !data.features[..index].contains(name);
            self.require(is_first, Field::Features, || format!("{name:?} is chosen twice: remove one"));
        }
        if let Some(table) = table {
            self.columns(data, table);
        }
    }

    fn columns(&mut self, data: &super::DataSettings, table: &Table) {
        let unknown = |name: &str| {
            let names: Vec<&str> = table.columns().iter().map(Column::name).take(20).collect();
            let more = if table.columns().len() > names.len() { ", …" } else { "" };
            let notes = table.notes_on(|_| false).map(|note| format!(" ({note})")).collect::<String>();
            if let Some(meant) = meant(table, name) {
                return format!("{} has no column {name:?}: did you mean {meant:?}?", table.source());
            }
            format!("{} has no column {name:?}; its columns are {}{more}{notes}", table.source(), names.join(", "))
        };
        for name in &data.features {
            let Some(column) = table.column(name) else {
                self.require(false, Field::Features, || unknown(name));
                continue;
            };
            if let Some(role) = data.role(name).filter(|role| !role.may_be_used()) {
                let role = role.name();
                self.require(false, Field::Features, || {
                    format!("{name:?} is declared as {role:?}: remove it from the features, or declare it otherwise")
                });
                continue;
            }
            let texts = column.categories().map_or(0, |categories| categories.names.len());
            self.require(texts <= data.one_hot_limit, Field::Features, || {
                too_many_categories(column, texts, data.one_hot_limit)
            });
            self.require(column.missing() < table.rows() || table.rows() == 0, Field::Features, || {
                format!("{name:?} has no value in any row: remove it")
            });
        }
        for name in data.columns.keys().chain(data.missing.keys()).filter(|name| table.column(name).is_none()) {
            self.require(false, Field::Features, || unknown(name));
        }
        let groups = data.columns.values().filter(|role| **role == Role::Group).count();
        self.require(groups <= 1, Field::Features, || {
            format!("{groups} columns are declared as \"group\": choose one")
        });
        if data.target.is_empty() {
            return;
        }
        let role = data.role(&data.target).filter(|role| !role.may_be_used());
        self.require(role.is_none(), Field::Target, || {
            format!("{:?} is declared as {:?}: choose another target", data.target, role.map_or("", Role::name))
        });
        match table.column(&data.target) {
            None => self.require(false, Field::Target, || unknown(&data.target)),
            Some(column) => self.require(column.kind() == Kind::Number, Field::Target, || not_numeric(column, table)),
        }
    }

    fn split(&mut self, Settings { split, .. }: &Settings) {
        for (field, share) in [
            (Field::TrainShare, split.train),
            (Field::ValidationShare, split.validation),
            (Field::TestShare, split.test),
        ] {
            self.in_range(field, share, share.is_finite() && share > 0.0);
        }
    }

    fn network(&mut self, Settings { network, .. }: &Settings) {
        let layers = &network.hidden;
        let is_valid = layers.len() <= MAX_LAYERS && layers.iter().all(|units| (1..=MAX_NEURONS).contains(units));
        self.in_range(Field::Hidden, format_args!("{layers:?}"), is_valid);
        // Other activations ignore gain and threshold. Files contain them anyway, so they must be
        // finite to be read again.
        let (gain, threshold, is_used) =
            (network.gain, network.threshold, network.activation == HiddenActivation::Sigmoid);
        self.in_range(Field::Gain, gain, gain.is_finite() && (!is_used || (gain > 0.0 && gain <= 100.0)));
        let is_threshold = threshold.is_finite() && (!is_used || (-100.0..=100.0).contains(&threshold));
        self.in_range(Field::Threshold, threshold, is_threshold);
    }

    fn training(&mut self, Settings { training, network, .. }: &Settings) {
        let is_on_cpu = matches!(training.device, TrainingDevice::Auto | TrainingDevice::Cpu);
        self.require(network.kind == NetworkKind::Layers || is_on_cpu, Field::Device, || {
            "the network made for tables trains on the CPU: choose cpu or auto, or the kind layers".into()
        });
        let rate = training.learning_rate;
        self.in_range(Field::LearningRate, rate, rate > 0.0 && rate <= 10.0);
        self.in_range(Field::Momentum, training.momentum, (0.0..1.0).contains(&training.momentum));
        self.in_range(Field::Regularization, training.regularization, (0.0..=1.0).contains(&training.regularization));
        self.in_range(Field::BatchSize, training.batch_size, (1..=1_000_000).contains(&training.batch_size));
        self.in_range(Field::Epochs, training.epochs, (1..=1_000_000).contains(&training.epochs));
        if let Some(patience) = training.patience {
            self.in_range(Field::Patience, patience, patience >= 1);
        }
        if let Some(threads) = training.threads {
            self.in_range(Field::Threads, threads, (1..=1024).contains(&threads));
        }
    }
}
