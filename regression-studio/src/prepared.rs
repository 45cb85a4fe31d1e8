//! Prepares samples: the complete rows of a table, split into parts and standardized by the
//! training part's mean and deviation.

mod error;
mod fit;
mod linear;
mod rows;
mod split;
mod transform;
mod units;

use std::sync::Arc;

use ndarray::Array2;
use neural_net::Samples;

pub use self::error::{PredictError, PrepareError};
pub use self::fit::{Logarithms, suggested_logarithms};
pub use self::linear::Baselines;
pub(crate) use self::rows::Incomplete;
pub use self::split::{part_sizes, split};
pub(crate) use self::transform::signed_log;
pub use self::transform::{Constant, Input, Scale, Transform};
use self::units::Units;
pub(crate) use self::units::{distinct_rows, time_column};
use crate::settings::{DataSettings, Fold};
use crate::{Settings, Table, findings};

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
    /// What a user should decide before training, one line each.
    pub findings: Vec<String>,
    /// Notes on the data, one line each: constant columns, dropped rows.
    pub notes: Vec<String>,
}

/// One part of the split.
#[derive(Clone, Debug)]
pub struct Part {
    /// Standardized inputs and targets.
    pub samples: Samples,
    /// The table's row of each sample, ascending.
    pub rows: Arc<[u32]>,
    /// The targets in their own unit.
    pub truth: Arc<[f64]>,
    /// The group of each sample, if some belong together.
    pub groups: Option<Arc<[u32]>>,
}

/// Splits and standardizes a table's complete rows.
///
/// # Errors
/// If the settings have problems, a cell is bad and `bad_rows` is `error`, or the remaining rows
/// are too few or constant.
pub fn prepare(table: &Table, settings: &Settings) -> Result<Prepared, PrepareError> {
    if let Some(problem) = settings.problems(Some(table)).first() {
        return Err(PrepareError::Problem(problem.to_string()));
    }
    let data = &settings.data;
    let (complete, incomplete) = rows::complete(table, data)?;
    let (used, dropped) = (complete.len() + incomplete.rows(), incomplete.rows());
    let units = Units::of(table, settings, complete);
    let group_of = units.units.as_deref().and_then(groups_of_rows);
    let [train, validation, test] = match (units.units, settings.split.fold) {
        (None, None) => split(units.rows, &settings.split),
        (Some(units), None) => split::split_units(units, &settings.split),
        (None, Some(fold)) => {
            split::split_by_fold(units.rows.into_iter().map(|row| vec![row]).collect(), &settings.split, fold)
        }
        (Some(units), Some(fold)) => split::split_by_fold(units, &settings.split, fold),
    };
    if [&train, &validation, &test].iter().any(|part| part.is_empty()) {
        let table = table.source().to_owned();
        return Err(match settings.split.fold {
            Some(_) => PrepareError::EmptyFold { table },
            None => PrepareError::TooFewGroups { table },
        });
    }
    let parts = [&train, &validation, &test].map(Vec::as_slice);
    let (transform, of_columns) = fit::fit(table, data, parts[0], [parts[1], parts[2]])?;
    let mut notes = notes_on_reading(table, data);
    if dropped > 0 {
        let was = if dropped == 1 { "was" } else { "were" };
        let of_target = if data.bad_rows.fills() { " in the target" } else { "" };
        notes.push(format!("{dropped} of {used} rows {was} dropped: {}{of_target}", incomplete.in_words()));
    }
    notes.extend(units.notes);
    notes.extend(of_columns);
    notes.extend(fit::unseen_categories(table, data, &train, [("validation", &validation), ("test", &test)]));
    let findings = findings::find(table, settings).into_iter().map(|finding| finding.text).collect();
    Ok(Prepared {
        findings,
        ..of_parts(table, data, transform, ([train, validation, test], group_of), (dropped, notes))
    })
}

/// Maximum number of groups per row; with more groups, each row counts as its own group.
const MAX_GROUPS: f64 = 0.95;

