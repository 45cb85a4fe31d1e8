//! Faults: errors of a kernel that the interpreter detects.

use std::fmt;
use std::sync::Arc;

pub use cuda_launch::Access;
use cuda_launch::{Dim3, MbarrierError, Overflow, Schedule, words};
use thiserror::Error;

use super::products::WgmmaError;
use crate::limits::STACK_BYTES;
use crate::memory::races::Scope;
use crate::memory::{AccessError, Accessed, BadFree, Extent, TensorMapError};
use crate::program::Place;
use crate::program::instruction::MBARRIER_BYTES;
use crate::syntax::printable;

/// A kernel's error, with the thread and the instruction.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{}: {kind}{}{}{}",
    words::thread_at(kernel, *.block, *.thread, place), In(.source_line), schedule.in_message(), InAll(*.count)
)]
pub struct Fault {
    /// The kernel's name.
    pub kernel: Arc<str>,
    /// Index of the block in the grid.
    pub block: Dim3,
    /// Index of the thread in its block. If several lanes are at fault, the lowest one.
    pub thread: Dim3,
    /// Index of the instruction in the kernel.
    pub pc: usize,
    /// Location of the instruction.
    pub place: Place,
    /// The kind of error, with its details.
    pub kind: FaultKind,
    /// Number of faults at this line after which the launch continued, including this first one.
    /// For a note, counts notes of its kind at the same line; for a race, with the same other line
    /// too. Without source lines, counts by instruction instead of line.
    pub count: u64,
    /// The first faults at other lines, later in the launch. See
    /// [`Options::max_faults`](crate::Options::max_faults).
    pub others: Vec<Self>,
    /// For the first fault, the launch's notes: findings that stricter options would report as
    /// faults, in the order of the PTX.
    pub notes: Vec<Self>,
    /// The schedule of the launch.
    pub schedule: Schedule,
    /// Text of the source line, if the caller has added it. The interpreter reads no files.
    pub source_line: Option<Arc<str>>,
}

impl Fault {
    /// Sets the buffer's name for an index out of bounds, here and in the other faults. `name_of`
    /// maps the number of the parameter with the buffer's address to the name.
    pub fn set_buffer_names(&mut self, name_of: &dyn Fn(usize) -> Option<Arc<str>>) {
        if let FaultKind::OutOfBounds { memory, .. } | FaultKind::Range { memory, .. } = &mut self.kind
            && let Indexed::Buffer { parameter: Some(number), name } = memory
        {
            *name = name_of(*number).or(name.take());
        }
        self.others.iter_mut().chain(&mut self.notes).for_each(|fault| fault.set_buffer_names(name_of));
    }

    /// Sets the text of the source line: the inlined function's, otherwise the call's, whichever
    /// file `text_of` knows.
    pub fn set_source_line(&mut self, text_of: impl Fn(&str) -> Option<String>) {
        let Some(source) = &self.place.source else { return };
        let mut places = std::iter::once(source).chain(source.inlined_at.as_deref());
        self.source_line = places.find_map(|place| place.line_of(&text_of(&place.file)?));
    }
}

