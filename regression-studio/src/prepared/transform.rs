//! From a table's columns to a network's inputs, and from its output to the target.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::Table;
use crate::model::PredictError;

/// From columns to inputs, and from the output to the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transform {
    /// The inputs, in their order.
    pub inputs: Vec<Input>,
    /// The target's name.
    pub target: String,
    /// How the target is standardised.
    pub target_scale: Scale,
}

/// One input of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// A column of numbers.
    Number {
        /// Its name.
        column: String,
        /// How it is standardised.
        scale: Scale,
    },
    /// Whether a column of texts has this one.
    Text {
        /// The column's name.
        column: String,
        /// The text.
        text: String,
        /// How 1 and 0 are standardised.
        scale: Scale,
    },
}

/// A number x becomes (t − mean) / deviation, where t is x or its logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Whether t is sign(x)·ln(1 + |x|).
    pub log: bool,
    /// The mean of t over the training part.
    pub mean: f64,
    /// The standard deviation of t over the training part; 1 where t is the same in all rows.
    pub deviation: f64,
}

impl Transform {
    /// The inputs of the table's complete rows, and which rows are complete.
    ///
    /// # Errors
    /// If the table lacks a feature.
    pub fn inputs(&self, table: &Table) -> Result<(Array2<f32>, Vec<bool>), PredictError> {
        Ok((Array2::zeros((0, self.inputs.len())), vec![false; table.rows()]))
    }

    /// The target, in its unit, of a network's output.
    pub fn target_of(&self, output: f32) -> f64 {
        f64::from(output) * self.target_scale.deviation + self.target_scale.mean
    }
}

impl Input {
    /// What it is called in drawings: the column, or column = text.
    pub fn label(&self) -> String {
        match self {
            Self::Number { column, .. } => column.clone(),
            Self::Text { column, text, .. } => format!("{column} = {text}"),
        }
    }
}
