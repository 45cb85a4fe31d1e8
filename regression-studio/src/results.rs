//! What a training run measures: the errors of its epochs, and the metrics of the network and of
//! the baselines.

use neural_net::training::InvalidValue;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Model;
use crate::importance::{self, Importance};
use crate::intervals::{self, MeasuredIntervals, PERCENT};
use crate::model::Output;
use crate::prepared::{Baselines, Part, Prepared, Transform, signed_log};
use crate::table::Column;

/// The metrics of one epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpochErrors {
    /// Number of the epoch, counted from 1.
    pub epoch: usize,
    /// Training time in seconds, without evaluation.
    pub seconds: f64,
    /// Root mean squared error of the training part, standardized. Each sample's error is measured
    /// before its step.
    pub train_rmse: f64,
    /// Root mean squared error of the validation part, standardized. Early stopping uses it as its
    /// criterion.
    pub validation_rmse: f64,
    /// Root mean squared error of up to 20,000 training rows after the epoch, in the target's unit.
    #[serde(deserialize_with = "or_nan")]
    pub train_rmse_in_unit: f64,
    /// Root mean squared error of the validation part, in the target's unit.
    #[serde(deserialize_with = "or_nan")]
    pub validation_rmse_in_unit: f64,
}

/// How a training run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// All epochs are done.
    AllEpochs,
    /// The validation error has not decreased for [`crate::settings::TrainingSettings::patience`] epochs.
    EarlyStopped,
    /// The user stopped the run; it can be resumed.
    Stopped,
}

/// Error metrics over a set of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Root mean squared error, in the target's unit.
    pub rmse: f64,
    /// Mean absolute error, in the target's unit.
    pub mae: f64,
    /// Coefficient of determination, 1 − squared error / squared deviation from the mean: 1 is perfect, 0 is the mean
    /// of these rows. NaN if the targets are constant.
    pub r2: f64,
    /// R² of sign(y)·ln(1 + |y|), if the model learns that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r2_log: Option<f64>,
    /// Median of |prediction / true value − 1|, if the model learns the logarithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_error: Option<f64>,
}

/// Metrics of the network and the baselines on one part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartResult {
    /// "training", "validation" or "test".
    pub name: String,
    /// Number of rows.
    pub rows: usize,
    /// The network's metrics.
    pub network: Metrics,
    /// Metrics of the training part's mean as a constant prediction.
    pub mean: Metrics,
    /// Metrics of linear least squares on the same features, fitted to the training part.
    pub linear: Metrics,
    /// Metrics of gradient-boosted trees, if they were fitted; see [`crate::trees`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trees: Option<Metrics>,
}

impl PartResult {
    /// The network and the baselines with their metrics, in display order.
    pub fn models(&self) -> Vec<(&'static str, &Metrics)> {
        let trees = self.trees.iter().map(|trees| ("trees", trees));
        let others = [("linear", &self.linear), ("mean", &self.mean)];
        std::iter::once(("network", &self.network)).chain(trees).chain(others).collect()
    }
}

/// The results of a training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// The epoch that provides the final weights, counted from 1.
    pub best_epoch: usize,
    /// Number of epochs trained.
    pub epochs: usize,
    /// Training time in seconds, without evaluation.
    pub seconds: f64,
    /// Name of the device.
    pub device: String,
    /// Number of rows dropped.
    pub dropped: usize,
    /// What a user should have decided before training, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Notes on the data, one line each.
    pub notes: Vec<String>,
    /// Training, validation and test part.
    pub parts: [PartResult; 3],
    /// The importance of each feature on the test part, largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub importance: Vec<Importance>,
    /// The prediction intervals, measured on the test part. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<MeasuredIntervals>,
}

/// True and predicted values in the target's unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predicted {
    /// "training", "validation" or "test".
    pub part: String,
    /// The target's name.
    pub target: String,
    /// Whether to plot on a logarithmic scale.
    pub is_logarithmic: bool,
    /// True value and prediction, of rows sampled evenly from the part.
    #[serde(deserialize_with = "pairs_or_nan")]
    pub pairs: Vec<[f64; 2]>,
}

/// The rows of a run's table: the part of each row, and the network's predictions for the test
/// rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableRows {
    /// A letter of [`PART_LETTERS`] for each row up to the last used one, `-` for an unused row.
    parts: String,
    /// True value and prediction of each test row, in the table's order and the target's unit.
    #[serde(deserialize_with = "pairs_or_nan")]
    test: Vec<[f64; 2]>,
    /// The ends of the [`PERCENT`] % interval of each test row, in the target's unit. Empty if
    /// there are no intervals, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "pairs_or_nan")]
    intervals: Vec<[f64; 2]>,
}

