//! Accesses, and the executions of threads that make them.

use std::num::NonZero;

/// The threads for which a strong access or a fence holds (PTX ISA, Memory Consistency Model, Scope). `sys` is as `gpu`: there
/// is one device.
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
    /// All scopes, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Block, Self::Cluster, Self::Device];
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A plain load.
    Read,
    /// A load through the cache for memory that no thread writes while the kernel runs (`ld.global.nc`).
    ReadOnly,
    /// A plain store.
    Write,
    /// A volatile load.
    VolatileRead,
    /// A volatile store. PTX gives it the strength of a relaxed one, but a language that has volatile accesses makes none of them
    /// atomic: those of several threads are not ordered by chance.
    VolatileWrite,
    /// A relaxed or acquire load.
    AtomicRead(Scope),
    /// An atomic operation, or a relaxed or release store.
    AtomicWrite(Scope),
}

impl AccessKind {
    /// Whether two unordered accesses to the same bytes are a race, if `distance` is the narrowest scope with both threads: at least
    /// one writes, and one is plain, or has a scope without the other thread (they are not morally strong), or both are volatile
    /// stores.
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

    /// The scope of a strong access; None for a plain one.
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

/// What a lane does by one instruction.
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

/// What lanes of a warp do by one instruction, each at an address of its own.
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

/// How a strong read observes what was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The scope of the read.
    pub scope: Scope,
    /// Whether it has acquire semantics; otherwise the thread's next fence has.
    pub acquires: bool,
    /// Whether it is an atomic operation that counts, as those do by which a block finds that it is the last.
    pub counts: bool,
}

/// How a strong write publishes what happens before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publication {
    /// The scope of the write.
    pub scope: Scope,
    /// Whether it has release semantics: it publishes the thread's accesses up to now, otherwise those up to its last fence.
    pub releases: bool,
    /// Whether it is an atomic operation, which continues a release sequence. A store begins another one.
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

/// The number of the first agent that makes asynchronous accesses, above those of all blocks.
pub(super) const FIRST_AGENT: u32 = 1 << 31;

/// A warp's execution between two synchronisations. The counts only increase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The number of the block, or of the agent that makes its asynchronous stores for an mbarrier.
    pub block: u32,
    /// The number of the warp in its block.
    pub warp: u32,
    /// Number of barriers that the block has passed, or of phases that the agent's mbarrier has completed.
    pub barriers: u32,
    /// Number of `bar.warp.sync`s that the warp has passed.
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
    /// Bit i is lane i.
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
    /// The same of another lane.
    pub(super) fn of_lane(self, lane: u32) -> Self {
        Self { lane, number: with_lane(self.number, lane), ..self }
    }
}

/// The number of the thread epoch of a lane in the phase of another one's.
fn with_lane(number: NonZero<u32>, lane: u32) -> NonZero<u32> {
    NonZero::new(number.get() & !31 | lane).unwrap_or(number)
}

/// An access, in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The number of a thread epoch, see `HappensBefore::epoch_of`.
    pub(super) epoch: NonZero<u32>,
    /// The number of the instruction, and above it the scope, or that the access is volatile.
    tagged: u32,
}

/// The highest number of an instruction that a record has.
const MAX_INSTRUCTION: u32 = (1 << 30) - 1;
/// The tag of a volatile access, and of a read-only or a silent one among the plain ones.
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

    /// Whether lanes of one warp made both accesses in the same phase by the same instruction.
    pub(super) fn is_beside(self, other: Self) -> bool {
        self.epoch.get() >> 5 == other.epoch.get() >> 5 && self.tagged == other.tagged
    }

    /// The lane that made the access.
    pub(super) fn lane(self) -> u32 {
        self.epoch.get() & 31
    }

    /// The same access of another lane.
    pub(super) fn of_lane(self, lane: u32) -> Self {
        Self { epoch: with_lane(self.epoch, lane), ..self }
    }
}
