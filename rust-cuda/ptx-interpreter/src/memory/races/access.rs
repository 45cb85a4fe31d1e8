//! Accesses, and the executions of threads that make them.

use std::num::NonZero;

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A plain load.
    Read,
    /// A plain store.
    Write,
    /// A volatile, relaxed or acquire load, which races only with plain stores.
    AtomicRead,
    /// An atomic operation, or a volatile, relaxed or release store, which races with all plain accesses.
    AtomicWrite,
}

impl AccessKind {
    /// Whether two unordered accesses to the same bytes are a race.
    pub fn races_with(self, other: Self) -> bool {
        let writes = |kind| matches!(kind, Self::Write | Self::AtomicWrite);
        let is_plain = |kind| matches!(kind, Self::Read | Self::Write);
        (writes(self) || writes(other)) && (is_plain(self) || is_plain(other))
    }
}

/// Handle of a watched region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Watched(pub(super) u32);

/// A warp's execution between two synchronisations. The counts only increase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The number of the block.
    pub block: u32,
    /// The number of the warp in its block.
    pub warp: u32,
    /// Number of barriers that the block has passed.
    pub barriers: u32,
    /// Number of `bar.warp.sync`s that the warp has passed.
    pub warp_syncs: u32,
}

/// A thread's execution in one phase, between two releases of its block.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadEpoch {
    pub(super) phase: Phase,
    pub(super) lane: u32,
    /// Number of earlier releases of the block.
    pub(super) release: u32,
    pub(super) number: NonZero<u32>,
}

/// An access, in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The number of a thread epoch, see `HappensBefore::epoch_of`.
    pub(super) epoch: NonZero<u32>,
    pub(super) instruction: u32,
}

impl Record {
    /// Whether lanes of one warp made both accesses in the same phase.
    pub(super) fn is_of_same_phase(self, other: Self) -> bool {
        self.epoch.get() >> 5 == other.epoch.get() >> 5
    }
}
