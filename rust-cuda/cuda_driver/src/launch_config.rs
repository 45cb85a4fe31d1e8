//! Thread block clusters and dependent launches, which are missing from `cust_raw`'s CUDA 11.4
//! bindings.

use std::ffi::{c_int, c_uint, c_void};

use cust_raw::{CUfunction, CUresult, CUstream};

use crate::error::result_from_code;
use crate::symbol::{Symbol, lookup_failure};

/// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`
const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: c_int = 14;

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`
const PROGRAMMATIC_STREAM_SERIALIZATION: c_int = 6;

/// A launch in the layout of the driver's `CUlaunchConfig`.
#[repr(C)]
struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: CUstream,
    attributes: *mut LaunchAttribute,
    attribute_count: c_uint,
}

/// A launch attribute in the layout of the driver's `CUlaunchAttribute`: a union of 64 bytes at an
/// offset of 8.
#[repr(C)]
struct LaunchAttribute {
    id: c_int,
    padding: c_int,
    value: [u64; 8],
}

/// Permits clusters of more than 8 blocks in launches of `function` (`cuFuncSetAttribute`). A GPU
/// may still reject them.
///
/// # Safety
/// The function belongs to a loaded module.
#[allow(unsafe_code)]
pub unsafe fn allow_large_clusters(function: CUfunction) -> CUresult {
    // An integer instead of cust_raw's enum, which lacks this attribute.
    type Function = unsafe extern "C" fn(CUfunction, c_int, c_int) -> c_int;
    // SAFETY: `Function` is the function's type: a C enum is passed as an int.
    static SYMBOL: Symbol<Function> = unsafe { Symbol::new("cuFuncSetAttribute") };
    match SYMBOL.get() {
        // SAFETY: the caller upholds this function's contract.
        Ok(set) => result_from_code(unsafe { set(function, NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) }),
        Err(reason) => lookup_failure("cuFuncSetAttribute", reason),
    }
}

/// The number of clusters of `function` that can be resident on the GPU at once
/// (`cuOccupancyMaxActiveClusters`). The function must have been compiled for a cluster size.
///
/// # Errors
/// The driver's error; `CUDA_ERROR_NOT_FOUND` if the driver is older than CUDA 11.8.
///
/// # Safety
/// The function belongs to a loaded module of the current context.
#[allow(unsafe_code)]
pub unsafe fn max_active_clusters(
    function: CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
) -> Result<u32, CUresult> {
    type Function = unsafe extern "C" fn(*mut c_int, CUfunction, *const LaunchConfig) -> c_int;
    // SAFETY: `Function` is the function's type in NVIDIA's cuda.h, and `LaunchConfig` has the
    // layout defined there.
    static SYMBOL: Symbol<Function> = unsafe { Symbol::new("cuOccupancyMaxActiveClusters") };
    let query = SYMBOL.get().map_err(|reason| lookup_failure("cuOccupancyMaxActiveClusters", reason))?;
    let (stream, attributes) = (std::ptr::null_mut(), std::ptr::null_mut());
    let config = LaunchConfig { grid, block, shared_bytes, stream, attributes, attribute_count: 0 };
    let mut count = 0;
    // SAFETY: the caller upholds this function's contract; both pointers are valid during the call.
    match result_from_code(unsafe { query(&raw mut count, function, &raw const config) }) {
        CUresult::CUDA_SUCCESS => Ok(count.unsigned_abs()),
        error => Err(error),
    }
}

/// Launches `function` and lets it start before the previous launch in the stream has finished
/// (`cuLaunchKernelEx` with the programmatic stream serialization attribute). Returns
/// `CUDA_ERROR_NOT_FOUND` if the driver is older than CUDA 11.8.
///
/// # Safety
/// As for `cuLaunchKernel`. In addition, until the kernel has waited for the previous launch, it
/// accesses nothing that the previous launch writes, and writes nothing that the previous launch
/// accesses.
#[allow(unsafe_code)]
pub unsafe fn launch_dependent(
    function: CUfunction,
    (grid, block): ([u32; 3], [u32; 3]),
    shared_bytes: u32,
    stream: CUstream,
    parameters: *mut *mut c_void,
) -> CUresult {
    type Function = unsafe extern "C" fn(*const LaunchConfig, CUfunction, *mut *mut c_void, *mut *mut c_void) -> c_int;
    // SAFETY: `Function` is the function's type in NVIDIA's cuda.h, and `LaunchConfig` and
    // `LaunchAttribute` have the layouts defined there.
    static SYMBOL: Symbol<Function> = unsafe { Symbol::new("cuLaunchKernelEx") };
    let launch = match SYMBOL.get() {
        Ok(launch) => launch,
        Err(reason) => return lookup_failure("cuLaunchKernelEx", reason),
    };
    // The value is the int 1 in the union's first bytes.
    let mut attribute =
        LaunchAttribute { id: PROGRAMMATIC_STREAM_SERIALIZATION, padding: 0, value: [1, 0, 0, 0, 0, 0, 0, 0] };
    let config = LaunchConfig { grid, block, shared_bytes, stream, attributes: &raw mut attribute, attribute_count: 1 };
    // SAFETY: the caller upholds this function's contract; the pointers are valid during the call.
    result_from_code(unsafe { launch(&raw const config, function, parameters, std::ptr::null_mut()) })
}

/// The CUDA version that the driver supports, as 1000 · major + 10 · minor; 0 if the driver does
/// not report it.
#[allow(unsafe_code)]
pub fn driver_version() -> u32 {
    let mut version = 0;
    // SAFETY: `version` is a valid out-pointer.
    match unsafe { cust_raw::cuDriverGetVersion(&raw mut version) } {
        CUresult::CUDA_SUCCESS => version.unsigned_abs(),
        _ => 0,
    }
}
