//! The sizes of the passes, and the network's shape.

use kernels_cpu::InstructionSet;

use crate::Architecture;

/// Number of samples computed together: enough to reuse each weight, few enough that their activations stay in cache.
pub(super) const CHUNK: usize = 64;
/// Maximum number of parts of a large batch that run in parallel.
pub(super) const GROUPS: usize = 16;

/// What the passes of a chunk depend on besides the network's parameters.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) architecture: Architecture,
    pub(super) instruction_set: InstructionSet,
    /// The share of nonzero inputs, if the first layer's products skip zeros.
    pub(super) nonzero_share: Option<f64>,
}