/// The kinds of errors that the interpreter detects.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FaultKind {
    /// An access out of bounds, misaligned, to uninitialized memory or to read-only memory.
    #[error("{access} {error}")]
    Access {
        /// The thread's access.
        access: Access,
        /// The reason why it is an error.
        error: AccessError,
    },
    /// Two unordered accesses to the same bytes, at least one of which writes.
    #[error(
        "race: {} at {other_place}{}",
        words::both_access(
            *.access, Accessed(memory, *address, *bytes), *.other_access, *.other_block, *.other_thread
        ),
        Because(.reason)
    )]
    Race {
        /// Address within the state space.
        address: u64,
        /// Size of the access in bytes.
        bytes: usize,
        /// The allocation or variable.
        memory: Box<Extent>,
        /// The thread's access.
        access: Access,
        /// The other thread's access.
        other_access: Access,
        /// The reason why it is a race although both accesses are strong.
        reason: Option<RaceReason>,
        /// Index of the other thread's block.
        other_block: Dim3,
        /// Index of the other thread in its block.
        other_thread: Dim3,
        /// Location of the other thread's instruction.
        other_place: Box<Place>,
    },
    /// Two unordered plain writes of the same value to the same bytes, or a read and a write of the
    /// value that the bytes already hold. A fault only if
    /// [`Options::same_value_races_are_faults`](crate::Options::same_value_races_are_faults) is
    /// set.
    #[error(
        "same-value race: {} at {other_place}{}",
        words::both_access(
            *.access, Accessed(memory, *address, *bytes), *.other_access, *.other_block, *.other_thread
        ),
        if *.other_access == Access::Read { "; the write leaves the same value" } else { " with the same value" }
    )]
    SameValueRace {
        /// The thread's access.
        access: Access,
        /// The other thread's access.
        other_access: Access,
        /// Address within the state space.
        address: u64,
        /// Size of the access in bytes.
        bytes: usize,
        /// The allocation or variable.
        memory: Box<Extent>,
        /// Index of the other thread's block.
        other_block: Dim3,
        /// Index of the other thread in its block.
        other_thread: Dim3,
        /// Location of the other thread's instruction.
        other_place: Box<Place>,
    },
    /// A barrier that not all threads of the block reach.
    #[error(
        "barrier divergence: {waiting} of {} {} at this barrier{}{}{}",
        cuda_launch::counted(*.threads, "thread"), if *.waiting == 1 { "waits" } else { "wait" }, Elsewhere(.elsewhere),
        Others(*.running, ["still runs", "still run"]), Others(*.exited, ["has exited the kernel", "have exited the kernel"])
    )]
    BarrierDivergence {
        /// Number of threads that wait at the barrier.
        waiting: usize,
        /// Number of threads that the barrier waits for.
        threads: usize,
        /// Number of threads of the block that have exited the kernel.
        exited: usize,
        /// Another barrier at which threads wait when these arrive.
        other_place: Option<Box<Place>>,
        /// Other places where threads of the block wait, with their number, largest first.
        elsewhere: Vec<(usize, Place)>,
        /// Number of threads that do not wait.
        running: usize,
    },
    /// An aligned barrier reached by some lanes of a warp after the others have exited. Never a
    /// fault: under strict [`Options`](crate::Options) it is
    /// [`BarrierDivergence`](Self::BarrierDivergence), otherwise a note.
    #[error(
        "barrier of some lanes: lanes {exited:#034b} of the warp have exited. PTX asks that all lanes of a warp execute an aligned \
         barrier; GPUs since sm_70 do not wait for those that have exited"
    )]
    BarrierOfSomeLanes {
        /// The lanes that have exited: bit i is lane i.
        exited: u32,
    },
    /// Barrier 0 reached by warps at different instructions. Never a fault, like
    /// [`BarrierOfSomeLanes`](Self::BarrierOfSomeLanes).
    #[error(
        "barrier in two arms: other warps wait at barrier 0 at {other_place}. Right by PTX, where a barrier is known by its number; \
         undefined in CUDA C, where all threads of a block reach the same __syncthreads()"
    )]
    BarrierInTwoArms {
        /// The other instruction.
        other_place: Box<Place>,
    },
    /// A barrier number or thread count out of range.
    #[error(
        "barrier {number} for {count} threads: the number must be 0 to 15, the count a positive multiple of 32 within the block"
    )]
    BarrierOperands {
        /// The barrier's number.
        number: u64,
        /// The number of threads that the barrier waits for.
        count: u64,
    },
    /// Lanes of one barrier instruction pass different barrier numbers or thread counts.
    #[error("the lanes of a warp pass different barrier numbers or thread counts to one barrier instruction")]
    DifferentBarriers,
    /// A cluster barrier that not all threads of the cluster's blocks reach.
    #[error(
        "cluster barrier divergence: of {} in the cluster, {} arrived at the barrier; {} exited the kernel",
        cuda_launch::counted(*.threads, "thread"), cuda_launch::having(*.arrived), cuda_launch::having(*.exited)
    )]
    ClusterBarrierDivergence {
        /// Threads that have arrived.
        arrived: usize,
        /// Threads of the cluster.
        threads: usize,
        /// Threads that have exited the kernel.
        exited: usize,
    },
    /// `barrier.cluster.arrive` and `barrier.cluster.wait` that do not alternate.
    #[error("the thread {} the cluster's barrier {}", if *.waits { "waits at" } else { "arrives at" }, if *.waits { "before it arrives" } else { "twice before it waits" })]
    ClusterBarrierOrder {
        /// Whether the thread waits; otherwise it arrives.
        waits: bool,
    },
    /// An access to the shared memory of a block that the cluster does not have.
    #[error("{access} shared memory of block {rank} of a cluster of {blocks}")]
    NoSuchBlock {
        /// The thread's access.
        access: Access,
        /// The block's index in the cluster.
        rank: u32,
        /// Blocks of the cluster.
        blocks: u32,
    },
    /// An access to the shared memory of another block before the first barrier of the cluster.
    /// That block may not have started yet.
    #[error(
        "{access} shared memory of block {rank} of the cluster, which may not have started: no cluster barrier is before the access"
    )]
    BlockNotStarted {
        /// The thread's access.
        access: Access,
        /// The block's index in the cluster.
        rank: u32,
    },
    /// An access to the shared memory of a block that has ended.
    #[error(
        "{access} shared memory of block {rank} of the cluster, which has ended: no cluster barrier is after the access"
    )]
    BlockEnded {
        /// The thread's access.
        access: Access,
        /// The block's index in the cluster.
        rank: u32,
    },
    /// A warp-level operation that not all of its member lanes reach.
    #[error("lanes missing from a warp-level operation: {missing:#034b} of {expected:#034b}")]
    MissingLanes {
        /// The member lanes: bit i is lane i.
        expected: u32,
        /// The members that do not arrive.
        missing: u32,
    },
    /// A warp-level operation executed by a lane that is not in its own member mask.
    #[error("the lane executes a warp-level operation whose member mask {members:#034b} excludes it")]
    NotAMember {
        /// The member mask.
        members: u32,
    },
    /// Lanes of one warp-level operation pass different member masks, and one mask names a lane
    /// that passes another mask.
    #[error("the lanes of a warp pass different member masks to one operation: {first:#034b} and {other:#034b}")]
    DifferentMembers {
        /// The lowest lane's mask.
        first: u32,
        /// A different one.
        other: u32,
    },
    /// A shuffle from a lane that does not participate.
    #[error("shuffle from lane {lane}, which does not participate in it")]
    NoSuchLane {
        /// The source lane.
        lane: u32,
    },
    /// An index beyond the end of a branch table.
    #[error("index {index} is out of bounds for a branch table of {length} entries")]
    BranchTable {
        /// The index of the branch.
        index: u64,
        /// The table's number of entries.
        length: usize,
    },
    /// A call through a pointer that is not the address of a function that the call may reach.
    #[error("calls through the pointer {address:#x}, which is the address of no function with these parameters")]
    NoFunction {
        /// The pointer.
        address: u64,
    },
    /// A `trap`: in Rust kernels, a panic.
    #[error("trap: the kernel panics")]
    Trap,
    /// A `trap` of a Rust kernel because of an index out of bounds.
    #[error("{}", IndexOutOfBounds(memory, *bounds))]
    OutOfBounds {
        /// The memory that the index is outside of.
        memory: Indexed,
        /// The index and the memory's number of elements, if registers still hold them.
        bounds: Option<(u64, u64)>,
    },
    /// A `trap` of a Rust kernel because of a slice range that starts after its end, or ends after
    /// the buffer's end.
    #[error("{}", words::wrong_range(*.start, *.end, memory, *.length))]
    Range {
        /// The buffer.
        memory: Indexed,
        /// The first index.
        start: u64,
        /// The index after the last.
        end: u64,
        /// The buffer's number of elements.
        length: u64,
    },
    /// A call for which a thread's stack has no room. The function recurses too deeply, directly or
    /// indirectly.
    #[error("a call of `{function}` exceeds the {} KiB of the thread's stack: do its calls of itself end?", STACK_BYTES >> 10)]
    Recursion {
        /// The function's name in the PTX.
        function: String,
    },
    /// A call to `__assertfail`: in CUDA C, a failed `assert`.
    #[error("assertion failed{}", AssertedAt { message, file, line: *line })]
    AssertionFailed {
        /// The condition's text; empty if the kernel passes none.
        message: String,
        /// The source file; empty if the kernel passes none.
        file: String,
        /// The line.
        line: u32,
    },
    /// A call to `free` with a pointer that `malloc` has not returned or that has already been
    /// freed.
    #[error("free of {address:#x}, {why}")]
    BadFree {
        /// The address in global memory.
        address: u64,
        /// The reason why the call is wrong.
        why: BadFree,
    },
    /// An integer overflow in a Rust kernel compiled with overflow checks.
    #[error("{_0}")]
    Overflow(Overflow),
    /// A panic of a Rust kernel, such as a failed `assert!`.
    #[error("panic: {message}")]
    Panic {
        /// The panic's message.
        message: String,
    },
    /// A loop that reads memory until it changes, while no runnable thread changes it.
    #[error("waits forever: no thread that has started changes {}, which the thread {access} in a loop{unstarted}", Accessed(memory, *address, *bytes))]
    WaitsForever {
        /// Address within the state space.
        address: u64,
        /// Size of the access in bytes.
        bytes: usize,
        /// The allocation or variable.
        memory: Box<Extent>,
        /// Kind of the read.
        access: Access,
        /// The blocks that have not started.
        unstarted: Unstarted,
    },
    /// A wait for a phase of an mbarrier, while no runnable thread completes it.
    #[error(
        "waits forever: no thread that has started completes the phase of the mbarrier {}, {}",
        Accessed(memory, *address, MBARRIER_BYTES), words::still_expects(*.arrivals, *.bytes)
    )]
    PhaseNeverEnds {
        /// Arrivals that the phase still expects.
        arrivals: u32,
        /// Bytes that the phase still expects. Negative if too many have arrived.
        bytes: i32,
        /// Address within the state space.
        address: u64,
        /// The variable.
        memory: Box<Extent>,
    },
    /// Incorrect use of an mbarrier.
    #[error("{error}: {}", Accessed(memory, *address, MBARRIER_BYTES))]
    Mbarrier {
        /// The mistake.
        error: MbarrierError,
        /// Address within the state space.
        address: u64,
        /// The variable.
        memory: Box<Extent>,
    },
    /// An asynchronous store to one block with an mbarrier of another block.
    #[error("an asynchronous store to the shared memory of one block, with an mbarrier in that of another")]
    StoreAsyncBlocks,
    /// A bulk copy of a size that the hardware cannot copy.
    #[error("a bulk copy of {bytes} bytes: their number has to be a multiple of 16")]
    BulkSize {
        /// The size.
        bytes: u32,
    },
    /// An invalid warpgroup matrix product, or incorrect use of one.
    #[error("{error}")]
    Wgmma {
        /// The mistake.
        error: WgmmaError,
    },
    /// A tensor copy without a suitable tensor map.
    #[error("{error}")]
    TensorMap {
        /// The mistake.
        error: TensorMapError,
    },
    /// A loop in which nothing changes and that reads no memory that another thread could change.
    #[error("the kernel does not end: nothing changes in the loop around this line. Correct its condition")]
    EndlessLoop,
    /// A block that issued more instructions than
    /// [`Options::block_instructions`](crate::Options::block_instructions).
    #[error(
        "{}",
        words::endless(
            format_args!("the warps of the block have issued {instructions} instructions"),
            "Options::block_instructions"
        )
    )]
    Endless {
        /// The instructions that its warps have issued.
        instructions: u64,
    },
    /// A block that issued more instructions than
    /// [`Options::instructions_without_progress`](crate::Options::instructions_without_progress)
    /// without a store, a barrier or an end.
    #[error(
        "{}",
        words::endless(
            format_args!(
                "the warps of the block have issued {instructions} instructions without a store that other threads see, a \
                 barrier or an end"
            ),
            "Options::instructions_without_progress"
        )
    )]
    NoProgress {
        /// Number of instructions that its warps have issued since then.
        instructions: u64,
    },
}

