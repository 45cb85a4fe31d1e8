//! A background sample: rows of the training part that replace the values of features in explanations.
//!
//! A model stores the sample, so its file is enough to explain its predictions, with the same
//! result everywhere. The sample has the features of these rows, but not their target.

use ndarray::{Array2, ArrayView2, Axis};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::prepared::{Input, Transform};

/// Maximum number of rows.
pub const MAX_ROWS: usize = 100;
/// Seed for choosing the rows.
const SEED: u64 = 0;

/// Standardized rows of the training part.
#[derive(Clone, Debug, PartialEq)]
pub struct Background {
    inputs: Array2<f32>,
}

/// The rows as saved: one list per feature column. It holds the standardized number of each row, or
/// the index of its category among the column's inputs, −1 for none.
#[derive(Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct SavedBackground(Vec<Vec<f32>>);

impl Background {
    /// Up to 100 rows of standardized inputs, rows × inputs, drawn at random with a fixed seed. `None` if there are no
    /// rows.
    pub fn sample(inputs: ArrayView2<f32>) -> Option<Self> {
        let (rows, mut rng) = (inputs.nrows(), ChaCha8Rng::seed_from_u64(SEED));
        let mut chosen = rand::seq::index::sample(&mut rng, rows, MAX_ROWS.min(rows)).into_vec();
        chosen.sort_unstable();
        (!chosen.is_empty()).then(|| Self { inputs: inputs.select(Axis(0), &chosen) })
    }

    /// The standardized inputs, rows × inputs.
    pub fn inputs(&self) -> &Array2<f32> {
        &self.inputs
    }

    /// Converts the rows for a file.
    pub(crate) fn saved(&self, transform: &Transform) -> SavedBackground {
        let column = |(_, inputs): (&str, std::ops::Range<usize>)| -> Vec<f32> {
            let value = |row: ndarray::ArrayView1<f32>| match &transform.inputs[inputs.start] {
                Input::Number { .. } => row[inputs.start],
                Input::Text { .. } => {
                    let is_chosen = |index: &usize| row[*index] == transform.inputs[*index].one_hot(true);
                    inputs.clone().find(is_chosen).map_or(-1.0, |index| (index - inputs.start) as f32)
                }
            };
            self.inputs.outer_iter().map(value).collect()
        };
        SavedBackground(transform.features().into_iter().map(column).collect())
    }

    /// Restores the rows from a file.
    ///
    /// # Errors
    /// If they do not match the transform's columns.
    pub(crate) fn from_saved(saved: &SavedBackground, transform: &Transform) -> Result<Self, &'static str> {
        let (SavedBackground(columns), features) = (saved, transform.features());
        let rows = columns.first().map_or(0, Vec::len);
        let is_even = columns.iter().all(|column| column.len() == rows);
        // The bound keeps a small file from filling the memory: here a category is one number, but
        // it becomes many inputs.
        if columns.len() != features.len() || !is_even || !(1..=MAX_ROWS).contains(&rows) {
            return Err("background has other columns than its transform, no rows, or more than 100");
        }
        let mut inputs = Array2::zeros((rows, transform.inputs.len()));
        for (values, (_, range)) in columns.iter().zip(features) {
            for (row, &value) in values.iter().enumerate() {
                if !value.is_finite() {
                    return Err("background has a value that is not finite");
                }
                for index in range.clone() {
                    inputs[[row, index]] = match &transform.inputs[index] {
                        Input::Number { .. } => value,
                        text @ Input::Text { .. } => text.one_hot(value == (index - range.start) as f32),
                    };
                }
            }
        }
        Ok(Self { inputs })
    }
}
