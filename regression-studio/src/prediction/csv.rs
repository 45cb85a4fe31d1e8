//! Predictions as a CSV file.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use neural_net::files::Replacement;

use super::Predictions;
use crate::Table;
use crate::table::csv::{CsvError, Declared, for_each_row};
use crate::table::decimal;

/// Why predictions cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file cannot be written; an earlier one is unchanged.
    #[error("{}: cannot write: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The table's file cannot be read again.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// The number of rows in the table's file changed after it was read.
    #[error("{source_name}: the file has changed while its rows were predicted: predict it again")]
    Changed {
        /// Name of the table.
        source_name: String,
    },
}

impl Predictions {
    /// Writes [`Predictions::write_csv`] to a file and replaces the file atomically.
    ///
    /// # Errors
    /// See [`Predictions::write_csv`].
    pub fn save_csv(&self, path: &Path, table: &Table, declared: &Declared) -> Result<(), WriteError> {
        let of_file = |source| WriteError::File { path: path.to_path_buf(), source };
        let mut file = Replacement::begin(path).map_err(of_file)?;
        let mut buffered = BufWriter::with_capacity(1 << 18, file.file());
        self.write_csv(table, declared, &mut buffered).map_err(|error| match error {
            WriteError::Io(source) => of_file(source),
            error => error,
        })?;
        buffered.flush().map_err(of_file)?;
        drop(buffered);
        file.commit().map_err(of_file)
    }

    /// Writes the predictions as CSV. The columns are the row, counted from 1, the columns that
    /// identify it, the prediction, the ends of its interval, the true value, the part, and the
    /// features outside the range of training. The interval, the true value and the features are
    /// omitted if there are none, the part if the network was not trained on this table. Very small
    /// and very large numbers have an exponent.
    ///
    /// Cells of `table` are written exactly as in its file, with the same spelling of numbers. To
    /// do so, the file is read again, row by row, with the same declarations. If the file cannot be
    /// read twice, the cells are written from the table.
    ///
    /// # Errors
    /// If the output cannot be written, or the file cannot be read again or has changed.
    pub fn write_csv(&self, table: &Table, declared: &Declared, out: &mut impl Write) -> Result<(), WriteError> {
        self.write_header(out)?;
        let truth = self.has_truth.then_some(&self.target);
        let copied: Vec<&str> = self.identifiers.iter().chain(truth).map(String::as_str).collect();
        let (path, mut row) = (Path::new(table.source()), 0);
        if copied.is_empty() || !path.is_file() {
            let columns: Vec<_> = copied.iter().filter_map(|name| table.column(name)).collect();
            for row in 0..self.rows() {
                let cells: Vec<Cow<str>> = columns.iter().map(|column| column.text(row)).collect();
                self.write_row(row, &cells, out)?;
            }
            return Ok(());
        }
        let changed = || WriteError::Changed { source_name: table.source().to_owned() };
        let of_sheet = Declared { sheet: table.sheet().map(str::to_owned), ..declared.clone() };
        for_each_row(path, &of_sheet, table.encoding(), &copied, |cells| {
            if row == self.rows() {
                return Err(changed());
            }
            self.write_row(row, cells, out)?;
            row += 1;
            Ok(())
        })?;
        if row == self.rows() { Ok(()) } else { Err(changed()) }
    }

    fn write_header(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"row")?;
        for name in &self.identifiers {
            write!(out, ",{}", csv_cell(name))?;
        }
        write!(out, ",{}", csv_cell(&format!("predicted {}", self.target)))?;
        let percent = self.percent;
        if self.why_no_intervals.is_none() {
            write!(out, ",lower {percent} %,upper {percent} %")?;
        }
        if self.has_truth {
            write!(out, ",{}", csv_cell(&self.target))?;
        }
        if self.parts.is_some() {
            out.write_all(b",part")?;
        }
        if self.outside.first.is_some() {
            out.write_all(b",outside the range of training")?;
        }
        out.write_all(b"\n")
    }

    /// Writes a row; `cells` are its identifiers and its true value, if these are written.
    fn write_row(&self, row: usize, cells: &[Cow<str>], out: &mut impl Write) -> io::Result<()> {
        let (identifiers, truth) = cells.split_at(self.identifiers.len());
        write!(out, "{}", row + 1)?;
        for cell in identifiers {
            write!(out, ",{}", csv_cell(cell))?;
        }
        write_number(out, self.predicted(row))?;
        if self.why_no_intervals.is_none() {
            let interval = self.interval(row);
            write_number(out, interval.map(|[low, _]| low))?;
            write_number(out, interval.map(|[_, high]| high))?;
        }
        for cell in truth {
            write!(out, ",{}", csv_cell(cell))?;
        }
        if let Some(part) = self.part(row) {
            write!(out, ",{part}")?;
        }
        if self.outside.first.is_some() {
            write!(out, ",{}", csv_cell(&self.outside(row).join("; ")))?;
        }
        out.write_all(b"\n")
    }
}

fn write_number(out: &mut impl Write, value: Option<f64>) -> io::Result<()> {
    out.write_all(b",")?;
    value.map_or(Ok(()), |value| out.write_all(decimal(value).as_bytes()))
}

/// A text as a CSV cell. It is quoted if it contains a comma, a quote or a line break, or has blanks
/// around it.
fn csv_cell(text: &str) -> Cow<'_, str> {
    let is_quoted = text.contains([',', '"', '\n', '\r']) || text.trim() != text;
    match is_quoted {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}
