//! Workbooks of spreadsheet programs: .xlsx, .xlsm and .ods. .xls is not supported: the crate for
//! it may abort the program on a damaged file.
//!
//! A sheet becomes the text of a CSV file with one line per row. This text is interpreted like any
//! other file's.

mod cells;

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use calamine::{Dimensions, Ods, OdsError, Reader, SheetType, SheetVisible, Sheets, Xlsx, XlsxError};
use zip::ZipArchive;

use self::cells::{Cells, Csv};
use super::Declared;
use super::chunks::Context;
use super::error::CsvProblem;
use super::limits::UNPACKED_LIMIT;
use super::source::{Counted, FileState, Source};
use crate::are_alike;

/// The first bytes of a ZIP archive, the container of .xlsx and .ods.
const ZIP: &[u8] = b"PK\x03\x04";
/// The first bytes of a compound file, the container of .xls and of each .xlsx with a password.
const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// Number of cells between two checks of the progress.
const STEP: usize = 4096;

/// An open workbook.
pub(super) struct Workbook {
    sheets: Sheets<BufReader<Counted>>,
    /// The sheets with cells, in the workbook's order.
    names: Vec<String>,
    /// The sheets that a user sees, or all of them if all are hidden.
    visible: Vec<String>,
    file: File,
    state: FileState,
    /// Number of bytes read from the file.
    done: Arc<AtomicU64>,
}

/// A sheet as the text of a CSV file.
pub(super) struct Sheet {
    pub(super) csv: Csv,
    pub(super) file: File,
    /// The file's state when it was opened.
    pub(super) state: FileState,
}

impl Sheet {
    /// The sheet's text.
    ///
    /// # Errors
    /// If the workbook cannot be opened again.
    pub(super) fn source(&self) -> Result<Source, CsvProblem> {
        Source::of_sheet(&self.csv.text, &self.file, self.state)
    }
}

impl Workbook {
    /// Opens a file that is a workbook according to its first bytes; `None` for another file, and
    /// for one that cannot be read twice.
    ///
    /// # Errors
    /// If it is damaged, protected by a password, or too large.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, CsvProblem> {
        let Ok(file) = File::open(path) else { return Ok(None) };
        let Some(metadata) = file.metadata().ok().filter(|metadata| metadata.is_file()) else { return Ok(None) };
        let mut head = Vec::new();
        (&file).take(COMPOUND.len() as u64).read_to_end(&mut head).map_err(CsvProblem::Io)?;
        if !head.starts_with(ZIP) && head != COMPOUND {
            return Ok(None);
        }
        let done = Arc::new(AtomicU64::new(0));
        let counted = Counted { file: file.try_clone().map_err(CsvProblem::Io)?, done: Arc::clone(&done) };
        let mut reader = BufReader::new(counted);
        reader.rewind().map_err(CsvProblem::Io)?;
        let sheets = if head == COMPOUND { Err(compound(reader)) } else { archive(reader) }?;
        let of_cells = sheets.sheets_metadata().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet);
        let names: Vec<String> = of_cells.clone().map(|sheet| sheet.name.clone()).collect();
        let visible = of_cells.filter(|sheet| sheet.visible == SheetVisible::Visible);
        let visible: Vec<String> = visible.map(|sheet| sheet.name.clone()).collect();
        let visible = if visible.is_empty() { names.clone() } else { visible };
        Ok(Some(Self { sheets, names, visible, file, state: FileState::of(&metadata), done }))
    }

    /// The sheets with cells.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The sheets to try, in order. The first one that is a table is read.
    ///
    /// # Errors
    /// If the workbook lacks a declared sheet, or has no sheets.
    pub(super) fn candidates(&self, declared: &Declared) -> Result<Vec<String>, CsvProblem> {
        let same = |name: &String| self.names.iter().find(|other| *other == name);
        if let Some(wanted) = &declared.sheet {
            let found = same(wanted).or_else(|| self.names.iter().find(|name| are_alike(name, wanted)));
            let missing = || CsvProblem::NoSheet { name: wanted.clone(), sheets: self.names.clone() };
            return Ok(vec![found.ok_or_else(missing)?.clone()]);
        }
        match declared.sheet_if_there.as_ref().and_then(same) {
            Some(name) => Ok(vec![name.clone()]),
            None if self.names.is_empty() => Err(CsvProblem::Empty),
            None => Ok(self.visible.clone()),
        }
    }

    /// Reads a sheet.
    ///
    /// # Errors
    /// If it is damaged, needs more memory than the limit, or the read is canceled.
    pub(super) fn sheet(&mut self, name: &str, context: Context) -> Result<Sheet, CsvProblem> {
        let (total, done) = (self.state.length().max(1), Arc::clone(&self.done));
        let mut count = 0;
        let mut each = || {
            count += 1;
            if count % STEP == 0 {
                (context.progress)((done.load(Ordering::Relaxed) as f64 / total as f64).min(1.0) as f32);
            }
            if context.cancel.load(Ordering::Relaxed) { Err(CsvProblem::Cancelled) } else { Ok(()) }
        };
        let mut cells = Cells::new(context.limits.memory);
        let spans = read_cells(&mut self.sheets, name, &mut cells, &mut each)?;
        cells.merge(&spans)?;
        let csv = cells.into_csv()?;
        let file = self.file.try_clone().map_err(CsvProblem::Io)?;
        Ok(Sheet { csv, file, state: self.state })
    }

    /// A note about the chosen sheet, unless it was declared.
    pub(super) fn note_on(&self, name: &str, declared: &Declared) -> Option<String> {
        let is_chosen = declared.sheet.is_some() || self.names.len() < 2;
        let others = self.names.iter().filter(|other| *other != name).map(|other| format!("{other:?}"));
        (!is_chosen).then(|| {
            let others = others.take(5).collect::<Vec<_>>().join(", ");
            format!("the sheet {name:?} is read; others ({others}) are in the list Sheet, and sheet = \"…\" in [data] chooses one")
        })
    }
}

