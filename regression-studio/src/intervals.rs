//! Prediction intervals by split conformal prediction (H. Papadopoulos et al., "Inductive
//! Confidence Machines for Regression", ECML 2002; J. Lei et al., "Distribution-Free Predictive
//! Inference for Regression", Journal of the American Statistical Association 113, 2018),
//! optionally normalized by a spread (section 5.2 of the latter).
//!
//! There are n calibration rows with scores |truth − prediction|. The interval of a new row is its
//! prediction plus and minus the score of rank ⌈(n + 1)·p⌉. If the new row and the calibration rows
//! are exchangeable, it contains the true value with a probability of at least p, whatever the
//! model. The calibration rows come from the validation part, which also selects the epoch. The
//! coverage on the test part shows whether that matters.
//!
//! The validation part of a small table has too few rows for that, so chance would distort the half
//! width. Small tables are calibrated by cross-validation instead. The rows of the training and
//! validation part are divided into folds, and a network trained without a fold predicts it. All of
//! these rows calibrate the network trained on the training part (R. F. Barber et al., "Predictive
//! inference with the jackknife+", Annals of Statistics 49, 2021; this is their K-fold
//! cross-validation without the plus). There is no guarantee for every model. The coverage holds if
//! the networks make similar errors. It is lower if many errors are about as large as a half width,
//! for example when a feature with two values is missing. If the network's errors on the validation
//! part exceed those of the fold networks on the same rows, the half widths grow by that ratio.
//!
//! Rows that belong together, such as one person's rows or equal rows, are not exchangeable one by
//! one. Each group then counts once, its rows have equal shares, and n is the number of groups (R.
//! Dunn et al., "Distribution-Free Prediction Sets for Two-Layer Hierarchical Models", Journal of
//! the American Statistical Association 118, 2023, where this is the pooled distribution). For
//! groups of equal rows that is exact.
//!
//! Scores and half widths refer to the standardized target, or to its standardized logarithm if the
//! model learns that. [`Scale::original`] converts the ends of an interval to the target's unit and
//! preserves their order.

use std::collections::HashMap;

use neural_net::training::InvalidValue;
use serde::{Deserialize, Serialize};

use crate::prepared::{Part, Scale, Transform};

/// The available probabilities, in percent.
pub const PERCENTS: [u8; 5] = [50, 80, 90, 95, 99];
/// The default probability, in percent.
pub const PERCENT: u8 = 90;

/// Minimum number of rows to calibrate intervals on the validation part alone.
pub const MAX_CROSS_ROWS: usize = 1000;
/// Number of folds for calibration on fewer rows.
pub const FOLDS: usize = 5;

/// Half widths of prediction intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intervals {
    /// Number of calibration rows.
    pub rows: usize,
    /// Whether half widths are multiples of a row's spread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_normalised: bool,
    /// Added to the standard deviation of a row's members to make its spread. Without it, members
    /// that agree by chance would produce an interval of zero width.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added_spread: f64,
    /// Number of folds used for calibration; `None` if the calibration rows are the validation
    /// part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    /// Number of groups of calibration rows that belong together; `None` if each row is its own
    /// group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<usize>,
    /// One for each of [`PERCENTS`] with enough rows, ascending.
    pub half_widths: Vec<HalfWidth>,
}

/// The half width of intervals at one probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HalfWidth {
    /// The probability in percent.
    pub percent: u8,
    /// The half width in units of the standardized target; if normalized, divided by the spread.
    pub half_width: f64,
}

/// The rank of the score that is the half width, counted from 1: ⌈(rows + 1)·percent / 100⌉. `None`
/// if there are too few rows, and the interval would be infinite.
pub fn rank(rows: usize, percent: u8) -> Option<usize> {
    let rank = ((rows + 1) * usize::from(percent)).div_ceil(100);
    (rank <= rows).then_some(rank)
}

/// The minimum number of calibration rows for intervals of `percent`, which is below 100.
pub fn min_rows(percent: u8) -> usize {
    100_usize.div_ceil(100_usize.saturating_sub(percent.into()).max(1)) - 1
}

