//! The trained network.

use kernels_cpu::product::PaddedMatrix;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use crate::chunk::{Chunk, Derived, Model};
use crate::encoder::{Encoder, Rows};
use crate::parameters::Layout;
use crate::{Error, InputKind, Options};

/// A network that predicts one standardised target from a row's inputs.
#[derive(Clone, Debug)]
pub struct TableNetwork {
    pub(crate) encoder: Encoder,
    pub(crate) layout: Layout,
    pub(crate) parameters: Vec<PaddedMatrix<f32>>,
}

impl TableNetwork {
    /// An untrained network.
    pub(crate) fn new(options: &Options, encoder: Encoder) -> Self {
        let Options { members, embedding, indicator_embedding, ref hidden, .. } = *options;
        let layout = Layout::new(members, embedding, indicator_embedding, hidden, &encoder);
        let parameters = layout.initial(options.seed);
        Self { encoder, layout, parameters }
    }

    /// The kinds of the inputs.
    pub fn kinds(&self) -> &[InputKind] {
        &self.encoder.kinds
    }

    /// Number of members.
    pub fn members(&self) -> usize {
        self.layout.members
    }

    /// Number of parameters that are learnt.
    pub fn parameters(&self) -> usize {
        self.layout.shapes().iter().map(|(_, rows, columns)| rows * columns).sum()
    }

    /// The predictions for `inputs`, rows × inputs: the mean of the members. A row with an infinite number has that of
    /// a very large one, a row with NaN NaN.
    ///
    /// # Errors
    /// If the number of columns is not that of the inputs.
    pub fn predict(&self, inputs: ArrayView2<f32>) -> Result<Vec<f32>, Error> {
        let outputs = self.outputs(&self.encoder.encode(inputs)?);
        Ok(outputs.par_chunks(self.members()).map(mean).collect())
    }

    /// The predictions of each member for `inputs`, rows × inputs: rows × members.
    ///
    /// # Errors
    /// As [`Self::predict`].
    pub fn predict_members(&self, inputs: ArrayView2<f32>) -> Result<Array2<f32>, Error> {
        let outputs = self.outputs(&self.encoder.encode(inputs)?);
        Ok(Array2::from_shape_vec((inputs.nrows(), self.members()), outputs).expect("an output for each row and member"))
    }

    /// The outputs for encoded rows, rows × members, one row after the other.
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
