//! Thread block clusters, which `cust_raw`'s bindings of CUDA 11.4 lack.

use std::ffi::{c_int, c_uint, c_void};

use cust_raw::{CUfunction, CUresult, CUstream};

use crate::error::result_from_code;
use crate::symbol::{Symbol, lookup_failure};

/// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`
const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: c_int = 14;

/// The shape of a launch, as the driver's `CUlaunchConfig` has it, without attributes.
#[repr(C)]
struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: CUstream,
    attributes: *mut c_void,
    attribute_count: c_uint,
}

/// Permits clusters of more than 8 blocks in launches of `function`; a GPU may refuse them nevertheless
/// (`cuFuncSetAttribute`).
///
/// # Safety
/// The function belongs to a loaded module.
#[allow(unsafe_code)]
pub unsafe fn allow_large_clusters(function: CUfunction) -> CUresult {
    // An integer in place of cust_raw's enum, which has no such attribute.
    type Function = unsafe extern "C" fn(CUfunction, c_int, c_int) -> c_int;
    // SAFETY: `Function` is the function's type: a C enum is passed as an int.
    static SYMBOL: Symbol<Function> = unsafe { Symbol::new("cuFuncSetAttribute") };
    match SYMBOL.get() {
        // SAFETY: the caller upholds this function's contract.
        Ok(set) => result_from_code(unsafe { set(function, NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) }),
        Err(reason) => lookup_failure("cuFuncSetAttribute", reason),
    }
}

/// The number of clusters of `function`, which was compiled for a cluster size, that can be resident on the GPU at once
/// (`cuOccupancyMaxActiveClusters`).
///
/// # Errors
/// The driver's error; `CUDA_ERROR_NOT_FOUND` if the driver is older than CUDA 11.8.
///
/// # Safety
/// The function belongs to a loaded module, whose context is current.
#[allow(unsafe_code)]
pub unsafe fn max_active_clusters(
    function: CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
) -> Result<u32, CUresult> {
    type Function = unsafe extern "C" fn(*mut c_int, CUfunction, *const LaunchConfig) -> c_int;
    // SAFETY: `Function` is the function's type in NVIDIA's cuda.h, and so is the layout of `LaunchConfig`.
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