/// Adds the cells of a sheet to `cells`, and calls `each` before each of them. Returns the merged
/// ranges.
fn read_cells(
    sheets: &mut Sheets<BufReader<Counted>>,
    name: &str,
    cells: &mut Cells,
    each: &mut impl FnMut() -> Result<(), CsvProblem>,
) -> Result<Vec<Dimensions>, CsvProblem> {
    if let Sheets::Xlsx(book) = sheets {
        let merged = book.merge_cells_by_sheet_name(name).map_err(of_xlsx)?;
        let mut reader = book.worksheet_cells_reader(name).map_err(of_xlsx)?;
        while let Some(cell) = reader.next_cell().map_err(of_xlsx)? {
            each()?;
            cells.add(cell.get_position(), cell.get_value())?;
        }
        return Ok(merged);
    }
    let range = sheets.worksheet_range(name).map_err(damaged)?;
    let (top, left) = range.start().unwrap_or_default();
    for (row, column, value) in range.used_cells() {
        each()?;
        cells.add((top + row as u32, left + column as u32), value)?;
    }
    Ok(Vec::new())
}

/// Opens a workbook that is a ZIP archive.
fn archive(mut reader: BufReader<Counted>) -> Result<Sheets<BufReader<Counted>>, CsvProblem> {
    let mut archive = ZipArchive::new(&mut reader).map_err(damaged)?;
    let names: Vec<String> = archive.file_names().flatten().map(Into::into).collect();
    let has = |name: &str| names.iter().any(|other| other == name);
    let is_excel = names.iter().any(|name| name.starts_with("xl/"));
    if !is_excel && !has("content.xml") {
        return Err(CsvProblem::NotText(": it is a ZIP archive without a spreadsheet; unpack it"));
    }
    if has("xl/workbook.bin") {
        return Err(CsvProblem::NotText(": it is a binary workbook (.xlsb); save it as .xlsx"));
    }
    let sizes = (0..archive.len()).map(|index| archive.by_index_raw(index).map(|part| part.size()));
    let unpacked = sizes.sum::<Result<u64, _>>().map_err(damaged)?;
    if unpacked > UNPACKED_LIMIT {
        return Err(CsvProblem::TooLargeWorkbook);
    }
    match is_excel {
        true => Ok(Sheets::Xlsx(Xlsx::new(reader).map_err(of_xlsx)?)),
        false => match Ods::new(reader) {
            Ok(book) => Ok(Sheets::Ods(book)),
            Err(OdsError::Password) => Err(CsvProblem::Password),
            Err(OdsError::InvalidMime(_)) => {
                Err(CsvProblem::NotText(": it is a document without a spreadsheet; save its table as CSV"))
            }
            Err(error) => Err(damaged(error)),
        },
    }
}

/// Why a compound file is not read.
fn compound(reader: BufReader<Counted>) -> CsvProblem {
    match Xlsx::new(reader) {
        Err(XlsxError::Password) => CsvProblem::Password,
        _ => CsvProblem::NotText(
            ": it is an old workbook (.xls) or another document of Office; save it as .xlsx, or its table as CSV",
        ),
    }
}

fn of_xlsx(error: XlsxError) -> CsvProblem {
    match error {
        XlsxError::Password => CsvProblem::Password,
        error => damaged(error),
    }
}

/// The problem with a workbook that cannot be read, in one line.
fn damaged(error: impl std::fmt::Display) -> CsvProblem {
    let text = error.to_string();
    CsvProblem::DamagedWorkbook(text.split(char::is_control).collect::<Vec<_>>().join(" "))
}
