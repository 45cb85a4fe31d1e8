//! The simulator: runs a kernel's source on the CPU, with a GPU's semantics and with checks.
//!
//! Every CUDA thread is a coroutine. One operating-system thread runs a block: its threads one after the other, each
//! until it waits at a barrier or for the other lanes of its warp. Blocks run in parallel. The order is fixed within a
//! block, so that a fault is always the same one: that of the lowest block, and there the first that comes up.
//!
//! The blocks of a cooperative launch all live at once. One operating-system thread runs them in turns, each up to the
//! next [barrier of the grid](grid::sync). They can wait for each other there alone: a kernel that waits in a loop for
//! another block's atomic operation never ends here.
//!
//! With [`Options::check_races`], every element remembers who read and wrote it, and the blocks run one after the
//! other. Off, kernels run several times faster; indices, barriers, warps and reads of uninitialized buffers are checked
//! all the same.

pub mod atomic;
mod block;
mod buffer;
mod cooperative;
mod current;
mod fault;
mod global;
pub mod grid;
mod launch;
mod report;
mod shadow;
mod shared;
mod stacks;
pub mod thread;
pub mod warp;

pub use buffer::{SimulatorBuffer, SimulatorMemory};
pub use fault::{Access, Fault, FaultKind, Place, SourceLocation};
pub use global::{Global, GlobalMut};
pub use report::LaunchReport;
pub use shared::{DynamicShared, SharedArray, dynamic_shared};

use thiserror::Error;

use crate::{ArgumentError, Kernel, LaunchConfig, LimitError, Memory};

/// How the simulator runs a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether to look for races in global and shared memory and for reads of shared memory that nobody wrote.
    pub check_races: bool,
    /// Bytes of stack for each CUDA thread that waits at a barrier.
    pub stack_bytes: usize,
    /// Most bytes of shared memory of a block, its arrays and the dynamic part together; the arrays alone have at most
    /// [`LaunchConfig::MAX_STATIC_SHARED_BYTES`]. For a GPU of your choice take what it has, such as 64 KiB for sm_75.
    pub max_shared_bytes: u32,
}

impl Default for Options {
    /// All checks, 64 KiB of stack, and the 227 KiB of shared memory of [`LaunchConfig::MAX_SHARED_BYTES`].
    fn default() -> Self {
        Self { check_races: true, stack_bytes: 64 * 1024, max_shared_bytes: LaunchConfig::MAX_SHARED_BYTES }
    }
}

/// Why a launch failed.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// CUDA does not take a launch of this shape.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// A buffer is elsewhere.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// More blocks than the simulator keeps at once.
    #[error(
        "a cooperative launch of {blocks} blocks; of {threads} threads each, the simulator runs at most {limit} at once"
    )]
    TooManyBlocks {
        /// The blocks of the launch.
        blocks: u64,
        /// The threads of each.
        threads: u64,
        /// What [`max_cooperative_blocks`] says.
        limit: u32,
    },
    /// A kernel launches a kernel.
    #[error("a kernel of the simulator cannot launch another")]
    Nested,
    /// The system gives no more stacks.
    #[error("no memory for the stack of a simulated thread")]
    Stack(#[from] std::io::Error),
    /// The kernel did something wrong.
    #[error(transparent)]
    Fault(Box<Fault>),
}

impl LaunchError {
    /// The kernel's fault, if that is what it was.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            _ => None,
        }
    }
}

/// Most blocks of a cooperative launch whose blocks have `threads` threads.
///
/// It is 256, and less where so many waiting threads would need more stacks than the system allows: on Linux, as it is
/// set up by default, there are about 16 000.
pub fn max_cooperative_blocks(threads: u64) -> u32 {
    stacks::most_concurrent_blocks(threads).min(256) as u32
}

/// Runs `kernel` with all checks.
///
/// # Errors
/// If the launch passes a limit, or the kernel does something wrong; see [`FaultKind`].
pub fn launch<K: Kernel>(
    kernel: &K,
    config: LaunchConfig,
    arguments: K::Arguments<'_, SimulatorMemory>,
) -> Result<LaunchReport, LaunchError> {
    launch_in::<SimulatorMemory, K>(Options::default(), kernel, config, arguments)
}

/// Runs `kernel` with chosen checks.
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
    if current::is_simulated() {
        return Err(LaunchError::Nested);
    }
    config.check()?;
    config.check_shared(options.max_shared_bytes)?;
    let parameters = K::bind::<M>(arguments)?;
    let launch = launch::Launch { kernel: K::NAME, config, options };
    launch.run(&|| K::run_thread(&parameters))
}
