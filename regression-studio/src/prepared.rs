//! Samples made of a table: rows chosen, split, standardised by the training part's figures.

mod linear;
mod rows;
mod split;
mod transform;

use std::sync::Arc;

use ndarray::Array2;
use neural_net::Samples;

pub use self::linear::Baselines;
pub use self::split::{part_sizes, split};
pub(crate) use self::transform::signed_log;
pub use self::transform::{Input, Scale, Transform};
use crate::settings::DataSettings;
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
    /// The rows of the table, ascending, one for each sample.
    pub rows: Arc<[u32]>,
    /// The targets in their own unit.
    pub truth: Arc<[f64]>,
}

/// A table that no samples can be made of.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrepareError {
    /// The settings do not do, or not for this table.
    #[error("{0}")]
    Problem(String),
    /// A cell is missing or no number, and the user wants to know.
    #[error(
        "{place}, column {column:?}: {what}: mend it, leave the column out, or have incomplete rows left out (bad_rows = \"drop\")"
    )]
    Cell {
        /// File and line.
        place: String,
        /// The column's name.
        column: String,
        /// What is wrong with it.
        what: String,
    },
    /// Too few rows are complete.
    #[error("{table}: {rows} of {all} rows are complete, and at least {needed} are needed{way_out}")]
    TooFewRows {
        /// Where the table comes from.
        table: String,
        /// Complete rows.
        rows: usize,
        /// All rows.
        all: usize,
        /// How many there must be.
        needed: usize,
        /// What to do, after a colon, where there is something.
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
    /// There is nothing to learn from.
    #[error("{table}: every feature has the same value in all rows of the training part: choose others")]
    ConstantFeatures {
        /// Where the table comes from.
        table: String,
    },
    /// Numbers that no mean can be computed of.
    #[error("{table}: the numbers of {column:?} are too large: take their logarithm, or leave the column out")]
    TooLarge {
        /// Where the table comes from.
        table: String,
        /// The column's name.
        column: String,
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
    let data = &settings.data;
    let (complete, dropped) = rows::complete(table, data)?;
    let [train, validation, test] = split(complete, &settings.split);
    let (transform, mut notes) = transform::fit(table, data, &train)?;
    if dropped > 0 {
        let used = train.len() + validation.len() + test.len() + dropped;
        notes.insert(0, format!("{dropped} of {used} rows are incomplete and were left out"));
    }
    let part = |rows: Vec<u32>| part(table, data, &transform, rows);
    let (train, validation, test) = (part(train), part(validation), part(test));
    let baselines = Baselines::fit(&train.samples);
    Ok(Prepared { train, validation, test, transform, dropped, notes, baselines })
}

fn part(table: &Table, data: &DataSettings, transform: &Transform, rows: Vec<u32>) -> Part {
    let inputs = transform.encode(table, &rows);
    let number = |&row: &u32| table.column(&data.target).and_then(|column| column.number(row as usize));
    let truth: Vec<f64> = rows.iter().map(|row| number(row).unwrap_or(f64::NAN)).collect();
    let targets: Vec<f32> = truth.iter().map(|&value| transform.target_scale.standardised(value)).collect();
    let samples = Array2::from_shape_vec((targets.len(), 1), targets)
        .map_err(|error| error.to_string())
        .and_then(|targets| Samples::new(inputs, targets).map_err(|error| error.to_string()));
    match samples {
        Ok(samples) => Part { samples, rows: rows.into(), truth: truth.into() },
        Err(error) => unreachable!("there is a row of inputs and one target for each row: {error}"),
    }
}

impl Prepared {
    /// Training, validation and test, with their names.
    pub fn parts(&self) -> [(&'static str, &Part); 3] {
        [("training", &self.train), ("validation", &self.validation), ("test", &self.test)]
    }

    /// A checksum of all that is trained on, by which a run knows its data again.
    pub fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for (_, part) in self.parts() {
            for array in [part.samples.inputs(), part.samples.targets()] {
                hasher.update(&(array.nrows() as u64).to_le_bytes());
                hasher.update(&(array.ncols() as u64).to_le_bytes());
                array.iter().for_each(|value| hasher.update(&value.to_le_bytes()));
            }
        }
        hasher.finalize()
    }
}
