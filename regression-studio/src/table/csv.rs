//! Files of comma-separated values.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Column, Table};

/// A file that is no table. Every message names the file, and the line where there is one.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The operating system's error.
    #[error("{}: cannot read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Nothing in it.
    #[error("{}: empty: a table needs a line of column names and rows below it", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A row with more or fewer cells than there are columns.
    #[error("{}, line {line}: {found} cells, but the header has {expected} columns", path.display())]
    Ragged {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: u32,
        /// Cells in the row.
        found: usize,
        /// Columns in the header.
        expected: usize,
    },
    /// The user stopped it.
    #[error("{}: reading was stopped", path.display())]
    Cancelled {
        /// The file.
        path: PathBuf,
    },
}

/// Reads a table.
///
/// # Errors
/// If the file cannot be read or is no table.
pub fn read(path: &Path) -> Result<Table, CsvError> {
    read_with_progress(path, &|_| (), &AtomicBool::new(false))
}

/// The same, telling `progress` the share that is done, 0 … 1, until `cancel` is true.
///
/// # Errors
/// If the file cannot be read, is no table, or `cancel` was set.
pub fn read_with_progress(
    path: &Path,
    progress: &(dyn Fn(f32) + Sync),
    cancel: &AtomicBool,
) -> Result<Table, CsvError> {
    let source = |source| CsvError::Io { path: path.to_path_buf(), source };
    let text = std::fs::read_to_string(path).map_err(source)?;
    let mut lines = text.lines().zip(1_u32..);
    let Some((header, _)) = lines.next() else { return Err(CsvError::Empty { path: path.to_path_buf() }) };
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let (mut cells, mut starts): (Vec<Vec<&str>>, Vec<u32>) = (vec![Vec::new(); names.len()], Vec::new());
    for (row, line) in lines.filter(|(row, _)| !row.is_empty()) {
        let row: Vec<&str> = row.split(',').map(str::trim).collect();
        if row.len() != names.len() {
            let (found, expected) = (row.len(), names.len());
            return Err(CsvError::Ragged { path: path.to_path_buf(), line, found, expected });
        }
        cells.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
        starts.push(line);
    }
    if cancel.load(Ordering::Relaxed) {
        return Err(CsvError::Cancelled { path: path.to_path_buf() });
    }
    progress(1.0);
    let columns = names.iter().zip(&cells).map(|(name, cells)| {
        let numbers: Vec<f64> = cells.iter().map(|cell| cell.parse().unwrap_or(f64::NAN)).collect();
        match 2 * numbers.iter().filter(|number| !number.is_nan()).count() > cells.len() {
            true => Column::of_numbers(*name, numbers),
            false => Column::of_texts(*name, cells),
        }
    });
    Ok(Table::new(path.display().to_string(), columns.collect(), starts))
}
