//! Findings before training: properties of a table that make a network useless, or its metrics
//! misleading.
//!
//! - **Leaks**: features that determine the target, alone or as a sum or product. A network then
//!   learns arithmetic that a formula does better, or sees the answer.
//! - **Identifiers**: features that name or number the rows.
//! - **Copies**: features that are equal in every row.
//! - **Sentinels**: numbers such as −999, far from all others, which often mean that a value is missing.
//! - **Order**: rows without a date or a group, if the table is split by date or group.
//! - **Classes**: a target with only two values, or only a few whole numbers.
//!
//! Each finding is a question that only the user can answer; some have a remedy that one click applies.

mod identifiers;
mod leaks;
mod order;
mod sentinels;

use std::collections::HashSet;

use rayon::prelude::*;

use crate::prepared::distinct_rows;
use crate::settings::MAX_CLASSES;
use crate::table::{Column, Kind};
use crate::{Settings, Table};

/// Maximum number of rows used to find relations between columns, evenly spaced in the table.
const MAX_ROWS: usize = 5000;
/// Minimum number of different rows for a relation between columns: fewer rows agree by chance.
const MIN_ROWS: usize = 20;

/// What a user should decide before training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// One line: what was found, and what it may mean.
    pub text: String,
    /// What one click changes, if the finding has a remedy.
    pub remedy: Option<Remedy>,
}

/// A change of the settings that answers a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Remove a feature.
    RemoveFeature(String),
    /// Treat cells as missing.
    TakeAsMissing {
        /// The column.
        column: String,
        /// The cells' text or number.
        cell: String,
    },
}

impl Remedy {
    /// Label of the remedy's button.
    pub fn label(&self) -> String {
        match self {
            Self::RemoveFeature(name) => format!("Remove {name}"),
            Self::TakeAsMissing { cell, .. } => format!("Take {cell} as missing"),
        }
    }

    /// Changes the settings.
    pub fn apply(&self, settings: &mut Settings) {
        match self {
            Self::RemoveFeature(name) => settings.data.features.retain(|feature| feature != name),
            Self::TakeAsMissing { column, cell } => {
                let cells = settings.data.missing.entry(column.clone()).or_default();
                if !cells.contains(cell) {
                    cells.push(cell.clone());
                }
            }
        }
    }
}

impl Finding {
    fn new(text: String) -> Self {
        Self { text, remedy: None }
    }

    /// A finding about a feature. Its remedy removes the feature, unless it is the only one.
    fn of_feature(text: String, name: &str, settings: &Settings) -> Self {
        let remedy = (settings.data.features.len() > 1).then(|| Remedy::RemoveFeature(name.to_owned()));
        Self { text, remedy }
    }
}

/// Finds the problems in a table's features and target, most serious first. Returns none if the
/// settings do not fit the table.
pub fn find(table: &Table, settings: &Settings) -> Vec<Finding> {
    let Some(target) = table.column(&settings.data.target).filter(|column| column.kind() == Kind::Number) else {
        return Vec::new();
    };
    let features: Vec<&Column> = settings.data.features.iter().filter_map(|name| table.column(name)).collect();
    let used = settings.data.samples.unwrap_or(usize::MAX).min(table.rows());
    let sample = Sample::of(&features, target, used);
    let mut findings = leaks::find(&sample, &features, target, settings);
    findings.extend(order::find(table, settings, used));
    findings.extend(classes(target, used));
    findings.extend(identifiers::find(table, &features, settings));
    findings.extend(copies(&features, settings));
    let columns: Vec<&Column> = features.iter().copied().chain([target]).collect();
    findings.extend(columns.par_iter().flat_map(|column| sentinels::find(column, used)).collect::<Vec<_>>());
    findings
}

/// Different rows with a target, used to look for relations between columns.
struct Sample {
    rows: Vec<u32>,
    target: Vec<f64>,
}

impl Sample {
    fn of(features: &[&Column], target: &Column, used: usize) -> Self {
        let has_target = |row: &u32| target.number(*row as usize).is_some();
        let known: Vec<u32> = (0..used as u32).filter(has_target).collect();
        let rows: Vec<u32> = known.iter().copied().step_by(known.len().div_ceil(MAX_ROWS).max(1)).collect();
        let columns: Vec<&Column> = features.iter().copied().chain([target]).collect();
        let rows = distinct_rows(&rows, &columns);
        let target = rows.iter().filter_map(|&row| target.number(row as usize)).collect();
        Self { rows, target }
    }

    /// A column's numbers, finite or NaN.
    fn numbers(&self, column: &Column) -> Option<Vec<f64>> {
        let numbers = column.numbers()?;
        Some(self.rows.iter().map(|&row| numbers[row as usize]).collect())
    }
}

/// Features that are equal in every row, each with the feature it repeats.
fn copies(features: &[&Column], settings: &Settings) -> Vec<Finding> {
    let is_copy = |a: &Column, b: &Column| match (a.numbers(), b.numbers(), a.categories(), b.categories()) {
        (Some(a), Some(b), ..) => {
            a.iter().zip(b).all(|(a, b)| a == b || a.is_nan() && b.is_nan()) && a.iter().any(|a| Some(a) != b.first())
        }
        (None, None, Some(a), Some(b)) => a.indices == b.indices && a.names == b.names && a.names.len() > 1,
        _ => false,
    };
    let of_feature = |(index, &column): (usize, &&Column)| {
        let first = features[..index].iter().find(|first| is_copy(first, column))?;
        let text = format!("{} and {} are equal in every row: one of them is enough", first.name(), column.name());
        Some(Finding::of_feature(text, column.name(), settings))
    };
    features.par_iter().enumerate().filter_map(of_feature).collect()
}

/// What a target with few different values means.
fn classes(target: &Column, used: usize) -> Option<Finding> {
    let name = target.name();
    let mut seen = HashSet::new();
    let mut values = Vec::new();
    for value in target.numbers()?.iter().take(used).filter(|value| value.is_finite()) {
        if seen.insert((value + 0.0).to_bits()) {
            values.push(*value);
        }
        if values.len() > MAX_CLASSES {
            return None;
        }
    }
    values.sort_unstable_by(f64::total_cmp);
    let rows = target.numbers()?.iter().take(used).filter(|value| value.is_finite()).count();
    match values[..] {
        [0.0, 1.0] => Some(Finding::new(format!(
            "{name} is only 0 or 1: classification is not offered; the prediction is a number, near the share of rows \
             like this one with a 1, and may be below 0 or above 1"
        ))),
        [low, high] => Some(Finding::new(format!(
            "{name} is only {low} or {high}: classification is not offered; the prediction is a number, which may lie \
             between them or outside"
        ))),
        [_, _, ..] if values.iter().all(|value| value.fract() == 0.0) && rows >= 10 * values.len() => {
            Some(Finding::new(format!(
                "{name} has only {} different whole numbers: if they are codes of classes, their order and distances \
                 mean nothing, and classification is not offered",
                values.len()
            )))
        }
        _ => None,
    }
}

/// Joins names as in "a, b and c"; of many names only the first few.
fn listed(names: &[&str]) -> String {
    const MAX: usize = 6;
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] if names.len() <= MAX => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..MAX - 1].join(", "), names.len() - MAX + 1),
    }
}
