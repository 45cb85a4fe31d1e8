//! Prediction intervals by split conformal prediction (H. Papadopoulos et al., "Inductive Confidence Machines for
//! Regression", ECML 2002; J. Lei et al., "Distribution-Free Predictive Inference for Regression", Journal of the
//! American Statistical Association 113, 2018), optionally normalised by a spread (there in section 5.2).
//!
//! Of n calibration rows with scores |truth − prediction|, the interval of a new row is its prediction plus and minus
//! the score of rank ⌈(n + 1)·p⌉. If the new row and the calibration rows are exchangeable, it contains the true value
//! with a probability of at least p, whatever the model. The calibration rows are those of the validation part, which
//! has also selected the epoch; the coverage on the test part shows whether that matters.
//!
//! A validation part of a small table has too few rows for that: the half width is off by chance. There, the rows of
//! training and validation part are divided into folds, and each is predicted by a network that was trained without its
//! fold; all of them are calibration rows of the network that was trained on the training part (R. F. Barber et al.,
//! "Predictive inference with the jackknife+", Annals of Statistics 49, 2021, where this is K-fold cross-validation
//! without the plus). That has no guarantee for every model: it holds if the networks' errors are alike, and less where
//! many errors are as large as a half width, as those of a feature of two values that is missing. If the network errs more
//! on the validation part than those of the folds on the same rows, the half widths grow by the ratio.
//!
//! Rows that belong together, such as the rows of a person or equal rows, are not exchangeable one by one. There each group
//! counts once, with its rows' scores in equal shares, and n is the number of groups (R. Dunn et al., "Distribution-Free
//! Prediction Sets for Two-Layer Hierarchical Models", Journal of the American Statistical Association 118, 2023, where
//! this is the pooled distribution). For groups of equal rows that is exact.
//!
//! Scores and half widths are those of the standardised target, and thus of its logarithm if that is learned: an
//! interval's ends are converted to the target's unit by [`Scale::original`], which preserves their order.

use std::collections::HashMap;

use neural_net::training::InvalidValue;
use serde::{Deserialize, Serialize};

use crate::prepared::{Part, Scale, Transform};

/// The probabilities for which there are intervals, in percent.
pub const PERCENTS: [u8; 5] = [50, 80, 90, 95, 99];
/// The probability by default, in percent.
pub const PERCENT: u8 = 90;

/// Number of rows from which on intervals are calibrated by the validation part alone.
pub const MAX_CROSS_ROWS: usize = 1000;
/// Number of folds by which they are calibrated on fewer rows.
pub const FOLDS: usize = 5;

/// The half widths of prediction intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intervals {
    /// Number of calibration rows.
    pub rows: usize,
    /// Whether half widths are multiples of a row's spread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_normalised: bool,
    /// What is added to the standard deviation of a row's members to make its spread: members that agree by chance must
    /// not make an interval of no width.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added_spread: f64,
    /// Number of folds whose rows are the calibration rows; `None` if those are the validation part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    /// Number of groups of calibration rows that belong together; `None` if each row is one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<usize>,
    /// One for each of [`PERCENTS`] for which there are enough rows, ascending.
    pub half_widths: Vec<HalfWidth>,
}

/// The half width of the intervals of one probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HalfWidth {
    /// The probability in percent.
    pub percent: u8,
    /// The half width, of the standardised target or, if normalised, of that divided by the spread.
    pub half_width: f64,
}

/// The rank, counted from 1, of the score that is the half width: ⌈(rows + 1)·percent / 100⌉. `None` if there are too
/// few rows for it: the interval would be infinite.
pub fn rank(rows: usize, percent: u8) -> Option<usize> {
    let rank = ((rows + 1) * usize::from(percent)).div_ceil(100);
    (rank <= rows).then_some(rank)
}

/// The smallest number of calibration rows for intervals of `percent` below 100.
pub fn min_rows(percent: u8) -> usize {
    100_usize.div_ceil(100_usize.saturating_sub(percent.into()).max(1)) - 1
}

