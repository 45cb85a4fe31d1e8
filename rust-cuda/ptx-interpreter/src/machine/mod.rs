//! Executes programs: a functional model of a GPU, without timing.
//!
//! How a PTX text leads to a reported race:
//! 0. [`crate::syntax`] parses the text, and [`crate::program`] decodes its instructions.
//! 1. `loaded` checks the launch. `scheduler` gives its blocks to workers, and `block` gives each
//!    warp of a block its turn.
//! 2. `execution` chooses a path of a warp (`Warp::run`) and its next instruction, and calls the
//!    code for the instruction (`Warp::execute`).
//! 3. `access` loads and stores. It first calls `resolve` to find the memory of each lane's
//!    address, which also checks and records the access.
//! 4. `record` passes the access to the race detector ([`crate::memory::races`]) and turns a
//!    conflict into a [`FaultKind::Race`].
//! 5. `context` adds the thread and the place to it. If the launch continues after faults
//!    ([`Options::max_faults`](crate::Options), as in kernel-check), `record` adds the race at
//!    once, and `launch` sorts the workers' findings. Otherwise the race ends its block, and
//!    `scheduler` returns the fault of the lowest block.
//! 6. `fault` puts it into words, mostly with `cuda_launch::words`. kernel-check prints them with
//!    the line (`text.rs`).

mod access;
mod barrier;
mod block;
mod block_state;
mod branches;
mod bulk;
mod by_schedule;
mod calls;
mod collective;
mod compute;
mod context;
mod copies;
mod counts;
mod describe;
mod divergence;
mod element;
mod execution;
mod executor;
mod fault;
mod fault_name;
mod fidelity;
mod format;
mod heap;
mod image;
mod lane_addresses;
mod lanes;
mod launch;
mod launch_error;
mod loaded;
mod matrix;
mod mbarrier;
mod note;
mod observation;
mod observer;
mod options;
mod pending_copies;
mod print;
mod printed;
mod products;
mod race;
mod record;
mod recovery;
mod report;
mod residents;
mod resolve;
mod scheduler;
mod snapshot;
mod speech;
mod spin;
mod spin_detection;
mod start;
mod tensor;
mod trap;
mod turns;
mod uninitialised;
mod warp;
mod wgmma;
mod wmma;

use cuda_launch::LaunchConfig;

use crate::memory::{GlobalMemory, MemoryError};
use crate::program::LoadError;
use executor::CallingThread;

pub use counts::InstructionCounts;
pub use executor::Executor;
pub use fault::{Access, Fault, FaultKind, Indexed, RaceReason, Unstarted};
pub use fidelity::{Fidelity, Inexact};
pub use launch_error::LaunchError;
pub use loaded::{KernelResources, LoadedModule, Variable};
pub use observer::{Code, MemoryRange, ObservedAccess, Observer, Step, StoppedBlock, StoppedWarp, Waits, WarpPath};
pub use options::{Options, Uninitialised, UninitialisedError};
pub use printed::Printed;
pub use products::WgmmaError;
pub use report::{AccessedSpace, InstructionReport, LaunchReport, SpaceTotals};
pub use snapshot::Snapshot;
pub use start::uninitialised_register;

/// A device with one loaded module, and a runner for its kernels.
#[derive(Debug)]
pub struct Machine {
    module: LoadedModule,
    memory: GlobalMemory,
}

impl Machine {
    /// Size of a machine's global memory, in bytes.
    pub const MEMORY_BYTES: u64 = 64 << 30;

    /// Maximum total of static and dynamic shared memory per block, in bytes. Equals the largest
    /// limit of any GPU.
    pub const MAX_SHARED_BYTES: usize = 227 << 10;

    /// Creates a device with the PTX module in `text`.
    ///
    /// A kernel with unsupported parts is [refused](Self::refused); the others can be launched.
    ///
    /// # Errors
    /// The first line outside kernels and functions that is invalid or unsupported.
    pub fn new(text: &str) -> Result<Self, LoadError> {
        let mut memory = GlobalMemory::new(Self::MEMORY_BYTES);
        let module = LoadedModule::load(text, &mut memory)?;
        Ok(Self { module, memory })
    }

