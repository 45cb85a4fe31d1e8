//! Preparation of samples: complete rows of a table, split and standardised by the training part's mean and deviation.

mod error;
mod folds;
mod linear;
mod rows;
mod split;
mod transform;
mod units;

use std::sync::Arc;

use ndarray::Array2;
use neural_net::Samples;

pub use self::error::{PredictError, PrepareError};
pub use self::linear::Baselines;
pub(crate) use self::rows::Incomplete;
pub use self::split::{part_sizes, split};
pub(crate) use self::transform::signed_log;
pub use self::transform::{Input, Logarithms, Scale, Transform, suggested_logarithms};
use self::units::Units;
use crate::settings::DataSettings;
use crate::{Settings, Table};

/// A table prepared for training.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The training part.
    pub train: Part,
    /// The validation part, which selects the best epoch.
    pub validation: Part,
    /// The test part, used for the final metrics only.
    pub test: Part,
    /// The map from columns to inputs and from the output to the target.
    pub transform: Transform,
    /// Number of rows dropped because a value is missing or not numeric.
    pub dropped: usize,
    /// Notes on the data, one line each: constant columns, dropped rows.
    pub notes: Vec<String>,
    /// The mean and the linear model.
    pub baselines: Baselines,
}

/// One part of the split.
#[derive(Clone, Debug)]
pub struct Part {
    /// Standardised inputs and targets.
    pub samples: Samples,
    /// The table's row of each sample, ascending.
    pub rows: Arc<[u32]>,
    /// The targets in their own unit.
    pub truth: Arc<[f64]>,
}

/// Splits and standardises a table's complete rows, and fits the baselines.
///
/// # Errors
/// If the settings have problems, a cell is bad and `bad_rows` is `error`, or the remaining rows are too few or
/// constant.
pub fn prepare(table: &Table, settings: &Settings) -> Result<Prepared, PrepareError> {
    if let Some(problem) = settings.problems(Some(table)).first() {
        return Err(PrepareError::Problem(problem.to_string()));
    }
    let data = &settings.data;
    let (complete, incomplete) = rows::complete(table, data)?;
    let (used, dropped) = (complete.len() + incomplete.rows(), incomplete.rows());
    let units = Units::of(table, settings, complete);
    let [train, validation, test] = match (units.units, settings.split.fold) {
        (None, None) => split(units.rows, &settings.split),
        (Some(units), None) => split::split_units(units, &settings.split),
        (None, Some(fold)) => {
            folds::split(units.rows.into_iter().map(|row| vec![row]).collect(), &settings.split, fold)
        }
        (Some(units), Some(fold)) => folds::split(units, &settings.split, fold),
    };
    if [&train, &validation, &test].iter().any(|part| part.is_empty()) {
        let table = table.source().to_owned();
        return Err(match settings.split.fold {
            Some(_) => PrepareError::EmptyFold { table },
            None => PrepareError::TooFewGroups { table },
        });
    }
    let (transform, of_columns) = transform::fit(table, data, &train, [&validation, &test])?;
    let mut notes = notes_on_reading(table, data);
    if dropped > 0 {
        let was = if dropped == 1 { "was" } else { "were" };
        let of_target = if data.bad_rows.fills() { " in the target" } else { "" };
        notes.push(format!("{dropped} of {used} rows {was} dropped: {}{of_target}", incomplete.in_words()));
    }
    notes.extend(units.notes);
    notes.extend(of_columns);
    notes.extend(transform::unseen_categories(table, data, &train, [("validation", &validation), ("test", &test)]));
    let part = |rows: Vec<u32>| part(table, data, &transform, rows);
    let (train, validation, test) = (part(train), part(validation), part(test));
    let baselines = Baselines::fit(&train.samples);
    Ok(Prepared { train, validation, test, transform, dropped, notes, baselines })
}

/// What a user should know about how the table and the columns that are used were read.
fn notes_on_reading(table: &Table, data: &DataSettings) -> Vec<String> {
    let is_used = |name: &str| name == data.target || data.features.iter().any(|feature| feature == name);
    let numbering = data.features.iter().filter(|name| data.features.len() > 1 && table.numbers_rows(name));
    let numbering = numbering.map(|name| format!("{name} numbers the rows: as a feature it only tells their order"));
    table.notes_on(is_used).map(str::to_owned).chain(numbering).collect()
}

fn part(table: &Table, data: &DataSettings, transform: &Transform, rows: Vec<u32>) -> Part {
    let inputs = transform.encode(table, &rows);
    let number = |&row: &u32| table.column(&data.target).and_then(|column| column.number(row as usize));
    let truth: Vec<f64> = rows.iter().map(|row| number(row).unwrap_or(f64::NAN)).collect();
    let targets: Vec<f32> = truth.iter().map(|&value| transform.target_scale.standardised(value)).collect();
    let targets = Array2::from_shape_vec((targets.len(), 1), targets).expect("one column");
    let samples = Samples::new(inputs, targets).expect("inputs and targets have the same number of rows");
    Part { samples, rows: rows.into(), truth: truth.into() }
}

impl Prepared {
    /// Training, validation and test part, with their names.
    pub fn parts(&self) -> [(&'static str, &Part); 3] {
        [("training", &self.train), ("validation", &self.validation), ("test", &self.test)]
    }

    /// A CRC-32 of all samples, by which a resumed run detects other data.
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
