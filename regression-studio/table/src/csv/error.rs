//! Why a file is no table.

use std::fmt;
use std::path::PathBuf;

use super::{COLUMN_LIMIT, RECORD_LIMIT};

/// A file that is no table. Its message is one line that names the file, the line where there is one, and the way out.
#[derive(Debug)]
pub struct CsvError {
    /// The file, as given.
    pub path: PathBuf,
    /// The line, counted from 1, if the trouble is at one.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: CsvProblem,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CsvProblem {
    /// There is no such file.
    #[error("there is no such file: check the name and the folder")]
    Missing,
    /// A folder.
    #[error("this is a folder: name a CSV file in it")]
    Directory,
    /// The operating system's error, which is in the message and so no source of it.
    #[error("cannot read it: {0}")]
    Io(std::io::Error),
    /// No byte in it but blanks and line breaks.
    #[error("the file is empty: a table needs a line of column names and rows below it")]
    Empty,
    /// Column names and nothing else.
    #[error("there are column names but no rows below them")]
    HeaderOnly,
    /// Bytes that no text has.
    #[error("this is no text{0}")]
    NotText(&'static str),
    /// A header without separators.
    #[error(
        "there is only one column, \"{0}\": a table needs two or more, with a comma, a semicolon or a tab between them"
    )]
    OneColumn(String),
    /// More columns than are read.
    #[error("{0} columns: the limit is {COLUMN_LIMIT}; leave out those that you don't need")]
    TooManyColumns(usize),
    /// More rows than are read.
    #[error("too many rows: the limit is {}; split the file", u32::MAX - 1)]
    TooManyRows,
    /// Rows that take more memory than there is for them.
    #[error(
        "{rows} rows are read and take more than the {} MiB of memory that there are for a table: leave out columns, or split \
         the file", limit >> 20
    )]
    TooLarge {
        /// Rows read so far.
        rows: usize,
        /// Bytes that they may take.
        limit: u64,
    },
    /// A row with more or fewer cells than there are columns.
    #[error(
        "{found} {}, but the header names {expected} columns: mend the line{}", if *found == 1 { "cell" } else { "cells" },
        if *found > *expected { ", or put texts that contain the separator in double quotes" } else { "" }
    )]
    Ragged {
        /// Cells in the row.
        found: usize,
        /// Columns in the header.
        expected: usize,
    },
    /// A row too long for a table.
    #[error("this line is longer than {} MiB: is this a table with a line for each row?", RECORD_LIMIT >> 20)]
    TooLong,
    /// A quote without a second one.
    #[error("a double quote opens here and is never closed: close it, or remove it")]
    UnclosedQuote,
    /// A gzip file that cannot be unpacked to its end.
    #[error("the gzip file is damaged or cut off: fetch or pack it again ({0})")]
    Gzip(#[source] std::io::Error),
    /// Somebody wrote to the file meanwhile.
    #[error("the file changed while it was read: open it again when it is complete")]
    Changed,
    /// The user stopped it.
    #[error("reading was stopped")]
    Cancelled,
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for CsvError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The message of the problem is in ours.
        std::error::Error::source(&self.problem)
    }
}
