//! The simulator: runs a kernel's source on the CPU, with a GPU's semantics and with checks.
//!
//! Every CUDA thread is a coroutine. One operating-system thread runs a block: its threads one after the other, each
//! until it waits at a barrier or for the other lanes of its warp. Blocks run in parallel. The order within a block is
//! fixed, so that the reported fault is deterministic: the first one of the lowest block that faults.
//!
//! A fault unwinds its thread, and then all others that wait, so that destructors run, unlike on a GPU. While they do, barriers and
//! operations of a warp return at once, and accesses are no further faults.
//!
//! The blocks of a cooperative launch are all resident. One operating-system thread runs them round-robin, each up to
//! the next [grid barrier](grid::sync).
//!
//! So are the blocks of a [cluster]: one operating-system thread runs them up to the next [barrier of the
//! cluster](cluster::sync).
//!
//! With [`Options::check_races`], shadow memory records the accesses to every element, and the blocks run one after the
//! other. Without it, kernels run several times faster; indices, barriers, warps and reads of uninitialised buffers are
//! still checked.
//!
//! A GPU runs threads in any order. By [`Options::search`] a launch runs in other orders too, for faults that only they show, and the
//! message names the simplest order found, which [`Options::schedule`] repeats. Threads give way to others before atomic operations
//! that the schedule names, and after many of their own, so that one may wait for what another writes.

pub mod async_copy;
pub mod atomic;
mod block;
mod buffer;
pub mod cluster;
mod copies;
mod copies_in_flight;
mod current;
mod endless;
mod exchange;
mod fault;
mod global;
pub mod grid;
mod launch;
pub mod mbarrier;
mod messages;
mod orders;
#[cfg(unix)]
mod overflow;
mod phases;
mod print;
mod processor_time;
mod recorded;
mod report;
mod run;
mod saved;
mod scheduler;
mod shadow;
mod shared;
mod shared_memory;
mod stacks;
mod synchronization;
pub mod thread;
mod together;
pub mod warp;
mod watchdog;
mod worker;

pub use buffer::{SimulatorBuffer, SimulatorMemory};
#[doc(hidden)]
pub use endless::LoopBudget;
pub use fault::{Access, Fault, FaultKind, Place, SourceLocation};
pub use global::{Global, GlobalMut, GlobalQuads, GlobalReadView, GlobalView};
pub use print::print;
pub use recorded::RecordedLaunch;
pub use report::LaunchReport;
#[doc(hidden)]
pub use saved::Saved;
pub use shared::{DynamicShared, SharedArray, SharedArray2d, SharedView, dynamic_shared};

use thiserror::Error;

use crate::{ArgumentError, Kernel, LaunchConfig, LimitError, Memory, Schedule, Search};
use launch::Launch;

/// The settings of a simulated launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether to detect races in global and shared memory and reads of uninitialised shared memory.
    pub check_races: bool,
    /// Whether unordered writes of the same value to an element are a fault. On a GPU they have one result; if false,
    /// [`LaunchReport::same_value_races`] counts them.
    pub same_value_races_are_faults: bool,
    /// Maximum number of times that a thread may run loops of the kernel's body; beyond it the kernel counts as endless. Loops of
    /// functions that it calls are not counted, but limited by the next three.
    pub loop_iterations: u64,
    /// Maximum number of accesses to global and shared memory that a thread may make without a barrier; beyond it the kernel counts as
    /// endless.
    pub thread_accesses: u64,
    /// Maximum number of times that the threads of a block, counted together, may wait at barriers and for the lanes of their warps;
    /// beyond it the kernel counts as endless.
    pub block_waits: u64,
    /// Maximum seconds for which a thread may run without an end or a barrier: processor time on Linux, so a busy machine is no fault;
    /// elapsed time elsewhere. Beyond it the thread's next access to memory that kernels write is a fault; if it makes none in two
    /// more seconds, the process ends by one line that names the thread.
    pub thread_seconds: u32,
    /// Bytes of stack for each CUDA thread that waits at a barrier: its local memory.
    pub stack_bytes: usize,
    /// Maximum bytes of shared memory of a block, its arrays and the dynamic part together; the arrays alone have at
    /// most [`LaunchConfig::MAX_STATIC_SHARED_BYTES`]. Set it to the limit of the GPU to simulate, such as 64 KiB for
    /// sm_75.
    pub max_shared_bytes: u32,
    /// The order in which blocks and threads run, if it is not the default.
    pub schedule: Schedule,
    /// In which other orders a launch runs after the default one, to look for faults. No search if `schedule` is another, or races are
    /// not checked.
    pub search: Search,
}

