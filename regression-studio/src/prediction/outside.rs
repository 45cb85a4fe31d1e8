//! Rows outside the range of training, and categories that did not occur there.

use super::Unseen;
use crate::Table;
use crate::model::Model;
use crate::prepared::{Constant, Input};
use crate::table::{are_alike, date, decimal};

/// The rows of a table outside the range of training.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    names: Vec<String>,
    /// Each value outside its range, by ascending row.
    values: Vec<Value>,
    /// A description of the first.
    pub(super) first: Option<String>,
}

/// A value outside the range of its feature.
#[derive(Clone, Copy, Debug)]
struct Value {
    row: u32,
    /// Index of the feature's name.
    name: u32,
    /// [`Input::excess`].
    excess: f64,
}

/// A feature with a range: its name, its range, whether it has dates, and its input unless it is
/// constant.
type Ranged<'a> = (&'a String, [f64; 2], bool, Option<&'a Input>);

impl Outside {
    /// Compares each row with the ranges of the model's features.
    pub(super) fn of(model: &Model, table: &Table) -> Self {
        let inputs = model.transform.inputs.iter().filter_map(|input| match input {
            Input::Number { column, range: Some(range), is_date, .. } => {
                Some((column, *range, *is_date == Some(true), Some(input)))
            }
            _ => None,
        });
        let constants = model.transform.constants.iter().filter_map(|constant| match constant {
            Constant::Number { column, range, is_date } => Some((column, *range, *is_date, None)),
            Constant::Text { .. } => None,
        });
        let features: Vec<Ranged> = inputs.chain(constants).collect();
        let mut values = Vec::new();
        for (index, (name, [low, high], _, input)) in (0..).zip(&features) {
            let Some(numbers) = table.column(name).and_then(|column| column.numbers()) else { continue };
            for (row, &value) in (0..).zip(numbers).filter(|(_, value)| *value < low || *value > high) {
                // A constant's range has no width to compare with.
                let excess = input.map_or(1.0, |input| input.excess(value));
                values.push(Value { row, name: index, excess });
            }
        }
        // The sort is stable: the features of a row keep their order.
        values.sort_by_key(|value| value.row);
        let first = values.first().map(|&Value { row, name, .. }| {
            let (row, (name, range, is_date, _)) = (row as usize, features[name as usize]);
            let value = table.column(name).and_then(|column| column.number(row)).unwrap_or(f64::NAN);
            format!("row {}{}: {}", row + 1, line(table, row), with_range(name, value, Some(range), is_date))
        });
        Self { names: features.iter().map(|(name, ..)| (*name).clone()).collect(), values, first }
    }

    fn of_row(&self, row: usize) -> &[Value] {
        let start = self.values.partition_point(|value| (value.row as usize) < row);
        let rest = &self.values[start..];
        &rest[..rest.iter().take_while(|value| value.row as usize == row).count()]
    }

    /// The features of a row with a value outside the range.
    pub(super) fn features(&self, row: usize) -> Vec<&str> {
        self.of_row(row).iter().map(|value| &*self.names[value.name as usize]).collect()
    }

    /// The factor on the width of a row's interval: 1 inside the range, see [`Input::excess`].
    pub(super) fn widening(&self, row: usize) -> f64 {
        1.0 + self.of_row(row).iter().map(|value| value.excess).fold(0.0, f64::max)
    }

    /// Number of rows with a value outside its range.
    pub(super) fn rows(&self) -> usize {
        self.values.chunk_by(|a, b| a.row == b.row).count()
    }
}

/// The line of a row in its file, as in " (line 3)".
pub(super) fn line(table: &Table, row: usize) -> String {
    table.line(row).map_or_else(String::new, |line| format!(" (line {line})"))
}

/// A feature's value with the range of training.
pub(super) fn described(input: &Input, value: f64) -> String {
    match input {
        Input::Number { column, range, is_date, .. } => with_range(column, value, *range, *is_date == Some(true)),
        Input::Text { column, .. } => column.clone(),
    }
}

fn with_range(name: &str, value: f64, range: Option<[f64; 2]>, is_date: bool) -> String {
    let shown = |value: f64| if is_date { date(value) } else { decimal(value) };
    match range {
        Some([low, high]) if low == high => format!("{name} {}, training only {}", shown(value), shown(low)),
        Some([low, high]) => format!("{name} {}, training {} to {}", shown(value), shown(low), shown(high)),
        None => format!("{name} {}", shown(value)),
    }
}

/// The table's text features with categories that did not occur in training.
pub(super) fn unseen(model: &Model, table: &Table) -> Vec<Unseen> {
    let features = model.transform.features().into_iter().map(|(name, inputs)| {
        let known = model.transform.inputs[inputs].iter().filter_map(|input| input.category_of(name)).collect();
        (name, known)
    });
    let constants = model.transform.constants.iter().filter_map(|constant| match constant {
        Constant::Text { column, texts } => Some((&**column, texts.iter().map(String::as_str).collect())),
        Constant::Number { .. } => None,
    });
    let known: Vec<(&str, Vec<&str>)> = features.chain(constants).collect();
    let mut found: Vec<Unseen> = Vec::new();
    for (name, known) in known {
        let Some(column) = table.column(name).filter(|_| !known.is_empty()) else { continue };
        let rows = (0..table.rows()).map(|row| column.text(row)).filter(|text| !text.is_empty());
        let mut rows = rows.filter(|text| !known.contains(&&**text));
        if let Some(example) = rows.next() {
            let alike = known.iter().find(|text| are_alike(text, &example)).map(|text| (*text).to_owned());
            let (column, example) = (name.to_owned(), example.into_owned());
            found.push(Unseen { column, example, alike, rows: 1 + rows.count() });
        }
    }
    found
}
