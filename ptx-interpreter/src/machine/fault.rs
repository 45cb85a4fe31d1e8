//! What a kernel can do wrong.

use std::fmt;
use std::sync::Arc;

use cuda_std::Dim3;
pub use cuda_std::simulator::Access;
use thiserror::Error;

use crate::memory::AccessError;
use crate::program::Place;

/// What a kernel did wrong, who did it and where.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("kernel {kernel}, block {block}, thread {thread}, {place}: {kind}")]
pub struct Fault {
    /// The kernel's name.
    pub kernel: Arc<str>,
    /// The block.
    pub block: Dim3,
    /// The thread in its block; of several, that of the lowest lane.
    pub thread: Dim3,
    /// The instruction.
    pub place: Place,
    /// What it was.
    pub kind: FaultKind,
}

/// The kinds of wrong that the interpreter finds.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FaultKind {
    /// An access of memory that is not there, not aligned, not written or not writable.
    #[error("{access} {error}")]
    Access {
        /// What the thread does.
        access: Access,
        /// What is wrong with it.
        error: AccessError,
    },
    /// Two accesses whose order is left to chance, one of which writes.
    #[error(
        "race: {access} {bytes} bytes at {address:#x} of {memory}, which block {other_block}, thread {other_thread} {other_access} at {other_place}"
    )]
    Race {
        /// The address within the space.
        address: u64,
        /// The size of the access.
        bytes: usize,
        /// What it is in.
        memory: String,
        /// What the thread does.
        access: Access,
        /// What the other thread did.
        other_access: Access,
        /// The other thread's block.
        other_block: Dim3,
        /// The other thread.
        other_thread: Dim3,
        /// Where it did it.
        other_place: Box<Place>,
    },
    /// Two plain writes of the same value to the same bytes, whose order is left to chance. A fault only if
    /// [`Options::same_value_races_are_faults`](crate::Options::same_value_races_are_faults).
    #[error(
        "same-value race: writes {bytes} bytes at {address:#x} of {memory}, which block {other_block}, thread {other_thread} writes at {other_place} with the same value"
    )]
    SameValueRace {
        /// The address within the space.
        address: u64,
        /// The size of the access.
        bytes: usize,
        /// What it is in.
        memory: String,
        /// The other thread's block.
        other_block: Dim3,
        /// The other thread.
        other_thread: Dim3,
        /// Where it did it.
        other_place: Box<Place>,
    },
    /// A barrier that not all threads reach.
    #[error("barrier divergence: {waiting} threads wait at a barrier, {exited} have left the kernel{}", At(.other_place))]
    BarrierDivergence {
        /// Threads that wait at any barrier.
        waiting: usize,
        /// Threads that have left the kernel.
        exited: usize,
        /// Another barrier at which a thread waits instead.
        other_place: Option<Box<Place>>,
    },
    /// A barrier's number or count that cannot be.
    #[error("barrier {number} with {count} threads: there are barriers 0 to 15, for whole warps")]
    BarrierOperands {
        /// The barrier.
        number: u64,
        /// The number of threads.
        count: u64,
    },
    /// Lanes of one barrier instruction that name different barriers or counts.
    #[error("the lanes of a warp come to one barrier instruction with different numbers or counts")]
    DifferentBarriers,
    /// An operation of a warp that not all of its members reach.
    #[error("lanes missing from a warp's operation: {missing:#034b} of {expected:#034b}")]
    MissingLanes {
        /// The lanes that should take part: bit i is lane i.
        expected: u32,
        /// Those that do not come.
        missing: u32,
    },
    /// An operation of a warp by a lane that its own member mask leaves out.
    #[error("the lane takes part in a warp's operation whose members {members:#034b} leave it out")]
    NotAMember {
        /// The mask.
        members: u32,
    },
    /// Lanes of one operation that name different members.
    #[error("the lanes of a warp's operation name different members: {first:#034b} and {other:#034b}")]
    DifferentMembers {
        /// One mask.
        first: u32,
        /// Another.
        other: u32,
    },
    /// A shuffle from a lane that takes no part.
    #[error("shuffle from lane {lane}, which takes no part in it")]
    NoSuchLane {
        /// The lane asked for.
        lane: u32,
    },
    /// An index beyond a branch table.
    #[error("index {index} of a branch table with {length} entries")]
    BranchTable {
        /// The index.
        index: u64,
        /// The table's length.
        length: usize,
    },
    /// A trap: in Rust, a panic.
    #[error("trap")]
    Trap,
    /// The kernel does not end.
    #[error("a block has executed {instructions} instructions of its warps and has not ended")]
    Endless {
        /// How many.
        instructions: u64,
    },
}

/// " at place", or nothing.
struct At<'a>(&'a Option<Box<Place>>);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |place| write!(f, ", others wait at {place}"))
    }
}
