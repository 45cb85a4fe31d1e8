//! Functions: the kernels of a loaded module, the resources they need, and how many of their blocks
//! can be resident at once.

use std::ffi::{CString, c_char, c_int, c_uint};
use std::sync::Arc;

use cuda_launch::LaunchConfig;
use ptx_interpreter::{KernelResources, LoadedModule};

use crate::abi::{Out, RawBlockToShared, RawLaunchConfig, shared_of_block};
use crate::architecture::{Architecture, DEFAULT_SHARED_BYTES};
use crate::driver::link::max_registers;
use crate::driver::{State, driver, in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::shape::{self, Attributes};

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) module: Handle,
    pub(crate) context: Handle,
    pub(crate) name: Arc<str>,
    c_name: CString,
    pub(crate) resources: KernelResources,
    /// Size in bytes of each parameter.
    pub(crate) parameters: Arc<[usize]>,
    /// Maximum dynamic shared memory of a launch in bytes, as set by the program.
    pub(crate) max_dynamic_bytes: usize,
    /// Whether its launches may have clusters of more than 8 blocks.
    pub(crate) allows_large_clusters: bool,
    /// Preferred shared memory carveout, without effect.
    carveout: c_int,
}

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`, `…_PREFERRED_SHARED_MEMORY_CARVEOUT`, `…_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
const MAX_DYNAMIC_SHARED: c_int = 8;
const CARVEOUT: c_int = 9;
const LARGE_CLUSTERS: c_int = 14;

impl Function {
    /// The kernel of this name; None if the module has none.
    pub(crate) fn of(module: Handle, context: Handle, loaded: &LoadedModule, name: &str) -> Option<Self> {
        let resources = loaded.resources(name)?;
        Some(Self {
            module,
            context,
            name: name.into(),
            c_name: CString::new(name).ok()?,
            resources,
            parameters: loaded.parameters(name).map(|(_, bytes)| bytes as usize).collect(),
            max_dynamic_bytes: (DEFAULT_SHARED_BYTES as usize).saturating_sub(resources.static_shared_bytes),
            allows_large_clusters: false,
            carveout: -1,
        })
    }

    /// Number of blocks in a cluster for a launch that requests this cluster size, or none.
    ///
    /// # Errors
    /// Same as [`shape::cluster_size`].
    pub(crate) fn cluster_size(&self, architecture: Architecture, asked: Option<[u32; 3]>) -> Result<u8> {
        shape::cluster_size(self.resources.cluster, self.allows_large_clusters, architecture, asked)
    }

    /// Maximum number of its blocks that are resident on a multiprocessor at once.
    pub(crate) fn resident_blocks(&self, architecture: Architecture, threads: u32, dynamic_bytes: usize) -> u32 {
        let shared = self.resources.static_shared_bytes + dynamic_bytes + architecture.reserved_shared_bytes as usize;
        if threads == 0 || threads > self.resources.max_threads || dynamic_bytes > self.max_dynamic_bytes {
            return 0;
        }
        let by_threads = architecture.threads / threads.next_multiple_of(32);
        let by_shared = (architecture.shared_bytes as usize).checked_div(shared).unwrap_or(usize::MAX);
        by_threads.min(architecture.blocks).min(by_shared.try_into().unwrap_or(u32::MAX))
    }
}

impl State {
    /// A function and its device's architecture.
    pub(crate) fn function_and_architecture(&self, function: Handle) -> Result<(&Function, Architecture)> {
        let function = self.functions.get(function)?;
        let ordinal = self.usable(function.context)?;
        Ok((function, driver()?.options.devices[ordinal]))
    }
}

pub(crate) fn attribute(value: Out<c_int>, attribute: c_int, function: Handle) -> Result {
    let found = with_function(function, |state, function| attribute_of(state, function, attribute));
    value.set(found?)
}

/// Calls `work` with a function, or with a library kernel's function in the current context.
fn with_function<R>(function: Handle, work: impl FnOnce(&mut State, Handle) -> Result<R>) -> Result<R> {
    let mut state = state()?;
    let function = match state.functions.get(function) {
        Ok(_) => function,
        Err(error) => {
            let context = crate::driver::context::current().ok_or(error)?;
            state.function_in(function, context)?
        }
    };
    work(&mut state, function)
}

