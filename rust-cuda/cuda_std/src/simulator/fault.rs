//! The faults that the simulator detects in a kernel.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Once;

use thiserror::Error;

use crate::{Dim3, Element, Schedule};
pub use cuda_launch::Access;
use cuda_launch::{MbarrierError, Overflow, words};

/// A bug in a kernel, with the thread and the source line where it was detected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}: {kind}{}", words::thread_at(kernel, *.block, *.thread, location), schedule.in_message())]
pub struct Fault {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The block's index in the grid.
    pub block: Dim3,
    /// The thread's index in its block.
    pub thread: Dim3,
    /// The location in the kernel's source.
    pub location: SourceLocation,
    /// The kind of fault.
    pub kind: FaultKind,
    /// The order in which threads ran.
    pub schedule: Schedule,
}

impl Fault {
    /// Whether another order of execution shows the same fault: of the same kind at the same line, and for a race at either of its two.
    pub fn is_same_as(&self, other: &Self) -> bool {
        fn places(fault: &Fault) -> (u32, u32) {
            let line = fault.location.line;
            let other_line = match &fault.kind {
                FaultKind::Race { other_location: Some(other), .. } => other.line,
                _ => line,
            };
            (line.min(other_line), line.max(other_line))
        }
        std::mem::discriminant(&self.kind) == std::mem::discriminant(&other.kind) && places(self) == places(other)
    }
}

/// A location in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The path of the file as the compiler got it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl From<&Location<'_>> for SourceLocation {
    fn from(location: &Location<'_>) -> Self {
        Self { file: location.file().to_owned(), line: location.line(), column: location.column() }
    }
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The buffer or array of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The buffer of the kernel parameter of this name.
    Global(&'static str),
    /// An array in shared memory.
    Shared,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global(parameter) => write!(f, "`{parameter}`"),
            Self::Shared => write!(f, "the shared array"),
        }
    }
}

