//! Linear least squares on the unscaled inputs: what can be learned from a table that is too small
//! for a network.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, aview1, s};

use crate::semidefinite::solve_semidefinite;

/// A linear model of the target, and its share in the prediction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Linear {
    /// One coefficient per input, then the intercept.
    pub(crate) coefficients: Vec<f32>,
    /// The minimum and maximum target that the model was fitted to. Predictions are clamped to this
    /// range.
    pub(crate) range: [f32; 2],
    /// The model's share in the prediction, from 0 to 1; the rest is the network's share.
    pub(crate) share: f32,
}

/// The penalty on a squared coefficient, as a fraction of its input's sum of squares. It makes
/// inputs that depend on each other share their effect.
const RIDGE: f64 = 1e-6;

/// Number of rows centered at a time.
const BLOCK: usize = 512;

/// The penalty of each coefficient, given the sums of squares of the centered inputs. A constant
/// input has a penalty, too.
fn penalties(squares: ArrayView1<f64>) -> Array1<f64> {
    let largest = squares.iter().copied().fold(0.0, f64::max);
    squares.mapv(|square| square * RIDGE + largest * RIDGE * RIDGE)
}

/// The coefficients c that minimize ‖C·c − t‖² + Σ dⱼ·cⱼ², where d are the penalties, C the inputs,
/// rows × columns, minus their `means`, and t the centered targets. Solves (CᵀC + D)·c = Cᵀt, a
/// system of columns × columns.
fn by_columns(inputs: ArrayView2<f32>, means: &Array1<f64>, targets: &[f64]) -> Vec<f64> {
    let (rows, columns) = inputs.dim();
    let (mut products, mut of_target) = (Array2::<f64>::zeros((columns, columns)), vec![0.0; columns]);
    for first in (0..rows).step_by(BLOCK) {
        let block = first..(first + BLOCK).min(rows);
        let centred = inputs.slice(s![block.clone(), ..]).mapv(f64::from) - means;
        general_mat_mul(1.0, &centred.t(), &centred, 1.0, &mut products);
        for (row, &target) in centred.outer_iter().zip(&targets[block]) {
            of_target.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x * target);
        }
    }
    let penalties = penalties(products.diag());
    products.diag_mut().zip_mut_with(&penalties, |square, penalty| *square += penalty);
    solve_semidefinite(products, of_target)
}

/// Like [`by_columns`], with a system of rows × rows, which is smaller if there are more columns
/// than rows: c = D⁻¹Cᵀ·a, where (C·D⁻¹Cᵀ + 1)·a = t (Hastie, Tibshirani and Friedman, "The
/// Elements of Statistical Learning", 2009, section 18.3.5).
fn by_rows(inputs: ArrayView2<f32>, means: &Array1<f64>, targets: &[f64]) -> Vec<f64> {
    let mut centred = inputs.mapv(f64::from) - means;
    let squares = centred.fold_axis(Axis(0), 0.0, |sum, value| sum + value * value);
    // A penalty is 0 only if all inputs are constant; their coefficients are then 0.
    let scales = penalties(squares.view()).mapv(|penalty| if penalty > 0.0 { penalty.sqrt().recip() } else { 0.0 });
    centred *= &scales;
    let mut products = centred.dot(&centred.t());
    products.diag_mut().map_inplace(|product| *product += 1.0);
    let of_rows = solve_semidefinite(products, targets.to_vec());
    (centred.t().dot(&aview1(&of_rows)) * scales).to_vec()
}

impl Linear {
    /// Fits `inputs`, rows × inputs, to `targets`, rows × 1. All values are finite, and there is at
    /// least one row. The share is 0.
    pub(crate) fn fit(inputs: ArrayView2<f32>, targets: ArrayView2<f32>) -> Self {
        let (rows, columns) = inputs.dim();
        let (means, mean) = (inputs.mapv(f64::from).sum_axis(Axis(0)) / rows as f64, mean(targets.column(0)));
        let fit = if rows < columns { by_rows } else { by_columns };
        let coefficients =
            fit(inputs, &means, &targets.iter().map(|&target| f64::from(target) - mean).collect::<Vec<_>>());
        let intercept = mean - coefficients.iter().zip(&means).map(|(c, x)| c * x).sum::<f64>();
        let coefficients = coefficients.into_iter().chain([intercept]).map(|value| value as f32).collect();
        let range = targets
            .iter()
            .fold([f32::INFINITY, f32::NEG_INFINITY], |[least, most], &target| [least.min(target), most.max(target)]);
        Self { coefficients, range, share: 0.0 }
    }