impl Intervals {
    /// Calibrates the intervals on `residuals`, the standardized truth minus prediction of each
    /// calibration row. With `spreads`, one positive value per row, the scores are the residuals
    /// divided by the spreads. `groups` has the group of each row; without it, each row is its own
    /// group.
    ///
    /// # Panics
    /// If the number of spreads or groups differs from the number of residuals.
    pub fn calibrate(residuals: &[f64], spreads: Option<&[f64]>, groups: Option<&[u32]>) -> Self {
        let (shares, count) = shares(residuals.len(), groups);
        let mut scores: Vec<(f64, f64)> = scores(residuals, spreads).into_iter().zip(shares).collect();
        scores.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let of_percent = |percent| {
            let (rank, mut sum) = (rank(count, percent)? as f64, 0.0);
            // Shares such as 1/3 do not add up to exactly 1.
            let is_reached = |&&(_, share): &&(f64, f64)| {
                sum += share;
                sum > rank - 1e-6
            };
            let half_width = scores.iter().find(is_reached)?.0;
            half_width.is_finite().then_some(HalfWidth { percent, half_width })
        };
        let half_widths = PERCENTS.into_iter().filter_map(of_percent).collect();
        Self {
            rows: residuals.len(),
            is_normalised: spreads.is_some(),
            added_spread: 0.0,
            folds: None,
            groups: groups.map(|_| count),
            half_widths,
        }
    }

    /// Like [`Intervals::calibrate`], with the standard deviation of a network's members for each
    /// row. A row's spread is its deviation plus the mean deviation. Without deviations, or if all
    /// are 0, all intervals have the same width.
    pub fn of_members(residuals: &[f64], deviations: Option<&[f64]>, groups: Option<&[u32]>) -> Self {
        let mean = deviations.map_or(0.0, |of| of.iter().sum::<f64>() / of.len() as f64);
        let Some(deviations) = deviations.filter(|_| mean > 0.0 && mean.is_finite()) else {
            return Self::calibrate(residuals, None, groups);
        };
        let spreads: Vec<f64> = deviations.iter().map(|deviation| deviation + mean).collect();
        Self { added_spread: mean, ..Self::calibrate(residuals, Some(&spreads), groups) }
    }

    /// Records that the calibration rows come from this number of folds.
    pub fn by_folds(self, folds: usize) -> Self {
        Self { folds: Some(folds), ..self }
    }

    /// The spread of a row, given the standard deviation of its members; `None` if intervals are
    /// not normalized.
    pub fn spread(&self, deviation: f64) -> Option<f64> {
        self.is_normalised.then_some(deviation + self.added_spread)
    }

    /// The half width of intervals at this probability, if there were enough calibration rows.
    pub fn half_width(&self, percent: u8) -> Option<f64> {
        self.half_widths.iter().find(|of| of.percent == percent).map(|of| of.half_width)
    }

    /// The standardized interval around a standardized prediction; `widening` multiplies its width.
    /// `None` without a half width, or if intervals are normalized and the row's spread is not
    /// known.
    pub fn interval(&self, percent: u8, output: f64, spread: Option<f64>, widening: f64) -> Option<[f64; 2]> {
        let spread = match self.is_normalised {
            // Outside the range of training, members may agree only because they saw no rows there.
            // The spread is then at least the spread of a row with the mean deviation.
            true if widening > 1.0 => spread?.max(2.0 * self.added_spread),
            true => spread?,
            false => 1.0,
        };
        let half_width = self.half_width(percent)? * spread * widening;
        Some([output - half_width, output + half_width])
    }

    /// The fraction of rows with these residuals and spreads that have the true value in their
    /// interval. With `groups`, it is the mean of the groups' fractions. `None` without rows, or
    /// when [`Intervals::interval`] is `None`.
    pub fn coverage(
        &self,
        percent: u8,
        residuals: &[f64],
        spreads: Option<&[f64]>,
        groups: Option<&[u32]>,
    ) -> Option<f64> {
        let half_width = self.half_width(percent).filter(|_| !residuals.is_empty())?;
        let scores = scores(residuals, if self.is_normalised { Some(spreads?) } else { None });
        let (shares, count) = shares(scores.len(), groups);
        let inside: f64 =
            scores.iter().zip(shares).filter(|(score, _)| **score <= half_width).map(|(_, share)| share).sum();
        Some(inside / count as f64)
    }

