//! A memory as rows and columns of a suitable width.

use crate::values::View;

/// Maximum number of columns when a memory without rows is broken into rows: one for each bank.
const MAX_BROKEN: usize = 32;

/// Maximum number of characters of an element.
const MAX_CHARACTERS: usize = 10;

/// The elements of a view in rows. A single row is broken into several.
pub(super) struct Grid<'s> {
    pub(super) view: View<'s>,
    /// Number of columns if a single row is broken.
    broken: Option<usize>,
}

/// The shown part of a grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Characters of a cell.
    pub(super) cell_width: usize,
    /// Characters of a row's number.
    pub(super) label_width: usize,
}

impl<'s> Grid<'s> {
    /// A grid that fits into `width` characters, and its shown part, starting at a row and a
    /// column.
    pub(super) fn new(
        view: View<'s>,
        (row, column): (usize, usize),
        (width, height): (usize, usize),
    ) -> (Self, Window) {
        let is_single = view.shown_rows.len() == 1;
        let mut grid = Self { view, broken: None };
        if !is_single {
            let window = grid.window((row, column), (width, height));
            return (grid, window);
        }
        let mut broken = MAX_BROKEN;
        loop {
            grid.broken = Some(broken);
            let window = grid.window((row, 0), (width, height));
            if window.columns >= broken.min(grid.view.shown_columns.len()) || broken == 1 {
                return (grid, window);
            }
            broken /= 2;
        }
    }

    pub(super) fn rows(&self) -> usize {
        match self.broken {
            Some(columns) => self.view.shown_columns.len().div_ceil(columns),
            None => self.view.shown_rows.len(),
        }
    }

    pub(super) fn columns(&self) -> usize {
        let columns = self.view.shown_columns.len();
        self.broken.map_or(columns, |broken| broken.min(columns))
    }

    /// Row and column in the memory of a grid element. `None` after the last element.
    pub(super) fn element(&self, row: usize, column: usize) -> Option<(usize, usize)> {
        let (row, column) = match self.broken {
            Some(columns) => (0, row * columns + column),
            None => (row, column),
        };
        let is_shown = row < self.view.shown_rows.len() && column < self.view.shown_columns.len();
        is_shown.then(|| (self.view.shown_rows.start + row, self.view.shown_columns.start + column))
    }

    /// Number of a row. If a single row is broken, the index of the row's first element.
    pub(super) fn row_label(&self, row: usize) -> usize {
        match self.broken {
            Some(columns) => self.view.shown_columns.start + row * columns,
            None => self.view.shown_rows.start + row,
        }
    }

    pub(super) fn column_label(&self, column: usize) -> usize {
        if self.broken.is_some() { column } else { self.view.shown_columns.start + column }
    }

    /// An element as text, or `–`.
    pub(super) fn text(&self, (row, column): (usize, usize)) -> String {
        self.view.cell(row, column).map_or_else(|| "–".to_owned(), shorten)
    }

    /// The part that is shown from a row and a column on: as many columns as fit. Each is as wide
    /// as its widest cell and is followed by a mark.
    fn window(&self, (row, column): (usize, usize), (width, height): (usize, usize)) -> Window {
        let (row, column) = (row.min(self.rows().saturating_sub(1)), column.min(self.columns().saturating_sub(1)));
        let rows = height.min(self.rows() - row.min(self.rows()));
        let label_width = self.row_label(row + rows).to_string().len() + 1;
        let room = width.saturating_sub(label_width);
        let mut columns = (room / 2).min(self.columns() - column.min(self.columns()));
        let mut cell_width = 1;
        // Fewer columns may need less width each.
        for _ in 0..2 {
            let texts = (row..row + rows).flat_map(|row| (column..column + columns).map(move |column| (row, column)));
            let texts = texts.filter_map(|(row, column)| Some(self.text(self.element(row, column)?).chars().count()));
            let label = self.column_label(column + columns).to_string().len();
            cell_width = texts.max().unwrap_or(1).max(label);
            columns = columns.min(room / (cell_width + 1));
        }
        Window { row, column, rows, columns, cell_width, label_width }
    }
}

/// Shortens a number to at most [`MAX_CHARACTERS`].
fn shorten(text: String) -> String {
    if text.len() <= MAX_CHARACTERS {
        return text;
    }
    match text.parse::<f64>() {
        Ok(value) if text.contains('.') || text.len() > 20 => match format!("{value:.6}") {
            fixed if fixed.len() <= MAX_CHARACTERS && value.abs() >= 1e-3 => fixed,
            _ => format!("{value:.2e}"),
        },
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_shortened() {
        let short = |text: &str| shorten(text.to_owned());
        assert_eq!(short("0.33333334"), "0.33333334");
        assert_eq!(short("-0.33333334"), "-0.333333");
        assert_eq!(short(&f32::from_bits(1).to_string()), "1.00e-45");
        assert_eq!(short(&f32::MAX.to_string()), "3.40e38");
        assert_eq!(short("18446744073709551615"), "18446744073709551615");
        assert_eq!(short("NaN"), "NaN");
    }
}
