//! What a data file holds: named columns of equal length.

pub mod csv;
pub mod synthetic;

mod column;
mod lines;
mod texts;

pub use self::column::{Categories, Column, Kind};
pub(crate) use self::lines::Lines;
pub use self::texts::Texts;

/// Columns of equal length. Share it by `Arc`.
#[derive(Clone, Debug, Default)]
pub struct Table {
    source: String,
    rows: usize,
    columns: Vec<Column>,
    lines: Option<Lines>,
}

impl Table {
    /// A table of columns that come from no file.
    ///
    /// # Panics
    /// If the columns differ in length.
    pub fn new(source: impl Into<String>, columns: Vec<Column>) -> Self {
        let rows = columns.first().map_or(0, Column::rows);
        assert!(columns.iter().all(|column| column.rows() == rows), "a table's columns have the same length");
        Self { source: source.into(), rows, columns, lines: None }
    }

    /// The same table, knowing at which lines of its file the rows begin.
    pub(crate) fn with_lines(self, lines: Lines) -> Self {
        Self { lines: Some(lines), ..self }
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
        self.columns.iter().find(|column| column.name() == name)
    }

    /// Where it comes from: the file's path as given, or "synthetic stock market".
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The line of the file where a row begins, counted from 1, for messages; None where there is no file or no such row.
    pub fn line(&self, row: usize) -> Option<u64> {
        self.lines.as_ref().filter(|_| row < self.rows).and_then(|lines| lines.line(row))
    }
}
