//! Executes programs: what a GPU is made of, without its timing.

mod access;
mod block;
mod collective;
mod copies;
mod counts;
mod divergence;
mod fault;
mod lanes;
mod launch;
mod matrix;
mod places;
mod race;
mod report;
mod unwritten;
mod warp;

use std::sync::Arc;

use cuda_std::{LaunchConfig, LimitError};
use thiserror::Error;

use crate::limits::{MAX_BLOCK_BYTES, MAX_COOPERATIVE_BYTES, max_bytes};
use crate::memory::{Extent, GlobalMemory, MemoryError, Region};
use crate::program::{DYNAMIC_SHARED_START, Initial, Kernel, LoadError, Program};
use crate::semantics::{LANES, Lanes};
use crate::syntax::Space;
use block::BlockState;
use launch::Launch;
use warp::Warp;

pub use counts::InstructionCounts;
pub use fault::{Access, Fault, FaultKind};
pub use race::SameValueRace;
pub use report::{AccessedSpace, InstructionReport, LaunchReport, SpaceTotals};

/// How a kernel is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether to look for races in global and shared memory. Blocks then run one after the other.
    pub check_races: bool,
    /// Whether it is a fault if several threads write the same value to a cell at once, as some compilers let lanes do
    /// that hold copies of one result. If not, [`LaunchReport::same_value_races`] tells of it.
    pub same_value_races_are_faults: bool,
    /// How many instructions the warps of a block may issue before the kernel counts as endless.
    pub block_instructions: u64,
}

impl Default for Options {
    /// All checks but that for races of the same value, and 2³⁴ instructions of a block, some minutes.
    fn default() -> Self {
        Self { check_races: true, same_value_races_are_faults: false, block_instructions: 1 << 34 }
    }
}

/// A device that runs the kernels of one module.
#[derive(Debug)]
pub struct Machine {
    program: Program,
    constants: Region,
    memory: GlobalMemory,
}

/// Why a launch failed.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The module has no such kernel.
    #[error("the PTX has no kernel {0}")]
    NoSuchKernel(String),
    /// No GPU takes a launch of this shape.
    #[error("kernel {kernel}: {error}")]
    Limit {
        /// The kernel's name.
        kernel: Arc<str>,
        /// The limit that the shape passes.
        error: LimitError,
    },
    /// More shared memory than a block may have.
    #[error("kernel {kernel}: {bytes} bytes of shared memory; a block has at most {limit}")]
    SharedMemory {
        /// The kernel's name.
        kernel: Arc<str>,
        /// Its arrays and the dynamic part.
        bytes: usize,
        /// The most there can be.
        limit: usize,
    },
    /// Another block than the kernel was compiled for.
    #[error("kernel {kernel}: a block of {block} threads; it was compiled for {directive} {compiled}")]
    Threads {
        /// The kernel's name.
        kernel: Arc<str>,
        /// The block of the launch.
        block: cuda_std::Dim3,
        /// `.maxntid` or `.reqntid`.
        directive: &'static str,
        /// Its numbers.
        compiled: cuda_std::Dim3,
    },
    /// Too few or too many parameters.
    #[error("kernel {kernel} has {expected} parameters; the launch has {found}")]
    ParameterCount {
        /// The kernel's name.
        kernel: Arc<str>,
        /// The number of its parameters.
        expected: usize,
        /// The number given.
        found: usize,
    },
    /// A parameter with too few bytes.
    #[error("kernel {kernel}: {bytes} bytes for parameter {number}, which has {expected}")]
    ParameterSize {
        /// The kernel's name.
        kernel: Arc<str>,
        /// Which, from 0.
        number: usize,
        /// The parameter's bytes.
        expected: usize,
        /// The bytes given.
        bytes: usize,
    },
    /// More registers, local and shared memory than the host should hold.
    #[error(
        "kernel {kernel}: its registers and memory take {bytes} bytes of the host in {blocks} blocks at once; at most {limit} are possible; use smaller or fewer blocks"
    )]
    HostMemory {
        /// The kernel's name.
        kernel: Arc<str>,
        /// Blocks that run at once.
        blocks: u64,
        /// Their size on the host, in bytes.
        bytes: u64,
        /// The limit, in bytes.
        limit: u64,
    },
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

impl Machine {
    /// The bytes of memory that a machine has unless it is told otherwise.
    pub const MEMORY_BYTES: u64 = 64 << 30;

    /// Static and dynamic shared memory of a block together, on the GPU that has most.
    pub const MAX_SHARED_BYTES: usize = max_bytes(Space::Shared) as usize;

