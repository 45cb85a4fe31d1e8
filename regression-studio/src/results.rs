//! How good a network is, in the target's own unit, beside what needs no network.

use serde::{Deserialize, Serialize};

/// Errors on some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// √ of the mean squared error, in the target's unit.
    pub rmse: f64,
    /// The mean of the absolute error, in the target's unit.
    pub mae: f64,
    /// 1 − squared error / squared deviation from the mean: 1 is perfect, 0 is no better than the mean of these
    /// very rows. NaN where all targets are the same.
    pub r2: f64,
    /// The same of ln(1 + target), where that is learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r2_log: Option<f64>,
}

/// The errors on one of the three parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartResult {
    /// "training", "validation" or "test".
    pub name: String,
    /// Its rows.
    pub rows: usize,
    /// The network's errors.
    pub network: Metrics,
    /// Those of the training part's mean, whatever the features.
    pub mean: Metrics,
    /// Those of linear least squares on the same features, fitted to the training part.
    pub linear: Metrics,
}

/// What came of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The epoch whose weights were kept, counted from 1.
    pub best_epoch: usize,
    /// Epochs that were trained.
    pub epochs: usize,
    /// Seconds of training, without measurements.
    pub seconds: f64,
    /// Where it was trained.
    pub device: String,
    /// Rows that were left out.
    pub dropped: usize,
    /// What is worth knowing about the data, a line each.
    pub notes: Vec<String>,
    /// Training, validation and test.
    pub parts: [PartResult; 3],
}

/// True and predicted values in the target's unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predicted {
    /// "training", "validation" or "test".
    pub part: String,
    /// The target's name.
    pub target: String,
    /// Whether a logarithmic scale shows them better.
    pub is_logarithmic: bool,
    /// True value and prediction, of rows that are spread evenly over the part.
    pub pairs: Vec<[f64; 2]>,
}

/// The most pairs of [`Predicted`].
pub const MOST_PAIRS: usize = 2000;

/// The errors of `predicted` as estimates of `truth`; the logarithms are counted too where they are learned.
pub fn metrics(truth: &[f64], predicted: &[f64], log_target: bool) -> Metrics {
    let count = truth.len().max(1) as f64;
    let errors = || truth.iter().zip(predicted).map(|(truth, predicted)| predicted - truth);
    let log = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value.ln_1p()).collect() };
    Metrics {
        rmse: (errors().map(|error| error * error).sum::<f64>() / count).sqrt(),
        mae: errors().map(f64::abs).sum::<f64>() / count,
        r2: r2(truth, predicted),
        r2_log: log_target.then(|| r2(&log(truth), &log(predicted))),
    }
}

fn r2(truth: &[f64], predicted: &[f64]) -> f64 {
    let mean = truth.iter().sum::<f64>() / truth.len().max(1) as f64;
    let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>();
    let error = squares(&mut truth.iter().zip(predicted).map(|(truth, predicted)| predicted - truth));
    let deviation = squares(&mut truth.iter().map(|truth| truth - mean));
    if deviation > 0.0 { 1.0 - error / deviation } else { f64::NAN }
}
