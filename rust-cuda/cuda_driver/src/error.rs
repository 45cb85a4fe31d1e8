//! The driver's results: conversion from integers to the enum, and their names and descriptions.
//!
//! Names and descriptions come from the driver. The table below is the fallback.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::OnceLock;

use cust_raw::CUresult;

use crate::library::Library;
use crate::symbol::Symbol;

/// The type of `cuGetErrorName` and `cuGetErrorString`, with integers as results. `cust_raw` has an
/// enum of the same size.
type Describe = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

// SAFETY: `Describe` is this function's type in cuda.h.
#[allow(unsafe_code)]
static NAME: Symbol<Describe> = unsafe { Symbol::new("cuGetErrorName") };
// SAFETY: `Describe` is this function's type in cuda.h.
#[allow(unsafe_code)]
static TEXT: Symbol<Describe> = unsafe { Symbol::new("cuGetErrorString") };

thread_local! {
    /// The value of this thread's last result that was converted to `CUDA_ERROR_UNKNOWN`.
    static UNKNOWN: Cell<c_int> = const { Cell::new(CUresult::CUDA_ERROR_UNKNOWN as c_int) };
}

/// The result with the value `code`; `CUDA_ERROR_UNKNOWN` for results newer than CUDA 11.4.
pub(crate) fn result_from_code(code: c_int) -> CUresult {
    if code == 0 {
        return CUresult::CUDA_SUCCESS;
    }
    let result = from_code(code).unwrap_or(CUresult::CUDA_ERROR_UNKNOWN);
    if result == CUresult::CUDA_ERROR_UNKNOWN {
        UNKNOWN.set(code);
    }
    result
}

/// The value of `result` in cuda.h. For `CUDA_ERROR_UNKNOWN` it is the value that the driver last
/// returned to this thread, such as 912, `CUDA_ERROR_INVALID_CLUSTER_SIZE`, which is newer than
/// CUDA 11.4. So call it before any other driver function.
pub fn code_of(result: CUresult) -> i32 {
    if result == CUresult::CUDA_ERROR_UNKNOWN { UNKNOWN.get() } else { result as c_int }
}

/// The name of the result with the value `code`, as in cuda.h.
pub(crate) fn name_of(code: c_int) -> String {
    let name = describe(&NAME, code).or_else(|| from_code(code).map(name));
    name.unwrap_or(c"an error without a name").to_string_lossy().into_owned()
}

/// The description of `code` from the driver's `function`, if it has one.
#[allow(unsafe_code)]
fn describe(function: &Symbol<Describe>, code: c_int) -> Option<&'static CStr> {
    let function = function.get().ok()?;
    let mut text = std::ptr::null();
    // SAFETY: `text` is a valid out-pointer; `code` may be any integer.
    let result = unsafe { function(code, &raw mut text) };
    if result != 0 || text.is_null() {
        return None;
    }
    // SAFETY: the driver returned a C string that lives as long as the driver is loaded, and it is
    // never unloaded.
    Some(unsafe { CStr::from_ptr(text) })
}

/// The fallback description of an error. Without a driver, the text for "no device" says why there
/// is no driver.
fn own_text(error: CUresult) -> &'static CStr {
    static NO_DRIVER: OnceLock<Option<CString>> = OnceLock::new();
    let no_driver = || Some(CString::new(Library::get().err()?.to_string()).unwrap_or_default());
    match NO_DRIVER.get_or_init(no_driver) {
        Some(reason) if error == CUresult::CUDA_ERROR_NO_DEVICE => reason,
        _ => text(error),
    }
}

/// Writes the name of `error` from cuda.h, such as `CUDA_ERROR_NO_DEVICE`. It always succeeds.
///
/// # Safety
/// `out` is a valid out-pointer.
#[allow(unsafe_code, non_snake_case)]
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: CUresult, out: *mut *const c_char) -> CUresult {
    let answer = describe(&NAME, code_of(error)).unwrap_or_else(|| name(error));
    // SAFETY: the caller guarantees that `out` is a valid out-pointer.
    unsafe { out.write(answer.as_ptr()) };
    CUresult::CUDA_SUCCESS
}

/// Writes the description of `error`, which cust displays. It always succeeds.
///
/// # Safety
/// `out` is a valid out-pointer.
#[allow(unsafe_code, non_snake_case)]
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(error: CUresult, out: *mut *const c_char) -> CUresult {
    let answer = describe(&TEXT, code_of(error)).unwrap_or_else(|| own_text(error));
    // SAFETY: the caller guarantees that `out` is a valid out-pointer.
    unsafe { out.write(answer.as_ptr()) };
    CUresult::CUDA_SUCCESS
}

