//! Selection of a table's complete rows.

use super::error::PrepareError;
use crate::Table;
use crate::settings::{BadRows, DataSettings, MIN_ROWS};
use crate::table::{Categories, Column};

/// Numbers of incomplete rows, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Incomplete {
    /// Rows with a missing value and no unreadable one.
    pub(crate) missing: usize,
    /// Rows with a cell that is neither missing nor a number.
    pub(crate) unreadable: usize,
}

impl Incomplete {
    /// Counts the rows that lack a value in one of the columns.
    pub(crate) fn of<'a>(columns: impl Iterator<Item = &'a Column>, is_complete: &[bool]) -> Self {
        let mut is_readable = vec![true; is_complete.len()];
        for column in columns.filter(|column| column.not_numeric() > 0) {
            let is_unreadable = |row: usize| column.number(row).is_none() && !column.text(row).is_empty();
            let rows = is_readable.iter_mut().enumerate().zip(is_complete).filter(|(_, is_complete)| !**is_complete);
            rows.for_each(|((row, is_readable), _)| *is_readable &= !is_unreadable(row));
        }
        let incomplete = || is_complete.iter().zip(&is_readable).filter(|(is_complete, _)| !**is_complete);
        let unreadable = incomplete().filter(|(_, is_readable)| !**is_readable).count();
        Self { missing: incomplete().count() - unreadable, unreadable }
    }

    /// The total.
    pub(crate) fn rows(self) -> usize {
        self.missing + self.unreadable
    }

    /// The reasons, as in "2 lack a value, 1 has a value that cannot be read".
    pub(crate) fn in_words(self) -> String {
        let verb = |count: usize, one: &'static str, more: &'static str| if count == 1 { one } else { more };
        let missing = format!("{} {} a value", self.missing, verb(self.missing, "lacks", "lack"));
        let unreadable =
            format!("{} {} a value that cannot be read", self.unreadable, verb(self.unreadable, "has", "have"));
        match (self.missing, self.unreadable) {
            (_, 0) => missing,
            (0, _) => unreadable,
            _ => format!("{missing}, {unreadable}"),
        }
    }
}

/// The complete rows among the used ones, ascending, and the number of incomplete rows.
pub(super) fn complete(table: &Table, data: &DataSettings) -> Result<(Vec<u32>, Incomplete), PrepareError> {
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
    Ok((complete, Incomplete::of(columns(table, data), &is_complete)))
}

/// The columns in which a row must have a value.
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
    let place = format!("{}, {}", table.source(), table.place(row));
    let Some(column) = columns(table, data).find(is_bad) else {
        return PrepareError::Problem(format!("{place}: the row is incomplete"));
    };
    let what = match &*column.text(row) {
        "" => "the value is missing".to_owned(),
        text if column.is_date() => format!("{text:?} is not a date"),
        text => format!("{text:?} is not a number"),
    };
    PrepareError::Cell { place, column: column.name().to_owned(), what }
}