impl Default for Options {
    /// All checks, except that same-value races are no faults; 2²⁸ loop iterations, 2³⁰ accesses and 2²⁸ waits, each of which takes
    /// some seconds, one minute, 640 KiB of stack, for the 512 KiB of local memory of a GPU's thread, and the 227 KiB of shared
    /// memory of [`LaunchConfig::MAX_SHARED_BYTES`].
    fn default() -> Self {
        Self {
            check_races: true,
            same_value_races_are_faults: false,
            loop_iterations: 1 << 28,
            thread_accesses: 1 << 30,
            block_waits: 1 << 28,
            thread_seconds: 60,
            stack_bytes: 640 * 1024,
            max_shared_bytes: LaunchConfig::MAX_SHARED_BYTES,
            schedule: Schedule::default(),
            search: Search::ONE,
        }
    }
}

/// Why a launch failed.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The launch exceeds a limit of CUDA.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// A buffer is not in the simulator's memory.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// More blocks than the simulator can keep resident.
    #[error(
        "a cooperative launch of {blocks} blocks; of {threads} threads each, the simulator runs at most {limit} at once"
    )]
    TooManyBlocks {
        /// Blocks of the launch.
        blocks: u64,
        /// Threads of each block.
        threads: u64,
        /// The limit, from [`max_cooperative_blocks`].
        limit: u32,
    },
    /// A launch from within a simulated kernel.
    #[error("a kernel of the simulator cannot launch another")]
    Nested,
    /// The system has no memory for another stack.
    #[error("no memory for the stack of a simulated thread")]
    Stack(#[from] std::io::Error),
    /// A fault in the kernel.
    #[error(transparent)]
    Fault(Box<Fault>),
}

impl LaunchError {
    /// The kernel's fault, if that is the error.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            _ => None,
        }
    }
}

/// Maximum number of blocks of a cooperative launch with `threads` threads per block.
///
/// It is 256, or fewer if the stacks of the waiting threads would exceed the system's limit: about 16 000 on Linux by
/// default.
pub fn max_cooperative_blocks(threads: u64) -> u32 {
    stacks::max_concurrent_blocks(threads).min(256) as u32
}

/// Runs `kernel` with all checks.
///
/// # Errors
/// If the launch exceeds a limit, or the kernel faults; see [`FaultKind`].
pub fn launch<K: Kernel>(
    kernel: &K,
    config: LaunchConfig,
    arguments: K::Arguments<'_, SimulatorMemory>,
) -> Result<LaunchReport, LaunchError> {
    launch_in::<SimulatorMemory, K>(Options::default(), kernel, config, arguments)
}

/// Runs `kernel` with the checks of `options`.
///
/// # Errors
/// As [`launch`].
pub fn launch_with<K: Kernel>(
    options: Options,
    kernel: &K,
    config: LaunchConfig,
    arguments: K::Arguments<'_, SimulatorMemory>,
) -> Result<LaunchReport, LaunchError> {
    launch_in::<SimulatorMemory, K>(options, kernel, config, arguments)
}

/// Runs `kernel` on buffers of memory `M`, which must all be in the simulator: for a crate with its own [`Memory`].
///
/// # Errors
/// As [`launch`], and if a buffer is on a GPU.
pub fn launch_in<M: Memory, K: Kernel>(
    options: Options,
    _kernel: &K,
    config: LaunchConfig,
    arguments: K::Arguments<'_, M>,
) -> Result<LaunchReport, LaunchError> {
    // The little that depends on the kernel: a program compiles it once for each.
    let launch = Launch::new(K::NAME, K::PLACE, config, options)?;
    let parameters = K::bind_arguments::<M>(arguments)?;
    launch.run_in_orders(&|| K::run_thread(&parameters), &|visit| K::for_each_mutable(&parameters, visit))
}
