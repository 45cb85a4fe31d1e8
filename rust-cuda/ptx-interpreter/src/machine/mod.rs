//! Executes programs: a functional model of a GPU, without timing.

mod access;
mod barrier;
mod block;
mod block_state;
mod by_schedule;
mod calls;
mod collective;
mod context;
mod copies;
mod counts;
mod describe;
mod divergence;
mod execution;
mod executor;
mod fault;
mod format;
mod lane_addresses;
mod lanes;
mod launch;
mod launch_error;
mod matrix;
mod observation;
mod observer;
mod options;
mod pending_copies;
mod print;
mod printed;
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
mod spin_test;
mod trap;
mod turns;
mod uninitialised;
mod warp;

use std::sync::Arc;

use cuda_launch::{LaunchConfig, Search};

use crate::limits::{MAX_BLOCK_BYTES, MAX_COOPERATIVE_BYTES};
use crate::memory::{Extent, GlobalMemory, MemoryError, Region};
use crate::program::{DYNAMIC_SHARED_START, Initial, Kernel, LoadError, Program};
use crate::semantics::{LANES, Lanes};
use crate::syntax::Space;
use block_state::BlockState;
use executor::CallingThread;
use launch::Launch;
use printed::PrintBuffer;
use speech::Speech;
use warp::Warp;

pub use counts::InstructionCounts;
pub use execution::uninitialised_register;
pub use executor::Executor;
pub use fault::{Access, Fault, FaultKind, RaceReason, Unstarted};
pub use launch_error::LaunchError;
pub use observer::{Code, MemoryRange, ObservedAccess, Observer, Step, StoppedBlock, StoppedWarp, Waits, WarpPath};
pub use options::Options;
pub use printed::Printed;
pub use race::SameValueRace;
pub use report::{AccessedSpace, InstructionReport, LaunchReport, SpaceTotals};
pub use snapshot::Snapshot;

/// A device with one loaded module, whose kernels it runs.
#[derive(Debug)]
pub struct Machine {
    program: Program,
    constants: Region,
    memory: GlobalMemory,
    printed: PrintBuffer,
    speech: Option<Speech>,
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
        let program = Program::load(text, &mut memory)?;
        let constants = Region::from_bytes(&program.constant_bytes);
        let speech = Speech::new(text, &mut memory);
        Ok(Self { program, constants, memory, printed: PrintBuffer::default(), speech })
    }

    /// Names of the kernels that can be launched, in the order of the module.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.program.kernels.iter().map(|kernel| &*kernel.name)
    }

    /// The kernels that cannot be launched, since they or functions that they call contain something that is not supported.
    pub fn refused(&self) -> impl Iterator<Item = (&str, &LoadError)> {
        self.program.refused.iter().map(|(name, error)| (&**name, error))
    }

    /// Number of parameters of a kernel; None if there is no such kernel.
    pub fn parameter_count(&self, kernel: &str) -> Option<usize> {
        self.program.kernel(kernel).map(|kernel| kernel.parameters.iter().count())
    }

    /// Names and sizes in bytes of a kernel's parameters, in order; none if there is no such kernel.
    pub fn parameters(&self, kernel: &str) -> impl Iterator<Item = (&str, u64)> {
        let parameters = self.program.kernel(kernel).map(|kernel| kernel.parameters.iter());
        parameters.into_iter().flatten().map(|parameter| (&*parameter.name, parameter.bytes))
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

    /// The texts that kernels have printed since the last call, those of a lower block first. Texts beyond
    /// [`MAX_PRINTED_BYTES`](crate::limits::MAX_PRINTED_BYTES) are lost.
    pub fn take_printed(&self) -> Vec<Printed> {
        self.printed.take()
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
        let search = if options.schedule.is_default() { options.search } else { Search::ONE };
        let mut launch = self.prepare(options, kernel, config, parameters)?;
        let before = if search.runs > 1 { Some(launch.copy()?) } else { None };
        let results = launch.run(executor);
        launch.take_messages();
        let results = results.map_err(LaunchError::Fault)?;
        let mut report = LaunchReport::new(&self.program, launch.kernel, config, results);
        let Some(before) = before else { return Ok(report) };
        let after = launch.copy()?;
        launch.printed = None;
        let found = search.search(
            |schedule| {
                report.orders += 1;
                launch.view.restore(&before);
                launch.options.schedule = schedule.clone();
                launch.run(executor).map(|results| results.synchronising)
            },
            |fault, other| fault.is_same_as(other),
        );
        match found {
            None => {
                launch.view.restore(&after);
                Ok(report)
            }
            Some((schedule, fault)) => {
                if fault.schedule != launch.options.schedule {
                    launch.view.restore(&before);
                    launch.options.schedule = schedule;
                    let _same = launch.run(executor);
                }
                launch.take_messages();
                Err(LaunchError::Fault(fault))
            }
        }
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
        let launch = self.prepare(options, kernel, config, parameters)?;
        let ended = launch.run_observed(None, observer);
        launch.take_messages();
        ended.map_err(LaunchError::Fault)
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
        let mut launch = self.prepare(Options { check_races: false, ..options }, kernel, config, parameters)?;
        launch.printed = None;
        assert!(snapshot.is_of(&launch), "a snapshot of another launch");
        launch.run_observed(Some(snapshot), observer).map_err(LaunchError::Fault)
    }

    /// A kernel's instructions; None if there is no such kernel.
    pub fn code(&self, kernel: &str) -> Option<Code<'_>> {
        let program = &self.program;
        program.kernel(kernel).map(|kernel| Code { program, kernel })
    }

    /// Checks a launch.
    fn prepare(
        &self,
        options: Options,
        kernel: &str,
        config: LaunchConfig,
        parameters: &[&[u8]],
    ) -> Result<Launch<'_>, LaunchError> {
        let no_such_kernel = || LaunchError::NoSuchKernel(kernel.to_owned());
        if let Some(error) = self.program.refusal(kernel) {
            return Err(LaunchError::Refused { kernel: kernel.to_owned(), error: error.clone() });
        }
        let kernel = self.program.kernel(kernel).ok_or_else(no_such_kernel)?;
        let max_residents = check_config(kernel, config)?;
        let dynamic_shared = Extent {
            name: "dynamic shared memory".into(),
            space: Space::Shared,
            start: DYNAMIC_SHARED_START,
            bytes: u64::from(config.dynamic_shared_bytes),
            element: None,
        };
        let mut view = self.memory.view();
        let needs_workspace = config.cooperative && kernel.registers.iter().any(Initial::is_grid_workspace);
        let workspace = needs_workspace.then(|| Arc::make_mut(&mut view).add_grid_workspace());
        Ok(Launch {
            program: &self.program,
            kernel,
            config,
            options,
            view,
            parameters: parameter_bytes(kernel, parameters)?,
            constants: &self.constants,
            dynamic_shared,
            workspace,
            max_residents,
            printed: Some(&self.printed),
            speech: self.speech.as_ref(),
        })
    }
}