/// Defines the lookup functions from the table of results. The compiler checks that the table is complete.
macro_rules! results {
    ($($result:ident = $text:literal;)*) => {
        /// The result with the value `code`, if CUDA 11.4 has it.
        fn from_code(code: c_int) -> Option<CUresult> {
            $(const $result: c_int = CUresult::$result as c_int;)*
            match code {
                $($result => Some(CUresult::$result),)*
                _ => None,
            }
        }

        /// The name of `result` in cuda.h.
        fn name(result: CUresult) -> &'static CStr {
            match result {
                $(CUresult::$result => {
                    const NAME: &CStr = c_string(concat!(stringify!($result), "\0"));
                    NAME
                })*
            }
        }

        /// The description of `result`.
        fn text(result: CUresult) -> &'static CStr {
            match result {
                $(CUresult::$result => $text,)*
            }
        }
    };
}

/// The C string in `text`, which ends with a zero byte.
const fn c_string(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(string) => string,
        Err(_) => panic!("one zero byte, at the end"),
    }
}

results! {
    CUDA_SUCCESS = c"no error";
    CUDA_ERROR_INVALID_VALUE = c"invalid argument";
    CUDA_ERROR_OUT_OF_MEMORY = c"out of memory";
    CUDA_ERROR_NOT_INITIALIZED = c"the driver is not initialized: call cuInit first";
    CUDA_ERROR_DEINITIALIZED = c"the driver is shutting down";
    CUDA_ERROR_PROFILER_DISABLED = c"the profiler is disabled";
    CUDA_ERROR_PROFILER_NOT_INITIALIZED = c"the profiler is not initialized";
    CUDA_ERROR_PROFILER_ALREADY_STARTED = c"the profiler was started already";
    CUDA_ERROR_PROFILER_ALREADY_STOPPED = c"the profiler was stopped already";
    CUDA_ERROR_STUB_LIBRARY = c"the CUDA driver is a stub library";
    CUDA_ERROR_NO_DEVICE = c"no CUDA-capable device is detected";
    CUDA_ERROR_INVALID_DEVICE = c"invalid device ordinal";
    CUDA_ERROR_DEVICE_NOT_LICENSED = c"the device has no valid licence";
    CUDA_ERROR_INVALID_IMAGE = c"invalid device kernel image";
    CUDA_ERROR_INVALID_CONTEXT = c"invalid device context";
    CUDA_ERROR_CONTEXT_ALREADY_CURRENT = c"the context is current already";
    CUDA_ERROR_MAP_FAILED = c"mapping of a buffer object failed";
    CUDA_ERROR_UNMAP_FAILED = c"unmapping of a buffer object failed";
    CUDA_ERROR_ARRAY_IS_MAPPED = c"the array is mapped";
    CUDA_ERROR_ALREADY_MAPPED = c"the resource is mapped already";
    CUDA_ERROR_NO_BINARY_FOR_GPU = c"no kernel image is available for execution on the device";
    CUDA_ERROR_ALREADY_ACQUIRED = c"the resource is acquired already";
    CUDA_ERROR_NOT_MAPPED = c"the resource is not mapped";
    CUDA_ERROR_NOT_MAPPED_AS_ARRAY = c"the resource is not mapped as an array";
    CUDA_ERROR_NOT_MAPPED_AS_POINTER = c"the resource is not mapped as a pointer";
    CUDA_ERROR_ECC_UNCORRECTABLE = c"an uncorrectable ECC error was encountered";
    CUDA_ERROR_UNSUPPORTED_LIMIT = c"the limit is not supported on this architecture";
    CUDA_ERROR_CONTEXT_ALREADY_IN_USE = c"the device is in exclusive use by another thread";
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = c"peer access is not supported between these two devices";
    CUDA_ERROR_INVALID_PTX = c"a PTX JIT compilation failed";
    CUDA_ERROR_INVALID_GRAPHICS_CONTEXT = c"invalid OpenGL or DirectX context";
    CUDA_ERROR_NVLINK_UNCORRECTABLE = c"an uncorrectable NVLink error was detected";
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND = c"the library of the PTX JIT compiler was not found";
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = c"the PTX was compiled with a toolchain that this driver does not support";
    CUDA_ERROR_JIT_COMPILATION_DISABLED = c"PTX JIT compilation is disabled";
    CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY = c"the execution affinity is not supported";
    CUDA_ERROR_INVALID_SOURCE = c"invalid kernel source";
    CUDA_ERROR_FILE_NOT_FOUND = c"file not found";
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND = c"a symbol of a shared object was not found";
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED = c"a shared object could not be initialized";
    CUDA_ERROR_OPERATING_SYSTEM = c"a call of the operating system failed";
    CUDA_ERROR_INVALID_HANDLE = c"invalid resource handle";
    CUDA_ERROR_ILLEGAL_STATE = c"the operation cannot be performed in the present state";
    CUDA_ERROR_NOT_FOUND = c"named symbol not found";
    CUDA_ERROR_NOT_READY = c"the device is not ready";
    CUDA_ERROR_ILLEGAL_ADDRESS = c"an illegal memory access was encountered";
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = c"too many resources requested for launch";
    CUDA_ERROR_LAUNCH_TIMEOUT = c"the launch timed out and was terminated";
    CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING = c"the launch uses an incompatible texturing mode";
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = c"peer access is enabled already";
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = c"peer access has not been enabled";
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = c"the primary context is active already";
    CUDA_ERROR_CONTEXT_IS_DESTROYED = c"the context is destroyed";
    CUDA_ERROR_ASSERT = c"a device-side assertion failed";
    CUDA_ERROR_TOO_MANY_PEERS = c"the resources for peer access are exhausted";
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = c"the host memory is registered already";
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = c"the host memory is not registered";
    CUDA_ERROR_HARDWARE_STACK_ERROR = c"a hardware stack error occurred";
    CUDA_ERROR_ILLEGAL_INSTRUCTION = c"an illegal instruction was encountered";
    CUDA_ERROR_MISALIGNED_ADDRESS = c"misaligned address";
    CUDA_ERROR_INVALID_ADDRESS_SPACE = c"operation not supported in this address space";
    CUDA_ERROR_INVALID_PC = c"invalid program counter";
    CUDA_ERROR_LAUNCH_FAILED = c"unspecified launch failure";
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = c"too many blocks in a cooperative launch";
    CUDA_ERROR_NOT_PERMITTED = c"operation not permitted";
    CUDA_ERROR_NOT_SUPPORTED = c"operation not supported";
    CUDA_ERROR_SYSTEM_NOT_READY = c"the system is not ready";
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = c"the installed driver does not fit the CUDA driver library";
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = c"the hardware does not support forward compatibility";
    CUDA_ERROR_MPS_CONNECTION_FAILED = c"the MPS control daemon or server cannot be reached";
    CUDA_ERROR_MPS_RPC_FAILURE = c"an MPS call failed";
    CUDA_ERROR_MPS_SERVER_NOT_READY = c"the MPS server is not ready";
    CUDA_ERROR_MPS_MAX_CLIENTS_REACHED = c"the MPS server has too many clients";
    CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED = c"the MPS server has too many connections";
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = c"operation not permitted while the stream is being captured";
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = c"the capture was invalidated by an earlier error";
    CUDA_ERROR_STREAM_CAPTURE_MERGE = c"two independent captures cannot be merged";
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = c"the capture was not begun in this stream";
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = c"the capture has work that was not joined to its stream";
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION = c"the capture depends on work outside it";
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = c"the capture depends on the legacy stream";
    CUDA_ERROR_CAPTURED_EVENT = c"the event belongs to a capture";
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = c"the capture was begun in another thread";
    CUDA_ERROR_TIMEOUT = c"the wait timed out";
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = c"the executable graph cannot be updated like this";
    CUDA_ERROR_EXTERNAL_DEVICE = c"an error in an external device";
    CUDA_ERROR_UNKNOWN = c"unknown error";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_codes_become_the_unknown_error() {
        assert_eq!(result_from_code(0), CUresult::CUDA_SUCCESS);
        assert_eq!(result_from_code(100), CUresult::CUDA_ERROR_NO_DEVICE);
        // CUDA_ERROR_DEVICE_UNAVAILABLE was added in CUDA 11.7.
        for code in [46, 998, 1000, -1, c_int::MAX] {
            assert_eq!(result_from_code(code), CUresult::CUDA_ERROR_UNKNOWN, "{code}");
        }
    }

    #[test]
    fn names_are_those_of_cuda_h() {
        assert_eq!(name(CUresult::CUDA_ERROR_INVALID_PTX), c"CUDA_ERROR_INVALID_PTX");
        assert_eq!(text(CUresult::CUDA_ERROR_INVALID_PTX), c"a PTX JIT compilation failed");
    }
}
