//! Kernel launches and their checks.

use std::rc::Rc;

use cuda_std::{Dim3, LaunchConfig, RawParameters};
use cust::sys::{self, CUstream};

use super::context::Cuda;
use super::module::{Function, LoadError};
use super::modules::FunctionError;
use super::status::succeed;
use crate::erased::AnyLaunch;
use crate::{Error, Launch, entry_check};

/// A checked launch with its parameters.
#[derive(Debug)]
pub(crate) struct CudaLaunch {
    pub(super) launch: Launch,
    function: Rc<Function>,
    raw: RawParameters,
}

impl Cuda {
    /// Queues a launch in the device's stream.
    pub(crate) fn launch(&self, launch: &mut dyn AnyLaunch) -> Result<(), Error> {
        let mut launch = self.prepare(launch)?;
        self.queue(&mut launch)
    }

    /// Queues a checked launch in the device's stream. The context must be current.
    pub(super) fn queue(&self, launch: &mut CudaLaunch) -> Result<(), Error> {
        self.submit(self.stream.as_inner(), launch)?;
        self.queue.borrow_mut().push(launch.launch);
        if self.blocking || self.speaks(launch) { self.synchronize() } else { Ok(()) }
    }

    /// Whether the kernel may print, or panic with a message.
    pub(super) fn speaks(&self, launch: &CudaLaunch) -> bool {
        self.modules.speaks(launch.launch.kernel)
    }

    /// Checks a launch, loads its kernel, and takes its arguments. The context is current
    /// afterwards.
    pub(crate) fn prepare(&self, launch: &mut dyn AnyLaunch) -> Result<CudaLaunch, Error> {
        let (kernel, config) = (launch.kernel(), launch.config());
        config.check().map_err(|error| Error::Limit { kernel, error })?;
        self.enter()?;
        let raw = launch.raw_parameters(self.memory).map_err(|error| Error::Argument { kernel, error })?;
        let function = self.function(kernel)?;
        entry_check::check(&function.entry, launch)?;
        entry_check::check_count(&function.entry, kernel, raw.values().count())?;
        self.allow_shared(kernel, &function, config.dynamic_shared_bytes)?;
        self.check("permitting large clusters", function.allow_clusters())?;
        if config.cooperative {
            self.check_residency(kernel, &function, config)?;
        }
        Ok(CudaLaunch { launch: Launch { kernel, config, times: 1 }, function, raw })
    }

    /// Submits a launch to `stream`, or to its graph if the stream is being captured. The context
    /// must be current.
    #[allow(unsafe_code)]
    pub(super) fn submit(&self, stream: CUstream, launch: &mut CudaLaunch) -> Result<(), Error> {
        let CudaLaunch { launch, function, raw } = launch;
        let mut pointers = raw.pointers();
        let (handle, parameters) = (function.handle, pointers.as_mut_ptr());
        let LaunchConfig { grid: Dim3 { x, y, z }, block, dynamic_shared_bytes: shared, cooperative, cluster: _ } =
            launch.config;
        // SAFETY: `prepare` found the function in this GPU's module, which the stream's context
        // loaded. The parameters match the kernel's parameter types, because the signatures are
        // equal. Their addresses belong to this device's own live buffers: the kernel checks its
        // indices against the lengths, and only launches of this stream use them, or others that
        // also only read them (`AtOnce`). The driver copies the parameters before it returns. A dependent kernel's first instructions wait for the
        // previous launch.
        let result = unsafe {
            if cooperative {
                sys::cuLaunchCooperativeKernel(handle, x, y, z, block.x, block.y, block.z, shared, stream, parameters)
            } else if self.has_dependent_launches.get() && function.entry.is_dependent {
                let shape = ([x, y, z], [block.x, block.y, block.z]);
                cuda_driver::launch_dependent(handle, shape, shared, stream, parameters)
            } else {
                let extra = std::ptr::null_mut();
                sys::cuLaunchKernel(handle, x, y, z, block.x, block.y, block.z, shared, stream, parameters, extra)
            }
        };
        succeed(result).map_err(|error| self.failure(&error).unwrap_or(Error::Launch { launch: *launch, error }))
    }

