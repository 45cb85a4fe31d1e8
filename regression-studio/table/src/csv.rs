//! Reads tables from CSV files, with commas, semicolons or tabs, plain or gzip-compressed. Also
//! reads the sheets of a workbook (.xlsx or .ods), as if their cells were in a CSV file.
//!
//! - **Header**: the first line that is neither blank nor a comment. The file's separator is the
//!   most frequent of comma, semicolon and tab in the header, unless a line `sep=;` above it sets
//!   another. Names are trimmed. Empty ones become "column 3"; duplicate names are an error. If the
//!   first line has a number over each column of numbers, it is a row, and the columns are
//!   numbered. If every row has one cell more than the header, the first column has no name. Lines
//!   above the header that have fewer cells are a title, if the header has names over numbers.
//! - **Cells**: surrounding blanks are removed. Quotes, doubled quotes and line breaks in quotes
//!   follow RFC 4180; blanks may precede an opening quote. Blank lines are skipped. So are lines
//!   that begin with #, unless they have a cell for each column. Lines end with LF or CRLF, or all
//!   with CR. A byte order mark or a declaration gives the encoding. Otherwise it is UTF-8 if most
//!   lines that are not ASCII are valid UTF-8, or else chardetng's guess from them. In UTF-8, an
//!   invalid cell is decoded as Windows-1252.
//! - **Numbers**: 12, -0.5, .5, 1e-3, with thousands as in 1,234,567.5, 12,34,567.5, 1'234.5 or
//!   1 234.5, and (50.00) for −50. Decimal commas are read if the file has them: most cells of a
//!   column that show their mark decide, or else such cells of the whole file. A currency or unit
//!   that all numbers of a column share is dropped. Powers of ten (5K), durations (1:23:45, in
//!   seconds) and spreadsheet marks ('123) are read if a whole column has them. Only finite values
//!   are numbers.
//! - **Missing values**: an empty cell, `-`, `?`, `NA`, `N/A`, `#N/A`, `NaN` and `null`, ignoring
//!   case; among numbers also `None`, `missing`, `unknown` and similar words.
//! - **Columns**: numeric if more than half of the cells that are not missing are numbers; dates if
//!   more than half are dates; otherwise text. A declared [`Role`] overrides this.
//!
//! [`Table::notes`] reports what is not obvious. The file is split into chunks of whole records.
//! rayon's threads take them in file order and parse them in parallel. The table does not depend on
//! the chunk boundaries.

mod affix;
mod cells;
mod chunks;
mod detect;
mod error;
mod foreign;
mod forms;
mod grammar;
mod header;
mod limits;
mod marks;
mod merge;
mod notes;
mod parse;
mod pass;
mod source;
#[cfg(test)]
mod tests;
mod value;
mod workbook;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

pub use self::cells::for_each_row;
use self::chunks::Context;
pub use self::error::{CsvError, CsvProblem};
pub use self::limits::{COLUMN_LIMIT, RECORD_LIMIT, UNPACKED_LIMIT};
use self::limits::{LIMITS, Limits};
pub use self::notes::toml_key;
use self::pass::{Outcome, Pass};
pub(crate) use self::value::number;
use self::workbook::Workbook;
use super::{Column, DecimalMark, Encoding, Role, Table};

/// A user's declarations about a file. The cells decide the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// The decimal mark of the numbers.
    pub decimal_mark: Option<DecimalMark>,
    /// Whether the first line has the columns' names.
    pub header: Option<bool>,
    /// The roles of columns, by name.
    pub roles: BTreeMap<String, Role>,
    /// Cells that mean a missing value, by column: a text as written in the file, or a number with
    /// a decimal point.
    pub missing: BTreeMap<String, Vec<String>>,
    /// Whether a table may have only one column; otherwise its separator is assumed to be an
    /// unknown one.
    pub may_have_one_column: bool,
    /// The encoding of the text. A byte order mark in the file takes precedence.
    pub encoding: Option<Encoding>,
    /// The encoding of a text that is not UTF-8, used instead of a guess.
    pub encoding_unless_utf8: Option<Encoding>,
    /// The sheet of a workbook; if none is declared, the first sheet that is a table.
    pub sheet: Option<String>,
    /// The sheet to use if the workbook has one with this name, instead of the first.
    pub sheet_if_there: Option<String>,
    /// The first of the hundred years that two-digit years belong to; 1969 if not declared.
    pub first_year: Option<i64>,
}

