//! Fits a [`Transform`] to the training part of a table.

use std::collections::{BTreeMap, BTreeSet};

use command_line::counted;
use rayon::prelude::*;

use super::error::PrepareError;
use super::transform::{Constant, Input, NotFinite, Scale, Transform};
use crate::Table;
use crate::settings::{BadRows, DataSettings};
use crate::table::{Categories, Column, Encoding, Role, date, decimal};

/// Minimum ratio of the largest to the median absolute value before a logarithm is suggested.
const HEAVY_TAIL: f64 = 1000.0;

/// Columns that a network learns more easily from their logarithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Logarithms {
    /// The target spans several powers of ten.
    pub target: bool,
    /// At least one numeric feature spans several powers of ten.
    pub features: bool,
}

/// Maximum number of rows that [`suggested_logarithms`] inspects.
const MAX_INSPECTED: usize = 10_000;

/// Suggests logarithms for a table's target and features, based on up to 10,000 of its rows.
pub fn suggested_logarithms(table: &Table, data: &DataSettings) -> Logarithms {
    let suits = |name: &String| {
        let Some(numbers) = table.column(name).and_then(Column::numbers) else { return false };
        let rows = numbers.iter().step_by(numbers.len().div_ceil(MAX_INSPECTED).max(1));
        let values: Vec<f64> = rows.copied().filter(|value| value.is_finite()).collect();
        !values.is_empty() && is_heavy_tailed(values)
    };
    Logarithms { target: suits(&data.target), features: data.features.iter().any(suits) }
}

/// A table and the rows of its parts.
struct Fit<'a> {
    table: &'a Table,
    data: &'a DataSettings,
    train: &'a [u32],
    /// The rows of the validation and test part.
    others: [&'a [u32]; 2],
}

/// What the network sees of a feature column.
#[derive(Default)]
struct Feature {
    inputs: Vec<Input>,
    /// One line each.
    notes: Vec<String>,
    /// The column, if it is constant in the training part.
    constant: Option<Constant>,
}

/// Fits the transform to the training rows; `others` are the validation and test rows. Columns that
/// are constant in the training part are removed, with a note.
pub(super) fn fit(
    table: &Table,
    data: &DataSettings,
    train: &[u32],
    others: [&[u32]; 2],
) -> Result<(Transform, Vec<String>), PrepareError> {
    Fit { table, data, train, others }.transform()
}

