//! Accesses, and the thread executions that make them.

use std::num::NonZero;

/// The threads that a strong access or a fence applies to (PTX ISA, Memory Consistency Model,
/// Scope). `sys` is treated like `gpu` because there is one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// `cta`: the thread's block.
    Block,
    /// `cluster`: the thread's cluster.
    Cluster,
    /// `gpu` or `sys`: all threads.
    #[default]
    Device,
}

impl Scope {
    /// All scopes, narrowest first.
    pub const ALL: [Self; 3] = [Self::Block, Self::Cluster, Self::Device];
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A plain load.
    Read,
    /// A load through the cache for memory that no thread writes during the kernel
    /// (`ld.global.nc`).
    ReadOnly,
    /// A plain store.
    Write,
    /// A volatile load.
    VolatileRead,
    /// A volatile store. PTX gives it the strength of a relaxed one. But languages with volatile
    /// accesses do not make them atomic, so volatile stores of several threads are ordered only by
    /// chance.
    VolatileWrite,
    /// A relaxed or acquire load.
    AtomicRead(Scope),
    /// An atomic operation, or a relaxed or release store.
    AtomicWrite(Scope),
}

impl AccessKind {
    /// Whether two unordered accesses to the same bytes race. `distance` is the narrowest scope
    /// that includes both threads. They race if at least one writes and they are not morally strong
    /// (one is plain, or its scope excludes the other thread), or if both are volatile stores.
    pub fn races_with(self, other: Self, distance: Scope) -> bool {
        if !self.writes() && !other.writes() {
            return false;
        }
        match (self.scope(), other.scope()) {
            (Some(one), Some(other_scope)) => {
                one.min(other_scope) < distance || (self, other) == (Self::VolatileWrite, Self::VolatileWrite)
            }
            _ => true,
        }
    }

    /// Whether the access writes.
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::VolatileWrite | Self::AtomicWrite(_))
    }

    /// The scope of a strong access. `None` for a plain one.
    pub fn scope(self) -> Option<Scope> {
        match self {
            Self::Read | Self::ReadOnly | Self::Write => None,
            Self::VolatileRead | Self::VolatileWrite => Some(Scope::Device),
            Self::AtomicRead(scope) | Self::AtomicWrite(scope) => Some(scope),
        }
    }

    /// Whether the access is volatile.
    pub fn is_volatile(self) -> bool {
        matches!(self, Self::VolatileRead | Self::VolatileWrite)
    }
}

/// A lane's access by one instruction.
#[derive(Clone, Copy, Debug)]
pub struct LaneAccess {
    /// Its first byte.
    pub location: Location,
    /// Its size.
    pub bytes: usize,
    /// Its kind.
    pub kind: AccessKind,
    /// The thread.
    pub thread: Thread,
    /// The number of the instruction.
    pub instruction: u32,
}

/// The accesses of a warp's lanes by one instruction, each at its own address.
#[derive(Clone, Copy, Debug)]
pub struct WarpAccess {
    /// The region that they access.
    pub region: Watched,
    /// The size of each access.
    pub bytes: usize,
    /// Its kind.
    pub kind: AccessKind,
    /// The warp's phase.
    pub phase: Phase,
    /// The number of the instruction.
    pub instruction: u32,
}

/// How a strong read observes published accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The scope of the read.
    pub scope: Scope,
    /// Whether it has acquire semantics. Otherwise the thread's next fence acquires.
    pub acquires: bool,
    /// Whether it is an atomic counter operation, like the ones that tell a block that it is the
    /// last.
    pub counts: bool,
}

/// How a strong write publishes the accesses that happen before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publication {
    /// The scope of the write.
    pub scope: Scope,
    /// Whether it has release semantics and publishes the thread's accesses so far. Otherwise it
    /// publishes the accesses up to the last fence.
    pub releases: bool,
    /// Whether it is an atomic operation, which continues a release sequence. A store begins a new
    /// one.
    pub is_update: bool,
    /// Whether it is a volatile store.
    pub is_volatile: bool,
}

/// A lane's fence (`fence`, `membar`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Its scope.
    pub scope: Scope,
    /// Whether it is sequentially consistent.
    pub is_sc: bool,
}

/// Handle of a watched region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Watched(pub(super) u32);

impl Watched {
    /// The byte at an offset of the region.
    pub fn at(self, offset: usize) -> Location {
        Location { region: self, offset }
    }
}

/// A byte of a watched region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The region.
    pub region: Watched,
    /// The byte's offset in it.
    pub offset: usize,
}