    /// Why there are no intervals at this probability, in one line.
    pub fn why_none(&self, percent: u8) -> Option<String> {
        self.half_width(percent).is_none().then(|| too_few(percent, (self.rows, self.groups), self.folds))
    }

    /// Checks that a model file's intervals are consistent.
    ///
    /// # Errors
    /// The first inconsistent value.
    pub fn validate(&self) -> Result<(), InvalidValue> {
        let added = self.added_spread;
        InvalidValue::unless(
            added.is_finite() && added >= 0.0,
            "intervals.added_spread",
            &added,
            "0 or more and finite",
        )?;
        let mut before = HalfWidth { percent: 0, half_width: 0.0 };
        for of in &self.half_widths {
            let name = format!("intervals.{} %", of.percent);
            let is_level = PERCENTS.contains(&of.percent) && of.percent > before.percent;
            InvalidValue::unless(is_level, "intervals.percent", &of.percent, "50, 80, 90, 95 or 99, ascending")?;
            let is_width = of.half_width.is_finite() && of.half_width >= before.half_width;
            InvalidValue::unless(is_width, &name, &of.half_width, "finite, and no less than those before")?;
            before = *of;
        }
        Ok(())
    }
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// |residual|, divided by the spread if there is one; infinite if the result is NaN.
fn scores(residuals: &[f64], spreads: Option<&[f64]>) -> Vec<f64> {
    let score = |score: f64| if score.is_nan() { f64::INFINITY } else { score };
    match spreads {
        None => residuals.iter().map(|residual| score(residual.abs())).collect(),
        Some(spreads) => {
            assert_eq!(residuals.len(), spreads.len(), "one spread for each row");
            residuals.iter().zip(spreads).map(|(residual, spread)| score(residual.abs() / spread)).collect()
        }
    }
}

/// Each row's share of its group, and the number of groups.
fn shares(rows: usize, groups: Option<&[u32]>) -> (Vec<f64>, usize) {
    let Some(groups) = groups else { return (vec![1.0; rows], rows) };
    assert_eq!(rows, groups.len(), "one group for each row");
    let mut sizes = HashMap::new();
    groups.iter().for_each(|group| *sizes.entry(group).or_insert(0_usize) += 1);
    (groups.iter().map(|group| 1.0 / sizes[group] as f64).collect(), sizes.len())
}

fn too_few(percent: u8, (rows, groups): (usize, Option<usize>), folds: Option<usize>) -> String {
    let (min, rows) = (min_rows(percent), command_line::counted(rows, "row"));
    if let Some(groups) = groups {
        let groups = command_line::counted(groups, "group");
        return format!(
            "no {percent} % intervals: they need at least {min} groups of rows, and there were {rows} in {groups}"
        );
    }
    let which = if folds.is_some() { "rows of training and validation" } else { "validation rows" };
    format!("no {percent} % intervals: they need at least {min} {which}, and there were {rows}")
}

/// The standardized truth minus `outputs`, the model's outputs for all rows of a part.
pub(crate) fn residuals(part: &Part, outputs: &[f32], scale: &Scale) -> Vec<f64> {
    let residual = |(&truth, &output): (&f64, &f32)| scale.in_deviations(truth) - f64::from(output);
    part.truth.iter().zip(outputs).map(residual).collect()
}

/// A small value of the target for which a factor on 1 + |value| is misleading, because it is not a
/// factor on the value itself. `None` if at most one in twenty values is near 0.
fn small_value(truth: &[f64]) -> Option<f64> {
    const NEAR_ZERO: f64 = 20.0;
    let mut sizes: Vec<f64> = truth.iter().map(|value| value.abs()).filter(|size| size.is_finite()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes.get(sizes.len() / 20).copied().filter(|size| *size < NEAR_ZERO)
}

/// Whether the coverage of [`PERCENT`] % intervals is more than three standard deviations too low.
/// The deviation combines the chance in the calibration rows and in the test rows.
fn is_below_chance(coverage: f64, [of_calibration, of_test]: [usize; 2]) -> bool {
    let wanted = f64::from(PERCENT) / 100.0;
    let by_chance = wanted * (1.0 - wanted) * (1.0 / of_calibration.max(1) as f64 + 1.0 / of_test.max(1) as f64);
    coverage < wanted - 3.0 * by_chance.sqrt()
}

/// The intervals of a run, and their coverage on its test part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredIntervals {
    /// The probability in percent.
    pub percent: u8,
    /// Number of calibration rows.
    pub rows: usize,
    /// [`Intervals::folds`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    /// The half width in the target's unit or, with a logarithmic target, in its natural
    /// logarithm's. `None` if there were too few rows, or if it differs between rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
    /// Whether the half width refers to the logarithm.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_logarithmic: bool,
    /// Number of groups of rows that belong together, in the calibration and the test rows. The
    /// rows of a group have equal shares. `None` if each row is its own group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<[usize; 2]>,
    /// Example for a logarithmic target near 0: a small prediction and the ends of its interval.
    /// The factor multiplies 1 + |value|.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_zero: Option<[f64; 3]>,
    /// Whether the coverage is lower than chance explains: the intervals do not hold for this
    /// table.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_too_narrow: bool,
    /// The fraction of test rows with the true value in their interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
}

impl MeasuredIntervals {
    /// Measures intervals at [`PERCENT`] on test rows with these residuals and spreads.
    pub(crate) fn of(
        intervals: &Intervals,
        test: &Part,
        residuals: &[f64],
        spreads: Option<&[f64]>,
        transform: &Transform,
    ) -> Self {
        let scale = &transform.target_scale;
        let half_width = intervals.half_width(PERCENT).filter(|_| !intervals.is_normalised);
        let groups = test.groups.as_deref();
        let near_zero = half_width.zip(small_value(&test.truth)).filter(|_| scale.log).map(|(half_width, small)| {
            let output = scale.in_deviations(small);
            let [low, high] = [output - half_width, output + half_width].map(|end| transform.end(end));
            [small, low, high]
        });
        let coverage = intervals.coverage(PERCENT, residuals, spreads, groups);
        let counts = [intervals.groups.unwrap_or(intervals.rows), shares(residuals.len(), groups).1];
        let is_too_narrow = coverage.is_some_and(|coverage| is_below_chance(coverage, counts));
        Self {
            percent: PERCENT,
            rows: intervals.rows,
            folds: intervals.folds,
            groups: intervals.groups.map(|of_calibration| [of_calibration, shares(residuals.len(), groups).1]),
            near_zero,
            is_too_narrow,
            half_width: half_width.map(|half_width| half_width * scale.deviation),
            is_logarithmic: scale.log,
            coverage,
        }
    }