    /// Maximum number of blocks of `kernel` that are resident on this GPU at once.
    pub(crate) fn max_cooperative_blocks(
        &self,
        kernel: &'static str,
        block: Dim3,
        dynamic_shared_bytes: u32,
    ) -> Result<u32, Error> {
        let config = LaunchConfig::new(1, block).with_dynamic_shared(dynamic_shared_bytes);
        config.check().map_err(|error| Error::Limit { kernel, error })?;
        self.enter()?;
        let function = self.function(kernel)?;
        self.allow_shared(kernel, &function, dynamic_shared_bytes)?;
        let per_multiprocessor = self.resident_blocks(kernel, &function, config)?;
        Ok(per_multiprocessor.saturating_mul(self.properties.multiprocessors))
    }

    /// Maximum number of clusters of `kernel` that are resident on this GPU at once; 0 if the
    /// driver, the GPU or the PTX does not support such clusters.
    pub(crate) fn max_clusters(&self, kernel: &'static str, config: LaunchConfig) -> Result<u32, Error> {
        config.check().map_err(|error| Error::Limit { kernel, error })?;
        self.enter()?;
        let function = match self.function(kernel) {
            Ok(function) if function.entry.cluster == u32::from(config.cluster) => function,
            Ok(_) | Err(Error::NoSuchKernel { .. }) => return Ok(0),
            Err(error) => return Err(error),
        };
        match self.allow_shared(kernel, &function, config.dynamic_shared_bytes) {
            Ok(()) => self.check("querying the occupancy of clusters", function.max_clusters(config)),
            Err(Error::SharedMemory { .. }) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Checks that all blocks of a cooperative launch can be resident at once.
    fn check_residency(&self, kernel: &'static str, function: &Function, config: LaunchConfig) -> Result<(), Error> {
        let per_multiprocessor = self.resident_blocks(kernel, function, config)?;
        let multiprocessors = self.properties.multiprocessors;
        let (blocks, limit) = (config.grid.count(), u64::from(per_multiprocessor) * u64::from(multiprocessors));
        if blocks > limit {
            return Err(Error::TooManyBlocks { kernel, blocks, limit, per_multiprocessor, multiprocessors });
        }
        Ok(())
    }

    /// Maximum resident blocks of this shape per multiprocessor (the kernel's occupancy).
    #[allow(unsafe_code)]
    fn resident_blocks(&self, kernel: &'static str, function: &Function, config: LaunchConfig) -> Result<u32, Error> {
        if !self.properties.supports_cooperative_launch {
            return Err(Error::NotCooperative { kernel, device: self.properties.name.clone() });
        }
        let (threads, shared) = (config.block.count() as i32, config.dynamic_shared_bytes as usize);
        let mut blocks = 0;
        // SAFETY: `blocks` is a valid out-pointer, and the function belongs to a loaded module.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, function.handle, threads, shared)
        };
        self.check("querying the occupancy", succeed(result))?;
        Ok(u32::try_from(blocks).expect("the driver counts blocks from 0"))
    }

    /// Opts in to more dynamic shared memory than the default limit of 48 KiB if a launch needs it.
    fn allow_shared(&self, kernel: &'static str, function: &Function, dynamic_bytes: u32) -> Result<(), Error> {
        if dynamic_bytes <= function.allowed_shared_bytes.get() {
            return Ok(());
        }
        let (static_bytes, limit) = (function.static_shared_bytes, self.properties.max_shared_bytes);
        if dynamic_bytes > limit.saturating_sub(static_bytes) {
            return Err(Error::SharedMemory { kernel, static_bytes, dynamic_bytes, limit });
        }
        let allowed = function.allow_shared(limit - static_bytes);
        self.check("raising the limit of shared memory", allowed)
    }

    /// The function of the kernel called `kernel`.
    pub(super) fn function(&self, kernel: &'static str) -> Result<Rc<Function>, Error> {
        match self.modules.function(kernel) {
            Ok(found) => found.ok_or(Error::NoSuchKernel { kernel }),
            Err(FunctionError::Load(LoadError { error, log })) => Err(Error::Ptx { kernel, error, log }),
            Err(FunctionError::Driver(error)) => self.check("looking for a kernel", Err(error)),
        }
    }
}
