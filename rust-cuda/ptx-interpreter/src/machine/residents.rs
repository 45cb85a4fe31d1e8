//! The blocks that are resident on a worker at the same time.

use super::block_state::{Block, BlockState};
use super::launch::Launch;
use super::turns::Turns;

/// The blocks that take turns: the blocks of a cluster, a worker's share of a cooperative launch,
/// or the started blocks of a launch under a schedule. Empty for other launches, which run their
/// blocks to completion one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Residents {
    /// Ordered by ascending number, except in a launch under a schedule. During a block's turn, the
    /// worker holds its warps and its state, not this list.
    pub(super) list: Vec<Resident>,
    /// Index of the running block.
    pub(super) current: usize,
    /// Whether a block has executed an instruction in this round of turns.
    pub(super) progress: bool,
    /// The warps of a launch under a schedule.
    pub(super) turns: Turns,
    /// Number of changes of shared or global memory, and of passed barriers.
    pub(super) changes: u64,
}

impl Residents {
    /// The indices of the blocks. Blocks with a warp that waits in a loop come first: blocks that
    /// wait at a barrier may be waiting for them.
    pub(super) fn in_order_of_causes(&self) -> Vec<usize> {
        let spins = |index: &usize| self.list[*index].block.warps().iter().any(|warp| warp.spins(self.changes));
        let mut indices: Vec<usize> = (0..self.list.len()).collect();
        indices.sort_by_key(|index| !spins(index));
        indices
    }
}

/// A block that has started and has not ended.
#[derive(Clone, Debug)]
pub(super) struct Resident {
    pub(super) block: Block,
    pub(super) state: BlockState,
}

impl Resident {
    /// A block's warps and state, before it starts.
    pub(super) fn new(launch: &Launch<'_>) -> Self {
        Self { block: Block::new(launch), state: BlockState::new(launch.kernel, &launch.dynamic_shared) }
    }
}