/// The letters of the parts, in the order of [`Prepared::parts`].
const PART_LETTERS: [(u8, &str); 3] = [(b'l', "training"), (b'v', "validation"), (b't', "test")];

/// The part of each row of a run's table.
#[derive(Clone, Debug)]
pub(crate) struct Parts(String);

impl Parts {
    /// Index and part of each used row, counted from 0.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &'static str)> {
        parts_of(&self.0)
    }

    /// The part of a row, empty for an unused row.
    pub(crate) fn of_row(&self, row: usize) -> &'static str {
        self.0.as_bytes().get(row).and_then(|letter| part_of(*letter)).unwrap_or_default()
    }
}

fn part_of(letter: u8) -> Option<&'static str> {
    PART_LETTERS.iter().find(|(of_part, _)| *of_part == letter).map(|(_, name)| *name)
}

fn parts_of(letters: &str) -> impl Iterator<Item = (usize, &'static str)> {
    letters.bytes().enumerate().filter_map(|(row, letter)| Some((row, part_of(letter)?)))
}

impl TableRows {
    /// Index and part of each used row, counted from 0.
    pub fn parts(&self) -> impl Iterator<Item = (usize, &'static str)> {
        parts_of(&self.parts)
    }

    /// Index, true value and prediction of each test row, counted from 0.
    pub fn test(&self) -> impl Iterator<Item = (usize, [f64; 2])> {
        let rows = self.parts().filter(|(_, part)| *part == "test").map(|(row, _)| row);
        rows.zip(self.test.iter().copied())
    }

    /// The ends of the [`PERCENT`] % interval of each row of [`TableRows::test`]; empty if there are no intervals.
    pub fn intervals(&self) -> &[[f64; 2]] {
        &self.intervals
    }

    /// Whether this target column belongs to the run's table: the test rows have the same values.
    pub(crate) fn are_of(&self, truth: &Column) -> bool {
        let is_same = |(row, [of_test, _]): (usize, [f64; 2])| truth.number(row) == Some(of_test);
        let rows = truth.numbers().map_or(0, <[f64]>::len);
        self.parts.len() <= rows && !self.test.is_empty() && self.test().all(is_same)
    }

    /// Only the rows' parts.
    pub(crate) fn letters(&self) -> Parts {
        Parts(self.parts.clone())
    }

    /// Checks that each test row has a pair, and that all or none have an interval.
    ///
    /// # Errors
    /// If the numbers differ.
    pub(crate) fn validate(&self) -> Result<(), InvalidValue> {
        let rows = self.parts().filter(|(_, part)| *part == "test").count();
        let pairs = self.test.len();
        let expected = format!("the number of test rows, {rows}");
        InvalidValue::unless(rows == pairs, "rows.test", &pairs, &expected)?;
        let intervals = self.intervals.len();
        InvalidValue::unless([0, rows].contains(&intervals), "rows.intervals", &intervals, &expected)
    }
}

/// Deserializes a number in the target's unit; JSON's null becomes NaN. JSON has no infinities, but
/// with a logarithmic target the error of a bad epoch may overflow to infinity.
pub(crate) fn or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

fn pairs_or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<[f64; 2]>, D::Error> {
    let pairs = Vec::<[Option<f64>; 2]>::deserialize(deserializer)?;
    Ok(pairs.into_iter().map(|pair| pair.map(|value| value.unwrap_or(f64::NAN))).collect())
}

/// Maximum number of pairs in [`Predicted`].
pub const MAX_PAIRS: usize = 2000;

/// The metrics of the predictions `predicted` for `truth`. With `log_target`, includes the metrics
/// of the logarithms.
pub fn metrics(truth: &[f64], predicted: &[f64], log_target: bool) -> Metrics {
    let count = truth.len().max(1) as f64;
    let errors = || truth.iter().zip(predicted).map(|(truth, predicted)| predicted - truth);
    let log = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| signed_log(*value)).collect() };
    Metrics {
        rmse: (errors().map(|error| error * error).sum::<f64>() / count).sqrt(),
        mae: errors().map(f64::abs).sum::<f64>() / count,
        r2: r2(truth, predicted),
        r2_log: log_target.then(|| r2(&log(truth), &log(predicted))),
        relative_error: if log_target { relative_error(truth, predicted) } else { None },
    }
}

/// The median of |prediction / true value − 1| over the nonzero true values.
fn relative_error(truth: &[f64], predicted: &[f64]) -> Option<f64> {
    let pairs = truth.iter().zip(predicted).filter(|(truth, _)| **truth != 0.0);
    let mut errors: Vec<f64> = pairs.map(|(truth, predicted)| (predicted / truth - 1.0).abs()).collect();
    let middle = errors.len() / 2;
    (!errors.is_empty()).then(|| *errors.select_nth_unstable_by(middle, f64::total_cmp).1)
}

