//! The cells of a sheet, as the text of a CSV file.

mod value;

use std::collections::BTreeMap;
use std::sync::Arc;

use calamine::{DataType, Dimensions};

use crate::csv::error::CsvProblem;
use crate::csv::limits::COLUMN_LIMIT;
use crate::shortened;

/// Maximum number of rows in common spreadsheet programs.
const ROW_LIMIT: u32 = 1 << 20;
/// Maximum number of rows in a header.
const HEADER_ROWS: u32 = 5;

/// A sheet as the text of a CSV file.
pub(in crate::csv) struct Csv {
    pub(in crate::csv) text: Arc<[u8]>,
    /// What a user should know about the sheet, one line each.
    pub(in crate::csv) notes: Vec<String>,
    /// Whether each column has a numeric cell. Its numbers are written with a decimal point.
    pub(in crate::csv) has_numbers: Vec<bool>,
}

/// The cells of a sheet that are not empty.
pub(super) struct Cells {
    /// Maximum number of bytes.
    memory: u64,
    /// The cells' texts, one after the other.
    text: String,
    places: Vec<Place>,
    notes: Vec<String>,
    /// The number of errors such as #DIV/0!, and the row and text of the first.
    errors: (usize, Option<(u32, String)>),
}

/// A cell: its position in the sheet, counted from 0, and the position of its text.
#[derive(Clone, Copy)]
struct Place {
    row: u32,
    column: u32,
    start: usize,
    length: u32,
    kind: Kind,
}

/// The kind of a cell in the workbook.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Other,
}

impl Place {
    fn at(&self) -> (u32, u32) {
        (self.row, self.column)
    }
}

impl Cells {
    pub(super) fn new(memory: u64) -> Self {
        Self { memory, text: String::new(), places: Vec::new(), notes: Vec::new(), errors: (0, None) }
    }

    /// Adds a cell.
    ///
    /// # Errors
    /// If it is beyond the limits of a sheet or of the memory.
    pub(super) fn add(&mut self, (row, column): (u32, u32), value: &impl DataType) -> Result<(), CsvProblem> {
        if row >= ROW_LIMIT || column as usize >= COLUMN_LIMIT {
            return Err(CsvProblem::DamagedWorkbook(format!("a cell is in row {row} and column {column}")));
        }
        if let Some(error) = value.get_error() {
            self.errors.0 += 1;
            self.errors.1.get_or_insert_with(|| (row, error.to_string()));
            return Ok(());
        }
        let start = self.text.len();
        value::write(value, &mut self.text);
        let kind = match () {
            () if value.is_string() => Kind::Text,
            () if value.is_float() || value.is_int() => Kind::Number,
            () => Kind::Other,
        };
        self.push(row, column, start, kind)
    }

    /// Adds a cell with the text that starts at `start`.
    fn push(&mut self, row: u32, column: u32, start: usize, kind: Kind) -> Result<(), CsvProblem> {
        let length = (self.text.len() - start) as u32;
        if length > 0 {
            self.places.push(Place { row, column, start, length, kind });
        }
        self.require_memory(self.text.len(), row)
    }

    /// Requires that a text of `bytes` fits into the memory along with the cells; reports `row`
    /// otherwise.
    fn require_memory(&self, bytes: usize, row: u32) -> Result<(), CsvProblem> {
        let used = bytes + self.places.len() * size_of::<Place>();
        match used as u64 <= self.memory {
            true => Ok(()),
            false => Err(CsvProblem::TooLarge { rows: row as usize + 1, limit: self.memory }),
        }
    }

    /// Gives merged cells their value in each of their rows, and joins a header with merged cells
    /// into one line.
    ///
    /// # Errors
    /// If the values exceed the memory limit.
    pub(super) fn merge(&mut self, spans: &[Dimensions]) -> Result<(), CsvProblem> {
        self.sort();
        let below = self.merge_header(spans)?;
        let (mut added, mut first) = (0, None);
        let last = self.places.last().map_or(0, |place| place.row);
        for &Dimensions { start, end } in spans.iter().filter(|span| span.start.0 >= below) {
            let Some(place) = self.place(start) else { continue };
            for row in start.0 + 1..=end.0.min(last) {
                self.places.push(Place { row, ..place });
                self.require_memory(self.text.len(), row)?;
                added += 1;
                first = first.into_iter().chain([start.0]).min();
            }
        }
        if let Some(first) = first {
            self.sort();
            self.notes.push(format!(
                "merged cells have their value in each of their rows: {added} cells filled, first line {}",
                first + 1
            ));
        }
        Ok(())
    }

    /// Sorts the cells by row and column. Of several cells in one position, the last one remains.
    fn sort(&mut self) {
        if !self.places.is_sorted_by(|a, b| a.at() < b.at()) {
            self.places.reverse();
            self.places.sort_by_key(Place::at);
            self.places.dedup_by_key(|place| place.at());
        }
    }