/// The number of the first agent for asynchronous accesses, above the numbers of all blocks.
pub(super) const FIRST_AGENT: u32 = 1 << 31;

/// A warp's execution between two synchronizations. The counts only increase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The number of the block, or of the agent that represents the block's asynchronous stores for
    /// an mbarrier.
    pub block: u32,
    /// The number of the warp in its block.
    pub warp: u32,
    /// Number of barriers that the block has passed, or of phases that the agent's mbarrier has
    /// completed.
    pub barriers: u32,
    /// Number of `bar.warp.sync` instructions that the warp has passed.
    pub warp_syncs: u32,
}

/// A thread in a phase of its warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The warp's phase.
    pub phase: Phase,
    /// The thread's lane.
    pub lane: u32,
}

impl Thread {
    /// The thread's number in its block.
    pub(super) fn number(self) -> u32 {
        self.phase.warp * 32 + self.lane
    }

    /// The mask of its lane.
    pub(super) fn mask(self) -> u32 {
        1 << self.lane
    }
}

/// Some threads of a warp in one of its phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// The warp's phase.
    pub phase: Phase,
    /// The lanes: bit i is lane i.
    pub lanes: u32,
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

impl ThreadEpoch {
    /// The same epoch for another lane.
    pub(super) fn of_lane(self, lane: u32) -> Self {
        Self { lane, number: with_lane(self.number, lane), ..self }
    }
}

/// The number of a lane's thread epoch in the same phase as another lane's.
fn with_lane(number: NonZero<u32>, lane: u32) -> NonZero<u32> {
    NonZero::new(number.get() & !31 | lane).unwrap_or(number)
}

/// An access, packed into eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The number of a thread epoch; see `HappensBefore::epoch_of`.
    pub(super) epoch: NonZero<u32>,
    /// The number of the instruction. The bits above it hold the scope, or mark the access as
    /// volatile.
    tagged: u32,
}

/// The highest instruction number that a record can hold.
const MAX_INSTRUCTION: u32 = (1 << 30) - 1;
/// The tag of a volatile access. Among plain accesses, the tag of a read-only or a silent one.
const VOLATILE: u32 = 3;

impl Record {
    pub(super) fn new(epoch: NonZero<u32>, kind: AccessKind, instruction: u32) -> Self {
        let has_tag = kind.is_volatile() || kind == AccessKind::ReadOnly;
        let tag = if has_tag { VOLATILE } else { kind.scope().unwrap_or_default() as u32 };
        Self { epoch, tagged: tag << 30 | instruction & MAX_INSTRUCTION }
    }

    pub(super) fn instruction(self) -> u32 {
        self.tagged & MAX_INSTRUCTION
    }

    /// The kind of a plain read.
    pub(super) fn plain_read(self) -> AccessKind {
        self.scope().map_or(AccessKind::ReadOnly, |_| AccessKind::Read)
    }

    /// The kind of a strong read.
    pub(super) fn strong_read(self) -> AccessKind {
        self.scope().map_or(AccessKind::VolatileRead, AccessKind::AtomicRead)
    }

    /// The kind of a strong write.
    pub(super) fn strong_write(self) -> AccessKind {
        self.scope().map_or(AccessKind::VolatileWrite, AccessKind::AtomicWrite)
    }

    /// The same plain write, marked: it left the value that memory had before the launch.
    pub(super) fn silent(self) -> Self {
        Self { tagged: self.tagged | VOLATILE << 30, ..self }
    }

    pub(super) fn is_silent(self) -> bool {
        self.scope().is_none()
    }

    fn scope(self) -> Option<Scope> {
        Scope::ALL.get((self.tagged >> 30) as usize).copied()
    }

    /// Whether both accesses have the same scope, or are both volatile.
    pub(super) fn has_tag_of(self, other: Self) -> bool {
        self.tagged >> 30 == other.tagged >> 30
    }

    /// Whether lanes of one warp made both accesses in the same phase with the same instruction.
    pub(super) fn is_beside(self, other: Self) -> bool {
        self.epoch.get() >> 5 == other.epoch.get() >> 5 && self.tagged == other.tagged
    }

    /// The lane that made the access.
    pub(super) fn lane(self) -> u32 {
        self.epoch.get() & 31
    }

    /// The same access by another lane.
    pub(super) fn of_lane(self, lane: u32) -> Self {
        Self { epoch: with_lane(self.epoch, lane), ..self }
    }
}
