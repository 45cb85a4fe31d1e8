//! The blocks that are resident on a worker at the same time.

use super::block_state::{Block, BlockState};
use super::launch::Launch;
use super::turns::Turns;

/// The blocks that take turns: those of a cluster, of a worker's share of a cooperative launch, or those that have started of a launch
/// in the order of a schedule. Empty for other launches, whose blocks run to completion one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Residents {
    /// By ascending number, but for a launch in the order of a schedule. During a block's turn its warps and its state are not here but
    /// with the worker.
    pub(super) list: Vec<Resident>,
    /// Index of the block whose turn it is.
    pub(super) current: usize,
    /// Whether a block has executed an instruction in this round of turns.
    pub(super) progress: bool,
    /// The warps of a launch in the order of a schedule.
    pub(super) turns: Turns,
    /// Number of changes of memory that threads share, and of barriers passed.
    pub(super) changes: u64,
}

impl Residents {
    /// The indices of the blocks, first those of which a warp waits in a loop: others, which wait at a barrier, may wait for it.
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
    /// A block's warps and its state, before it starts.
    pub(super) fn new(launch: &Launch<'_>) -> Self {
        Self { block: Block::new(launch), state: BlockState::new(launch.kernel, &launch.dynamic_shared) }
    }
}
