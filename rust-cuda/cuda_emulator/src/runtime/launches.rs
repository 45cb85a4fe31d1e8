//! Launches and queries about kernels.

use std::cell::RefCell;
use std::ffi::c_int;

use cuda_launch::{Dim3, LaunchConfig};

use crate::abi::{FunctionAttributes, HostAddress, Out, RawLaunchConfig, RuntimeLaunchConfig, Size3};
use crate::driver::function;
use crate::driver::launch::{launch as launch_function, launch_with};
use crate::driver::state;
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::shape::{Attributes, Shape};

use super::{binaries, bind};

/// The execution configuration in `kernel<<<grid, block, shared, stream>>>`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    pub(crate) grid: Size3,
    pub(crate) block: Size3,
    pub(crate) shared_bytes: usize,
    pub(crate) stream: Handle,
}

thread_local! {
    /// Configurations of launches that have not started yet.
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// Stores the configuration of the next launch.
pub(crate) fn push(configuration: Configuration) {
    CONFIGURATIONS.with_borrow_mut(|kept| kept.push(configuration));
}

/// Returns the configuration that was stored last.
///
/// # Errors
/// `MISSING_CONFIGURATION` if there is none.
pub(crate) fn pop() -> Result<Configuration> {
    CONFIGURATIONS.with_borrow_mut(Vec::pop).ok_or(Error::MISSING_CONFIGURATION)
}

/// The function of a kernel in the current context.
///
/// # Errors
/// `INVALID_DEVICE_FUNCTION`, or the error if its fat binary cannot be loaded.
pub(crate) fn function_of(kernel: HostAddress) -> Result<Handle> {
    binaries::function(kernel, bind()?)
}

/// Launches a kernel.
///
/// # Errors
/// `INVALID_CONFIGURATION` if the grid or block size is impossible; otherwise the driver's error.
pub(crate) fn launch(
    kernel: HostAddress,
    Configuration { grid, block, shared_bytes, stream }: Configuration,
    arguments: HostAddress,
    attributes: Attributes,
) -> Result {
    let function = function_of(kernel)?;
    let shared_bytes = check(grid, block, shared_bytes)?;
    let shape = Shape { grid: grid.0, block: block.0, shared_bytes, attributes };
    launch_function(function, shape, stream, arguments, HostAddress(0))
}

/// `cudaLaunchKernelExC`
pub(crate) fn launch_configured(config: RuntimeLaunchConfig, kernel: HostAddress, arguments: HostAddress) -> Result {
    let function = function_of(kernel)?;
    launch_with(of_driver(config)?, function, arguments, HostAddress(0))
}

/// Converts a launch configuration to the driver's form.
///
/// # Errors
/// `INVALID_CONFIGURATION` if the configuration is impossible.
pub(crate) fn of_driver(config: RuntimeLaunchConfig) -> Result<RawLaunchConfig> {
    let RuntimeLaunchConfig { grid, block, shared_bytes, stream, attributes, attribute_count } = config;
    let shared_bytes = check(grid, block, shared_bytes)?;
    Ok(RawLaunchConfig { grid: grid.0, block: block.0, shared_bytes, stream, attributes, attribute_count })
}

/// Checks the shape of a launch, and returns its shared memory in bytes.
fn check(grid: Size3, block: Size3, shared_bytes: usize) -> Result<u32> {
    let [grid, block] = [grid.0, block.0].map(|[x, y, z]| Dim3::new(x, y, z));
    let config = LaunchConfig { grid, block, dynamic_shared_bytes: 0, cooperative: false, cluster: 1 };
    config.check().map_err(|_| Error::INVALID_CONFIGURATION)?;
    u32::try_from(shared_bytes).map_err(|_| Error::INVALID_VALUE)
}

/// `cudaFuncGetAttributes`
pub(crate) fn attributes(to: Out<FunctionAttributes>, kernel: HostAddress) -> Result {
    let function = function_of(kernel)?;
    let state = state()?;
    let value = |attribute| function::attribute_of(&state, function, attribute);
    let bytes = |attribute| value(attribute).map(|value| value as usize);
    to.set(FunctionAttributes {
        shared_bytes: bytes(1)?,
        constant_bytes: bytes(2)?,
        local_bytes: bytes(3)?,
        max_threads: value(0)?,
        // From the number of registers to the node updates, in the driver's numbering; then modes
        // that are not known.
        others: [
            value(4)?,
            value(5)?,
            value(6)?,
            value(7)?,
            value(8)?,
            value(9)?,
            value(10)?,
            value(11)?,
            value(12)?,
            value(13)?,
            value(15)?,
            value(14)?,
            0,
            0,
        ],
        reserved: [0; 14],
    })
}

/// Checks a cache configuration, which has no effect.
pub(crate) fn set_cache(kernel: HostAddress, config: c_int) -> Result {
    function_of(kernel)?;
    if (0..=3).contains(&config) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}