/// The memory of an index out of bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indexed {
    /// A buffer, or a part of one.
    Buffer {
        /// The number, from 0, of the PTX parameter that holds its address, if known.
        parameter: Option<usize>,
        /// The buffer's name, if known.
        name: Option<Arc<str>>,
    },
    /// An array in shared memory.
    SharedArray,
}

impl fmt::Display for Indexed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer { name: Some(name), .. } => write!(f, "`{}`", printable(name)),
            Self::Buffer { name: None, .. } => f.write_str("a buffer"),
            Self::SharedArray => f.write_str("the shared array"),
        }
    }
}

/// Displays an index out of bounds.
struct IndexOutOfBounds<'a>(&'a Indexed, Option<(u64, u64)>);

impl fmt::Display for IndexOutOfBounds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(memory, bounds) = self;
        match bounds {
            Some((index, length)) => write!(f, "{}", words::outside(*index, memory, *length)),
            None => write!(f, "an index is outside of {memory}"),
        }
    }
}

/// Blocks of a launch that have not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unstarted {
    /// The number of the first unstarted block, provided that no later block has started.
    pub first: Option<u64>,
    /// Number of unstarted blocks.
    pub count: u64,
}

impl fmt::Display for Unstarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { count: 0, .. } => return Ok(()),
            Self { first: Some(first), count: 1 } => write!(f, "; block {first} has not started")?,
            Self { first: Some(first), count } => {
                write!(f, "; blocks {first} to {} have not started", first + count - 1)?;
            }
            Self { first: None, count } => {
                let blocks = cuda_launch::counted(count as usize, "block");
                write!(f, "; {blocks} {} not started", if count == 1 { "has" } else { "have" })?;
            }
        }
        f.write_str(": a block may wait for later ones only in a cooperative launch, which starts all")
    }
}

