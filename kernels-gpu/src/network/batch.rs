//! The samples of a step.

use cuda_std::{Global, GlobalMut, kernel, thread};

use super::input::Input;
use super::shape::Batches;
use super::tile::Lines;

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
pub(super) struct Rows<'a, T: Input> {
    pub(super) values: Global<'a, T>,
    pub(super) scale: T::Scale,
    pub(super) batch: Batch<'a>,
    columns: u32,
    /// Whether the rows are samples.
    are_samples: bool,
}

impl<'a, T: Input> Rows<'a, T> {
    /// Rows of `columns` elements: samples if the batch has an order.
    #[inline(always)]
    pub(super) fn new(values: Global<'a, T>, scale: T::Scale, batch: Batch<'a>, columns: u32) -> Self {
        Self { values, scale, batch, columns, are_samples: !batch.order.is_empty() }
    }

    /// Index of the first element of row `row`, which must be less than the batch's number of rows.
    #[inline(always)]
    fn start(&self, row: u32) -> usize {
        let row = if self.are_samples { self.batch.sample(row) } else { row as usize };
        row * self.columns as usize
    }

    /// Four rows; those beyond the batch are the last one. The batch must have a row.
    #[inline(always)]
    pub(super) fn lines(&self, first: u32) -> Lines<'a, T> {
        let last = self.batch.rows - 1;
        Lines::new(self.values, self.columns, |i| self.start((first + i).min(last)))
    }

    /// A row, which must be less than the batch's number of rows.
    #[inline(always)]
    pub(super) fn row(&self, row: u32) -> Global<'a, T> {
        let start = self.start(row);
        self.values.slice(start..start + self.columns as usize)
    }

    /// The value of an element, from [`Input::register`].
    #[inline(always)]
    pub(super) fn value(&self, register: u32) -> f32 {
        T::value(register, self.scale)
    }
}

/// Increments the step in `state`. One thread.
#[kernel]
pub fn network_next_step(state: GlobalMut<u32>) {
    if thread::index_1d() == 0 {
        state.set(0, state.get(0) + 1);
    }
}
