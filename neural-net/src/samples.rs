//! What a network learns from: inputs and the outputs they should give.

use std::sync::Arc;

use ndarray::{Array2, ArrayView1, Axis};

use crate::Real;

/// Samples row by row: `inputs` is *N* × inputs, `targets` is *N* × outputs. A clone shares them.
#[derive(Clone, Debug)]
pub struct Samples<F> {
    inputs: Arc<Array2<F>>,
    targets: Arc<Array2<F>>,
}

/// Inputs and targets of different number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{inputs} rows of inputs and {targets} rows of targets: each sample needs both")]
pub struct SampleCountError {
    /// Rows of inputs.
    pub inputs: usize,
    /// Rows of targets.
    pub targets: usize,
}

impl<F: Real> Samples<F> {
    /// Pairs inputs and targets row by row.
    ///
    /// # Errors
    /// If they differ in the number of rows.
    pub fn new(inputs: Array2<F>, targets: Array2<F>) -> Result<Self, SampleCountError> {
        if inputs.nrows() != targets.nrows() {
            return Err(SampleCountError { inputs: inputs.nrows(), targets: targets.nrows() });
        }
        // Rows must be slices.
        let row_by_row =
            |array: Array2<F>| if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned() };
        Ok(Self { inputs: Arc::new(row_by_row(inputs)), targets: Arc::new(row_by_row(targets)) })
    }

    /// Whether these are the very same samples, not just equal ones.
    pub(crate) fn are_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inputs, &other.inputs) && Arc::ptr_eq(&self.targets, &other.targets)
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.inputs.nrows()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All inputs, *N* × inputs.
    pub fn inputs(&self) -> &Array2<F> {
        &self.inputs
    }

    /// All targets, *N* × outputs.
    pub fn targets(&self) -> &Array2<F> {
        &self.targets
    }

    /// The inputs of sample `index`.
    ///
    /// # Panics
    /// If there is no such sample.
    pub fn input(&self, index: usize) -> &[F] {
        row(&self.inputs, index)
    }

    /// The targets of sample `index`.
    ///
    /// # Panics
    /// If there is no such sample.
    pub fn target(&self, index: usize) -> &[F] {
        row(&self.targets, index)
    }
}

fn row<F>(array: &Array2<F>, index: usize) -> &[F] {
    let row: ArrayView1<F> = array.index_axis(Axis(0), index);
    row.to_slice().unwrap_or_default()
}
