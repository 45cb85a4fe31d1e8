//! Errors when preparing a table or encoding another one.

/// Why a table cannot be prepared with these settings.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrepareError {
    /// The settings are invalid, on their own or for this table.
    #[error("{0}")]
    Problem(String),
    /// A cell is missing or not numeric, and `bad_rows` is `error`.
    #[error(
        "{place}, column {column:?}: {what}: correct it, remove the column, or drop such rows (bad_rows = \"drop\")"
    )]
    Cell {
        /// File and line.
        place: String,
        /// The column's name.
        column: String,
        /// The problem.
        what: String,
    },
    /// Too few rows are complete.
    #[error("{table}: {rows} of {all} rows are complete, but at least {needed} are required{hint}")]
    TooFewRows {
        /// The table's source.
        table: String,
        /// Number of complete rows.
        rows: usize,
        /// Number of rows used.
        all: usize,
        /// Minimum number of complete rows.
        needed: usize,
        /// Remedy, beginning with a colon, or empty.
        hint: String,
    },
    /// The rows that belong together leave a part empty.
    #[error("{table}: the groups are too few or too large to part them: choose another column of groups, or none")]
    TooFewGroups {
        /// The table's source.
        table: String,
    },
    /// A fold of a cross-validation leaves a part empty.
    #[error("{table}: too few rows or groups, which leave a part of a fold empty: choose fewer folds")]
    EmptyFold {
        /// The table's source.
        table: String,
    },
    /// The target is constant in the training part.
    #[error("{table}: the target {target:?} is {value} in every row of the training part: choose another target")]
    ConstantTarget {
        /// The table's source.
        table: String,
        /// The target's name.
        target: String,
        /// Its only value.
        value: f64,
    },
    /// All features are constant in the training part.
    #[error("{table}: every feature is constant in the training part: choose other features")]
    ConstantFeatures {
        /// The table's source.
        table: String,
    },
    /// The mean or variance of a column overflows or underflows.
    #[error("{table}: mean and variance of {column:?} are out of range: use its logarithm, or remove the column")]
    TooLarge {
        /// The table's source.
        table: String,
        /// The column's name.
        column: String,
    },
}

/// Why a model cannot predict a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PredictError {
    /// A feature column is absent or of the wrong kind, or a column's numbers have another currency
    /// or unit.
    #[error("{table}: {reason}")]
    Column {
        /// The table's source.
        table: String,
        /// The column and the problem.
        reason: String,
    },
}