    /// A device with the module in `text`.
    ///
    /// # Errors
    /// The line of the module that cannot be understood.
    pub fn new(text: &str) -> Result<Self, LoadError> {
        let mut memory = GlobalMemory::new(Self::MEMORY_BYTES);
        let program = Program::load(text, &mut memory)?;
        let constants = Region::from_bytes(&program.constant_bytes);
        Ok(Self { program, constants, memory })
    }

    /// The names of the kernels, in the order of the module.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.program.kernels.iter().map(|kernel| &*kernel.name)
    }

    /// The number of parameters of a kernel; None if there is no such kernel.
    pub fn parameter_count(&self, kernel: &str) -> Option<usize> {
        self.program.kernel(kernel).map(|kernel| kernel.parameters.iter().count())
    }

    /// Allocates uninitialised bytes of global memory and returns their address.
    ///
    /// # Errors
    /// If the device, or the host that stands for it, has not enough memory.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        self.memory.allocate(bytes)
    }

    /// Frees what [`allocate`](Self::allocate) returned.
    ///
    /// # Errors
    /// If nothing is there.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        self.memory.free(address)
    }

    /// The global memory, to be read and written.
    pub fn memory(&self) -> &GlobalMemory {
        &self.memory
    }

    /// Runs a kernel. Each parameter is given by its bytes, little-endian; of a longer slice the first ones count.
    ///
    /// # Errors
    /// If the launch cannot be, or the kernel does something wrong; memory then holds what was written until then.
    pub fn launch(
        &self,
        options: Options,
        kernel: &str,
        config: LaunchConfig,
        parameters: &[&[u8]],
    ) -> Result<LaunchReport, LaunchError> {
        let no_such_kernel = || LaunchError::NoSuchKernel(kernel.to_owned());
        let kernel = self.program.kernel(kernel).ok_or_else(no_such_kernel)?;
        check_config(kernel, config)?;
        let dynamic_shared = Extent {
            name: "dynamic shared memory".into(),
            space: Space::Shared,
            start: DYNAMIC_SHARED_START,
            bytes: u64::from(config.dynamic_shared_bytes),
        };
        let mut view = self.memory.view();
        let needs_workspace = config.cooperative && kernel.registers.iter().any(Initial::is_grid_workspace);
        let workspace = needs_workspace.then(|| Arc::make_mut(&mut view).add_grid_workspace());
        let launch = Launch {
            program: &self.program,
            kernel,
            config,
            options,
            view,
            parameters: parameter_bytes(kernel, parameters)?,
            constants: &self.constants,
            dynamic_shared,
            workspace,
        };
        let observed = launch.run().map_err(LaunchError::Fault)?;
        Ok(LaunchReport::new(&self.program, kernel, config, observed))
    }
}

fn check_config(kernel: &Kernel, config: LaunchConfig) -> Result<(), LaunchError> {
    let name = || Arc::clone(&kernel.name);
    config.check().map_err(|error| LaunchError::Limit { kernel: name(), error })?;
    let bytes = kernel.shared.packed_bytes() + config.dynamic_shared_bytes as usize;
    if bytes > Machine::MAX_SHARED_BYTES {
        return Err(LaunchError::SharedMemory { kernel: name(), bytes, limit: Machine::MAX_SHARED_BYTES });
    }
    let registers = (kernel.registers.len() * size_of::<Lanes>()) as u64;
    let warps = config.block.count().div_ceil(LANES as u64);
    // A bit beside each byte says whether it is initialised.
    let local = (kernel.local.bytes() * LANES) as u64 / 8 * 9;
    let of_block = (registers + local + size_of::<Warp>() as u64) * warps + (bytes + size_of::<BlockState>()) as u64;
    let (blocks, limit) = match config.cooperative {
        true => (config.grid.count(), MAX_COOPERATIVE_BYTES),
        false => (1, MAX_BLOCK_BYTES),
    };
    let bytes = of_block.saturating_mul(blocks);
    if bytes > limit {
        return Err(LaunchError::HostMemory { kernel: name(), blocks, bytes, limit });
    }
    let block = config.block;
    let threads = |[x, y, z]: [u32; 3]| cuda_std::Dim3::new(x, y, z);
    let refused = |directive, compiled| Err(LaunchError::Threads { kernel: name(), block, directive, compiled });
    if let Some(required) = kernel.required_threads.map(threads)
        && required != block
    {
        return refused(".reqntid", required);
    }
    // Only the product counts (PTX ISA, `.maxntid`).
    match kernel.max_threads.map(threads) {
        Some(most) if most.count() < block.count() => refused(".maxntid", most),
        _ => Ok(()),
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
