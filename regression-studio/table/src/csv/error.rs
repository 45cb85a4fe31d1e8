//! Errors of the CSV reader.

use std::fmt;
use std::path::{Path, PathBuf};

use super::limits::{COLUMN_LIMIT, RECORD_LIMIT, UNPACKED_LIMIT};
use crate::shortened;

/// Why a table cannot be read. The message is one line with the file, the line number if known, the
/// problem and a remedy.
#[derive(Debug)]
pub struct CsvError {
    /// The file, as given.
    pub path: PathBuf,
    /// The sheet, if the file is a workbook with several sheets.
    pub sheet: Option<String>,
    /// The line of the problem, counted from 1; `None` if the problem concerns the whole file.
    pub line: Option<u64>,
    /// The problem.
    pub problem: CsvProblem,
}

impl CsvError {
    /// A problem in a file. `line` is counted from 0, if known.
    pub(super) fn at(path: &Path, line: Option<u64>, problem: CsvProblem) -> Self {
        Self { path: path.to_path_buf(), sheet: None, line: line.map(|line| line + 1), problem }
    }
}

/// A problem with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CsvProblem {
    /// The file does not exist.
    #[error("no such file: check the name and the folder")]
    Missing,
    /// The path is a folder.
    #[error("this is a folder: give a CSV file or a workbook in it")]
    Directory,
    /// The path is a Windows path, on another system.
    #[error("no such file: this is a path of Windows; give the file's path on this computer, with / between folders")]
    WindowsPath,
    /// An error of the operating system. The message contains it, so it is not also a `source`.
    #[error("cannot read the file: {0}")]
    Io(std::io::Error),
    /// The file is empty or contains only blanks and line breaks.
    #[error("the file is empty: a table needs a line of column names and rows below it")]
    Empty,
    /// The file has a header but no rows.
    #[error("there are column names but no rows below them")]
    HeaderOnly,
    /// The file contains bytes that do not occur in text.
    #[error("this is not a text file{0}")]
    NotText(&'static str),
    /// The file is text in another format than CSV. The texts are the format's name and a remedy.
    #[error("this is {0}, not a table: {1}")]
    OtherFormat(&'static str, &'static str),
    /// The workbook cannot be read; the message gives the reason.
    #[error(
        "the workbook is damaged: open it in a spreadsheet program and save it again, or save the sheet as CSV ({0})"
    )]
    DamagedWorkbook(String),
    /// The workbook is encrypted.
    #[error("the workbook is protected by a password: save it without one, or save the sheet as CSV")]
    Password,
    /// The workbook exceeds [`UNPACKED_LIMIT`].
    #[error("the workbook is larger than {} MiB when unpacked: save the sheet as CSV", UNPACKED_LIMIT >> 20)]
    TooLargeWorkbook,
    /// The workbook has no sheet with this name.
    #[error("there is no sheet {:?}: the sheets are {}", shortened(name), listed(sheets))]
    NoSheet {
        /// The name.
        name: String,
        /// The existing sheets.
        sheets: Vec<String>,
    },
    /// A sheet is declared, but the file has no sheets.
    #[error("this is no workbook with a sheet {:?}: leave the sheet out, or open the workbook", shortened(.0))]
    NoWorkbook(String),
    /// The header contains no separator.
    #[error("there is only one column, {:?}: a table needs at least two, separated by commas, semicolons or tabs", shortened(.0))]
    OneColumn(String),
    /// Two columns have the same name.
    #[error("columns {} and {} are both named {:?}: rename one of them", places[0], places[1], shortened(name))]
    DuplicateName {
        /// The name.
        name: String,
        /// The columns, counted from 1.
        places: [usize; 2],
    },
    /// More than [`COLUMN_LIMIT`] columns.
    #[error("{0} columns: the limit is {COLUMN_LIMIT}; remove columns that you don't need")]
    TooManyColumns(usize),
    /// 2³² − 1 or more rows.
    #[error("too many rows: the limit is {}; split the file", u32::MAX - 1)]
    TooManyRows,
    /// The rows exceed the memory limit.
    #[error(
        "the first {rows} rows need more than the {} MiB of memory available for a table: remove columns, or split the \
         file", limit >> 20
    )]
    TooLarge {
        /// Rows read so far.
        rows: usize,
        /// The memory limit in bytes.
        limit: u64,
    },
    /// A row has more or fewer cells than the header has columns.
    #[error(
        "{found} {}, but the header names {expected} columns: correct the line{}", if *found == 1 { "cell" } else { "cells" },
        if *found > *expected { ", or put texts that contain the separator in double quotes" } else { "" }
    )]
    Ragged {
        /// Cells in the row.
        found: usize,
        /// Columns in the header.
        expected: usize,
    },
    /// A row exceeds [`RECORD_LIMIT`].
    #[error("this row is longer than {} MiB: is this a table with a line for each row?", RECORD_LIMIT >> 20)]
    TooLong,
    /// A quote is opened and not closed.
    #[error("a double quote opens here and is never closed: close it, or remove it")]
    UnclosedQuote,
    /// A gzip file is corrupt or truncated.
    #[error("the gzip file is damaged or truncated: download or compress it again ({0})")]
    Gzip(#[source] std::io::Error),
    /// The file was modified during the read.
    #[error("the file changed while it was read: open it again when it is complete")]
    Changed,
    /// The read was canceled.
    #[error("reading was cancelled")]
    Cancelled,
}

impl CsvProblem {
    /// Whether another sheet of the workbook may be readable.
    pub(super) fn is_of_sheet(&self) -> bool {
        let is_of_file = matches!(self, Self::Io(_) | Self::TooLarge { .. } | Self::Changed | Self::Cancelled);
        !is_of_file
    }
}

/// Names in quotes; of many names only the first ones.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(20).map(|name| format!("{:?}", shortened(name))).collect();
    shown.join(", ") + if names.len() > shown.len() { ", …" } else { "" }
}

/// A problem and its position in a section of a file: the beginning, or a chunk.
#[derive(Debug)]
pub(super) struct Fault {
    /// Number of line breaks between the start of the section and the problem; from the section's
    /// end if the problem is after it. `None` if the problem has no line.
    pub(super) line: Option<u64>,
    pub(super) problem: CsvProblem,
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(sheet) = &self.sheet {
            write!(f, ", sheet {sheet:?}")?;
        }
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for CsvError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The message includes the problem's, so the source is the problem's own source.
        std::error::Error::source(&self.problem)
    }
}