impl Intervals {
    /// Calibrates the intervals by `residuals`, the truth minus the prediction of each calibration row, standardised.
    /// With `spreads`, one positive value for each row, scores are residuals divided by them. `groups` has the group of
    /// each row; without, each row is one of its own.
    ///
    /// # Panics
    /// If there are not as many spreads or groups as residuals.
    pub fn calibrate(residuals: &[f64], spreads: Option<&[f64]>, groups: Option<&[u32]>) -> Self {
        let (shares, count) = shares(residuals.len(), groups);
        let mut scores: Vec<(f64, f64)> = scores(residuals, spreads).into_iter().zip(shares).collect();
        scores.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let of_percent = |percent| {
            let (rank, mut sum) = (rank(count, percent)? as f64, 0.0);
            // Shares of a third do not add up to 1 exactly.
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

    /// As [`Intervals::calibrate`], by the standard deviations of a network's members for each row. A row's spread is its
    /// deviation plus their mean. Without deviations, or if all are 0, all intervals have the same width.
    pub fn of_members(residuals: &[f64], deviations: Option<&[f64]>, groups: Option<&[u32]>) -> Self {
        let mean = deviations.map_or(0.0, |of| of.iter().sum::<f64>() / of.len() as f64);
        let Some(deviations) = deviations.filter(|_| mean > 0.0 && mean.is_finite()) else {
            return Self::calibrate(residuals, None, groups);
        };
        let spreads: Vec<f64> = deviations.iter().map(|deviation| deviation + mean).collect();
        Self { added_spread: mean, ..Self::calibrate(residuals, Some(&spreads), groups) }
    }

    /// The same intervals, whose calibration rows are those of folds.
    pub fn by_folds(self, folds: usize) -> Self {
        Self { folds: Some(folds), ..self }
    }

    /// The spread of a row whose members have this standard deviation; `None` if intervals are not normalised.
    pub fn spread(&self, deviation: f64) -> Option<f64> {
        self.is_normalised.then_some(deviation + self.added_spread)
    }

    /// The half width of the intervals of this probability, if there were enough calibration rows.
    pub fn half_width(&self, percent: u8) -> Option<f64> {
        self.half_widths.iter().find(|of| of.percent == percent).map(|of| of.half_width)
    }

    /// The interval of a row with this standardised prediction, standardised; `widening` multiplies its width. `None`
    /// without a half width, or if intervals are normalised and the row's spread is not known.
    pub fn interval(&self, percent: u8, output: f64, spread: Option<f64>, widening: f64) -> Option<[f64; 2]> {
        let spread = match self.is_normalised {
            // Outside the range of training, where members may agree for want of rows, it is at least that of a row whose
            // members differ as on average.
            true if widening > 1.0 => spread?.max(2.0 * self.added_spread),
            true => spread?,
            false => 1.0,
        };
        let half_width = self.half_width(percent)? * spread * widening;
        Some([output - half_width, output + half_width])
    }

    /// The share of rows with these residuals and spreads whose interval contains the true value; with `groups`, the mean
    /// of the groups' shares. `None` without rows, or in the cases of [`Intervals::interval`].
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

    /// The reason for which there are no intervals of this probability, in one line.
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

/// |residual|, divided by the spread if there is one; infinite if that is not a number.
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

/// The share of its group that each row counts, and the number of groups.
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

/// The standardised truth minus `outputs`, the model's for all rows of a part.
pub(crate) fn residuals(part: &Part, outputs: &[f32], scale: &Scale) -> Vec<f64> {
    let residual = |(&truth, &output): (&f64, &f32)| scale.in_deviations(truth) - f64::from(output);
    part.truth.iter().zip(outputs).map(residual).collect()
}

/// A small value of the target, below which a factor of 1 + |value| is not one of the value; `None` if values are far from
/// 0, up to one in twenty.
fn small_value(truth: &[f64]) -> Option<f64> {
    const NEAR_ZERO: f64 = 20.0;
    let mut sizes: Vec<f64> = truth.iter().map(|value| value.abs()).filter(|size| size.is_finite()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes.get(sizes.len() / 20).copied().filter(|size| *size < NEAR_ZERO)
}

/// Whether a coverage of [`PERCENT`] % intervals is more than three deviations too small: those that a share of the test rows
/// has by chance, with intervals of as many calibration rows.
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
    /// The half width in the target's unit or, with a logarithmic target, in the unit of its natural logarithm. `None`
    /// if there were too few rows, or if it differs between rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
    /// Whether the half width is that of the logarithm.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_logarithmic: bool,
    /// Numbers of groups of rows that belong together, among the calibration and the test rows; their rows count in equal
    /// shares. `None` if each row is one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<[usize; 2]>,
    /// With a logarithmic target near 0, an example: a small prediction and the ends of its interval. The factor multiplies
    /// 1 + |value|.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_zero: Option<[f64; 3]>,
    /// Whether the coverage is smaller than chance explains: the intervals do not hold for this table.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_too_narrow: bool,
    /// The share of test rows whose interval contains the true value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
}

impl MeasuredIntervals {
    /// Measures intervals of [`PERCENT`] on test rows with these residuals and spreads.
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
