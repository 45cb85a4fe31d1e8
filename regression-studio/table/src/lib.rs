//! Tables: named columns of equal length, read from a CSV file or a workbook, or generated.

pub mod csv;
pub mod statistics;
pub mod synthetic;

mod column;
mod dates;
mod decimal_mark;
mod encoding;
mod index;
mod kind;
mod lines;
mod looks;
mod role;
mod shown;
mod texts;

use std::collections::BTreeMap;

pub use self::column::{Categories, Column};
pub use self::csv::toml_key;
pub use self::dates::date;
pub use self::decimal_mark::DecimalMark;
pub use self::encoding::{Encoding, UnknownEncoding};
pub use self::kind::Kind;
pub(crate) use self::lines::Lines;
pub use self::role::Role;
pub use self::shown::{are_alike, decimal, shortened};
pub use self::statistics::Statistics;
pub use self::texts::Texts;

/// Columns of equal length. Share a table through `Arc`.
#[derive(Clone, Debug, Default)]
pub struct Table {
    source: String,
    rows: usize,
    columns: Vec<Column>,
    lines: Option<Lines>,
    encoding: Encoding,
    notes: Vec<Note>,
    sheet: Option<Sheet>,
}

/// A sheet of a workbook.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sheet {
    name: String,
    /// All sheets of the workbook.
    all: Vec<String>,
}

/// How a file was read, if that is not obvious.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The column; `None` if the note concerns the whole file.
    pub column: Option<String>,
    /// One line.
    pub text: String,
}

impl Table {
    /// Creates a table of `columns`, without line numbers of a file.
    ///
    /// # Panics
    /// If the columns have different lengths.
    pub fn new(source: impl Into<String>, columns: Vec<Column>) -> Self {
        let rows = columns.first().map_or(0, Column::rows);
        assert!(columns.iter().all(|column| column.rows() == rows), "a table's columns have the same length");
        Self {
            source: source.into(),
            rows,
            columns,
            lines: None,
            encoding: Encoding::default(),
            notes: Vec::new(),
            sheet: None,
        }
    }

    /// Sets the line numbers where the rows begin in the file.
    pub(crate) fn with_lines(self, lines: Lines) -> Self {
        Self { lines: Some(lines), ..self }
    }

    /// Makes these cells missing, by column: a text as written in the file, or a number with a
    /// decimal point.
    pub fn with_missing(mut self, cells: &BTreeMap<String, Vec<String>>) -> Self {
        let missing = |column: &Column| cells.get(column.name());
        self.columns.iter_mut().filter_map(|column| Some((missing(column)?, column))).for_each(|(cells, column)| {
            column.take_as_missing(cells);
        });
        self
    }

    /// Sets the encoding of the file's text.
    pub(crate) fn with_encoding(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }
    }

    /// Sets the notes on how the file was read.
    pub(crate) fn with_notes(self, notes: Vec<Note>) -> Self {
        Self { notes, ..self }
    }

    /// Sets the sheet that was read, and all sheets of its workbook.
    pub(crate) fn with_sheet(self, name: String, all: Vec<String>) -> Self {
        Self { sheet: Some(Sheet { name, all }), ..self }
    }

    /// The sheet that was read, if the file is a workbook.
    pub fn sheet(&self) -> Option<&str> {
        self.sheet.as_ref().map(|sheet| &*sheet.name)
    }

    /// The sheets of the workbook; empty if the file is not a workbook.
    pub fn sheets(&self) -> &[String] {
        self.sheet.as_ref().map_or(&[], |sheet| &sheet.all)
    }

    /// The encoding used to read the file's text; UTF-8 for a generated table.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// What a user should know about how the file was read.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The notes on the whole file and on the used columns.
    pub fn notes_on(&self, is_used: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
        let concerns = move |note: &&Note| note.column.as_deref().is_none_or(&is_used);
        self.notes.iter().filter(concerns).map(|note| note.text.as_str())
    }

    /// The number of rows, without the header.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All columns, in the file's order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column named `name`.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name() == name)
    }

    /// The table's origin: the file's path as given, or "synthetic stock market".
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The location of `row` in the file, in words: "line 3", or "row 2" without a file.
    pub fn place(&self, row: usize) -> String {
        lines::place(self.line(row), row)
    }

    /// The line where `row` begins in the file, counted from 1; `None` without a file or beyond the
    /// last row.
    pub fn line(&self, row: usize) -> Option<u64> {
        self.lines.as_ref().filter(|_| row < self.rows).and_then(|lines| lines.line(row))
    }
}
