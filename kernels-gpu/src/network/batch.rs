//! The samples of a step.

use cuda_std::{Global, GlobalMut, kernel, thread};

use super::shape::Batches;

/// Marks a row of the batch without a sample.
pub(super) const NO_SAMPLE: u32 = u32::MAX;

/// The batch of a step.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    order: Global<'a, u32>,
    /// Index in `order` of the batch's first sample.
    first: u32,
    /// Number of samples; 0 in a step after the last.
    pub(super) rows: u32,
}

impl<'a> Batch<'a> {
    /// The batch of step `step`. `order` may be empty if [`Self::sample`] is never called.
    #[inline(always)]
    pub(super) fn new(order: Global<'a, u32>, step: u32, batches: Batches) -> Self {
        let Batches { size, samples } = batches;
        let first = step * size;
        let rows = if first < samples { size.min(samples - first) } else { 0 };
        Self { order, first, rows }
    }

    /// Index, in the data set, of the sample in row `row`, or [`NO_SAMPLE`].
    #[inline(always)]
    pub(super) fn sample_in_row(&self, row: u32) -> u32 {
        if row < self.rows { self.sample(row) as u32 } else { NO_SAMPLE }
    }

    /// The same; for a row without a sample, that of any sample. It is loaded without a branch, in which it would be waited for.
    #[inline(always)]
    pub(super) fn sample_or_any(&self, row: u32) -> u32 {
        self.order[((self.first + row) as usize).min(self.order.len().wrapping_sub(1))]
    }

    /// Index, in the data set, of sample `row` of the batch.
    #[inline(always)]
    pub(super) fn sample(&self, row: u32) -> usize {
        self.order[(self.first + row) as usize] as usize
    }
}

/// The rows of a layer's inputs: samples, looked up in the order, or the activations of the layer before.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    values: Global<'a, f32>,
    batch: Batch<'a>,
    columns: u32,
    /// Whether the rows are samples.
    are_samples: bool,
}

impl<'a> Rows<'a> {
    /// Rows of `columns` floats: samples if the batch has an order.
    #[inline(always)]
    pub(super) fn new(values: Global<'a, f32>, batch: Batch<'a>, columns: u32) -> Self {
        Self { values, batch, columns, are_samples: !batch.order.is_empty() }
    }

    /// Index of the first element of row `row`, which must be less than the batch's number of rows.
    #[inline(always)]
    pub(super) fn start(&self, row: u32) -> usize {
        let row = if self.are_samples { self.batch.sample(row) } else { row as usize };
        row * self.columns as usize
    }

    /// The element at `index`.
    #[inline(always)]
    pub(super) fn get(&self, index: usize) -> f32 {
        self.values[index]
    }
}

/// Increments the step in `state`. One thread.
#[kernel]
pub fn network_next_step(state: GlobalMut<u32>) {
    if thread::index_1d() == 0 {
        state.set(0, state.get(0) + 1);
    }
}
