//! The trained network.

use kernels_cpu::product::PaddedMatrix;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use crate::chunk::{Chunk, Derived, Model};
use crate::encoder::{Encoder, Rows};
use crate::linear::Linear;
use crate::parameters::Layout;
use crate::{Error, InputKind, Options};

/// A network that predicts one standardized target from a row's inputs.
#[derive(Clone, Debug)]
pub struct TableNetwork {
    pub(crate) encoder: Encoder,
    pub(crate) layout: Layout,
    pub(crate) parameters: Vec<PaddedMatrix<f32>>,
    pub(crate) linear: Linear,
}

impl TableNetwork {
    /// An untrained network.
    pub(crate) fn new(options: &Options, encoder: Encoder, linear: Linear) -> Self {
        let Options { members, embedding, indicator_embedding, ref hidden, .. } = *options;
        let layout = Layout::new(members, embedding, indicator_embedding, hidden, &encoder);
        let parameters = layout.initial(options.seed);
        Self { encoder, layout, parameters, linear }
    }

    /// The kinds of the inputs.
    pub fn kinds(&self) -> &[InputKind] {
        &self.encoder.kinds
    }

    /// Number of members.
    pub fn members(&self) -> usize {
        self.layout.members
    }

    /// Units of each hidden layer.
    pub fn hidden(&self) -> &[usize] {
        &self.layout.hidden
    }

    /// Number of trainable parameters.
    pub fn parameters(&self) -> usize {
        self.layout.shapes().iter().map(|(_, rows, columns)| rows * columns).sum()
    }

    /// The share of linear least squares in the predictions, from 0 to 1.
    pub fn linear_share(&self) -> f32 {
        self.linear.share
    }

    /// The predictions for `inputs`, rows × inputs: the means over the members. If an input is NaN,
    /// so is its prediction.
    ///
    /// # Errors
    /// If the number of columns differs from the number of inputs.
    pub fn predict(&self, inputs: ArrayView2<f32>) -> Result<Vec<f32>, Error> {
        let outputs = self.outputs(&self.encoder.encode(inputs)?);
        let means = outputs.chunks(self.members()).map(mean);
        Ok(means.zip(inputs.outer_iter()).map(|(mean, row)| self.linear.mix(self.linear.predict(row), mean)).collect())
    }

    /// The predictions of each member for `inputs`, rows × inputs, as rows × members. Each has the
    /// same linear share.
    ///
    /// # Errors
    /// See [`Self::predict`].
    pub fn predict_members(&self, inputs: ArrayView2<f32>) -> Result<Array2<f32>, Error> {
        let mut outputs = self.outputs(&self.encoder.encode(inputs)?);
        for (outputs, row) in outputs.chunks_mut(self.members()).zip(inputs.outer_iter()) {
            let linear = self.linear.predict(row);
            outputs.iter_mut().for_each(|output| *output = self.linear.mix(linear, *output));
        }
        Ok(Array2::from_shape_vec((inputs.nrows(), self.members()), outputs)
            .expect("an output for each row and member"))
    }

    /// The outputs for encoded rows without the linear share, rows × members in row-major order.
    pub(crate) fn outputs(&self, rows: &Rows) -> Vec<f32> {
        let derived = Derived::new(&self.layout, &self.parameters);
        let model = Model { layout: &self.layout, parameters: &self.parameters, derived: &derived };
        let (capacity, members) = (Chunk::capacity(&self.layout), self.members());
        let mut outputs = vec![0.0; rows.count * members];
        let chunks = outputs.par_chunks_mut(capacity * members).enumerate();
        chunks.for_each_init(
            || Chunk::new(&self.layout),
            |chunk, (index, outputs)| {
                let first = index * capacity;
                let samples = first as u32..(first + outputs.len() / members) as u32;
                chunk.forward(model, rows, samples, first, |_| None);
                outputs.copy_from_slice(&chunk.outputs[..outputs.len()]);
            },
        );
        outputs
    }
}

/// The mean of the members' outputs.
pub(crate) fn mean(outputs: &[f32]) -> f32 {
    outputs.iter().sum::<f32>() / outputs.len() as f32
}