    /// The prediction for a row of inputs; NaN if an input is NaN.
    pub(crate) fn predict(&self, inputs: ArrayView1<f32>) -> f32 {
        let (intercept, coefficients) = self.coefficients.split_last().expect("there is an intercept");
        // Treat an infinite input as a very large one: times a coefficient of 0 it must give 0.
        let finite = inputs.iter().map(|x| x.clamp(f32::MIN, f32::MAX));
        let products = finite.zip(coefficients).map(|(x, &c)| f64::from(x) * f64::from(c));
        let [least, most] = self.range;
        ((products.sum::<f64>() + f64::from(*intercept)) as f32).clamp(least, most)
    }

    /// The share that minimizes the mean squared error of mixing `linear` and `network`.
    pub(crate) fn best_share(linear: &[f32], network: &[f32], targets: ArrayView2<f32>) -> f32 {
        let (mut products, mut squares) = (0.0, 0.0);
        for ((&linear, &network), &target) in linear.iter().zip(network).zip(targets) {
            let (linear, network, target) = (f64::from(linear), f64::from(network), f64::from(target));
            products += (target - network) * (linear - network);
            squares += (linear - network) * (linear - network);
        }
        let share = products / squares;
        if share.is_finite() { share.clamp(0.0, 1.0) as f32 } else { 0.0 }
    }

    /// Mixes a linear prediction with the network's.
    pub(crate) fn mix(&self, linear: f32, network: f32) -> f32 {
        // With a share of 0, the network's bits do not change, whatever the linear model predicts.
        if self.share == 0.0 { network } else { network + self.share * (linear - network) }
    }
}

fn mean(values: ArrayView1<f32>) -> f64 {
    values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn finds_a_linear_function_with_repeated_and_constant_inputs() {
        let inputs = Array2::from_shape_fn((40, 4), |(row, column)| match column {
            0 | 2 => row as f32 / 40.0,
            1 => (row * row % 7) as f32,
            _ => 5.0,
        });
        let targets = Array2::from_shape_fn((40, 1), |(row, _)| 3.0 * inputs[[row, 0]] - inputs[[row, 1]] + 0.5);
        let linear = Linear::fit(inputs.view(), targets.view());
        for (row, target) in inputs.outer_iter().zip(&targets) {
            assert!((linear.predict(row) - target).abs() < 1e-3, "{linear:?}");
        }
    }

    #[test]
    fn both_systems_have_the_same_solution() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (rows, columns) in [(1, 1), (1, 4), (3, 2), (20, 41), (41, 20), (33, 33), (70, 200)] {
            let mut inputs = Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0..1.0_f32));
            if columns > 3 {
                // A constant and a copy, and rows that repeat with other targets.
                inputs.column_mut(1).fill(2.0);
                let copied = inputs.column(0).to_owned();
                inputs.column_mut(2).assign(&copied);
            }
            if rows > 2 {
                let copied = inputs.row(0).to_owned();
                inputs.row_mut(1).assign(&copied);
            }
            let targets: Vec<f64> = (0..rows).map(|_| rng.random_range(-1.0..1.0)).collect();
            let means = inputs.mapv(f64::from).mean_axis(Axis(0)).unwrap();
            let expected = by_columns(inputs.view(), &means, &targets);
            let found = by_rows(inputs.view(), &means, &targets);
            for (found, expected) in found.iter().zip(&expected) {
                assert!(
                    (found - expected).abs() < 1e-5 * (1.0 + expected.abs()),
                    "{rows} × {columns}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn the_share_is_that_of_the_least_error() {
        let targets = array![[1.0], [2.0], [3.0]];
        let share = |linear: [f32; 3], network: [f32; 3]| Linear::best_share(&linear, &network, targets.view());
        assert_eq!(share([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]), 1.0);
        assert_eq!(share([0.0, 0.0, 0.0], [1.0, 2.0, 3.0]), 0.0);
        assert_eq!(share([2.0, 4.0, 6.0], [0.0, 0.0, 0.0]), 0.5);
        assert_eq!(share([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]), 0.0);
    }
}
