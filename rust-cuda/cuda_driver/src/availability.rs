//! Checks whether this machine's driver can be used.

use std::ffi::{c_int, c_uint};
use std::sync::OnceLock;

use cust_raw::CUresult;

use crate::error::name_of;
use crate::library::Library;
use crate::symbol::Symbol;
use crate::unavailable::{DriverVersion, Unavailable};

/// The functions that every program with a GPU needs. If one of them is missing, the driver cannot
/// be used. Others may be missing: calling a missing one returns `CUDA_ERROR_NOT_FOUND`.
const ESSENTIAL: &[&str] = &[
    "cuDriverGetVersion",
    "cuInit",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuModuleLoadDataEx",
    "cuModuleGetFunction",
    "cuModuleUnload",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemcpyHtoD_v2",
    "cuMemcpyDtoH_v2",
    "cuStreamCreateWithPriority",
    "cuStreamSynchronize",
    "cuStreamDestroy_v2",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventElapsedTime",
    "cuEventDestroy_v2",
    "cuLaunchKernel",
];

const NO_DEVICE: c_int = CUresult::CUDA_ERROR_NO_DEVICE as c_int;

// SAFETY: this is the function's type in cuda.h, where the result is an enum, passed as an int.
#[allow(unsafe_code)]
static DRIVER_GET_VERSION: Symbol<unsafe extern "C" fn(*mut c_int) -> c_int> =
    unsafe { Symbol::new("cuDriverGetVersion") };
// SAFETY: this is the function's type in cuda.h, where the result is an enum, passed as an int.
#[allow(unsafe_code)]
static INIT: Symbol<unsafe extern "C" fn(c_uint) -> c_int> = unsafe { Symbol::new("cuInit") };
// SAFETY: this is the function's type in cuda.h, where the result is an enum, passed as an int.
#[allow(unsafe_code)]
static DEVICE_GET_COUNT: Symbol<unsafe extern "C" fn(*mut c_int) -> c_int> = unsafe { Symbol::new("cuDeviceGetCount") };

/// Checks that this machine has a usable CUDA driver and a device. Returns the newest CUDA version
/// that the driver supports.
///
/// The first call opens the library and calls `cuInit`, which can take a few tenths of a second.
/// Later calls return the cached result. If it is Ok, you can use cust without calling
/// `cust::init`.
///
/// # Errors
/// The first that applies: there is no library, it cannot be loaded, it is too old, it lacks an
/// essential function, the driver does not start, or there is no device.
pub fn availability() -> Result<DriverVersion, Unavailable> {
    static AVAILABILITY: OnceLock<Result<DriverVersion, Unavailable>> = OnceLock::new();
    AVAILABILITY.get_or_init(examine).clone()
}

#[allow(unsafe_code)]
fn examine() -> Result<DriverVersion, Unavailable> {
    let library = Library::get().map_err(Clone::clone)?;
    let path = || library.path.clone();
    let missing = |symbol| Unavailable::MissingSymbol { library: path(), symbol };
    let failed = |function, code| Unavailable::Failed { library: path(), function, name: name_of(code), code };

    // The version is checked first: it can be queried before cuInit, and explains other failures of
    // an old driver.
    let driver_get_version = DRIVER_GET_VERSION.get().map_err(|_| missing("cuDriverGetVersion"))?;
    let mut code = 0;
    // SAFETY: the function writes one int to the pointer, which is valid.
    match unsafe { driver_get_version(&raw mut code) } {
        0 => {}
        error => return Err(failed("cuDriverGetVersion", error)),
    }
    let version = DriverVersion::from_code(code);
    if version < DriverVersion::MIN_SUPPORTED {
        return Err(Unavailable::TooOld { library: path(), found: version, needed: DriverVersion::MIN_SUPPORTED });
    }
    if let Some(symbol) = ESSENTIAL.iter().find(|symbol| !library.has(symbol)) {
        return Err(missing(symbol));
    }

    let init = INIT.get().map_err(|_| missing("cuInit"))?;
    // SAFETY: the flags are zero, as required.
    match unsafe { init(0) } {
        0 => {}
        NO_DEVICE => return Err(Unavailable::NoDevice { library: path(), version }),
        error => return Err(failed("cuInit", error)),
    }
    let device_get_count = DEVICE_GET_COUNT.get().map_err(|_| missing("cuDeviceGetCount"))?;
    let mut count = 0;
    // SAFETY: the function writes one int to the pointer, which is valid.
    match unsafe { device_get_count(&raw mut count) } {
        0 if count > 0 => Ok(version),
        0 | NO_DEVICE => Err(Unavailable::NoDevice { library: path(), version }),
        error => Err(failed("cuDeviceGetCount", error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_decoded_and_compared() {
        let version = DriverVersion::from_code(12040);
        assert_eq!(version, DriverVersion { major: 12, minor: 4 });
        assert_eq!(version.to_string(), "12.4");
        assert!(DriverVersion::from_code(10020) < DriverVersion::MIN_SUPPORTED);
        assert!(DriverVersion::from_code(11000) >= DriverVersion::MIN_SUPPORTED);
    }

    #[test]
    fn essential_functions_are_forwarded() {
        for symbol in ESSENTIAL {
            assert!(crate::SYMBOLS.contains(symbol), "{symbol}");
        }
    }
}
