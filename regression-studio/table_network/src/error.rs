//! What can be wrong with options, rows or a saved state.

/// A failure to train or to predict.
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
    /// An array has another shape than the others say.
    #[error("{what} are {rows} × {columns}, but {expected_rows} × {expected_columns} are expected")]
    Shape {
        /// The array.
        what: &'static str,
        /// Its number of rows.
        rows: usize,
        /// Its number of columns.
        columns: usize,
        /// The number of rows that it should have.
        expected_rows: usize,
        /// The number of columns that it should have.
        expected_columns: usize,
    },
    /// A value of the rows to train on is infinite or not a number.
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
    /// A saved state does not belong to these options and rows.
    #[error("the saved state does not fit: {0}")]
    State(String),
}