    /// One sentence for the user; `number` formats a value of the target.
    pub fn in_words(&self, number: impl Fn(f64) -> String) -> String {
        let Self { percent, rows, folds, groups, near_zero, is_too_narrow, half_width, is_logarithmic, coverage } =
            self;
        let Some(coverage) = coverage else {
            let text = too_few(*percent, (*rows, groups.map(|[of_calibration, _]| of_calibration)), *folds);
            return format!("{}{}.", text[..1].to_uppercase(), &text[1..]);
        };
        let within = match half_width {
            Some(half_width) if *is_logarithmic => {
                let factor = half_width.exp();
                match near_zero {
                    Some([small, low, high]) => format!(
                        "within a factor of {factor:.3} of the prediction, if 1 is added to both: from {} to {} for a prediction of {}",
                        number(*low),
                        number(*high),
                        number(*small)
                    ),
                    None => format!("within a factor of {factor:.3} of the prediction"),
                }
            }
            Some(half_width) => format!("within ±{} of the prediction", number(*half_width)),
            None => {
                "within the interval of their prediction, which is wider where the network's members differ".to_owned()
            }
        };
        let measured = 100.0 * coverage;
        let by_group = groups.map_or_else(String::new, |[_, of_test]| {
            format!(", if each of its {} counts once", command_line::counted(of_test, "group"))
        });
        let is_valid = match is_too_narrow {
            false => "",
            true => " That is fewer than chance explains: these intervals are too narrow for this table.",
        };
        format!(
            "{percent} % of new rows like these are {within}; of the test part, {measured:.1} % of the rows are{by_group}.\
             {is_valid}"
        )
    }
}