fn r2(truth: &[f64], predicted: &[f64]) -> f64 {
    let mean = truth.iter().sum::<f64>() / truth.len().max(1) as f64;
    let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>();
    let error = squares(&mut truth.iter().zip(predicted).map(|(truth, predicted)| predicted - truth));
    let deviation = squares(&mut truth.iter().map(|truth| truth - mean));
    if deviation > 0.0 { 1.0 - error / deviation } else { f64::NAN }
}

/// A model and its outputs for the rows of its run.
#[derive(Clone, Copy)]
pub(crate) struct Evaluation<'a> {
    pub(crate) prepared: &'a Prepared,
    pub(crate) model: &'a Model,
    /// The model's standardized outputs for all rows of the training, validation and test part.
    pub(crate) outputs: &'a [Vec<f32>; 3],
    /// The spreads of the test rows, if intervals are normalized.
    pub(crate) spreads: Option<&'a [f64]>,
}

impl Evaluation<'_> {
    /// The results of a run on this device.
    pub(crate) fn results(&self, history: &[EpochErrors], best_epoch: usize, device: String) -> Results {
        let Self { prepared, model, outputs, spreads } = *self;
        let [.., of_test] = outputs;
        let (test, scale) = (&prepared.test.samples, &prepared.transform.target_scale);
        let residuals = intervals::residuals(&prepared.test, of_test, scale);
        let measured =
            |intervals| MeasuredIntervals::of(intervals, &prepared.test, &residuals, spreads, &prepared.transform);
        Results {
            best_epoch,
            epochs: history.len(),
            seconds: history.iter().map(|record| record.seconds).sum(),
            device,
            dropped: prepared.dropped,
            findings: prepared.findings.clone(),
            notes: prepared.notes.clone(),
            parts: self.parts(),
            importance: importance::measure(model, test.inputs().view(), test.targets().view()),
            intervals: model.intervals.as_ref().map(measured),
        }
    }

    /// The metrics of the model and of the baselines on each part.
    fn parts(&self) -> [PartResult; 3] {
        let scale = self.prepared.transform.target_scale;
        let baselines = Baselines::fit(&self.prepared.train.samples);
        let mut of_parts = self.outputs.iter();
        self.prepared.parts().map(|(name, part)| {
            let outputs = of_parts.next().into_iter().flatten();
            let errors = |predicted: &mut dyn Iterator<Item = f64>| {
                let predicted: Vec<f64> = predicted.map(|value| scale.original(value)).collect();
                metrics(&part.truth, &predicted, scale.log)
            };
            PartResult {
                name: name.to_owned(),
                rows: part.rows.len(),
                network: errors(&mut outputs.map(|&output| f64::from(output))),
                mean: errors(&mut std::iter::repeat_n(baselines.mean, part.rows.len())),
                linear: errors(&mut baselines.linear_outputs(part.samples.inputs().view()).into_iter()),
                trees: None,
            }
        })
    }

    /// The part of each row, and the model's predictions for the test rows.
    pub(crate) fn rows(&self) -> TableRows {
        let Self { prepared, model, outputs: [.., outputs], spreads } = *self;
        let parts = prepared.parts();
        let last = parts.iter().filter_map(|(_, part)| part.rows.last()).max();
        let mut letters = vec![b'-'; last.map_or(0, |&row| row as usize + 1)];
        for ((_, part), (letter, _)) in parts.iter().zip(PART_LETTERS) {
            part.rows.iter().for_each(|&row| letters[row as usize] = letter);
        }
        let pair = |(&truth, &output): (&f64, &f32)| [truth, prepared.transform.target_of(output)];
        // No row of the run is outside the range of its features, so no interval is widened.
        let interval = |(row, &value): (usize, &f32)| {
            model.interval(PERCENT, Output { value, spread: spreads.map(|spreads| spreads[row]) }, 1.0)
        };
        let intervals: Option<Vec<[f64; 2]>> = outputs.iter().enumerate().map(interval).collect();
        TableRows {
            parts: letters.into_iter().map(char::from).collect(),
            test: prepared.test.truth.iter().zip(outputs).map(pair).collect(),
            intervals: intervals.unwrap_or_default(),
        }
    }
}

/// True and predicted values of up to [`MAX_PAIRS`] rows of a part; `outputs` are the network's
/// outputs for all of its rows.
pub(crate) fn pairs(name: &str, part: &Part, outputs: &[f32], transform: &Transform) -> Predicted {
    let every = part.rows.len().div_ceil(MAX_PAIRS).max(1);
    let pair = |(&truth, &output): (&f64, &f32)| [truth, transform.target_of(output)];
    Predicted {
        part: name.to_owned(),
        target: transform.target.clone(),
        is_logarithmic: transform.target_scale.log,
        pairs: part.truth.iter().zip(outputs).step_by(every).map(pair).collect(),
    }
}
