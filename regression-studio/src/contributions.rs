//! Contributions of the features to one prediction: Shapley values (L. Shapley, "A Value for n-Person Games", 1953),
//! estimated by permutations (E. Štrumbelj, I. Kononenko, "Explaining Prediction Models and Individual Predictions with
//! Feature Contributions", Knowledge and Information Systems 41, 2014) in antithetic pairs, a permutation and its
//! reverse (R. Mitchell et al., "Sampling Permutations for Shapley Value Estimation", Journal of Machine Learning
//! Research 23, 2022).
//!
//! The game: the features in a set have the row's values, all others a background row's. The set's
//! worth is the mean prediction over all background rows. Features are treated as independent, so
//! combinations occur that no real row has. For a linear function, a feature's Shapley value is
//! w·(x − mean of the background). A pair of permutations gives the exact values if each term of
//! the function has at most two features. Terms with more features cause the standard error.

use std::ops::Range;

use ndarray::{Array2, ArrayView1};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

/// Target number of predictions.
const PREDICTIONS: usize = 60_000;
/// Bounds on the number of pairs of permutations for each background row; a standard error needs two.
const PAIRS: Range<usize> = 2..64;

/// The contributions to one prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Contributions {
    /// The mean prediction over the background rows.
    pub mean: f64,
    /// The prediction. It equals the mean plus all contributions, up to rounding.
    pub predicted: f64,
    /// The number of background rows.
    pub background_rows: usize,
    /// One per feature, in the order of the features.
    pub of_features: Vec<Contribution>,
}

/// A feature's contribution, in the unit of the prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contribution {
    /// The estimated Shapley value.
    pub value: f64,
    /// Its standard error: how much other permutations would change the value, for the same
    /// background rows.
    pub standard_error: f64,
}

impl Contributions {
    /// Estimates the contributions to `predict` at `row`, which has the same inputs as the rows of
    /// `background`, rows × inputs. `predict` returns the prediction of each row of a matrix, rows
    /// × inputs. Each feature is a range of inputs. The same arguments give the same bits.
    ///
    /// # Panics
    /// If `background` has no rows, or its number of inputs differs from `row`'s.
    pub fn estimate(
        predict: &dyn Fn(&Array2<f32>) -> Vec<f64>,
        features: &[Range<usize>],
        row: &[f32],
        background: &Array2<f32>,
        seed: u64,
    ) -> Self {
        let (rows, count) = (background.nrows(), features.len());
        assert!(rows > 0 && background.ncols() == row.len(), "background rows with the inputs of the row");
        let predicted = predict(&matrix(1, row.len(), |_| row.to_vec()))[0];
        let of_background = predict(background);
        let inner_rows = count.saturating_sub(1);
        let pairs = (PREDICTIONS / (2 * rows * inner_rows.max(1))).clamp(PAIRS.start, PAIRS.end);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut values, mut variances) = (vec![0.0; count], vec![0.0; count]);
        for (from, &of_from) in background.outer_iter().zip(&of_background) {
            let walks: Vec<Vec<usize>> = (0..pairs).flat_map(|_| antithetic(count, &mut rng)).collect();
            // A walk over one feature has no rows between its ends.
            let outputs = if count > 1 { predict(&walked(&walks, features, row, from)) } else { Vec::new() };
            // The mean over a walk and its reverse is one sample; samples from different pairs are
            // independent.
            let mut samples = Array2::<f64>::zeros((pairs, count));
            for (index, walk) in walks.iter().enumerate() {
                let inner = &outputs[index * inner_rows..(index + 1) * inner_rows];
                let mut before = of_from;
                for (&feature, &after) in walk.iter().zip(inner.iter().chain([&predicted])) {
                    samples[[index / 2, feature]] += (after - before) / 2.0;
                    before = after;
                }
            }
            for (feature, samples) in samples.columns().into_iter().enumerate() {
                let mean = samples.sum() / pairs as f64;
                let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
                values[feature] += mean / rows as f64;
                variances[feature] += squares / ((pairs - 1) * pairs) as f64 / (rows * rows) as f64;
            }
        }
        let of_features =
            values.iter().zip(&variances).map(|(&value, v)| Contribution { value, standard_error: v.sqrt() }).collect();
        let mean = of_background.iter().sum::<f64>() / rows as f64;
        Self { mean, predicted, background_rows: rows, of_features }
    }
}

/// A random permutation of `count` features, and its reverse.
fn antithetic(count: usize, rng: &mut ChaCha8Rng) -> [Vec<usize>; 2] {
    let mut walk: Vec<usize> = (0..count).collect();
    walk.shuffle(rng);
    let reverse = walk.iter().rev().copied().collect();
    [walk, reverse]
}

/// The rows between `from` and `to` on each walk, which copies one feature at a time from `to`.
/// Each walk has one row fewer than there are features.
fn walked(walks: &[Vec<usize>], features: &[Range<usize>], to: &[f32], from: ArrayView1<f32>) -> Array2<f32> {
    let inner = features.len() - 1;
    let mut current = Vec::new();
    matrix(walks.len() * inner, to.len(), |index| {
        if index % inner == 0 {
            current = from.to_vec();
        }
        let feature = features[walks[index / inner][index % inner]].clone();
        current[feature.clone()].copy_from_slice(&to[feature]);
        current.clone()
    })
}

/// Builds a matrix from `row(0)`, `row(1)` and so on.
fn matrix(rows: usize, columns: usize, row: impl FnMut(usize) -> Vec<f32>) -> Array2<f32> {
    let values = (0..rows).flat_map(row).collect();
    Array2::from_shape_vec((rows, columns), values).expect("all rows have the same length")
}
