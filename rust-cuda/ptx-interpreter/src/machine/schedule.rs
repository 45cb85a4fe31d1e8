//! The blocks that are resident on a worker at the same time.

use super::block_state::{Block, BlockState};
use super::launch::Launch;

/// The blocks of a cluster or of a worker's share of a cooperative launch, which take turns. Empty for other launches,
/// whose blocks run to completion one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Schedule {
    /// By ascending number. During a block's turn its warps and its state are not here but with the worker.
    pub(super) residents: Vec<Resident>,
    /// Index of the block whose turn it is.
    pub(super) current: usize,
    /// Whether a block has executed an instruction in this round of turns.
    pub(super) progress: bool,
}

/// A block that has started and has not ended.
#[derive(Clone, Debug)]
pub(super) struct Resident {
    pub(super) block: Block,
    pub(super) state: BlockState,
}

impl Resident {
    /// A block's warps and its state, before it starts.
    pub(super) fn new(launch: &Launch<'_>) -> Self {
        Self { block: Block::new(launch), state: BlockState::new(launch.kernel, &launch.dynamic_shared) }
    }
}