/// The group of each row, given the rows of each group; `None` if nearly every row is its own
/// group.
fn groups_of_rows(groups: &[Vec<u32>]) -> Option<Vec<u32>> {
    let rows: usize = groups.iter().map(Vec::len).sum();
    let last = groups.iter().flatten().max().filter(|_| groups.len() as f64 <= MAX_GROUPS * rows as f64)?;
    let mut group_of = vec![0; *last as usize + 1];
    for (group, rows) in (0..).zip(groups) {
        rows.iter().for_each(|&row| group_of[row as usize] = group);
    }
    Some(group_of)
}

/// Encodes and standardizes the rows of the training, validation and test part.
fn of_parts(
    table: &Table,
    data: &DataSettings,
    transform: Transform,
    (rows, group_of): ([Vec<u32>; 3], Option<Vec<u32>>),
    (dropped, notes): (usize, Vec<String>),
) -> Prepared {
    let groups = |rows: &[u32]| -> Option<Arc<[u32]>> {
        group_of.as_ref().map(|group_of| rows.iter().map(|&row| group_of[row as usize]).collect())
    };
    let part = |rows: Vec<u32>| Part { groups: groups(&rows), ..part(table, data, &transform, rows) };
    let [train, validation, test] = rows.map(part);
    Prepared { train, validation, test, transform, dropped, findings: Vec::new(), notes }
}

/// Splits the training and validation rows of `prepared` again, with a fold as the test part. A
/// network trained on the rest predicts the fold's rows. Rows that belong together stay in one
/// part.
///
/// # Errors
/// If a part is empty or constant.
pub(crate) fn without_fold(
    table: &Table,
    settings: &Settings,
    prepared: &Prepared,
    fold: Fold,
) -> Result<Prepared, PrepareError> {
    let mut rows = [&*prepared.train.rows, &*prepared.validation.rows].concat();
    rows.sort_unstable();
    let units = Units::of(table, settings, rows);
    let group_of = units.units.as_deref().and_then(groups_of_rows);
    let units = units.units.unwrap_or_else(|| units.rows.into_iter().map(|row| vec![row]).collect());
    let [train, validation, test] = split::split_by_fold(units, &settings.split, fold);
    if [&train, &validation, &test].iter().any(|part| part.is_empty()) {
        return Err(PrepareError::EmptyFold { table: table.source().to_owned() });
    }
    let (transform, _) = fit::fit(table, &settings.data, &train, [&validation, &test])?;
    Ok(of_parts(table, &settings.data, transform, ([train, validation, test], group_of), (0, Vec::new())))
}

/// What a user should know about how the table and its used columns were read.
fn notes_on_reading(table: &Table, data: &DataSettings) -> Vec<String> {
    let is_used = |name: &str| name == data.target || data.features.iter().any(|feature| feature == name);
    table.notes_on(is_used).map(str::to_owned).collect()
}

fn part(table: &Table, data: &DataSettings, transform: &Transform, rows: Vec<u32>) -> Part {
    let inputs = transform.encode(table, &rows);
    let number = |&row: &u32| table.column(&data.target).and_then(|column| column.number(row as usize));
    let truth: Vec<f64> = rows.iter().map(|row| number(row).unwrap_or(f64::NAN)).collect();
    let targets: Vec<f32> = truth.iter().map(|&value| transform.target_scale.standardised(value)).collect();
    let targets = Array2::from_shape_vec((targets.len(), 1), targets).expect("one column");
    let samples = Samples::new(inputs, targets).expect("inputs and targets have the same number of rows");
    Part { samples, rows: rows.into(), truth: truth.into(), groups: None }
}

impl Prepared {
    /// Training, validation and test part, with their names.
    pub fn parts(&self) -> [(&'static str, &Part); 3] {
        [("training", &self.train), ("validation", &self.validation), ("test", &self.test)]
    }

    /// A CRC-32 of all samples. A resumed run uses it to detect changed data.
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