/// The reason why two accesses race although both synchronize threads, or although one happens
/// before the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceReason {
    /// Both are atomic, but overlap only partially.
    Size,
    /// One is a read-only load, which may miss earlier writes of the same launch.
    ReadOnly,
    /// The other belongs to an asynchronous copy that has not been waited for.
    InFlight,
    /// The scope of one access does not include the other thread.
    Scope(Scope),
    /// Both are volatile stores, which are not atomic.
    Volatile,
    /// The reading thread learned of the write through an atomic counter, but there is no fence
    /// after the counter.
    MissingFence,
}

/// ": REASON", or nothing.
struct Because<'a>(&'a Option<RaceReason>);

impl fmt::Display for Because<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(RaceReason::Size) => f.write_str(": atomic accesses of different sizes are not atomic to each other"),
            Some(RaceReason::ReadOnly) => f.write_str(": a read-only load needs memory that the kernel does not write"),
            Some(RaceReason::InFlight) => f.write_str(": the asynchronous copy has not been waited for"),
            Some(RaceReason::MissingFence) => f.write_str(
                ": a fence (`__threadfence()`) is missing behind the atomic operation that told the thread, or its block, of the write",
            ),
            Some(RaceReason::Volatile) => f.write_str(": a volatile access is not atomic"),
            Some(RaceReason::Scope(Scope::Block)) => f.write_str(": the scope of an atomic access is its block (cta)"),
            Some(RaceReason::Scope(_)) => f.write_str(": the scope of an atomic access is its cluster"),
        }
    }
}

