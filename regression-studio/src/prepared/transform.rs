//! The map from a table's columns to the network's inputs, and from its output to the target.

use std::collections::BTreeMap;
use std::ops::Range;

use ndarray::Array2;
use neural_net::training::InvalidValue;
use serde::{Deserialize, Serialize};

use super::error::PredictError;
use super::rows;
use crate::Table;
use crate::settings::BadRows;
use crate::table::{Column, Encoding, Kind, Role, csv, shortened};

/// The map from columns to inputs and from the output to the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transform {
    /// The network's inputs, in order.
    pub inputs: Vec<Input>,
    /// The declared roles of feature columns, and the order of day and month that their dates
    /// showed. Other tables are read with the same roles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, Role>,
    /// The currency or unit of each feature and of the target, if it has one. Absent in models of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<BTreeMap<String, String>>,
    /// The sheet of the training table, if its workbook had several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
    /// The encoding of the training table, unless it was UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// The first of the hundred years that two-digit years belong to, if declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_year: Option<i64>,
    /// Cells that mean a missing value, by feature column. Other tables are read with the same
    /// cells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, Vec<String>>,
    /// How fill values for missing values were chosen, if there are any. Absent in models of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled_by: Option<BadRows>,
    /// Feature columns that were constant in the training part. The network does not see them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<Constant>,
    /// The columns declared to identify rows or groups. Predictions are written next to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identifiers: Vec<String>,
    /// The target's name.
    pub target: String,
    /// The target's standardization.
    pub target_scale: Scale,
    /// The minimum and maximum target over all used rows. Absent in models of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_range: Option<[f64; 2]>,
}

/// A feature column that was removed because it is constant in the training part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Constant {
    /// A numeric column.
    Number {
        /// The column's name.
        column: String,
        /// The minimum and maximum value over all used rows.
        range: [f64; 2],
        /// Whether its numbers are dates.
        is_date: bool,
    },
    /// A text column.
    Text {
        /// The column's name.
        column: String,
        /// The texts of all used rows.
        texts: Vec<String>,
    },
}

/// One input of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Input {
    /// A numeric column.
    Number {
        /// The column's name.
        column: String,
        /// Its standardization.
        scale: Scale,
        /// The fill value for missing values; `None` if rows with a missing value are incomplete.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fill: Option<f64>,
        /// The minimum and maximum value over all used rows. Absent in models of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<[f64; 2]>,
        /// Whether its numbers are dates. Absent in models of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_date: Option<bool>,
    },
    /// One category of a text column, one-hot encoded: 1 or 0.
    Text {
        /// The column's name.
        column: String,
        /// The category.
        text: String,
        /// The standardization of 1 and 0.
        scale: Scale,
        /// Whether the text may be missing in a row; the row then has no category.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_be_missing: bool,
    },
}

/// Standardization of a value x to (t − mean) / deviation, where t is x or its signed logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Whether t is sign(x)·ln(1 + |x|).
    pub log: bool,
    /// The mean of t over the training part.
    pub mean: f64,
    /// The standard deviation of t over the training part.
    pub deviation: f64,
}

impl Scale {
    /// The scale with which `values` have zero mean and unit variance; `None` if they are constant.
    ///
    /// # Errors
    /// If the variance overflows or underflows in double precision.
    pub fn fit(values: &[f64], log: bool) -> Result<Option<Self>, NotFinite> {
        let mut values: Vec<f64> = values.to_vec();
        if log {
            values.iter_mut().for_each(|value| *value = signed_log(*value));
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if values.iter().all(|value| *value == values[0]) {
            return Ok(None);
        }
        let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
        // A smaller variance is subnormal, because the squared differences have underflowed.
        let is_usable = variance.is_finite() && variance >= f64::MIN_POSITIVE;
        if is_usable { Ok(Some(Self { log, mean, deviation: variance.sqrt() })) } else { Err(NotFinite) }
    }

    /// Standardizes a value.
    pub fn standardised(&self, value: f64) -> f32 {
        self.in_deviations(value) as f32
    }

    /// [`Scale::standardised`] in double precision.
    pub fn in_deviations(&self, value: f64) -> f64 {
        let value = if self.log { signed_log(value) } else { value };
        (value - self.mean) / self.deviation
    }

    /// The inverse of [`Scale::standardised`].
    pub fn original(&self, value: f64) -> f64 {
        self.of_learned(self.learned(value))
    }

    /// The t of a standardized value: x or its signed logarithm.
    pub fn learned(&self, value: f64) -> f64 {
        value * self.deviation + self.mean
    }

    /// The x of a value t: the inverse of the signed logarithm, if the logarithm is learned.
    pub fn of_learned(&self, value: f64) -> f64 {
        if self.log { value.signum() * libm::expm1(value.abs()) } else { value }
    }
}

/// Mean or variance out of the range of double precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotFinite;

/// sign(x)·ln(1 + |x|): logarithmic for large |x|, linear near 0.
pub(crate) fn signed_log(x: f64) -> f64 {
    x.signum() * libm::log1p(x.abs())
}

impl Transform {
    /// Checks that all scales are valid.
    ///
    /// # Errors
    /// The first invalid scale, with its column's name.
    pub fn validate(&self) -> Result<(), InvalidValue> {
        let inputs = self.inputs.iter().map(|input| match input {
            Input::Number { scale, .. } | Input::Text { scale, .. } => (input.label(), scale),
        });
        for (name, Scale { mean, deviation, .. }) in inputs.chain([(self.target.clone(), &self.target_scale)]) {
            InvalidValue::unless(mean.is_finite(), &format!("mean of {name:?}"), mean, "finite")?;
            let is_deviation = deviation.is_finite() && *deviation > 0.0;
            InvalidValue::unless(
                is_deviation,
                &format!("deviation of {name:?}"),
                deviation,
                "greater than 0 and finite",
            )?;
        }
        for input in &self.inputs {
            if let Input::Number { column, fill: Some(fill), .. } = input {
                InvalidValue::unless(fill.is_finite(), &format!("fill of {column:?}"), fill, "finite")?;
            }
        }
        Ok(())
    }