impl Fit<'_> {
    fn transform(&self) -> Result<(Transform, Vec<String>), PrepareError> {
        let Self { table, data, .. } = *self;
        let found: Vec<Feature> = data.features.par_iter().map(|name| self.feature(name)).collect::<Result<_, _>>()?;
        let (mut inputs, mut notes, mut constants) = (Vec::new(), Vec::new(), Vec::new());
        for feature in found {
            inputs.extend(feature.inputs);
            notes.extend(feature.notes);
            constants.extend(feature.constant);
        }
        if inputs.is_empty() {
            return Err(PrepareError::ConstantFeatures { table: table.source().to_owned() });
        }
        let (target_scale, target_range, note) = self.target()?;
        notes.extend(note);
        let is_used = |name: &String| *name == data.target || data.features.contains(name);
        let missing = data.missing.iter().filter(|(name, _)| is_used(name));
        let with_unit = |name: &String| Some((name.clone(), table.column(name)?.unit()?.to_owned()));
        let identifies = |column: &&Column| matches!(data.role(column.name()), Some(Role::Index | Role::Group));
        let transform = Transform {
            inputs,
            roles: self.roles(),
            units: Some(data.features.iter().chain([&data.target]).filter_map(with_unit).collect()),
            sheet: table.sheet().filter(|_| table.sheets().len() > 1).map(str::to_owned),
            encoding: Some(table.encoding()).filter(|encoding| *encoding != Encoding::default()),
            first_year: data.first_year,
            missing: missing.map(|(name, cells)| (name.clone(), cells.clone())).collect(),
            constants,
            identifiers: table.columns().iter().filter(identifies).map(|column| column.name().to_owned()).collect(),
            filled_by: Some(data.bad_rows).filter(|bad_rows| bad_rows.fills()),
            target: data.target.clone(),
            target_scale,
            target_range: Some(target_range),
        };
        Ok((transform, notes))
    }

    fn feature(&self, name: &str) -> Result<Feature, PrepareError> {
        let Some(column) = self.table.column(name) else { return Ok(Feature::default()) };
        match column.categories() {
            None => self.numeric(column),
            Some(categories) => self.categorical(name, &categories),
        }
    }

    /// One input. Missing values are filled in as the settings specify.
    fn numeric(&self, column: &Column) -> Result<Feature, PrepareError> {
        let (name, is_date, mut feature) = (column.name(), column.is_date(), Feature::default());
        let shown = |value: f64| if is_date { date(value) } else { decimal(value) };
        let mut values = numbers(column, self.train);
        let missing = values.iter().filter(|value| !value.is_finite()).count();
        if missing == values.len() {
            feature.notes.push(format!("{name} is missing in the whole training part and was removed"));
            return Ok(feature);
        }
        let fill = replacement(&values, self.data.bad_rows);
        if let Some(fill) = fill.filter(|_| missing > 0) {
            values.iter_mut().filter(|value| !value.is_finite()).for_each(|value| *value = fill);
            feature.notes.push(format!(
                "{name} is missing in {} of the training part, filled in as {}",
                counted(missing, "row"),
                shown(fill)
            ));
        }
        let range = self.range(column, &values);
        let name = name.to_owned();
        match self.scale(&name, &values, self.data.log_features)? {
            Some(scale) => feature.inputs.push(Input::Number {
                column: name.clone(),
                scale,
                fill,
                range: Some(range),
                is_date: Some(is_date),
            }),
            None => {
                let value = shown(values[0]);
                feature.notes.push(format!("{name} is {value} in every row of the training part and was removed"));
                feature.constant = Some(Constant::Number { column: name.clone(), range, is_date });
            }
        }
        if !self.data.log_features && is_heavy_tailed(values) {
            feature.notes.push(format!("{name} spans several powers of ten: the logarithm of the features may help"));
        }
        Ok(feature)
    }

    /// One input for each category that occurs in some training rows, but not in all.
    fn categorical(&self, name: &str, categories: &Categories) -> Result<Feature, PrepareError> {
        let mut feature = Feature::default();
        for (index, text) in (0..).zip(categories.names.iter()) {
            let is_text = |&row: &u32| f64::from(u8::from(categories.indices[row as usize] == index));
            let values: Vec<f64> = self.train.iter().map(is_text).collect();
            if let Some(scale) = self.scale(name, &values, false)? {
                let (text, may_be_missing) = (text.to_owned(), self.data.bad_rows.fills());
                feature.inputs.push(Input::Text { column: name.to_owned(), text, scale, may_be_missing });
            }
        }
        if feature.inputs.is_empty() {
            feature.notes.push(format!("{name} is the same text in every row of the training part and was removed"));
            let used = self.others.into_iter().chain([self.train]).flatten();
            let indices: BTreeSet<u32> = used.map(|&row| categories.indices[row as usize]).collect();
            let texts = indices.into_iter().filter_map(|index| categories.names.get(index as usize));
            let texts = texts.map(str::to_owned).collect();
            feature.constant = Some(Constant::Text { column: name.to_owned(), texts });
        }
        Ok(feature)
    }

    /// The target's scale and range, and a note if its logarithm may help.
    fn target(&self) -> Result<(Scale, [f64; 2], Option<String>), PrepareError> {
        let (table, target) = (self.table, &self.data.target);
        let column = table.column(target);
        let values = column.map(|column| numbers(column, self.train)).unwrap_or_default();
        let Some(scale) = self.scale(target, &values, self.data.log_target)? else {
            let (table, target) = (table.source().to_owned(), target.clone());
            return Err(PrepareError::ConstantTarget { table, target, value: values[0] });
        };
        let range = column.map_or_else(|| range(values.iter().copied()), |column| self.range(column, &values));
        let note = (!self.data.log_target && is_heavy_tailed(values)).then(|| {
            format!("{target} spans several powers of ten: its logarithm may help (log_target = true in [data])")
        });
        Ok((scale, range, note))
    }

    /// The declared roles of the features, and the order of day and month that their dates show.
    /// Another table's dates may not show it.
    fn roles(&self) -> BTreeMap<String, Role> {
        let features = &self.data.features;
        let declared = self.data.columns.iter().filter(|(name, _)| features.contains(name));
        let shown = |name: &String| Some((name.clone(), self.table.column(name)?.date_order()?));
        declared.map(|(name, &role)| (name.clone(), role)).chain(features.iter().filter_map(shown)).collect()
    }

    /// The range of a column over all used rows; `train` are its values in the training part.
    fn range(&self, column: &Column, train: &[f64]) -> [f64; 2] {
        let others = self.others.iter().flat_map(|rows| numbers(column, rows));
        range(others.chain(train.iter().copied()))
    }

    fn scale(&self, name: &str, values: &[f64], log: bool) -> Result<Option<Scale>, PrepareError> {
        let too_large =
            |NotFinite| PrepareError::TooLarge { table: self.table.source().to_owned(), column: name.to_owned() };
        Scale::fit(values, log).map_err(too_large)
    }
}

