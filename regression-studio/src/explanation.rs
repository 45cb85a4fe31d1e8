//! Explanations of a model's predictions, in the target's unit. If the model learns the target's
//! logarithm, they are in that logarithm's unit: a mean over values of very different magnitude
//! would only reflect the largest ones.

use std::ops::Range;

use ndarray::Array2;

use crate::background::Background;
use crate::contributions::Contributions;
use crate::model::{Model, NOT_OF_THE_END};
use crate::partial_dependence::{PartialDependence, quantiles};
use crate::prepared::Input;
#[cfg(doc)]
use crate::prepared::Scale;

/// Seed of the permutations.
const SEED: u64 = 0;

/// Why a prediction cannot be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplanationError {
    /// The model has no background rows.
    #[error("no explanation: {NOT_OF_THE_END}")]
    NoBackground,
    /// A prediction is not finite.
    #[error("no explanation: the prediction, or that of a row it is compared with, is not finite")]
    NotFinite,
}

/// The points of [`FeatureCurves`] on the horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Grid {
    /// Quantiles of a numeric feature over the background rows, ascending, plus the row's own value
    /// if it lies between them. In the feature's unit, or its logarithm's if the input is a
    /// logarithm; [`Scale::of_learned`] converts them.
    Numbers(Vec<f64>),
    /// The categories of a text feature.
    Categories(Vec<String>),
}

/// The partial dependence of the prediction on a feature.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureCurves {
    /// The feature's values.
    pub grid: Grid,
    /// The predictions at each value.
    pub curves: PartialDependence,
}

impl Model {
    /// The contributions of each of [`Model::columns`] to the prediction for `row`, which holds
    /// standardized inputs.
    ///
    /// # Errors
    /// If the model has no background rows, or a prediction is not finite.
    pub fn contributions(&self, row: &[f32]) -> Result<Contributions, ExplanationError> {
        let background = self.require_background()?.inputs();
        let features: Vec<Range<usize>> = self.transform.features().into_iter().map(|(_, inputs)| inputs).collect();
        let contributions = Contributions::estimate(&self.in_unit(), &features, row, background, SEED);
        let is_finite = contributions.of_features.iter().all(|of| of.value.is_finite());
        if is_finite { Ok(contributions) } else { Err(ExplanationError::NotFinite) }
    }

    /// The predictions for `row`, which holds standardized inputs, and for the background rows over
    /// a feature's values. `None` if the feature is not one of [`Model::columns`].
    ///
    /// # Errors
    /// If the model has no background rows.
    pub fn feature_curves(&self, feature: &str, row: &[f32]) -> Result<Option<FeatureCurves>, ExplanationError> {
        let background = self.require_background()?.inputs();
        let features = self.transform.features();
        let Some((_, inputs)) = features.into_iter().find(|(name, _)| *name == feature) else { return Ok(None) };
        let (grid, points): (Grid, Vec<Vec<f32>>) = match &self.transform.inputs[inputs.start] {
            Input::Number { scale, .. } => {
                let mut points = quantiles(background.column(inputs.start).to_vec());
                // Add the row's own value to put its prediction on its curve.
                let value = row[inputs.start];
                let after = points.partition_point(|point| *point < value);
                if after > 0 && points.get(after).is_some_and(|point| *point > value) {
                    points.insert(after, value);
                }
                let values = points.iter().map(|&point| scale.learned(f64::from(point))).collect();
                (Grid::Numbers(values), points.into_iter().map(|point| vec![point; inputs.len()]).collect())
            }
            Input::Text { .. } => {
                let of_column = &self.transform.inputs[inputs.clone()];
                let names =
                    of_column.iter().filter_map(|input| input.category_of(feature)).map(str::to_owned).collect();
                let point = |chosen: usize| {
                    let one_hot = |(index, input): (usize, &Input)| input.one_hot(index == chosen);
                    of_column.iter().enumerate().map(one_hot).collect()
                };
                (Grid::Categories(names), (0..of_column.len()).map(point).collect())
            }
        };
        let curves = PartialDependence::of(&self.in_unit(), &inputs, &points, row, background);
        Ok(Some(FeatureCurves { grid, curves }))
    }

    fn require_background(&self) -> Result<&Background, ExplanationError> {
        self.background.as_ref().ok_or(ExplanationError::NoBackground)
    }

    /// Predicts rows of standardized inputs, in the unit of the explanations.
    fn in_unit(&self) -> impl Fn(&Array2<f32>) -> Vec<f64> {
        let (predictor, scale) = (self.predictor(), self.transform.target_scale);
        let learned = move |&output: &f32| scale.learned(f64::from(output));
        move |inputs| predictor.predict_all(inputs.view()).iter().map(learned).collect()
    }
}
