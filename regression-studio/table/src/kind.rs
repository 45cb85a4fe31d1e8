//! The kinds of columns.

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numeric: more than half of the cells that are not missing are finite numbers or dates. Dates
    /// count as the days since 1970-01-01.
    Number,
    /// Any other column, including one with only missing cells.
    Text,
}
