//! Which samples a step is about.

use cuda_std::{Global, GlobalMut, kernel, thread};

/// The batch of a step.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    order: Global<'a, u32>,
    /// The place in `order` where the batch begins.
    first: u32,
    /// Samples in it; 0 after the last.
    pub(super) rows: u32,
}

impl<'a> Batch<'a> {
    /// The batch of up to `size` samples that step `step` of `count` samples in `order` takes. `order` may be empty if
    /// no sample is asked for.
    #[inline(always)]
    pub(super) fn new(order: Global<'a, u32>, step: u32, size: u32, count: u32) -> Self {
        let first = step * size;
        let rows = if first < count { size.min(count - first) } else { 0 };
        Self { order, first, rows }
    }

    /// The number of sample `row` of the batch, among all.
    #[inline(always)]
    pub(super) fn sample(&self, row: u32) -> usize {
        self.order[(self.first + row) as usize] as usize
    }
}

/// Where the rows of a layer's inputs lie.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    values: Global<'a, f32>,
    batch: Batch<'a>,
    columns: u32,
    /// Whether they are samples, to be looked up in the order; else they are the activations of the layer before.
    are_samples: bool,
}

impl<'a> Rows<'a> {
    /// Rows of `columns` numbers: samples, if the batch has an order.
    #[inline(always)]
    pub(super) fn new(values: Global<'a, f32>, batch: Batch<'a>, columns: u32) -> Self {
        Self { values, batch, columns, are_samples: !batch.order.is_empty() }
    }

    /// The place of row `row`'s first number. The batch must have that row.
    #[inline(always)]
    pub(super) fn start(&self, row: u32) -> usize {
        let row = if self.are_samples { self.batch.sample(row) } else { row as usize };
        row * self.columns as usize
    }

    /// The number at `place`.
    #[inline(always)]
    pub(super) fn get(&self, place: usize) -> f32 {
        self.values[place]
    }
}

/// Goes on to the next step. One thread.
#[kernel]
pub fn network_next_step(state: GlobalMut<u32>) {
    if thread::index_1d() == 0 {
        state.set(0, state.get(0) + 1);
    }
}