pub(crate) fn attribute_of(state: &State, function: Handle, attribute: c_int) -> Result<c_int> {
    let (function, architecture) = state.function_and_architecture(function)?;
    let KernelResources { static_shared_bytes, local_bytes, constant_bytes, registers, max_threads, cluster, .. } =
        function.resources;
    let version = (architecture.major * 10 + architecture.minor) as c_int;
    Ok(match attribute {
        0 => max_threads as c_int,
        1 => static_shared_bytes as c_int,
        2 => constant_bytes as c_int,
        3 => local_bytes as c_int,
        // An estimate, which does not limit any launch.
        4 => {
            let limit = max_registers(&state.modules.get(function.module)?.ptx);
            limit.map_or(registers, |limit| registers.min(limit)) as c_int
        }
        // The PTX is compiled for the device, whatever its target is.
        5 => target(&state.modules.get(function.module)?.ptx).unwrap_or(version),
        6 => version,
        7 => 0,
        MAX_DYNAMIC_SHARED => function.max_dynamic_bytes as c_int,
        CARVEOUT => function.carveout,
        10 => c_int::from(cluster.is_some()),
        11 => cluster.map_or(0, |cluster| cluster.x as c_int),
        12 => cluster.map_or(0, |cluster| cluster.y as c_int),
        13 => cluster.map_or(0, |cluster| cluster.z as c_int),
        LARGE_CLUSTERS => c_int::from(function.allows_large_clusters),
        15 => 0,
        _ => return Err(Error::INVALID_VALUE),
    })
}

/// The target architecture of the PTX, such as 80 for `sm_80`.
fn target(ptx: &str) -> Option<c_int> {
    let name =
        ptx.lines().find_map(|line| line.trim_start().strip_prefix(".target"))?.trim_start().strip_prefix("sm_")?;
    let digits = name.find(|other: char| !other.is_ascii_digit()).unwrap_or(name.len());
    name[..digits].parse().ok()
}

pub(crate) fn set_attribute(function: Handle, attribute: c_int, value: c_int) -> Result {
    with_function(function, |state, function| set_attribute_of(state, function, attribute, value))
}

pub(crate) fn set_attribute_of(state: &mut State, function: Handle, attribute: c_int, value: c_int) -> Result {
    let (_, architecture) = state.function_and_architecture(function)?;
    let function = state.functions.get_mut(function)?;
    let limit = (architecture.max_shared_bytes as usize).saturating_sub(function.resources.static_shared_bytes);
    match (attribute, usize::try_from(value)) {
        (MAX_DYNAMIC_SHARED, Ok(bytes)) if bytes <= limit => function.max_dynamic_bytes = bytes,
        (CARVEOUT, _) if (-1..=100).contains(&value) => function.carveout = value,
        (LARGE_CLUSTERS, Ok(allowed @ 0..=1)) => function.allows_large_clusters = allowed == 1,
        // The preferred cluster scheduling policy.
        (15, Ok(0..=2)) => {}
        _ => return Err(Error::INVALID_VALUE),
    }
    Ok(())
}

/// Accepts a cache preference, which has no effect.
pub(crate) fn prefer(function: Handle) -> Result {
    with_function(function, |_, _| Ok(()))
}

pub(crate) fn module(module: Out<Handle>, function: Handle) -> Result {
    let found = with_function(function, |state, function| Ok(state.functions.get(function)?.module));
    module.set(found?)
}

/// The function's name, which is valid as long as its module.
pub(crate) fn name(name: Out<*const c_char>, function: Handle) -> Result {
    let found = with_function(function, |state, function| Ok(state.functions.get(function)?.c_name.as_ptr()));
    name.set(found?)
}

pub(crate) fn parameter(function: Handle, index: usize, offset: Out<usize>, bytes: Out<usize>) -> Result {
    with_function(function, |state, function| {
        let Function { module, name, parameters, .. } = state.functions.get(function)?;
        let size = parameters.get(index).ok_or(Error::INVALID_VALUE)?;
        let start =
            state.modules.get(*module)?.loaded.parameter_offsets(name).nth(index).ok_or(Error::INVALID_VALUE)?;
        bytes.set_if_wanted(*size);
        offset.set(start as usize)
    })
}

pub(crate) fn parameter_count(function: Handle, count: Out<usize>) -> Result {
    let found = with_function(function, |state, function| Ok(state.functions.get(function)?.parameters.len()));
    count.set(found?)
}

