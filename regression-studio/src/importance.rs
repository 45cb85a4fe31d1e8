//! Permutation importance of the features (L. Breiman, "Random Forests", Machine Learning 45, 2001).

use ndarray::{Array2, ArrayView2, Axis};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::Model;

/// How much a network relies on a feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Importance {
    /// The feature's column.
    pub column: String,
    /// RMSE of the standardized target after permuting the column's values among the rows, divided
    /// by the RMSE before: 1 for a feature that the network does not use.
    pub error_factor: f64,
}

/// Maximum number of rows evaluated.
const MAX_ROWS: usize = 5000;
/// Seed of the permutation.
const SEED: u64 = 0;

/// Computes the importance of each feature column, largest first. Evaluates up to 5000 of these
/// standardized rows: inputs, rows × inputs, and targets, rows × 1. Empty if the network makes no
/// error.
pub(crate) fn measure(model: &Model, inputs: ArrayView2<f32>, targets: ArrayView2<f32>) -> Vec<Importance> {
    let every = inputs.nrows().div_ceil(MAX_ROWS).max(1);
    let rows: Vec<usize> = (0..inputs.nrows()).step_by(every).collect();
    let (inputs, targets) = (inputs.select(Axis(0), &rows), targets.select(Axis(0), &rows));
    let mut permuted_rows: Vec<usize> = (0..rows.len()).collect();
    permuted_rows.shuffle(&mut ChaCha8Rng::seed_from_u64(SEED));
    let predictor = model.predictor();
    let error = |inputs: &Array2<f32>| {
        let outputs = predictor.predict_all(inputs.view());
        let squares = outputs.iter().zip(&targets).map(|(&output, &target)| f64::from(output - target).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let base = error(&inputs);
    if base == 0.0 {
        return Vec::new();
    }
    let of_column = |column: &str| {
        let mut permuted = inputs.clone();
        // Permute all inputs of a text column together, to keep one category per row.
        let of_column = model.transform.inputs.iter().enumerate().filter(|(_, input)| input.column() == column);
        for (index, _) in of_column {
            for (row, &from) in permuted_rows.iter().enumerate() {
                permuted[[row, index]] = inputs[[from, index]];
            }
        }
        Importance { column: column.to_owned(), error_factor: error(&permuted) / base }
    };
    let mut importance: Vec<Importance> = model.columns().into_iter().map(of_column).collect();
    importance.sort_by(|a, b| b.error_factor.total_cmp(&a.error_factor));
    importance
}
