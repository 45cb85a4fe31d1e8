//! A loaded module: its kernels, its variables, and their launches on a device's global memory.

use std::sync::Arc;

use cuda_launch::{Dim3, LaunchConfig, Search};

use super::Machine;
use super::block_state::BlockState;
use super::executor::Executor;
use super::launch::Launch;
use super::launch_error::LaunchError;
use super::observer::{Code, Observer};
use super::options::Options;
use super::printed::{PrintBuffer, Printed};
use super::report::LaunchReport;
use super::snapshot::Snapshot;
use super::speech::Speech;
use super::warp::Warp;
use crate::limits::{MAX_BLOCK_BYTES, MAX_COOPERATIVE_BYTES};
use crate::memory::{Extent, GlobalMemory, MemoryError, Region, first_address};
use crate::program::{DYNAMIC_SHARED_START, Initial, Kernel, LoadError, Program};
use crate::semantics::{LANES, Lanes};
use crate::syntax::Space;

/// A module with kernels that run on global memory owned by the caller, as several modules of one
/// device do. A [`Machine`] is a module with its own memory.
///
/// Every launch must use the memory that the module was loaded with, because the module's variables
/// are in it.
#[derive(Debug)]
pub struct LoadedModule {
    program: Program,
    constants: Arc<Region>,
    /// Address of the constants in global memory, if [`share_constants`](Self::share_constants) has put them there.
    constants_at: Option<u64>,
    printed: PrintBuffer,
    speech: Option<Speech>,
}

/// A module's variable in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable<'a> {
    /// Its name in the PTX.
    pub name: &'a str,
    /// Its address in global memory.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it is a constant for kernels. Then only the host uses its address.
    pub is_constant: bool,
    /// Whether the host also accesses it, at the same address (`.attribute(.managed)`).
    pub is_managed: bool,
}

/// Resources that a kernel needs, and the block and cluster sizes that it was compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelResources {
    /// Static shared memory of a block, in bytes.
    pub static_shared_bytes: usize,
    /// Whether it accesses a shared array with a size set by the launch.
    pub has_dynamic_shared: bool,
    /// Local memory of a thread, in bytes.
    pub local_bytes: usize,
    /// The module's constants, in bytes.
    pub constant_bytes: usize,
    /// An estimate of the registers per thread on a GPU: the maximum number of simultaneously live
    /// registers in the PTX, limited to 255 and `.maxnreg`.
    pub registers: u32,
    /// Maximum number of threads of a block, from `.maxntid` or `.reqntid`, otherwise
    /// [`LaunchConfig::MAX_THREADS`].
    pub max_threads: u32,
    /// The block size of `.reqntid`.
    pub required_block: Option<Dim3>,
    /// The block size of `.maxntid`. Only the product of its dimensions is a limit.
    pub max_block: Option<Dim3>,
    /// The cluster size of `.reqnctapercluster`.
    pub cluster: Option<Dim3>,
}

impl LoadedModule {
    /// Loads the PTX module in `text`, and allocates its variables in `memory`.
    ///
    /// A kernel with unsupported parts is [refused](Self::refused); the others can be launched.
    ///
    /// # Errors
    /// The first line outside kernels and functions that is invalid or unsupported.
    pub fn load(text: &str, memory: &mut GlobalMemory) -> Result<Self, LoadError> {
        let program = Program::load(text, memory)?;
        if program.kernels.iter().any(Kernel::uses_heap) {
            // Without room for a heap, `malloc` has no room either.
            let _no_heap = memory.make_heap();
        }
        let constants = Arc::new(Region::from_bytes(&program.constant_bytes));
        let speech = Speech::new(text, &program.variables, memory);
        Ok(Self { program, constants, constants_at: None, printed: PrintBuffer::default(), speech })
    }

    /// Gives the module's constants addresses in global memory. The host reads and writes them
    /// there.
    ///
    /// # Errors
    /// If the device or the host does not have enough memory.
    pub fn share_constants(&mut self, memory: &mut GlobalMemory) -> Result<(), MemoryError> {
        if self.constants_at.is_none() && self.program.constants.iter().next().is_some() {
            self.constants_at = Some(memory.add("constants", Arc::clone(&self.constants))?);
        }
        Ok(())
    }

