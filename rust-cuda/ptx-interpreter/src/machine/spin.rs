//! Detects warps in a loop that only a change of memory can end: their state recurs.

use super::divergence::Divergence;
use super::fault::Access;
use crate::semantics::Lanes;
use crate::syntax::Space;

/// Whether a warp is known to be in a loop that only a change of memory can end.
#[derive(Clone, Debug, Default)]
pub(super) enum Spin {
    #[default]
    No,
    /// The warp is being tested for a recurring state.
    Tested(Box<Test>),
    /// The warp's state recurs as long as memory does not change.
    Found {
        /// The count of memory changes at that time.
        since: u64,
        poll: Option<Poll>,
    },
}

/// A warp's state, and its activity since then.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) since: u64,
    pub(super) divergence: Divergence,
    pub(super) registers: Vec<Lanes>,
    pub(super) predicates: Vec<u32>,
    pub(super) carry: u32,
    pub(super) instructions: u32,
    pub(super) poll: Option<Poll>,
}

/// A read of memory in the loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Poll {
    pub(super) pc: usize,
    pub(super) lane: u32,
    pub(super) access: Access,
    pub(super) space: Space,
    pub(super) address: u64,
    pub(super) bytes: usize,
}
