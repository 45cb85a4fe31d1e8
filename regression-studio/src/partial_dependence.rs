//! Partial dependence of the prediction on one feature (J. Friedman, "Greedy Function Approximation: A Gradient
//! Boosting Machine", Annals of Statistics 29, 2001), with the curves of individual rows (A. Goldstein et al., "Peeking
//! Inside the Black Box: Visualizing Statistical Learning with Plots of Individual Conditional Expectation", Journal of
//! Computational and Graphical Statistics 24, 2015).

use std::ops::Range;

use ndarray::{Array2, ArrayView1};

/// Maximum number of curves of individual rows.
pub const MAX_CURVES: usize = 30;
/// Maximum number of quantiles.
const MAX_QUANTILES: usize = 20;

/// Predictions over a grid of a feature's values.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialDependence {
    /// The mean over all background rows at each grid point.
    pub mean: Vec<f64>,
    /// The curves of up to [`MAX_CURVES`] background rows.
    pub individual: Vec<Vec<f64>>,
    /// The curve of the row.
    pub row: Vec<f64>,
}

impl PartialDependence {
    /// Predicts `row` and the rows of `background`, rows × inputs, with one feature set to each
    /// point of `grid`. The feature is a range of inputs, and `grid` has its standardized inputs.
    /// `predict` returns the prediction of each row of a matrix.
    ///
    /// # Panics
    /// If `background` has no rows, or its number of inputs differs from `row`'s.
    pub fn of(
        predict: &dyn Fn(&Array2<f32>) -> Vec<f64>,
        feature: &Range<usize>,
        grid: &[Vec<f32>],
        row: &[f32],
        background: &Array2<f32>,
    ) -> Self {
        assert!(
            background.nrows() > 0 && background.ncols() == row.len(),
            "background rows with the inputs of the row"
        );
        let curve = |inputs: ArrayView1<f32>| {
            let at = |point: &Vec<f32>| {
                let mut inputs = inputs.to_vec();
                inputs[feature.clone()].copy_from_slice(point);
                inputs
            };
            let values = grid.iter().flat_map(at).collect();
            predict(&Array2::from_shape_vec((grid.len(), inputs.len()), values).expect("all rows have the same length"))
        };
        let row = curve(ArrayView1::from(row));
        let curves: Vec<Vec<f64>> = background.outer_iter().map(curve).collect();
        let mean = |point: usize| curves.iter().map(|curve| curve[point]).sum::<f64>() / curves.len() as f64;
        let mean = (0..grid.len()).map(mean).collect();
        let every = curves.len().div_ceil(MAX_CURVES);
        Self { mean, individual: curves.into_iter().step_by(every).collect(), row }
    }
}

/// Up to 20 different quantiles of the values, ascending, from the minimum to the maximum.
pub fn quantiles(mut values: Vec<f32>) -> Vec<f32> {
    values.sort_unstable_by(f32::total_cmp);
    let last = values.len().saturating_sub(1);
    let count = MAX_QUANTILES.min(values.len());
    let mut quantiles: Vec<f32> =
        (0..count).map(|index| values[(index * last + (count - 1) / 2) / (count - 1).max(1)]).collect();
    quantiles.dedup();
    quantiles
}
