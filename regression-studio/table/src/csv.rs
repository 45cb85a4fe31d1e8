//! Tables in text files: CSV, with commas, semicolons or tabs, plain or packed by gzip.
//!
//! - **The header** is the first line that is not blank. The most frequent of comma, semicolon and tab in it separates the
//!   cells of the file. Names are trimmed; empty ones become "column 3", repeated ones "PRICE (2)".
//! - **Cells**: blanks around a cell are no part of it. Quotes, doubled quotes and line breaks in quotes are as in RFC 4180;
//!   blanks may stand before an opening quote. Blank lines are skipped. Lines end with a line feed, with or without a
//!   carriage return before it, or all with a carriage return. Text is UTF-8, with or without a byte order mark; a cell
//!   that is not is read as Windows-1252.
//! - **Numbers** are written as 12, -0.5, .5, 1e-3; beside semicolons, as 0,5 too. Only finite ones are numbers.
//! - **Missing** is an empty cell, `-`, `?`, `NA`, `N/A`, `#N/A`, `NaN` and `null`, in capital or small letters.
//! - **A column** holds numbers where more than half of what is not missing is a number; else it holds texts.
//!
//! The file is cut into pieces of whole records by whoever comes first, and the pieces are read by rayon's threads. What
//! comes out does not depend on where the pieces are cut.

mod error;
mod grammar;
mod header;
mod merge;
mod parse;
mod pass;
mod pieces;
mod source;
#[cfg(test)]
mod tests;
mod value;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

pub use self::error::{CsvError, CsvProblem};
use self::pass::{Outcome, Pass};
use self::pieces::Surroundings;
use super::Table;

/// The most columns that are read, as many as a spreadsheet holds.
pub const COLUMN_LIMIT: usize = 16_384;

/// The longest row that is read, in bytes.
pub const RECORD_LIMIT: usize = 16 << 20;

/// How a file is read. Tests read with others than the usual ones.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Bytes in a piece.
    piece: usize,
    /// Bytes at the beginning of the rows by which a column's kind is guessed.
    sample: usize,
    /// Bytes in a record.
    record: usize,
    /// Bytes that the rows may take.
    memory: u64,
}

const LIMITS: Limits = Limits { piece: 1 << 19, sample: 1 << 16, record: RECORD_LIMIT, memory: u64::MAX };

/// What a reader may take and whom it tells.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Bytes that the rows may take. While a table is put together from them, it takes the same again; a packed file of some
    /// megabytes may hold gigabytes of rows.
    pub memory: u64,
    /// Told the share that is done, 0 … 1. It is called by several threads, and begins again where the first rows of a column
    /// told its kind wrongly.
    pub progress: &'a (dyn Fn(f32) + Sync),
    /// Ends the reading as soon as it is true.
    pub cancel: &'a AtomicBool,
}

/// Reads a table, however much memory it takes: for files that are known.
///
/// # Errors
/// If the file cannot be read or is no table.
pub fn read(path: &Path) -> Result<Table, CsvError> {
    read_with(path, Options { memory: u64::MAX, progress: &|_| (), cancel: &AtomicBool::new(false) })
}

/// Reads a table that comes from outside.
///
/// # Errors
/// If the file cannot be read, is no table, or its rows take more than `options.memory`, or `options.cancel` was set.
pub fn read_with(path: &Path, options: Options) -> Result<Table, CsvError> {
    read_within(path, Limits { memory: options.memory, ..LIMITS }, options.progress, options.cancel)
}

fn read_within(
    path: &Path,
    limits: Limits,
    progress: &(dyn Fn(f32) + Sync),
    cancel: &AtomicBool,
) -> Result<Table, CsvError> {
    let (buffers, stop) = (&Mutex::new(Vec::new()), &AtomicBool::new(false));
    let pass = Pass { path, around: Surroundings { limits, buffers, stop, progress, cancel } };
    let table = match pass.run(None)? {
        Outcome::Table(table) => table,
        Outcome::Misjudged(known) => match pass.run(Some(known))? {
            Outcome::Table(table) => table,
            Outcome::Misjudged(..) => return Err(pass.error(None, CsvProblem::Changed)),
        },
    };
    progress(1.0);
    Ok(table)
}
