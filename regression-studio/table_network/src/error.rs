//! Errors in options, rows or a saved state.

/// Why training or prediction is impossible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// An option is out of its range.
    #[error("{name} is {value}, but must be {range}")]
    Option {
        /// The option's name.
        name: &'static str,
        /// Its value.
        value: String,
        /// The range in words.
        range: &'static str,
    },
    /// There are no rows or no inputs.
    #[error("{what} are {rows} × {columns}: at least one row and one input are needed")]
    Empty {
        /// What is empty.
        what: &'static str,
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// The shape of an array does not match the others.
    #[error("{what} are {rows} × {columns}, but {expected_rows} × {expected_columns} are expected")]
    Shape {
        /// The array.
        what: &'static str,
        /// Its number of rows.
        rows: usize,
        /// Its number of columns.
        columns: usize,
        /// The expected number of rows.
        expected_rows: usize,
        /// The expected number of columns.
        expected_columns: usize,
    },
    /// A value in the training rows is infinite or not a number.
    #[error("{what}: row {row}, column {column}, counted from 0, is not finite")]
    NotFinite {
        /// The array.
        what: &'static str,
        /// The row, counted from 0.
        row: usize,
        /// The column, counted from 0.
        column: usize,
    },
    /// The error on the validation rows is not finite.
    #[error("training diverged in epoch {epoch}: choose a smaller learning rate")]
    Diverged {
        /// The epoch, counted from 1.
        epoch: usize,
    },
    /// A saved state does not match these options and rows.
    #[error("the saved state does not fit: {0}")]
    State(String),
}
