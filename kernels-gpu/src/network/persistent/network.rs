//! The layout of a block's shared memory.

use cuda_std::thread;

use super::rows::{Quads, Rows};
use super::table::{self, Table};

/// A block's view of the network.
pub(super) struct Network<'a, T> {
    pub(super) shared: &'a Quads,
    table: T,
    /// Layers with weights.
    pub(super) layers: u32,
    /// Quads of a column of the batch.
    pub(super) row_quads: u32,
    /// First of the block's quads of units of the first layer.
    pub(super) first_own: u32,
    /// Number of those quads.
    pub(super) own: u32,
}

/// One layer with weights.
#[derive(Clone, Copy)]
pub(super) struct Layer<T> {
    table: T,
    first: usize,
}

impl<'a, T: Table> Network<'a, T> {
    #[inline(always)]
    pub(super) fn new(shared: &'a Quads, table: T) -> Self {
        let max_own = table.get(table::OWN_QUADS);
        let first_own = thread::block_idx_x() * max_own;
        let network = Self {
            shared,
            table,
            layers: table.get(table::LAYERS),
            row_quads: table.get(table::BATCH_ROWS) / 4,
            first_own,
            own: max_own,
        };
        let quads = network.layer(0).unit_quads();
        Self { own: if first_own < quads { max_own.min(quads - first_own) } else { 0 }, ..network }
    }

    #[inline(always)]
    pub(super) fn layer(&self, index: u32) -> Layer<T> {
        Layer { table: self.table, first: table::HEADER + index as usize * table::COLUMNS }
    }

    /// Calls `work` with the index of each layer after the first, in ascending order.
    #[inline(always)]
    pub(super) fn for_each_later_layer(&self, mut work: impl FnMut(u32)) {
        if T::IS_CONSTANT {
            // Unrolled by hand, for up to three layers: each call is compiled for the layer's sizes.
            if self.layers > 1 {
                work(1);
            }
            if self.layers > 2 {
                work(2);
            }
            return;
        }
        let mut layer = 1;
        while layer < self.layers {
            work(layer);
            layer += 1;
        }
    }

    /// Calls `work` with the index of each layer after the first, in descending order.
    #[inline(always)]
    pub(super) fn for_each_later_layer_reversed(&self, mut work: impl FnMut(u32)) {
        if T::IS_CONSTANT {
            if self.layers > 2 {
                work(2);
            }
            if self.layers > 1 {
                work(1);
            }
            return;
        }
        let mut layer = self.layers - 1;
        while layer > 0 {
            work(layer);
            layer -= 1;
        }
    }

    /// The batch's inputs, one row per sample.
    #[inline(always)]
    pub(super) fn batch(&self) -> Rows {
        Rows { first: self.table.get(table::BATCH), stride: self.table.get(table::BATCH_STRIDE) }
    }

    /// The batch's targets, one row per sample.
    #[inline(always)]
    pub(super) fn targets(&self) -> Rows {
        Rows { first: self.table.get(table::TARGETS), stride: self.table.get(table::TARGETS_STRIDE) }
    }

    /// The errors of the block's own units.
    #[inline(always)]
    pub(super) fn own_errors(&self) -> Rows {
        let Rows { first, stride } = self.layer(0).errors();
        // If there is only one layer, the block has the errors of all its units.
        Rows { first: if self.layers == 1 { first + self.first_own } else { first }, stride }
    }

    #[inline(always)]
    pub(super) fn header(&self, column: usize) -> u32 {
        self.table.get(column)
    }
}

impl<T: Table> Layer<T> {
    #[inline(always)]
    fn get(&self, column: usize) -> u32 {
        self.table.get(self.first + column)
    }

    #[inline(always)]
    fn rows(&self, first: usize, stride: usize) -> Rows {
        Rows { first: self.get(first), stride: self.get(stride) }
    }

    #[inline(always)]
    pub(super) fn features(&self) -> u32 {
        self.get(table::FEATURES)
    }

    #[inline(always)]
    pub(super) fn units(&self) -> u32 {
        self.get(table::UNITS)
    }

    #[inline(always)]
    pub(super) fn feature_quads(&self) -> u32 {
        self.features().div_ceil(4)
    }

    #[inline(always)]
    pub(super) fn unit_quads(&self) -> u32 {
        self.units().div_ceil(4)
    }

    #[inline(always)]
    pub(super) fn activation(&self) -> u32 {
        self.get(table::ACTIVATION)
    }

    #[inline(always)]
    pub(super) fn first_parameter(&self) -> u32 {
        self.get(table::FIRST_PARAMETER)
    }

    #[inline(always)]
    pub(super) fn weights(&self) -> Rows {
        self.rows(table::WEIGHTS, table::WEIGHTS_STRIDE)
    }

    /// Offset of the biases.
    #[inline(always)]
    pub(super) fn biases(&self) -> u32 {
        self.get(table::BIASES)
    }

    #[inline(always)]
    pub(super) fn activations(&self) -> Rows {
        self.rows(table::ACTIVATIONS, table::ACTIVATIONS_STRIDE)
    }

    #[inline(always)]
    pub(super) fn errors(&self) -> Rows {
        self.rows(table::ERRORS, table::ERRORS_STRIDE)
    }

    #[inline(always)]
    pub(super) fn forward_slices(&self) -> u32 {
        self.get(table::FORWARD_SLICES)
    }

    #[inline(always)]
    pub(super) fn backward_slices(&self) -> u32 {
        self.get(table::BACKWARD_SLICES)
    }
}
