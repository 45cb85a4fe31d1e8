//! Selection of a table's complete rows.

use super::error::PrepareError;
use crate::Table;
use crate::settings::{BadRows, DataSettings, MIN_ROWS};
use crate::table::{Categories, Column};

/// The complete rows among those used, ascending, and the number of incomplete ones.
pub(super) fn complete(table: &Table, data: &DataSettings) -> Result<(Vec<u32>, usize), PrepareError> {
    let used = data.samples.unwrap_or(usize::MAX).min(table.rows());
    let mut is_complete = vec![true; used];
    for column in columns(table, data) {
        mark_incomplete(column, &mut is_complete);
    }
    if data.bad_rows == BadRows::Error
        && let Some(row) = is_complete.iter().position(|is_complete| !is_complete)
    {
        return Err(first_bad_cell(table, data, row));
    }
    let complete: Vec<u32> =
        (0..).zip(&is_complete).filter_map(|(row, &is_complete)| is_complete.then_some(row)).collect();
    if complete.len() < MIN_ROWS {
        let (table, rows, all) = (table.source().to_owned(), complete.len(), used);
        let hint = match rows < all {
            true => ": choose columns with fewer missing values".to_owned(),
            false => ": choose a larger table".to_owned(),
        };
        return Err(PrepareError::TooFewRows { table, rows, all, needed: MIN_ROWS, hint });
    }
    let dropped = used - complete.len();
    Ok((complete, dropped))
}

/// The columns whose value a row must have.
fn columns<'a>(table: &'a Table, data: &'a DataSettings) -> impl Iterator<Item = &'a Column> {
    let features = if data.bad_rows.fills() { &[][..] } else { &data.features };
    features.iter().chain([&data.target]).filter_map(|name| table.column(name))
}

/// Clears the flags of rows in which the column's value is missing, or not numeric in a numeric column.
pub(super) fn mark_incomplete(column: &Column, is_complete: &mut [bool]) {
    if let Some(numbers) = column.numbers() {
        is_complete.iter_mut().zip(numbers).for_each(|(is_complete, number)| *is_complete &= number.is_finite());
    }
    if let Some(categories) = column.categories() {
        let indices = categories.indices.iter();
        is_complete
            .iter_mut()
            .zip(indices)
            .for_each(|(is_complete, &index)| *is_complete &= index != Categories::MISSING);
    }
}

fn first_bad_cell(table: &Table, data: &DataSettings, row: usize) -> PrepareError {
    let is_bad = |column: &&Column| {
        let mut is_complete = vec![true; row + 1];
        mark_incomplete(column, &mut is_complete);
        !is_complete[row]
    };
    let place = match table.line(row) {
        Some(line) => format!("{}, line {line}", table.source()),
        None => format!("{}, row {}", table.source(), row + 1),
    };
    let Some(column) = columns(table, data).find(is_bad) else {
        return PrepareError::Problem(format!("{place}: the row is incomplete"));
    };
    let what = match &*column.text(row) {
        "" => "the value is missing".to_owned(),
        text => format!("{text:?} is not a number"),
    };
    PrepareError::Cell { place, column: column.name().to_owned(), what }
}
