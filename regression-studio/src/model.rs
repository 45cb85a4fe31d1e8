//! A trained network with all that a prediction needs: what to do with a table's columns, and with the network's output.

use neural_net::{Network, Predictor};

use crate::Table;
use crate::prepared::Transform;
use crate::sigmoid::Neuron;

/// A trained network and what its inputs and output mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The weights W and biases b, for standardised inputs and output.
    pub network: Network<f32>,
    /// What its hidden neurons do.
    pub neuron: Neuron,
    /// From columns to inputs, and from the output to the target.
    pub transform: Transform,
}

/// A table that a model cannot be used on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PredictError {
    /// A feature is missing, or of the wrong kind.
    #[error("{table}: {reason}")]
    Column {
        /// Where the table comes from.
        table: String,
        /// Which column, and what is wrong.
        reason: String,
    },
}

impl Model {
    /// A prediction for each row, in the target's unit; None where a feature is missing or no number. A text that the
    /// training did not know is none of those that it knew.
    ///
    /// # Errors
    /// If the table lacks a feature.
    pub fn predict(&self, table: &Table) -> Result<Vec<Option<f64>>, PredictError> {
        let (inputs, complete) = self.transform.inputs(table)?;
        let outputs = Predictor::new(&self.neuron.fold(&self.network)).predict_all(inputs.view());
        let mut outputs = outputs.iter().map(|&output| self.transform.target_of(output));
        Ok(complete.into_iter().map(|is_complete| if is_complete { outputs.next() } else { None }).collect())
    }
}