    /// Names of the launchable kernels, in the order of the module.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.module.kernels()
    }

    /// The kernels that cannot be launched because they, or functions that they call, contain
    /// something unsupported.
    pub fn refused(&self) -> impl Iterator<Item = (&str, &LoadError)> {
        self.module.refused()
    }

    /// Number of parameters of a kernel. `None` if there is no such kernel.
    pub fn parameter_count(&self, kernel: &str) -> Option<usize> {
        self.module.parameter_count(kernel)
    }

    /// Names and sizes in bytes of a kernel's parameters, in order. Empty if there is no such
    /// kernel.
    pub fn parameters(&self, kernel: &str) -> impl Iterator<Item = (&str, u64)> {
        self.module.parameters(kernel)
    }

    /// Whether the PTX marks each of a kernel's parameters as a pointer (`.ptr`). Empty if there is
    /// no such kernel. Some compilers mark none.
    pub fn pointers(&self, kernel: &str) -> impl Iterator<Item = bool> {
        self.module.pointers(kernel)
    }

    /// The resources of a kernel. `None` if there is no such kernel.
    pub fn resources(&self, kernel: &str) -> Option<KernelResources> {
        self.module.resources(kernel)
    }

    /// Allocates `bytes` bytes of uninitialized global memory and returns their address.
    ///
    /// # Errors
    /// If the device or the host does not have enough memory.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        self.memory.allocate(bytes)
    }

    /// Frees the allocation at `address`, which [`allocate`](Self::allocate) returned.
    ///
    /// # Errors
    /// If no live allocation begins there.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        self.memory.free(address)
    }

    /// Global memory, for the host to read and write.
    pub fn memory(&self) -> &GlobalMemory {
        &self.memory
    }

    /// Global memory, for the host to create texture and surface objects.
    pub fn memory_mut(&mut self) -> &mut GlobalMemory {
        &mut self.memory
    }

    /// The texts that kernels have printed since the last call, lower blocks first. Texts beyond
    /// [`MAX_PRINTED_BYTES`](crate::limits::MAX_PRINTED_BYTES) are lost.
    pub fn take_printed(&self) -> Vec<Printed> {
        self.module.take_printed()
    }

    /// Runs a kernel on the calling thread. Each parameter is passed as its little-endian bytes;
    /// extra bytes of a slice are ignored.
    ///
    /// # Errors
    /// If the launch is invalid, or a thread causes a fault. Memory then keeps the writes up to the
    /// fault.
    pub fn launch(
        &self,
        options: Options,
        kernel: &str,
        config: LaunchConfig,
        parameters: &[&[u8]],
    ) -> Result<LaunchReport, LaunchError> {
        self.launch_on(&CallingThread, options, kernel, config, parameters)
    }

    /// Like [`launch`](Self::launch), with blocks in parallel on the workers of an executor, as far
    /// as the options allow.
    ///
    /// With [`Options::search`], the kernel also runs under other schedules, to find faults that
    /// only they show. Memory and the report are as after the default schedule, and texts printed
    /// under the others are lost.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch). A fault names the simplest schedule found that shows it,
    /// and memory is as that schedule leaves it. Also fails if the host lacks the memory for the
    /// two copies of global memory that a search needs.
    pub fn launch_on(
        &self,
        executor: &dyn Executor,
        options: Options,
        kernel: &str,
        config: LaunchConfig,
        parameters: &[&[u8]],
    ) -> Result<LaunchReport, LaunchError> {
        self.module.launch_on(&self.memory, executor, options, kernel, config, parameters)
    }

    /// Checks a launch without running it.
    ///
    /// # Errors
    /// If the launch is invalid.
    pub fn check(&self, kernel: &str, config: LaunchConfig, parameters: &[&[u8]]) -> Result<(), LaunchError> {
        self.module.check(kernel, config, parameters)
    }

    /// Runs a kernel under an observer, its blocks one after the other. Returns false if the
    /// observer has abandoned the launch.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch).
    pub fn observe(
        &self,
        options: Options,
        kernel: &str,
        config: LaunchConfig,
        parameters: &[&[u8]],
        observer: &mut dyn Observer,
    ) -> Result<bool, LaunchError> {
        self.module.observe(&self.memory, options, kernel, config, parameters, observer)
    }

    /// Runs the rest of an observed launch from a snapshot, after restoring global memory from it.
    /// The launch must be the same. Races are not checked; otherwise the rest executes as before.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch).
    ///
    /// # Panics
    /// If the snapshot belongs to another kernel or configuration.
    pub fn resume(
        &self,
        options: Options,
        kernel: &str,
        config: LaunchConfig,
        parameters: &[&[u8]],
        snapshot: &Snapshot,
        observer: &mut dyn Observer,
    ) -> Result<bool, LaunchError> {
        self.module.resume(&self.memory, options, kernel, config, parameters, snapshot, observer)
    }

    /// A kernel's instructions. `None` if there is no such kernel.
    pub fn code(&self, kernel: &str) -> Option<Code<'_>> {
        self.module.code(kernel)
    }
}