/// The kinds of faults that the simulator detects.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FaultKind {
    /// An index outside of a buffer or an array.
    #[error("{}", words::outside(*.index as u64, place, *.length as u64))]
    OutOfBounds {
        /// The memory.
        place: Place,
        /// The index.
        index: usize,
        /// The number of elements.
        length: usize,
    },
    /// A range of indices whose start is beyond its end, or whose end is beyond the end of a buffer.
    #[error("{}", words::wrong_range(*.start as u64, *.end as u64, place, *.length as u64))]
    Range {
        /// The memory.
        place: Place,
        /// The first index.
        start: usize,
        /// The index after the last.
        end: usize,
        /// The number of elements.
        length: usize,
    },
    /// A load or store of several elements that does not begin at a multiple of their number.
    #[error(
        "an access to {elements} elements of {place} begins at element {index}, which is no multiple of {elements}"
    )]
    Misaligned {
        /// The memory.
        place: Place,
        /// The index.
        index: usize,
        /// The number of elements.
        elements: usize,
    },
    /// A read of an uninitialised element.
    #[error("element {index} of {place} is read before it is written")]
    Unwritten {
        /// The memory.
        place: Place,
        /// The element.
        index: usize,
    },
    /// Two unordered accesses to an element, at least one of which writes.
    #[error(
        "race: {}{}",
        words::both_access(*.access, format_args!("element {index} of {place}"), *.other_access, *.other_block, *.other_thread),
        At(.other_location)
    )]
    Race {
        /// The memory.
        place: Place,
        /// The element.
        index: usize,
        /// The thread's access.
        access: Access,
        /// The other thread's earlier access.
        other_access: Access,
        /// The other thread's block.
        other_block: Dim3,
        /// The other thread's index in its block.
        other_thread: Dim3,
        /// The location of the other access; None for reads, whose location is not recorded.
        other_location: Option<SourceLocation>,
    },
    /// A barrier that not all threads of the block reach.
    #[error(
        "barrier divergence: {} at a barrier, {} left the kernel{}",
        cuda_launch::waiting(*.waiting, "thread"), cuda_launch::having(*.exited), At(.other_location)
    )]
    BarrierDivergence {
        /// Threads that wait at any barrier.
        waiting: usize,
        /// Threads that have exited the kernel.
        exited: usize,
        /// Another barrier at which a thread waits.
        other_location: Option<SourceLocation>,
    },
    /// A grid barrier in a launch that is not cooperative: its blocks need not be resident at once.
    #[error(
        "grid::sync in a launch that is not cooperative: a GPU may wait for ever; \
         launch with LaunchConfig::cooperative()"
    )]
    NotCooperative,
    /// A grid barrier that not all blocks reach.
    #[error(
        "grid barrier divergence: {} at a grid::sync, {} left the kernel{}",
        cuda_launch::waiting(*.waiting, "block"), cuda_launch::having(*.exited), Another(.other_location)
    )]
    GridDivergence {
        /// Blocks whose threads all wait at a `grid::sync`.
        waiting: usize,
        /// Blocks whose threads have all exited the kernel.
        exited: usize,
        /// Another `grid::sync`, at which an earlier block waits.
        other_location: Option<SourceLocation>,
    },
    /// A barrier of a cluster that not all its blocks reach.
    #[error(
        "cluster barrier divergence: {} at a cluster::sync, {} left the kernel{}",
        cuda_launch::waiting(*.waiting, "block"), cuda_launch::having(*.exited), Another(.other_location)
    )]
    ClusterDivergence {
        /// Blocks of the cluster whose threads all wait at a `cluster::sync`.
        waiting: usize,
        /// Blocks whose threads have all exited the kernel.
        exited: usize,
        /// Another `cluster::sync`, at which an earlier block waits.
        other_location: Option<SourceLocation>,
    },
    /// A rank that no block of the cluster has.
    #[error("block {rank} of the cluster does not exist: it has {blocks}")]
    NoSuchBlock {
        /// The rank.
        rank: u32,
        /// Blocks of the cluster.
        blocks: u32,
    },
    /// An access to the shared memory of a block that need not have started.
    #[error(
        "block {rank} of the cluster may not have started: no cluster::sync is before the access to its shared memory"
    )]
    BlockNotStarted {
        /// The block's index in the cluster.
        rank: u32,
    },
    /// The state of the grid's barrier was not zeroed, is not the same for all blocks, or was written to.
    #[error(
        "element 0 of grid::sync's state is {value:#x}: zero it before its first launch, pass the same one in all \
         blocks, and write nothing to it"
    )]
    GridState {
        /// The value that an arriving block found.
        value: u32,
    },
    /// A fence that orders nothing.
    #[error("a fence orders accesses: it acquires, releases or both, and is not relaxed")]
    RelaxedFence,
    /// A warp-wide operation that not all lanes reach.
    #[error("lanes missing from a warp's operation: {missing:#034b} of {expected:#034b}")]
    MissingLanes {
        /// The lanes that exist: bit i is lane i.
        expected: u32,
        /// The lanes that do not reach the operation.
        missing: u32,
    },
    /// A shuffle from a lane that has exited the kernel.
    #[error("shuffle from lane {lane}, which has exited the kernel: its value is undefined")]
    ExitedLane {
        /// The requested lane.
        lane: u32,
    },
    /// A shuffle from a lane that does not exist.
    #[error("shuffle from lane {lane}; the warp has {lanes}")]
    NoSuchLane {
        /// The requested lane.
        lane: u32,
        /// The number of lanes.
        lanes: u32,
    },
    /// More shared memory than the limit of a block: more than
    /// [`MAX_STATIC_SHARED_BYTES`](crate::LaunchConfig::MAX_STATIC_SHARED_BYTES) in arrays, or more in all than
    /// [`Options::max_shared_bytes`](super::Options::max_shared_bytes).
    #[error("{bytes} bytes of shared memory; a block has at most {limit}")]
    SharedMemoryExceeded {
        /// The bytes of the block's arrays, or of the arrays and the dynamic shared memory.
        bytes: usize,
        /// Maximum bytes.
        limit: usize,
    },
    /// Dynamic shared memory used with two element types, which the simulator does not support.
    #[error("dynamic shared memory has elements of another type already")]
    DynamicSharedType,
    /// A loop of the kernel's body that does not end.
    #[error(
        "the kernel does not end: this loop and those in it have run {} times. Correct its condition, or allow more by \
         simulator::Options::loop_iterations",
        Count(*.iterations)
    )]
    Endless {
        /// The times that the thread has run loops.
        iterations: u64,
    },
    /// A thread that makes more accesses than [`Options::thread_accesses`](super::Options::thread_accesses) without a barrier.
    #[error(
        "{}",
        words::endless(
            format_args!("the thread has accessed memory {} times without a barrier", Count(*.accesses)),
            "simulator::Options::thread_accesses"
        )
    )]
    EndlessAccesses {
        /// The accesses, in units of 2²⁰.
        accesses: u64,
    },
    /// A block whose threads wait more often than [`Options::block_waits`](super::Options::block_waits).
    #[error(
        "{}",
        words::endless(
            format_args!("the threads of the block have waited {} times at barriers or for their warps", Count(*.waits)),
            "simulator::Options::block_waits"
        )
    )]
    EndlessWaits {
        /// The times that threads of the block have waited.
        waits: u64,
    },
    /// Threads that take turns at atomic operations, none of which ends or passes a barrier.
    #[error(
        "waits forever: the threads of the block have taken {} turns of {} atomic operations each, and none has ended or passed a \
         barrier. Correct the condition of the loop around this line",
        Count(*.turns), Count(*.operations)
    )]
    WaitsForever {
        /// Turns of all threads of the block together.
        turns: u64,
        /// Operations of a turn.
        operations: u64,
    },
    /// A wait for a phase of an mbarrier that no thread completes.
    #[error("waits forever: no thread completes the phase of the mbarrier, {}", words::still_expects(*.arrivals, *.bytes))]
    PhaseNeverEnds {
        /// Arrivals that the phase still expects.
        arrivals: u32,
        /// Bytes that the phase still expects; less than zero if too many have come.
        bytes: i32,
    },
    /// A wrong use of an mbarrier.
    #[error("{0}")]
    Mbarrier(#[source] MbarrierError),
    /// A thread that has run for longer than [`Options::thread_seconds`](super::Options::thread_seconds) without an end or a barrier.
    #[error(
        "{}",
        words::endless(
            format_args!("the thread has run for {seconds} s without a barrier"),
            "simulator::Options::thread_seconds"
        )
    )]
    Overdue {
        /// The seconds.
        seconds: u32,
    },
    /// An overflow of an integer, which panics in a program with overflow checks.
    #[error("{_0}")]
    Overflow(Overflow),
    /// A panic in the kernel; on a GPU, a trap.
    #[error("panic: {message}")]
    Panic {
        /// The panic's message.
        message: String,
    },
}

