//! What a data file holds: named columns of equal length.

pub mod csv;
pub mod synthetic;

use std::borrow::Cow;

/// Columns of equal length. Share it by `Arc`.
#[derive(Clone, Debug, Default)]
pub struct Table {
    source: String,
    rows: usize,
    columns: Vec<Column>,
    /// The line of the file where each row begins, counted from 1; empty where there is no file.
    lines: Vec<u32>,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number where more than half of what is not missing is one.
    Number,
    /// Anything else.
    Text,
}

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    name: String,
    missing: usize,
    not_numeric: usize,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    /// NaN where there is none.
    Numbers(Vec<f64>),
    Text {
        distinct: Vec<String>,
        indices: Vec<u32>,
    },
}

/// A text column's distinct texts and which of them each row has.
#[derive(Clone, Copy, Debug)]
pub struct Categories<'a> {
    /// In the order of their first appearance.
    pub names: &'a [String],
    /// Of each row, the index in `names`; [`Categories::MISSING`] where the cell is empty.
    pub indices: &'a [u32],
}

impl Categories<'_> {
    /// Stands for a missing cell.
    pub const MISSING: u32 = u32::MAX;
}

impl Table {
    /// A table of columns, with the line where each row begins, if it comes from a file.
    ///
    /// # Panics
    /// If the columns differ in length.
    pub fn new(source: String, columns: Vec<Column>, lines: Vec<u32>) -> Self {
        let rows = columns.first().map_or(0, Column::rows);
        assert!(columns.iter().all(|column| column.rows() == rows), "a table's columns have the same length");
        Self { source, rows, columns, lines }
    }

    /// The number of rows, without the header.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All columns in their order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Where it comes from: the file's path as given, or "synthetic stock market".
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The line of the file where a row begins, counted from 1, for messages; None where there is no file.
    pub fn line(&self, row: usize) -> Option<u32> {
        self.lines.get(row).copied()
    }
}

impl Column {
    /// A column of numbers; NaN stands for missing.
    pub fn of_numbers(name: impl Into<String>, values: Vec<f64>) -> Self {
        let missing = values.iter().filter(|value| value.is_nan()).count();
        Self { name: name.into(), missing, not_numeric: 0, values: Values::Numbers(values) }
    }

    /// A column of texts; an empty one is missing.
    pub fn of_texts(name: impl Into<String>, texts: &[&str]) -> Self {
        let mut distinct: Vec<String> = Vec::new();
        let mut known = std::collections::HashMap::new();
        let index = |text: &&str| match text.is_empty() {
            true => Categories::MISSING,
            false => *known.entry((*text).to_owned()).or_insert_with(|| {
                distinct.push((*text).to_owned());
                distinct.len() as u32 - 1
            }),
        };
        let indices: Vec<u32> = texts.iter().map(index).collect();
        let missing = indices.iter().filter(|&&index| index == Categories::MISSING).count();
        Self { name: name.into(), missing, not_numeric: 0, values: Values::Text { distinct, indices } }
    }

    /// The column's name, from the header.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds.
    pub fn kind(&self) -> Kind {
        match self.values {
            Values::Numbers(_) => Kind::Number,
            Values::Text { .. } => Kind::Text,
        }
    }

    /// Cells that are empty or stand for nothing, such as "-" or "NA".
    pub fn missing(&self) -> usize {
        self.missing
    }

    /// Of a column of numbers: cells that are neither missing nor a finite number.
    pub fn not_numeric(&self) -> usize {
        self.not_numeric
    }

    /// The number in a row; None where it is missing or no number, and in columns of text.
    pub fn number(&self, row: usize) -> Option<f64> {
        self.numbers()?.get(row).copied().filter(|value| !value.is_nan())
    }

    /// A cell as the preview shows it.
    pub fn text(&self, row: usize) -> Cow<'_, str> {
        match &self.values {
            Values::Numbers(values) => match values.get(row) {
                Some(value) if !value.is_nan() => value.to_string().into(),
                _ => "".into(),
            },
            Values::Text { distinct, indices } => {
                let text = indices.get(row).and_then(|&index| distinct.get(index as usize));
                text.map_or("", String::as_str).into()
            }
        }
    }

    /// All numbers of a column of numbers; NaN where there is none.
    pub fn numbers(&self) -> Option<&[f64]> {
        match &self.values {
            Values::Numbers(values) => Some(values),
            Values::Text { .. } => None,
        }
    }

    /// The distinct texts of a column of text.
    pub fn categories(&self) -> Option<Categories<'_>> {
        match &self.values {
            Values::Numbers(_) => None,
            Values::Text { distinct, indices } => Some(Categories { names: distinct, indices }),
        }
    }

    fn rows(&self) -> usize {
        match &self.values {
            Values::Numbers(values) => values.len(),
            Values::Text { indices, .. } => indices.len(),
        }
    }
}