    /// Whether each row of a table has a value for each input.
    ///
    /// # Errors
    /// If the table lacks a feature column, or has a text column for a numeric feature.
    pub fn complete_rows(&self, table: &Table) -> Result<Vec<bool>, PredictError> {
        let mut is_complete = vec![true; table.rows()];
        for input in &self.inputs {
            let name = input.column();
            let error = |reason| PredictError::Column { table: table.source().to_owned(), reason };
            let Some(column) = table.column(name) else {
                let reason =
                    format!("the model needs a column {name:?}, which the table lacks: rename a column or add it");
                return Err(error(reason));
            };
            if let Input::Number { is_date, .. } = input
                && column.missing() < table.rows()
                && let Some(reason) = other_kind(table, column, *is_date)
            {
                return Err(error(reason));
            }
            if !input.may_be_missing() {
                rows::mark_incomplete(column, &mut is_complete);
            }
        }
        Ok(is_complete)
    }

    /// How other tables are read. A column with known categories is read as text, even if all of
    /// its values are numbers.
    pub fn declared(&self) -> csv::Declared {
        let texts = self.inputs.iter().filter(|input| matches!(input, Input::Text { .. }));
        let constants = self.constants.iter().filter_map(|constant| match constant {
            Constant::Text { column, .. } => Some(&**column),
            Constant::Number { .. } => None,
        });
        let texts = texts.map(Input::column).chain(constants).map(|name| (name.to_owned(), Role::Text));
        let roles = texts.chain(self.roles.iter().map(|(name, &role)| (name.clone(), role))).collect();
        let missing = self.missing.clone();
        csv::Declared {
            roles,
            missing,
            sheet_if_there: self.sheet.clone(),
            encoding_unless_utf8: self.encoding,
            first_year: self.first_year,
            may_have_one_column: true,
            ..csv::Declared::default()
        }
    }

    /// Checks that a table's numbers have the same currencies and units as in training.
    ///
    /// # Errors
    /// The first column with another unit, or without the unit it had in training.
    pub fn check_units(&self, table: &Table) -> Result<(), PredictError> {
        let Some(units) = &self.units else { return Ok(()) };
        let mut names: Vec<&str> = self.features().into_iter().map(|(name, _)| name).collect();
        names.push(&self.target);
        let columns = names.into_iter().filter_map(|name| table.column(name));
        for column in columns.filter(|column| column.kind() == Kind::Number && column.missing() < table.rows()) {
            let (name, found, trained) = (column.name(), column.unit(), units.get(column.name()).map(String::as_str));
            if found != trained {
                let [found, trained] = [found, trained].map(|unit| match unit {
                    Some(unit) => format!("{unit:?}"),
                    None => "no unit".to_owned(),
                });
                let reason = format!(
                    "column {name:?} has {found}, but the model was trained with {trained} in it: convert the numbers, or \
                     accept them as they are"
                );
                return Err(PredictError::Column { table: table.source().to_owned(), reason });
            }
        }
        Ok(())
    }

    /// Encodes rows as inputs, rows × inputs. The rows must have all values that may not be
    /// missing.
    pub fn encode(&self, table: &Table, rows: &[u32]) -> Array2<f32> {
        let mut inputs = Array2::zeros((rows.len(), self.inputs.len()));
        for (index, input) in self.inputs.iter().enumerate() {
            let Some(column) = table.column(input.column()) else { continue };
            let mut out = inputs.column_mut(index);
            let mut write = |value: &dyn Fn(usize) -> f32| {
                out.iter_mut().zip(rows).for_each(|(out, &row)| *out = value(row as usize));
            };
            match (input, column.numbers(), column.categories()) {
                (Input::Number { scale, fill, .. }, Some(numbers), _) => write(&|row| {
                    let value = Some(numbers[row]).filter(|value| value.is_finite()).or(*fill);
                    scale.standardised(value.unwrap_or(f64::NAN))
                }),
                (Input::Text { text, scale, .. }, _, Some(categories)) => {
                    let index = categories.names.iter().position(|name| name == text);
                    let index = index.and_then(|index| u32::try_from(index).ok());
                    let [no, yes] = [0.0, 1.0].map(|value| scale.standardised(value));
                    write(&|row| if Some(categories.indices[row]) == index { yes } else { no });
                }
                // A text column in training, but a numeric column in this table.
                (Input::Text { text, scale, .. }, ..) => {
                    let [no, yes] = [0.0, 1.0].map(|value| scale.standardised(value));
                    write(&|row| if column.text(row) == text.as_str() { yes } else { no });
                }
                // Every cell is missing.
                (Input::Number { scale, fill, .. }, None, _) => {
                    write(&|_| scale.standardised(fill.unwrap_or(f64::NAN)));
                }
            }
        }
        inputs
    }

