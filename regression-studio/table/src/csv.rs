//! CSV reader: separated by commas, semicolons or tabs, plain or gzip-compressed.
//!
//! - **Header**: the first line that is not blank. Its most frequent of comma, semicolon and tab is the file's
//!   separator. Names are trimmed; empty ones become "column 3"; a name that occurs twice is an error.
//! - **Cells**: surrounding blanks are removed. Quotes, doubled quotes and line breaks in quotes follow RFC 4180;
//!   blanks may precede an opening quote. Blank lines are skipped. Lines end with LF or CRLF, or all with CR. Text is
//!   UTF-8, with or without a byte order mark; a cell that is not valid UTF-8 is decoded as Windows-1252.
//! - **Numbers**: 12, -0.5, .5, 1e-3; in files separated by semicolons also 0,5. Only finite values are numbers.
//! - **Missing values**: an empty cell, `-`, `?`, `NA`, `N/A`, `#N/A`, `NaN` and `null`, ignoring case.
//! - **Columns**: numeric if more than half of the cells that are not missing are numbers, otherwise text.
//!
//! The file is split into chunks of whole records, which rayon's threads take in file order and parse in parallel. The
//! table does not depend on the chunk boundaries.

mod chunks;
mod error;
mod grammar;
mod header;
mod limits;
mod merge;
mod parse;
mod pass;
mod source;
#[cfg(test)]
mod tests;
mod value;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use self::chunks::Context;
pub use self::error::{CsvError, CsvProblem};
pub use self::limits::{COLUMN_LIMIT, RECORD_LIMIT};
use self::limits::{LIMITS, Limits};
use self::pass::{Outcome, Pass};
use super::Table;

/// Memory limit, progress callback and cancellation of a read.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Maximum memory of the parsed rows, in bytes. Assembling the table needs the same again. A compressed file of a
    /// few megabytes may expand to gigabytes.
    pub memory: u64,
    /// Called with the fraction read, 0 … 1, from several threads. It restarts at 0 if a column's kind was misjudged
    /// from its first rows and the file is read again.
    pub progress: &'a (dyn Fn(f32) + Sync),
    /// Cancels the read once set.
    pub cancel: &'a AtomicBool,
}

/// Reads a table without a memory limit, from a trusted file.
///
/// # Errors
/// If the file cannot be read or is not a table.
pub fn read(path: &Path) -> Result<Table, CsvError> {
    read_with(path, Options { memory: u64::MAX, progress: &|_| (), cancel: &AtomicBool::new(false) })
}

/// Reads a table from an untrusted file.
///
/// # Errors
/// If the file cannot be read, is not a table, or its rows need more than `options.memory`, or if `options.cancel` was
/// set.
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
    let pass = Pass { path, context: Context { limits, buffers, stop, progress, cancel } };
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
