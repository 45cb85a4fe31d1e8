//! Executes programs: a functional model of a GPU, without timing.
//!
//! The way from a PTX text to a reported race:
//! 0. [`crate::syntax`] parses the text, and [`crate::program`] decodes its instructions.
//! 1. `loaded` checks the launch. `scheduler` gives its blocks to workers, and `block` gives each warp of a block its turn.
//! 2. `execution` chooses a path of a warp (`Warp::run`) and its next instruction, and calls what the instruction does (`Warp::execute`).
//! 3. `access` loads and stores. It first has `resolve` find the memory of each lane's address, which also checks and records the access.
//! 4. `record` tells the race detector ([`crate::memory::races`]) of the access, and makes a [`FaultKind::Race`] of a conflict.
//! 5. `context` adds the thread and the place to it. If the launch goes on after faults ([`Options::max_faults`](crate::Options), as in
//!    kernel-check), `record` has it add the race at once, and `launch` sorts what the workers have found. Otherwise the race ends its
//!    block, and `scheduler` returns the fault of the lowest block.
//! 6. `fault` puts it into words, most of which are in `cuda_launch::words`. kernel-check prints them with the line (`text.rs`).

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

/// A device with one loaded module, whose kernels it runs.
#[derive(Debug)]
pub struct Machine {
    module: LoadedModule,
    memory: GlobalMemory,
}

impl Machine {
    /// Size of a machine's global memory, in bytes.
    pub const MEMORY_BYTES: u64 = 64 << 30;

    /// Maximum static and dynamic shared memory of a block together, in bytes: that of the GPU with the most.
    pub const MAX_SHARED_BYTES: usize = 227 << 10;

    /// A device with the PTX module in `text` loaded.
    ///
    /// A kernel that contains something that is not supported is [refused](Self::refused), and the others can be launched.
    ///
    /// # Errors
    /// The first line outside of kernels and functions that is not valid or not supported.
    pub fn new(text: &str) -> Result<Self, LoadError> {
        let mut memory = GlobalMemory::new(Self::MEMORY_BYTES);
        let module = LoadedModule::load(text, &mut memory)?;
        Ok(Self { module, memory })
    }

    /// Names of the kernels that can be launched, in the order of the module.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.module.kernels()
    }

    /// The kernels that cannot be launched, since they or functions that they call contain something that is not supported.
    pub fn refused(&self) -> impl Iterator<Item = (&str, &LoadError)> {
        self.module.refused()
    }

    /// Number of parameters of a kernel; None if there is no such kernel.
    pub fn parameter_count(&self, kernel: &str) -> Option<usize> {
        self.module.parameter_count(kernel)
    }

    /// Names and sizes in bytes of a kernel's parameters, in order; none if there is no such kernel.
    pub fn parameters(&self, kernel: &str) -> impl Iterator<Item = (&str, u64)> {
        self.module.parameters(kernel)
    }

    /// Whether the PTX marks each of a kernel's parameters as a pointer (`.ptr`); none if there is no such kernel. Some
    /// compilers mark none.
    pub fn pointers(&self, kernel: &str) -> impl Iterator<Item = bool> {
        self.module.pointers(kernel)
    }

    /// What a kernel needs; None if there is no such kernel.
    pub fn resources(&self, kernel: &str) -> Option<KernelResources> {
        self.module.resources(kernel)
    }

    /// Allocates `bytes` of uninitialised global memory and returns their address.
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

    /// Global memory, for reads and writes by the host.
    pub fn memory(&self) -> &GlobalMemory {
        &self.memory
    }

    /// Global memory, for texture and surface objects of it.
    pub fn memory_mut(&mut self) -> &mut GlobalMemory {
        &mut self.memory
    }

    /// The texts that kernels have printed since the last call, those of a lower block first. Texts beyond
    /// [`MAX_PRINTED_BYTES`](crate::limits::MAX_PRINTED_BYTES) are lost.
    pub fn take_printed(&self) -> Vec<Printed> {
        self.module.take_printed()
    }

    /// Runs a kernel on the calling thread. Each parameter is passed as its little-endian bytes; extra bytes of a slice
    /// are ignored.
    ///
    /// # Errors
    /// If the launch is invalid, or a thread causes a fault; memory then keeps the writes up to the fault.
    pub fn launch(
        &self,
        options: Options,
        kernel: &str,
        config: LaunchConfig,
        parameters: &[&[u8]],
    ) -> Result<LaunchReport, LaunchError> {
        self.launch_on(&CallingThread, options, kernel, config, parameters)
    }

    /// As [`launch`](Self::launch), with blocks in parallel on the workers of an executor, as far as the options let them.
    ///
    /// By [`Options::search`] the kernel then runs in other orders too, for faults that only they show. Memory and the report are as
    /// after the default order, and what the others print is lost.
    ///
    /// # Errors
    /// As [`launch`](Self::launch); a fault has the simplest order found that shows it, and memory is as that order leaves it. And if
    /// the host has no memory for two copies of global memory, which a search needs.
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

    /// Runs a kernel under the eyes of an observer, its blocks one after the other. Returns false if the observer has
    /// abandoned the launch.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
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

    /// Runs the rest of an observed launch from a snapshot of it, to which global memory returns. The launch must be
    /// the same. Races are not looked for; apart from that the rest is executed as it was before.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    ///
    /// # Panics
    /// If the snapshot is of another kernel or configuration.
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

    /// A kernel's instructions; None if there is no such kernel.
    pub fn code(&self, kernel: &str) -> Option<Code<'_>> {
        self.module.code(kernel)
    }
}