    /// The feature columns in the order of their inputs, each with the indices of its inputs.
    pub fn features(&self) -> Vec<(&str, Range<usize>)> {
        let columns = self.inputs.chunk_by(|a, b| a.column() == b.column());
        let mut end = 0;
        let feature = |inputs: &'_ [Input]| -> Range<usize> {
            end += inputs.len();
            end - inputs.len()..end
        };
        let ranges: Vec<Range<usize>> = columns.map(feature).collect();
        ranges.into_iter().map(|range| (self.inputs[range.start].column(), range)).collect()
    }

    /// Converts the end of an interval to the target's unit. It is clamped to ≥ 0 if the target was
    /// never negative in training, and to ≤ 0 if it was never positive.
    pub(crate) fn end(&self, output: f64) -> f64 {
        let end = self.target_scale.original(output);
        match self.target_range {
            Some([low, _]) if low >= 0.0 => end.max(0.0),
            Some([_, high]) if high <= 0.0 => end.min(0.0),
            _ => end,
        }
    }

    /// Converts a network output to the target's unit.
    pub fn target_of(&self, output: f32) -> f64 {
        self.target_scale.original(f64::from(output))
    }
}

/// Why a column does not fit an input of numbers or dates.
fn other_kind(table: &Table, column: &Column, is_date: Option<bool>) -> Option<String> {
    let name = column.name();
    let (found, trained, hint) = match (column.kind(), is_date) {
        (Kind::Text, Some(true)) => ("texts", "dates", "write them as 2025-01-31"),
        (Kind::Text, _) => {
            let is_other = |text: &str| !text.is_empty() && text.parse::<f64>().is_err();
            let first = (0..table.rows()).find(|&row| is_other(&column.text(row)));
            let first = first
                .map_or_else(String::new, |row| format!(" ({}: {:?})", table.place(row), shortened(&column.text(row))));
            return Some(format!(
                "column {name:?} is a text column{first}, but the model was trained with numbers in it: correct these \
                 cells, or leave them empty"
            ));
        }
        (Kind::Number, Some(true)) if !column.is_date() => ("numbers", "dates", "write them as 2025-01-31"),
        (Kind::Number, Some(false)) if column.is_date() => ("dates", "numbers", "give it as numbers"),
        (Kind::Number, _) => return None,
    };
    Some(format!("column {name:?} has {found}, but the model was trained with {trained} in it: {hint}"))
}

impl Input {
    /// The column's name.
    pub fn column(&self) -> &str {
        match self {
            Self::Number { column, .. } | Self::Text { column, .. } => column,
        }
    }

    /// Whether a row is complete without a value in this column.
    pub fn may_be_missing(&self) -> bool {
        match self {
            Self::Number { fill, .. } => fill.is_some(),
            Self::Text { may_be_missing, .. } => *may_be_missing,
        }
    }

    /// How far a number lies outside the range of training, as a multiple of the range's width.
    /// Uses logarithms if the input is one. 0 inside the range, for a category, and if the range is
    /// unknown. As a rule of thumb, an interval is multiplied by 1 plus the largest excess among
    /// the row's features.
    pub fn excess(&self, value: f64) -> f64 {
        let Self::Number { range: Some(range), scale, .. } = self else { return 0.0 };
        let [low, high, value] = [range[0], range[1], value].map(|value| scale.in_deviations(value));
        let excess = (low - value).max(value - high) / (high - low);
        if excess > 0.0 { excess } else { 0.0 }
    }

    /// The standardized 1 or 0 for a category's input.
    pub(crate) fn one_hot(&self, is_chosen: bool) -> f32 {
        self.scale().standardised(f64::from(u8::from(is_chosen)))
    }

    /// The input's standardization.
    pub fn scale(&self) -> &Scale {
        match self {
            Self::Number { scale, .. } | Self::Text { scale, .. } => scale,
        }
    }

    /// The category, if this is an input of the text column `name`.
    pub fn category_of(&self, name: &str) -> Option<&str> {
        match self {
            Self::Text { column, text, .. } if column == name => Some(text),
            _ => None,
        }
    }

    /// The input's name in the drawing: the column's name, or "column = text".
    pub fn label(&self) -> String {
        match self {
            Self::Number { column, .. } => column.clone(),
            Self::Text { column, text, .. } => format!("{column} = {text}"),
        }
    }
}