    /// The cell at a position, if the cells are sorted.
    fn place(&self, at: (u32, u32)) -> Option<Place> {
        self.places.binary_search_by_key(&at, Place::at).ok().map(|index| self.places[index])
    }

    /// The cells of these rows, if the cells are sorted.
    fn rows(&self, rows: std::ops::Range<u32>) -> std::ops::Range<usize> {
        let start = |row: u32| self.places.partition_point(|place| place.row < row);
        start(rows.start)..start(rows.end)
    }

    fn text_of(&self, place: &Place) -> &str {
        &self.text[place.start..place.start + place.length as usize]
    }

    /// Joins the rows of a header with merged cells into its last row: "Price" over "open" and
    /// "close" becomes "Price open" and "Price close". Returns the first row below the header.
    fn merge_header(&mut self, spans: &[Dimensions]) -> Result<u32, CsvProblem> {
        // A single cell is a title.
        let pair = self.places.windows(2).find(|pair| pair[0].row == pair[1].row);
        let Some(top) = pair.map(|pair| pair[0].row) else { return Ok(0) };
        let bottom = self.header_bottom(top, spans);
        if bottom == top {
            return Ok(top + 1);
        }
        let mut names: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        let range = self.rows(top..bottom + 1);
        for place in &self.places[range.clone()] {
            let span = spans.iter().find(|span| span.start == place.at());
            for column in place.column..=span.map_or(place.column, |span| span.end.1) {
                let parts = names.entry(column).or_default();
                // A cell in this row may have the same value.
                if parts.last() != Some(&self.text_of(place)) {
                    parts.push(self.text_of(place));
                }
            }
        }
        let names: Vec<(u32, String)> = names.into_iter().map(|(column, parts)| (column, parts.join(" "))).collect();
        let example = names.iter().map(|(_, name)| name).max_by_key(|name| name.split(' ').count());
        self.notes.push(format!(
            "the header is in the lines {} to {}, since its cells are merged: its names are joined, as in {:?}",
            top + 1,
            bottom + 1,
            shortened(example.map_or("", |name| name))
        ));
        let below = self.places.split_off(range.end);
        self.places.truncate(range.start);
        for (column, name) in names {
            let start = self.text.len();
            self.text += &name;
            self.push(bottom, column, start, Kind::Text)?;
        }
        self.places.extend(below);
        Ok(bottom + 1)
    }

    /// The last row of a header that begins in row `top`. A row of texts belongs to it if cells
    /// above it are merged with cells next to them, or with cells in that row.
    fn header_bottom(&self, top: u32, spans: &[Dimensions]) -> u32 {
        let mut bottom = top;
        while bottom - top + 1 < HEADER_ROWS {
            let next = &self.places[self.rows(bottom + 1..bottom + 2)];
            let reaches = |span: &Dimensions| {
                let is_wide = span.end.0 == bottom && span.end.1 > span.start.1;
                (top..=bottom).contains(&span.start.0) && (span.end.0 > bottom || is_wide)
            };
            if next.is_empty() || !next.iter().all(|place| place.kind == Kind::Text) || !spans.iter().any(reaches) {
                break;
            }
            bottom += 1;
        }
        bottom
    }

    /// The text of a CSV file with one line per row of the sheet. Columns without a cell are
    /// omitted.
    ///
    /// # Errors
    /// If it exceeds the memory limit.
    pub(super) fn into_csv(mut self) -> Result<Csv, CsvProblem> {
        if let (count, Some((row, text))) = &self.errors {
            let (cells, are) = if *count == 1 { ("cell", "is an error") } else { ("cells", "are errors") };
            let row = row + 1;
            self.notes
                .push(format!("{count} {cells} {are} of the workbook, read as missing, first line {row} {text:?}"));
        }
        // For each column of the sheet with a cell, whether one of its cells is a number.
        let mut columns: BTreeMap<u32, bool> = BTreeMap::new();
        for place in &self.places {
            *columns.entry(place.column).or_default() |= place.kind == Kind::Number;
        }
        let (mut text, mut row) = (String::new(), 0);
        for cells in self.places.chunk_by(|a, b| a.row == b.row) {
            (row..cells[0].row).for_each(|_| text.push('\n'));
            row = cells[0].row + 1;
            let mut cells = cells.iter().peekable();
            for (index, column) in columns.keys().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                if let Some(place) = cells.next_if(|place| place.column == *column) {
                    value::write_quoted(self.text_of(place), &mut text);
                }
            }
            text.push('\n');
            self.require_memory(self.text.len() + text.len(), row - 1)?;
        }
        Ok(Csv { text: text.into_bytes().into(), notes: self.notes, has_numbers: columns.into_values().collect() })
    }
}