/// Notes on rows of the other parts with a category that the training part lacks.
pub(super) fn unseen_categories(
    table: &Table,
    data: &DataSettings,
    train: &[u32],
    parts: [(&str, &[u32]); 2],
) -> Vec<String> {
    let mut notes = Vec::new();
    for name in &data.features {
        let Some(categories) = table.column(name).and_then(Column::categories) else { continue };
        let mut is_known = vec![false; categories.names.len()];
        let code = |row: u32| categories.indices[row as usize] as usize;
        train.iter().map(|&row| code(row)).for_each(|code| {
            is_known.get_mut(code).into_iter().for_each(|is_known| *is_known = true);
        });
        for (part, rows) in parts {
            let unseen = || rows.iter().map(|&row| code(row)).filter(|&code| is_known.get(code) == Some(&false));
            if let Some(example) = unseen().next().and_then(|code| categories.names.get(code)) {
                notes.push(format!(
                    "{name}: {} of {} {part} rows have a category that no training row has, such as {example:?}",
                    unseen().count(),
                    rows.len()
                ));
            }
        }
    }
    notes
}

/// The minimum and maximum of the values.
fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)])
}

fn numbers(column: &Column, rows: &[u32]) -> Vec<f64> {
    rows.iter().map(|&row| column.number(row as usize).unwrap_or(f64::NAN)).collect()
}

/// The fill value for a column, computed from its present values; `None` if `bad_rows` does not
/// fill in values.
fn replacement(values: &[f64], bad_rows: BadRows) -> Option<f64> {
    let mut present: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let (count, middle) = (present.len(), present.len() / 2);
    match bad_rows {
        BadRows::Drop | BadRows::Error => None,
        BadRows::Mean => Some(present.iter().sum::<f64>() / count as f64),
        BadRows::Median => Some(*present.select_nth_unstable_by(middle, f64::total_cmp).1),
    }
}

fn is_heavy_tailed(values: Vec<f64>) -> bool {
    let mut sizes: Vec<f64> = values.into_iter().map(f64::abs).collect();
    let middle = sizes.len() / 2;
    let (_, median, above) = sizes.select_nth_unstable_by(middle, f64::total_cmp);
    let largest = above.iter().copied().fold(*median, f64::max);
    *median > 0.0 && largest / *median >= HEAVY_TAIL
}
