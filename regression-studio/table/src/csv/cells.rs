//! The cells of some columns as written in a file.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use super::chunks::{Chunks, Context};
use super::error::{CsvError, CsvProblem, Fault};
use super::limits::LIMITS;
use super::source::Source;
use super::workbook::{Sheet, Workbook};
use super::{Declared, value};
use crate::Encoding;

/// Calls `each` with the texts of `columns` in each row of a file, in row order. The texts are
/// unquoted and trimmed, but otherwise as written, whatever the columns' kinds. With the `encoding`
/// of the table, these are the rows that [`super::read_with`] reads. The memory does not depend on
/// the number of rows.
///
/// # Errors
/// If the file cannot be read, lacks a column, or changes during the read; or if `each` fails.
pub fn for_each_row<E: From<CsvError>>(
    path: &Path,
    declared: &Declared,
    encoding: Encoding,
    columns: &[&str],
    mut each: impl FnMut(&[Cow<'_, str>]) -> Result<(), E>,
) -> Result<(), E> {
    let error = |line, problem| CsvError::at(path, line, problem);
    let (buffers, stop, cancel) = (&Mutex::new(Vec::new()), &AtomicBool::new(false), &AtomicBool::new(false));
    let context = Context { limits: LIMITS, buffers, stop, progress: &|_| (), cancel };
    let sheet = chosen_sheet(path, declared, context).map_err(|problem| error(None, problem))?;
    let source = match &sheet {
        Some(sheet) => sheet.source(),
        None => Source::open(path, Some(encoding), None),
    };
    let source = source.map_err(|problem| error(None, problem))?;
    let begun = Chunks::begin(source, declared, context);
    let (mut chunks, header) = begun.map_err(|Fault { line, problem }| error(line, problem))?;
    let grammar = header.grammar;
    let place = |name: &&str| header.names.iter().position(|of| of == name);
    let Some(places) = columns.iter().map(place).collect::<Option<Vec<usize>>>() else {
        return Err(error(None, CsvProblem::Changed).into());
    };
    for chunk in chunks.by_ref() {
        if let Some(Fault { problem, .. }) = chunk.fault {
            return Err(error(None, problem).into());
        }
        let (text, mut at) = (&chunk.bytes[..], 0);
        while at < text.len() {
            if let Some(next) = grammar.blank_line(text, at) {
                at = next;
                continue;
            }
            if let Some((next, _)) = grammar.comment(text, at, header.names.len()) {
                at = next;
                continue;
            }
            let mut cells: Vec<Cow<str>> = vec![Cow::Borrowed(""); places.len()];
            for column in 0.. {
                let cell = grammar.cell(text, at);
                at = cell.next;
                for (_, of_place) in places.iter().zip(&mut cells).filter(|(place, _)| **place == column) {
                    *of_place = match &cell.bytes {
                        Cow::Borrowed(bytes) => value::text(bytes),
                        Cow::Owned(bytes) => value::text(bytes).into_owned().into(),
                    };
                }
                if cell.is_last {
                    break;
                }
            }
            each(&cells)?;
        }
        if let Ok(mut buffers) = buffers.lock() {
            buffers.push(chunk.bytes);
        }
    }
    if chunks.has_changed() { Err(error(None, CsvProblem::Changed).into()) } else { Ok(()) }
}

/// The first of the candidate sheets, which is the declared one if there is a declaration; `None`
/// if the file is not a workbook.
fn chosen_sheet(path: &Path, declared: &Declared, context: Context) -> Result<Option<Sheet>, CsvProblem> {
    let Some(mut workbook) = Workbook::open(path)? else { return Ok(None) };
    let name = workbook.candidates(declared)?.swap_remove(0);
    workbook.sheet(&name, context).map(Some)
}