    /// The module's variables in global memory.
    pub fn variables(&self) -> impl Iterator<Item = Variable<'_>> {
        let globals = self.program.variables.iter();
        let globals = globals.map(|extent| Variable {
            name: &extent.name,
            address: extent.start,
            bytes: extent.bytes,
            is_constant: false,
            is_managed: self.program.managed.contains(&extent.start),
        });
        let constants = self.constants_at.into_iter().flat_map(|at| {
            self.program.constants.iter().map(move |extent| Variable {
                name: &extent.name,
                address: at + (extent.start - first_address(Space::Const)),
                bytes: extent.bytes,
                is_constant: true,
                is_managed: false,
            })
        });
        globals.chain(constants)
    }

    /// Addresses of the allocations that hold the module's variables. The caller frees them when it
    /// drops the module.
    pub fn allocations(&self) -> impl Iterator<Item = u64> {
        let of_messages = self.speech.as_ref().map(Speech::buffer);
        self.program.variables.iter().map(|extent| extent.start).chain(self.constants_at).chain(of_messages)
    }

    /// Names of the launchable kernels, in the order of the module.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.program.kernels.iter().map(|kernel| &*kernel.name)
    }

    /// The kernels that cannot be launched because they, or functions that they call, contain
    /// something unsupported.
    pub fn refused(&self) -> impl Iterator<Item = (&str, &LoadError)> {
        self.program.refused.iter().map(|(name, error)| (&**name, error))
    }

    /// Number of parameters of a kernel. `None` if there is no such kernel.
    pub fn parameter_count(&self, kernel: &str) -> Option<usize> {
        self.program.kernel(kernel).map(|kernel| kernel.parameters.iter().count())
    }

    /// Names and sizes in bytes of a kernel's parameters, in order. Empty if there is no such
    /// kernel.
    pub fn parameters(&self, kernel: &str) -> impl Iterator<Item = (&str, u64)> {
        let parameters = self.program.kernel(kernel).map(|kernel| kernel.parameters.iter());
        parameters.into_iter().flatten().map(|parameter| (&*parameter.name, parameter.bytes))
    }

    /// Whether the PTX marks each of a kernel's parameters as a pointer (`.ptr`). Empty if there is
    /// no such kernel. Some compilers mark none.
    pub fn pointers(&self, kernel: &str) -> impl Iterator<Item = bool> {
        self.program.kernel(kernel).into_iter().flat_map(|kernel| kernel.pointers.iter().copied())
    }

    /// Offset of each of a kernel's parameters in the buffer that holds all of them, as
    /// `cuFuncGetParamInfo` reports it.
    pub fn parameter_offsets(&self, kernel: &str) -> impl Iterator<Item = u64> {
        let parameters = self.program.kernel(kernel).map(|kernel| kernel.parameters.iter());
        parameters.into_iter().flatten().map(|parameter| parameter.start - first_address(Space::Param))
    }

    /// The resources of a kernel. `None` if there is no such kernel.
    pub fn resources(&self, kernel: &str) -> Option<KernelResources> {
        let kernel = self.program.kernel(kernel)?;
        let dimensions = |[x, y, z]: [u32; 3]| Dim3::new(x, y, z);
        let (required_block, max_block) = (kernel.required_threads.map(dimensions), kernel.max_threads.map(dimensions));
        let threads = required_block.or(max_block);
        let threads = threads.map(|block| block.count().min(LaunchConfig::MAX_THREADS.into()) as u32);
        Some(KernelResources {
            static_shared_bytes: kernel.shared.packed_bytes(),
            has_dynamic_shared: kernel.has_dynamic_shared,
            local_bytes: kernel.local.bytes(),
            constant_bytes: self.program.constants.iter().map(|extent| extent.bytes as usize).sum(),
            registers: kernel.live_registers,
            max_threads: threads.unwrap_or(LaunchConfig::MAX_THREADS),
            required_block,
            max_block,
            cluster: kernel.required_cluster.map(dimensions),
        })
    }

    /// The texts that kernels have printed since the last call, lower blocks first. Texts beyond
    /// [`MAX_PRINTED_BYTES`](crate::limits::MAX_PRINTED_BYTES) are lost.
    pub fn take_printed(&self) -> Vec<Printed> {
        self.printed.take()
    }

    /// Runs a kernel on `memory`, like [`Machine::launch_on`].
    ///
    /// # Errors
    /// See [`Machine::launch_on`].
    pub fn launch_on(
        &self,
        memory: &GlobalMemory,
        executor: &dyn Executor,
        options: Options,
        kernel: &str,
        config: LaunchConfig,
        parameters: &[&[u8]],
    ) -> Result<LaunchReport, LaunchError> {
        let search = if options.schedule.is_default() { options.search } else { Search::ONE };
        let mut launch = self.prepare(memory, options, kernel, config, parameters)?;
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
            Some((_, fault)) if launch.options.keep_going => {
                launch.view.restore(&after);
                Err(LaunchError::Fault(fault))
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

    pub(super) fn observe(
        &self,
        memory: &GlobalMemory,
        options: Options,
        kernel: &str,
        config: LaunchConfig,
        parameters: &[&[u8]],
        observer: &mut dyn Observer,
    ) -> Result<bool, LaunchError> {
        let launch = self.prepare(memory, options, kernel, config, parameters)?;
        let ended = launch.run_observed(None, observer);
        launch.take_messages();
        ended.map_err(LaunchError::Fault)
    }

    #[allow(clippy::too_many_arguments, reason = "those of a launch, and the snapshot")]
    pub(super) fn resume(
        &self,
        memory: &GlobalMemory,
        options: Options,
        kernel: &str,
        config: LaunchConfig,
        parameters: &[&[u8]],
        snapshot: &Snapshot,
        observer: &mut dyn Observer,
    ) -> Result<bool, LaunchError> {
        let options = Options { check_races: false, ..options };
        let mut launch = self.prepare(memory, options, kernel, config, parameters)?;
        launch.printed = None;
        assert!(snapshot.is_of(&launch), "a snapshot of another launch");
        launch.run_observed(Some(snapshot), observer).map_err(LaunchError::Fault)
    }

    /// A kernel's instructions. `None` if there is no such kernel.
    pub fn code(&self, kernel: &str) -> Option<Code<'_>> {
        let program = &self.program;
        program.kernel(kernel).map(|kernel| Code { program, kernel })
    }

    /// Checks a launch without running it.
    pub(super) fn check(&self, kernel: &str, config: LaunchConfig, parameters: &[&[u8]]) -> Result<(), LaunchError> {
        self.checked(kernel, config, parameters).map(drop)
    }

    /// Checks a launch. Returns its kernel, the number of its blocks that memory holds at the same
    /// time, and the bytes of its parameters.
    fn checked(
        &self,
        kernel: &str,
        config: LaunchConfig,
        parameters: &[&[u8]],
    ) -> Result<(&Kernel, u64, Region), LaunchError> {
        if let Some(error) = self.program.refusal(kernel) {
            return Err(LaunchError::Refused { kernel: kernel.to_owned(), error: error.clone() });
        }
        let kernel = self.program.kernel(kernel).ok_or_else(|| LaunchError::NoSuchKernel(kernel.to_owned()))?;
        Ok((kernel, check_config(kernel, config)?, parameter_bytes(kernel, parameters)?))
    }

    /// Checks a launch and prepares it to run.
    fn prepare(
        &self,
        memory: &GlobalMemory,
        options: Options,
        kernel: &str,
        config: LaunchConfig,
        parameters: &[&[u8]],
    ) -> Result<Launch<'_>, LaunchError> {
        let (kernel, max_residents, parameters) = self.checked(kernel, config, parameters)?;
        let dynamic_shared = Extent {
            name: "dynamic shared memory".into(),
            space: Space::Shared,
            start: DYNAMIC_SHARED_START,
            bytes: u64::from(config.dynamic_shared_bytes),
            element: None,
        };
        let mut view = memory.view();
        let needs_workspace = config.cooperative && kernel.registers.iter().any(Initial::is_grid_workspace);
        let workspace = needs_workspace.then(|| Arc::make_mut(&mut view).add_grid_workspace());
        Ok(Launch {
            program: &self.program,
            kernel,
            config,
            options,
            view,
            parameters,
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
    // Each byte has a bit that tells whether it is initialized.
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
    let threads = |[x, y, z]: [u32; 3]| Dim3::new(x, y, z);
    let rejected = |directive, compiled| Err(LaunchError::Threads { kernel: name(), block, directive, compiled });
    if let Some(required) = kernel.required_threads.map(threads)
        && required != block
    {
        return rejected(".reqntid", required);
    }
    let cluster = Dim3::new(config.cluster.into(), 1, 1);
    if let Some(compiled) = kernel.required_cluster.map(threads)
        && compiled != cluster
    {
        return Err(LaunchError::Cluster { kernel: name(), cluster: config.cluster.into(), compiled });
    }
    if let Some(max) = kernel.max_cluster_rank
        && max < config.cluster.into()
    {
        return Err(LaunchError::ClusterRank { kernel: name(), cluster: config.cluster.into(), max });
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
        region.write((extent.start - first_address(Space::Param)) as usize, bytes);
    }
    Ok(region)
}
