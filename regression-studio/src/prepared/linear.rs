//! The baselines: the mean, and linear least squares by the normal equations in double precision.

use ndarray::{Array2, ArrayView2, s};
use neural_net::Samples;
use rayon::prelude::*;

/// Baseline models, fitted to the standardised training part.
#[derive(Clone, Debug, PartialEq)]
pub struct Baselines {
    /// The standardised mean: 0 up to rounding.
    pub mean: f64,
    /// Linear least squares: one coefficient per input, then the intercept; all standardised.
    pub linear: Vec<f64>,
}

/// Rows per block of the matrix product.
const BLOCK: usize = 1024;
/// Partial sums computed in parallel and added in a fixed order, so that the bits do not depend on the threads.
const PARTS: usize = 16;
/// Pivots up to this fraction of the largest diagonal element are rounding: the input depends linearly on others.
const RANK_TOLERANCE: f64 = 1e-12;

impl Baselines {
    /// Fits both baselines to samples with one target.
    pub fn fit(samples: &Samples) -> Self {
        let targets = samples.targets();
        let mean = targets.iter().map(|&target| f64::from(target)).sum::<f64>() / targets.len().max(1) as f64;
        let products = products(samples.inputs().view(), targets.view());
        let last = products.nrows() - 1;
        let linear = solve(products.slice(s![..last, ..last]).to_owned(), products.slice(s![..last, last]).to_vec());
        Self { mean, linear }
    }

    /// The linear model's standardised outputs for `inputs`, rows × inputs.
    pub fn linear_outputs(&self, inputs: ArrayView2<f32>) -> Vec<f64> {
        let Some((constant, coefficients)) = self.linear.split_last() else { return vec![0.0; inputs.nrows()] };
        let output = |row: ndarray::ArrayView1<f32>| {
            row.iter().zip(coefficients).fold(*constant, |sum, (&x, c)| sum + f64::from(x) * c)
        };
        inputs.outer_iter().map(output).collect()
    }
}

/// AᵀA for the matrix A whose columns are the inputs, ones, and the targets.
fn products(inputs: ArrayView2<f32>, targets: ArrayView2<f32>) -> Array2<f64> {
    let (rows, columns) = (inputs.nrows(), inputs.ncols());
    let part = |part: usize| {
        let (mut sum, mut block) =
            (Array2::<f64>::zeros((columns + 2, columns + 2)), Array2::ones((BLOCK, columns + 2)));
        let end = rows * (part + 1) / PARTS;
        for first in (rows * part / PARTS..end).step_by(BLOCK) {
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
    let parts: Vec<Array2<f64>> = (0..PARTS).into_par_iter().map(part).collect();
    parts.iter().fold(Array2::zeros((columns + 2, columns + 2)), |sum, part| sum + part)
}

/// A solution x of the positive semidefinite system G·x = h by the Cholesky decomposition with complete pivoting; if G
/// is rank-deficient, the undetermined elements are 0 (Higham, "Accuracy and Stability of Numerical Algorithms", 2002,
/// section 10.3).
fn solve(mut g: Array2<f64>, mut h: Vec<f64>) -> Vec<f64> {
    let size = g.nrows();
    let mut order: Vec<usize> = (0..size).collect();
    let largest = g.diag().iter().copied().fold(0.0, f64::max);
    let mut rank = 0;
    while rank < size {
        let pivot = (rank..size).max_by(|&a, &b| g[[a, a]].total_cmp(&g[[b, b]])).unwrap_or(rank);
        if g[[pivot, pivot]].is_nan() || g[[pivot, pivot]] <= RANK_TOLERANCE * largest {
            break;
        }
        swap(&mut g, rank, pivot);
        order.swap(rank, pivot);
        h.swap(rank, pivot);
        // Column `rank` of L, then the Schur complement of G.
        let root = g[[rank, rank]].sqrt();
        g[[rank, rank]] = root;
        for row in rank + 1..size {
            g[[row, rank]] /= root;
        }
        for row in rank + 1..size {
            for column in rank + 1..=row {
                let product = g[[row, rank]] * g[[column, rank]];
                g[[row, column]] -= product;
            }
        }
        rank += 1;
    }
    // L·y = h, then Lᵀ·x = y.
    let mut x = vec![0.0; size];
    for row in 0..rank {
        let known: f64 = (0..row).map(|column| g[[row, column]] * h[column]).sum();
        h[row] = (h[row] - known) / g[[row, row]];
    }
    for row in (0..rank).rev() {
        let known: f64 = (row + 1..rank).map(|column| g[[column, row]] * x[order[column]]).sum();
        x[order[row]] = (h[row] - known) / g[[row, row]];
    }
    x
}

/// Swaps rows and columns a < b of a symmetric matrix stored in the lower triangle; the columns before a belong to L.
fn swap(g: &mut Array2<f64>, a: usize, b: usize) {
    if a == b {
        return;
    }
    // Mirrors the lower triangle from row a on, so that whole rows and columns can be swapped.
    let size = g.nrows();
    for row in a..size {
        for column in row + 1..size {
            g[[row, column]] = g[[column, row]];
        }
    }
    for column in 0..size {
        g.swap([a, column], [b, column]);
    }
    for row in a..size {
        g.swap([row, a], [row, b]);
    }
}
