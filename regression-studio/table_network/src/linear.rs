//! Linear least squares on the inputs as they are given: what is left of a table that is too small for a network.

use ndarray::{Array2, ArrayView1, ArrayView2};

use crate::semidefinite::solve_semidefinite;

/// A linear model of the target, and its share in the prediction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Linear {
    /// One coefficient an input, then the intercept.
    pub(crate) coefficients: Vec<f32>,
    /// The least and the largest target that it was fitted to, which its predictions do not leave.
    pub(crate) range: [f32; 2],
    /// The part of it in the prediction, from 0 to 1; the rest is the network's.
    pub(crate) share: f32,
}

/// Is added to the diagonal, as a part of it, so that inputs that depend on each other have coefficients too.
const RIDGE: f64 = 1e-6;

impl Linear {
    /// Fits `inputs`, rows × inputs, to `targets`, rows × 1, all finite, with at least one row. The share is 0.
    pub(crate) fn fit(inputs: ArrayView2<f32>, targets: ArrayView2<f32>) -> Self {
        let (rows, columns) = inputs.dim();
        let (means, mean) = (inputs.mapv(f64::from).sum_axis(ndarray::Axis(0)) / rows as f64, mean(targets.column(0)));
        let mut products = Array2::<f64>::zeros((columns, columns));
        let mut of_target = vec![0.0; columns];
        const BLOCK: usize = 512;
        for first in (0..rows).step_by(BLOCK) {
            let block = ndarray::s![first..(first + BLOCK).min(rows), ..];
            let centred = inputs.slice(block).mapv(f64::from) - &means;
            ndarray::linalg::general_mat_mul(1.0, &centred.t(), &centred, 1.0, &mut products);
            for (row, &target) in centred.outer_iter().zip(targets.slice(block).iter()) {
                let target = f64::from(target) - mean;
                of_target.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x * target);
            }
        }
        let largest = products.diag().iter().copied().fold(0.0, f64::max);
        products.diag_mut().map_inplace(|square| *square = *square * (1.0 + RIDGE) + largest * RIDGE * RIDGE);
        let coefficients = solve_semidefinite(products, of_target);
        let intercept = mean - coefficients.iter().zip(&means).map(|(c, x)| c * x).sum::<f64>();
        let coefficients = coefficients.into_iter().chain([intercept]).map(|value| value as f32).collect();
        let range = targets
            .iter()
            .fold([f32::INFINITY, f32::NEG_INFINITY], |[least, most], &target| [least.min(target), most.max(target)]);
        Self { coefficients, range, share: 0.0 }
    }

    /// The prediction for a row of inputs; NaN if one is.
    pub(crate) fn predict(&self, inputs: ArrayView1<f32>) -> f32 {
        let (intercept, coefficients) = self.coefficients.split_last().expect("there is an intercept");
        // An infinite number is a very large one, so that a coefficient of 0 times it is 0.
        let finite = inputs.iter().map(|x| x.clamp(f32::MIN, f32::MAX));
        let products = finite.zip(coefficients).map(|(x, &c)| f64::from(x) * f64::from(c));
        let [least, most] = self.range;
        ((products.sum::<f64>() + f64::from(*intercept)) as f32).clamp(least, most)
    }

    /// The share with which the mean squared error of the mixture of `linear` and `network` is least.
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

    /// The mixture of a linear prediction and one of the network.
    pub(crate) fn mix(&self, linear: f32, network: f32) -> f32 {
        // A share of 0 leaves the network's bits, whatever the linear model says.
        if self.share == 0.0 { network } else { network + self.share * (linear - network) }
    }
}

fn mean(values: ArrayView1<f32>) -> f64 {
    values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use ndarray::array;

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
    fn the_share_is_that_of_the_least_error() {
        let targets = array![[1.0], [2.0], [3.0]];
        let share = |linear: [f32; 3], network: [f32; 3]| Linear::best_share(&linear, &network, targets.view());
        assert_eq!(share([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]), 1.0);
        assert_eq!(share([0.0, 0.0, 0.0], [1.0, 2.0, 3.0]), 0.0);
        assert_eq!(share([2.0, 4.0, 6.0], [0.0, 0.0, 0.0]), 0.5);
        assert_eq!(share([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]), 0.0);
    }
}