/// Declarations, memory limit, progress callback and cancellation of a read.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The user's declarations about the file.
    pub declared: &'a Declared,
    /// Maximum memory for the parsed rows, in bytes. Assembling the table needs the same amount
    /// again. A compressed file of a few megabytes may expand to gigabytes.
    pub memory: u64,
    /// Called with the fraction read, 0 … 1, from several threads. It restarts at 0 if the first
    /// rows led to a wrong guess and the file is read again.
    pub progress: &'a (dyn Fn(f32) + Sync),
    /// Cancels the read once it is true.
    pub cancel: &'a AtomicBool,
}

/// Reads a table from a trusted file, without a memory limit.
///
/// # Errors
/// If the file cannot be read or is not a table.
pub fn read(path: &Path) -> Result<Table, CsvError> {
    let (declared, cancel) = (&Declared::default(), &AtomicBool::new(false));
    read_with(path, Options { declared, memory: u64::MAX, progress: &|_| (), cancel })
}

/// Reads a table from an untrusted file.
///
/// # Errors
/// If the file cannot be read, is not a table, its rows need more than `options.memory`, or
/// `options.cancel` was set.
pub fn read_with(path: &Path, options: Options) -> Result<Table, CsvError> {
    read_within(path, Limits { memory: options.memory, ..LIMITS }, options)
}

/// The currencies and units in a text column, if most of its texts are numbers with one.
pub fn units(column: &Column) -> Vec<String> {
    let Some(categories) = column.categories() else { return Vec::new() };
    let unit = |text: &str| {
        let (affix, number) = affix::Affix::part(text)?;
        let is_number = value::says(number.as_bytes()) != value::Says::NoNumber;
        is_number.then(|| affix.shown())
    };
    let found: Vec<String> = categories.names.iter().filter_map(unit).collect();
    if 2 * found.len() <= categories.names.len() {
        return Vec::new();
    }
    found.into_iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

/// Maximum number of passes until the encoding, and the kinds and decimal marks of all columns are
/// known. One assumes them, one uses the detected encoding, one counts what all cells show, and
/// each wrong guess needs another.
const MAX_PASSES: usize = 7;

fn read_within(path: &Path, limits: Limits, options: Options) -> Result<Table, CsvError> {
    let Options { declared, progress, cancel, .. } = options;
    let of_file = |problem| CsvError::at(path, None, problem);
    let (buffers, stop) = (&Mutex::new(Vec::new()), &AtomicBool::new(false));
    let context = Context { limits, buffers, stop, progress, cancel };
    let Some(mut workbook) = Workbook::open(path).map_err(of_file)? else {
        return match &declared.sheet {
            Some(sheet) if path.is_file() => Err(of_file(CsvProblem::NoWorkbook(sheet.clone()))),
            _ => read_text(Pass { path, sheet: None, declared, context }),
        };
    };
    let mut first_error = None;
    for name in workbook.candidates(declared).map_err(of_file)? {
        let sheet = workbook.sheet(&name, context).map_err(of_file);
        let table = sheet.and_then(|mut sheet| {
            sheet.csv.notes.extend(workbook.note_on(&name, declared));
            read_text(Pass { path, sheet: Some(&sheet), declared, context })
        });
        match table {
            Ok(table) => return Ok(table.with_sheet(name, workbook.names().to_vec())),
            Err(error) => {
                let has_others = workbook.names().len() > 1;
                let is_of_sheet = error.problem.is_of_sheet();
                let error = CsvError { sheet: has_others.then_some(name), ..error };
                if !is_of_sheet {
                    return Err(error);
                }
                first_error.get_or_insert(error);
            }
        }
    }
    Err(first_error.unwrap_or_else(|| of_file(CsvProblem::Empty)))
}

/// Reads a file, or a sheet.
fn read_text(pass: Pass) -> Result<Table, CsvError> {
    // Another sheet may have set the given flag.
    let stop = &AtomicBool::new(false);
    let pass = Pass { context: Context { stop, ..pass.context }, ..pass };
    let mut known = None;
    for _ in 0..MAX_PASSES {
        match pass.run(known)? {
            Outcome::Table(table) => {
                (pass.context.progress)(1.0);
                return Ok(table.with_missing(&pass.declared.missing));
            }
            Outcome::Misjudged(better) => known = Some(better),
        }
    }
    Err(pass.error(None, CsvProblem::Changed))
}
