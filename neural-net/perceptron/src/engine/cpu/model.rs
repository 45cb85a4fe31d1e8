//! The sizes of the passes, and the network's shape.

use kernels_cpu::InstructionSet;
use kernels_cpu::flush_to_zero::flush_in_place;

use crate::Architecture;

/// Number of samples computed together: enough to reuse each weight, few enough to keep their
/// activations in cache.
pub(super) const CHUNK: usize = 64;
/// Maximum number of parts of a large batch that run in parallel.
pub(super) const GROUPS: usize = 16;

/// What the passes of a chunk depend on, apart from the network's parameters.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) architecture: Architecture,
    pub(super) instruction_set: InstructionSet,
    /// The fraction of nonzero inputs, if the first layer's products skip zeros.
    pub(super) nonzero_share: Option<f64>,
}

impl Model {
    /// Replaces rows of sums of layer `layer` with weights by its activations, as
    /// `Activation::apply_to_rows`. Flushes a hidden layer's activations, which later become
    /// factors. The output layer's are kept: the loss needs the logarithms of small outputs.
    pub(super) fn activate(&self, layer: usize, rows: &mut [f32], stride: usize, columns: usize) {
        self.architecture.activation(layer).apply_to_rows(rows, stride, columns);
        if layer + 1 < self.architecture.layers() {
            flush_in_place(self.instruction_set, rows);
        }
    }
}