/// A module loads all its functions at once (`CU_FUNCTION_LOADING_STATE_LOADED`).
pub(crate) fn loading_state(loading: Out<c_int>, function: Handle) -> Result {
    prefer(function)?;
    loading.set(1)
}

pub(crate) fn max_active_blocks(blocks: Out<c_int>, function: Handle, threads: c_int, dynamic_bytes: usize) -> Result {
    let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0).ok_or(Error::INVALID_VALUE)?;
    let found = with_function(function, |state, function| {
        let (function, architecture) = state.function_and_architecture(function)?;
        Ok(function.resident_blocks(architecture, threads, dynamic_bytes))
    });
    blocks.set(found? as c_int)
}

/// The block size with the most resident threads, and the number of such blocks that fill the
/// device.
pub(crate) fn max_potential_block(
    (blocks, threads): (Out<c_int>, Out<c_int>),
    function: Handle,
    to_shared: RawBlockToShared,
    dynamic_bytes: usize,
    limit: c_int,
) -> Result {
    let (architecture, max_threads) = with_function(function, |state, function| {
        let (function, architecture) = state.function_and_architecture(function)?;
        Ok((architecture, function.resources.max_threads))
    })?;
    let limit =
        u32::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(LaunchConfig::MAX_THREADS).min(max_threads);
    let mut best = (0, 0);
    for size in (1..=limit).rev().filter(|size| size.is_multiple_of(32) || *size == limit) {
        // The caller's function may call the driver, so the state is unlocked while it runs.
        let shared = shared_of_block(to_shared, size, dynamic_bytes);
        let resident = with_function(function, |state, function| {
            Ok(state.functions.get(function)?.resident_blocks(architecture, size, shared))
        })?;
        if resident * size > best.0 * best.1 {
            best = (resident, size);
        }
    }
    blocks.set((best.0 * architecture.multiprocessors) as c_int)?;
    threads.set(best.1 as c_int)
}

/// Maximum dynamic shared memory per block that still allows this number of resident blocks.
pub(crate) fn available_shared(bytes: Out<usize>, function: Handle, blocks: c_int, threads: c_int) -> Result {
    let (Ok(blocks @ 1..), Ok(threads @ 1..)) = (u32::try_from(blocks), u32::try_from(threads)) else {
        return Err(Error::INVALID_VALUE);
    };
    let found = with_function(function, |state, function| {
        let (function, architecture) = state.function_and_architecture(function)?;
        if function.resident_blocks(architecture, threads, 0) < blocks {
            return Err(Error::INVALID_VALUE);
        }
        let share = architecture.shared_bytes / blocks;
        let own = function.resources.static_shared_bytes + architecture.reserved_shared_bytes as usize;
        Ok((share as usize).saturating_sub(own).min(function.max_dynamic_bytes))
    });
    bytes.set(found?)
}

/// Number of clusters of a launch that can be resident at once.
pub(crate) fn max_active_clusters(clusters: Out<c_int>, function: Handle, config: RawLaunchConfig) -> Result {
    let attributes = Attributes::of(&config)?;
    let found = with_function(function, |state, function| {
        let (function, architecture) = state.function_and_architecture(function)?;
        let size = function.cluster_size(architecture, attributes.cluster)?;
        let threads = config.block.iter().try_fold(1_u32, |product, size| product.checked_mul(*size));
        let threads = threads.ok_or(Error::INVALID_VALUE)?;
        let resident = function.resident_blocks(architecture, threads, config.shared_bytes as usize);
        Ok(resident * architecture.multiprocessors / u32::from(size))
    });
    clusters.set(found? as c_int)
}

/// The maximum cluster size of a launch.
pub(crate) fn max_cluster(size: Out<c_int>, function: Handle, _config: RawLaunchConfig) -> Result {
    let found = with_function(function, |state, function| {
        let (function, architecture) = state.function_and_architecture(function)?;
        let largest = if function.allows_large_clusters { LaunchConfig::MAX_CLUSTER } else { shape::PORTABLE_CLUSTER };
        if architecture.has_clusters() { Ok(c_uint::from(largest)) } else { Err(Error::NOT_SUPPORTED) }
    });
    in_context(|_, _, _| Ok(()))?;
    size.set(found? as c_int)
}