/// Displays a number, a power of two from 2¹⁰ on as such.
struct Count(u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count) = *self;
        if count < 1 << 10 || !count.is_power_of_two() {
            return write!(f, "{count}");
        }
        let superscripts = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
        let exponent = count.ilog2() as usize;
        write!(f, "2{}{}", superscripts[exponent / 10], superscripts[exponent % 10])
    }
}

/// Displays " at LOCATION", or nothing.
struct At<'a>(&'a Option<SourceLocation>);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |location| write!(f, " at {location}"))
    }
}

/// Displays ", one waits at LOCATION", or nothing.
struct Another<'a>(&'a Option<SourceLocation>);

impl fmt::Display for Another<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |location| write!(f, ", one waits at {location}"))
    }
}

/// The payload with which a fault unwinds from the kernel's thread to the scheduler of its block.
struct Raised {
    kind: FaultKind,
    location: SourceLocation,
}

/// Whether a fault or a panic unwinds the current thread, which runs destructors. It then takes part in no barrier and no operation of
/// its warp, and its accesses are no further faults. [`Launch::run`](super::launch::Launch) starts no thread while another one unwinds.
#[inline]
pub(super) fn is_unwinding() -> bool {
    std::thread::panicking()
}

/// Ends the simulated thread with a fault. Where destructors may run, [`raise_first`] is called instead.
#[cold]
pub(super) fn raise(kind: FaultKind, location: &Location<'_>) -> ! {
    // Unlike a panic, this does not call the panic hook.
    std::panic::resume_unwind(Box::new(Raised { kind, location: location.into() }))
}

/// As [`raise`], but returns if the thread unwinds already, since a second fault in a destructor would end the process. The launch
/// reports the first one.
#[cold]
pub(super) fn raise_first(kind: FaultKind, location: &Location<'_>) {
    if !is_unwinding() {
        raise(kind, location);
    }
}

/// Raises a fault of an access to a cell that does not exist. A thread that unwinds gets a cell of its own instead.
#[cold]
pub(super) fn instead_of_cell<T: Element>(kind: FaultKind, location: &Location<'_>) -> &'static T::Cell {
    raise_first(kind, location);
    Box::leak(Box::new(T::POISON.into_cell()))
}

/// The fault behind the `payload` of an unwinding thread of a kernel that is defined at `place`.
pub(super) fn from_payload(
    payload: Box<dyn Any + Send>,
    (file, line): (&'static str, u32),
) -> (FaultKind, SourceLocation) {
    let panicked_at = PANIC_LOCATION.take();
    let payload = match payload.downcast::<Raised>() {
        Ok(raised) => return (raised.kind, raised.location),
        Err(payload) => payload,
    };
    let message = payload.downcast_ref::<String>().cloned();
    let message = message.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    discard(payload);
    // `resume_unwind` has no location.
    let location = panicked_at.unwrap_or_else(|| SourceLocation { file: file.to_owned(), line, column: 1 });
    let message = message.unwrap_or_default();
    let kind = Overflow::of_panic(&message).map_or(FaultKind::Panic { message }, FaultKind::Overflow);
    (kind, location)
}

/// Drops the payload of a thread that has unwound. One whose destructor panics is leaked.
pub(super) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
}

thread_local! {
    static PANIC_LOCATION: RefCell<Option<SourceLocation>> = const { RefCell::new(None) };
}

/// Installs a panic hook that silently records the location of panics in simulated threads and passes others on to the
/// previous hook. `is_simulated` tells whether the calling thread runs one.
pub(super) fn install_panic_hook(is_simulated: fn() -> bool) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |information| {
            // The process ends by a panic in a destructor of a thread that unwinds.
            let ends = information.payload().downcast_ref() == Some(&"panic in a destructor during cleanup");
            if !is_simulated() || ends {
                return previous(information);
            }
            let location = information
                .location()
                .map_or_else(|| SourceLocation { file: String::new(), line: 0, column: 0 }, SourceLocation::from);
            PANIC_LOCATION.set(Some(location));
        }));
    });
}