/// Checks a launch. Returns the number of its blocks that memory holds at the same time.
fn check_config(kernel: &Kernel, config: LaunchConfig) -> Result<u64, LaunchError> {
    let name = || Arc::clone(&kernel.name);
    config.check().map_err(|error| LaunchError::Limit { kernel: name(), error })?;
    let bytes = kernel.shared.packed_bytes() + config.dynamic_shared_bytes as usize;
    if bytes > Machine::MAX_SHARED_BYTES {
        return Err(LaunchError::SharedMemory { kernel: name(), bytes, limit: Machine::MAX_SHARED_BYTES });
    }
    let registers = (kernel.registers.len() * size_of::<Lanes>()) as u64;
    let warps = config.block.count().div_ceil(LANES as u64);
    // Each byte has a bit that says whether it is initialised.
    let local = (kernel.local.bytes() * LANES) as u64 / 8 * 9;
    let bytes_per_block =
        (registers + local + size_of::<Warp>() as u64) * warps + (bytes + size_of::<BlockState>()) as u64;
    let (blocks, limit) = match config.cooperative {
        true => (config.grid.count(), MAX_COOPERATIVE_BYTES),
        false if config.cluster > 1 => (config.cluster.into(), MAX_COOPERATIVE_BYTES),
        false => (1, MAX_BLOCK_BYTES),
    };
    let bytes = bytes_per_block.saturating_mul(blocks);
    if bytes > limit {
        return Err(LaunchError::HostMemory { kernel: name(), blocks, bytes, limit });
    }
    let block = config.block;
    let threads = |[x, y, z]: [u32; 3]| cuda_launch::Dim3::new(x, y, z);
    let rejected = |directive, compiled| Err(LaunchError::Threads { kernel: name(), block, directive, compiled });
    if let Some(required) = kernel.required_threads.map(threads)
        && required != block
    {
        return rejected(".reqntid", required);
    }
    let cluster = cuda_launch::Dim3::new(config.cluster.into(), 1, 1);
    if let Some(compiled) = kernel.required_cluster.map(threads)
        && compiled != cluster
    {
        return Err(LaunchError::Cluster { kernel: name(), cluster: config.cluster.into(), compiled });
    }
    // Only the product of the dimensions is limited (PTX ISA, `.maxntid`).
    match kernel.max_threads.map(threads) {
        Some(max) if max.count() < block.count() => rejected(".maxntid", max),
        _ => Ok((MAX_COOPERATIVE_BYTES / bytes_per_block).max(1)),
    }
}

fn parameter_bytes(kernel: &Kernel, parameters: &[&[u8]]) -> Result<Region, LaunchError> {
    let expected = kernel.parameters.iter().count();
    if parameters.len() != expected {
        let found = parameters.len();
        return Err(LaunchError::ParameterCount { kernel: Arc::clone(&kernel.name), expected, found });
    }
    let region = Region::new(kernel.parameters.bytes());
    for (number, (extent, bytes)) in kernel.parameters.iter().zip(parameters).enumerate() {
        let expected = extent.bytes as usize;
        let Some(bytes) = bytes.get(..expected) else {
            let kernel = Arc::clone(&kernel.name);
            return Err(LaunchError::ParameterSize { kernel, number, expected, bytes: bytes.len() });
        };
        region.write((extent.start - crate::memory::first_address(Space::Param)) as usize, bytes);
    }
    Ok(region)
}
