//! The warps of a launch under a schedule.

use std::collections::VecDeque;

use cuda_launch::Switches;

/// A warp of a block that has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The block's number in the grid.
    pub(super) block: u32,
    /// The warp's index in its block.
    pub(super) warp: u32,
}

/// The warps of the started blocks, in the order in which they run.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    /// Warps that have not yielded. They run before any other block starts.
    pub(super) ahead: VecDeque<Turn>,
    /// Warps that have yielded, the earliest one in front. They run when no other block can start.
    pub(super) behind: VecDeque<Turn>,
    /// The warp that runs, or that the observer has stopped.
    pub(super) running: Option<Turn>,
    /// Number of blocks, or clusters, that have started.
    pub(super) started: u64,
    /// Counts synchronizing accesses. `None` for a launch without a schedule.
    pub(super) switches: Option<Switches>,
}

impl Turns {
    /// Removes a warp.
    pub(super) fn remove(&mut self, turn: Turn) {
        self.ahead.retain(|other| *other != turn);
        self.behind.retain(|other| *other != turn);
    }
}
