//! The baselines: the mean, and linear least squares by the normal equations in double precision.

use ndarray::{Array2, ArrayView2, s};
use neural_net::Samples;
use rayon::prelude::*;
use table_network::solve_semidefinite;

/// Baseline models, fitted to the standardized training part.
#[derive(Clone, Debug, PartialEq)]
pub struct Baselines {
    /// The standardized mean: 0 up to rounding.
    pub mean: f64,
    /// Linear least squares: one coefficient per input, then the intercept. All are standardized.
    pub linear: Vec<f64>,
}

/// Rows per block of the matrix product.
const BLOCK: usize = 1024;
/// Maximum number of partial sums. They are computed in parallel and added in a fixed order, so the
/// bits do not depend on the number of threads. Each covers at least one whole block of rows.
const MAX_PARTS: usize = 16;

impl Baselines {
    /// Fits both baselines to samples with one target.
    pub fn fit(samples: &Samples) -> Self {
        let targets = samples.targets();
        let mean = targets.iter().map(|&target| f64::from(target)).sum::<f64>() / targets.len().max(1) as f64;
        let products = products(samples.inputs().view(), targets.view());
        let last = products.nrows() - 1;
        let right = products.slice(s![..last, last]).to_vec();
        let linear = solve_semidefinite(products.slice(s![..last, ..last]).to_owned(), right);
        Self { mean, linear }
    }

    /// The linear model's standardized outputs for `inputs`, rows × inputs.
    pub fn linear_outputs(&self, inputs: ArrayView2<f32>) -> Vec<f64> {
        let Some((constant, coefficients)) = self.linear.split_last() else { return vec![0.0; inputs.nrows()] };
        let output = |row: ndarray::ArrayView1<f32>| {
            row.iter().zip(coefficients).fold(*constant, |sum, (&x, c)| sum + f64::from(x) * c)
        };
        inputs.outer_iter().map(output).collect()
    }
}

/// AᵀA, where the columns of A are the inputs, ones, and the targets.
fn products(inputs: ArrayView2<f32>, targets: ArrayView2<f32>) -> Array2<f64> {
    let (rows, columns) = (inputs.nrows(), inputs.ncols());
    let parts = (rows / BLOCK).clamp(1, MAX_PARTS);
    let part = |part: usize| {
        let (mut sum, mut block) =
            (Array2::<f64>::zeros((columns + 2, columns + 2)), Array2::ones((BLOCK, columns + 2)));
        let end = rows * (part + 1) / parts;
        for first in (rows * part / parts..end).step_by(BLOCK) {
            let count = BLOCK.min(end - first);
            let mut block = block.slice_mut(s![..count, ..]);
            block.slice_mut(s![.., ..columns]).zip_mut_with(
                &inputs.slice(s![first..first + count, ..]),
                |to, &from| {
                    *to = f64::from(from);
                },
            );
            block.column_mut(columns + 1).zip_mut_with(&targets.slice(s![first..first + count, 0]), |to, &from| {
                *to = f64::from(from);
            });
            sum += &block.t().dot(&block);
        }
        sum
    };
    let sums: Vec<Array2<f64>> = (0..parts).into_par_iter().map(part).collect();
    sums.iter().fold(Array2::zeros((columns + 2, columns + 2)), |sum, part| sum + part)
}