impl Fault {
    /// All faults of the launch, this one first, and its notes.
    pub fn into_all(mut self) -> (Vec<Self>, Vec<Self>) {
        let (others, notes) = (std::mem::take(&mut self.others), std::mem::take(&mut self.notes));
        ([vec![self], others].concat(), notes)
    }

    /// Whether both are at the same source line, or at the same PTX line if the source is unknown.
    pub(super) fn is_at_line_of(&self, other: &Self) -> bool {
        self.place.is_at_line_of(&other.place)
    }

    /// Whether both are at the same line, or are races between the same pair of lines.
    pub(super) fn is_known_as(&self, known: &Self) -> bool {
        let is_race = |fault: &Self| matches!(fault.kind, FaultKind::Race { .. });
        let is_same_pair =
            || is_race(self) && is_race(known) && self.is_race_at(&known.place) && known.is_race_at(&self.place);
        self.is_at_line_of(known) || is_same_pair()
    }

    /// Whether it is a race with an access at this line.
    pub(super) fn is_race_at(&self, place: &Place) -> bool {
        match &self.kind {
            FaultKind::Race { other_place, .. } => self.place.is_at_line_of(place) || other_place.is_at_line_of(place),
            _ => false,
        }
    }

    /// Whether a fault from another schedule is the same error: same kind and same instruction. For
    /// a race, either of its two instructions may match.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let places = |fault: &Self| {
            let other_line = match &fault.kind {
                FaultKind::Race { other_place, .. } | FaultKind::SameValueRace { other_place, .. } => other_place.line,
                _ => fault.place.line,
            };
            (fault.place.line.min(other_line), fault.place.line.max(other_line))
        };
        std::mem::discriminant(&self.kind) == std::mem::discriminant(&other.kind) && places(self) == places(other)
    }
}

impl FaultKind {
    /// The divergence of a barrier for this many threads, before the threads' positions are known.
    pub(super) fn barrier_divergence(threads: usize, other_place: Option<Box<Place>>) -> Self {
        Self::BarrierDivergence { waiting: 0, threads, exited: 0, other_place, elsewhere: Vec::new(), running: 0 }
    }

    /// The place of a race's other thread, or of other waiting threads.
    pub fn other_place(&self) -> Option<&Place> {
        match self {
            Self::Race { other_place, .. }
            | Self::SameValueRace { other_place, .. }
            | Self::BarrierInTwoArms { other_place }
            | Self::Wgmma { error: WgmmaError::NotWaitedFor { place: other_place } } => Some(other_place),
            Self::BarrierDivergence { other_place, elsewhere, .. } => {
                other_place.as_deref().or_else(|| elsewhere.first().map(|(_, place)| place))
            }
            _ => None,
        }
    }

    /// The memory that the message refers to, if any. A caller that knows a better name than the
    /// PTX's, or the size of an element, may set them.
    pub fn memory_mut(&mut self) -> Option<&mut Extent> {
        match self {
            Self::Race { memory, .. }
            | Self::SameValueRace { memory, .. }
            | Self::WaitsForever { memory, .. }
            | Self::PhaseNeverEnds { memory, .. }
            | Self::Mbarrier { memory, .. } => Some(memory.as_mut()),
            Self::Access { error: AccessError::OutOfBounds { nearest: memory, .. }, .. }
            | Self::Access { error: AccessError::Uninitialised { place: memory, .. }, .. } => Some(memory),
            _ => None,
        }
    }
}

/// ", in `TEXT`", or nothing.
struct In<'a>(&'a Option<Arc<str>>);

impl fmt::Display for In<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |text| write!(f, ", in `{}`", printable(text)))
    }
}

/// "; 3 in all", or nothing.
struct InAll(u64);

impl fmt::Display for InAll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 1 { write!(f, "; {} in all", self.0) } else { Ok(()) }
    }
}

/// "; 28 are at …" for each place.
struct Elsewhere<'a>(&'a [(usize, Place)]);

impl fmt::Display for Elsewhere<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut places = self.0.iter();
        places
            .try_for_each(|(count, place)| write!(f, "; {count} {} at {place}", if *count == 1 { "is" } else { "are" }))
    }
}

/// "; 4 have exited the kernel", with the verb in singular or plural, or nothing.
struct Others(usize, [&'static str; 2]);

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(0, _) => Ok(()),
            Self(count, [one, several]) => write!(f, "; {count} {}", if *count == 1 { one } else { several }),
        }
    }
}

/// ": CONDITION, FILE:LINE", as far as known.
struct AssertedAt<'a> {
    message: &'a str,
    file: &'a str,
    line: u32,
}

impl fmt::Display for AssertedAt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.message.is_empty() {
            write!(f, ": {}", printable(self.message))?;
        }
        if self.file.is_empty() { Ok(()) } else { write!(f, ", {}:{}", printable(self.file), self.line) }
    }
}

/// A lane's fault, before `Context::fault` adds the kernel, the block and the instruction.
pub(super) struct Failure {
    /// The lane. `None` for the lowest active one.
    pub(super) lane: Option<u32>,
    /// The instruction and lane that the fault names, if they differ: the load of an uninitialized
    /// value.
    pub(super) origin: Option<(usize, u32)>,
    pub(super) kind: FaultKind,
}

impl Failure {
    #[cold]
    pub(super) fn at(lane: usize, kind: FaultKind) -> Self {
        Self { lane: Some(lane as u32), origin: None, kind }
    }
}

impl From<FaultKind> for Failure {
    fn from(kind: FaultKind) -> Self {
        Self { lane: None, origin: None, kind }
    }
}
