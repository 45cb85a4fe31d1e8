//! The check of whether this machine's driver can be used.

use std::ffi::{c_int, c_uint};
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

use cust_raw::CUresult;

use crate::error::name_of;
use crate::library::Library;
use crate::symbol::Symbol;

/// The functions that every program with a GPU needs: without one of them the driver cannot be used. Others may be
/// missing; a call of a missing one returns `CUDA_ERROR_NOT_FOUND`.
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

/// The newest version of CUDA that a driver supports. A newer version compares as greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriverVersion {
    /// The 12 of 12.4.
    pub major: u32,
    /// The 4 of 12.4.
    pub minor: u32,
}

impl DriverVersion {
    /// The oldest supported version: the first with all functions that cust needs at start-up, such as
    /// `cuDevicePrimaryCtxRelease_v2`. Driver 450 (2020) has it.
    pub const MIN_SUPPORTED: Self = Self { major: 11, minor: 0 };

    /// Decodes the driver's version number, which is 12040 for 12.4.
    fn from_code(code: c_int) -> Self {
        let code = code.unsigned_abs();
        Self { major: code / 1000, minor: code % 1000 / 10 }
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// Why CUDA cannot be used on this machine. Displayed, it is one line with a hint on how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The driver's library is not installed.
    #[error("no CUDA driver ({library}) on this machine: to use an NVIDIA GPU, install the NVIDIA driver")]
    NoLibrary {
        /// The file that was searched for.
        library: PathBuf,
    },
    /// The driver's library exists, but the dynamic linker cannot load it.
    #[error("the CUDA driver {library} cannot be loaded ({reason}): reinstall the NVIDIA driver")]
    LibraryNotLoadable {
        /// The file.
        library: PathBuf,
        /// The dynamic linker's message.
        reason: String,
    },
    /// The driver is older than [`DriverVersion::MIN_SUPPORTED`].
    #[error("the CUDA driver {library} is for CUDA {found}, and {needed} or newer is needed: update the NVIDIA driver")]
    TooOld {
        /// The file.
        library: PathBuf,
        /// The newest version that the driver supports.
        found: DriverVersion,
        /// [`DriverVersion::MIN_SUPPORTED`].
        needed: DriverVersion,
    },
    /// The library lacks an essential function.
    #[error("the CUDA driver {library} has no {symbol}: update the NVIDIA driver")]
    MissingSymbol {
        /// The file.
        library: PathBuf,
        /// The function's name.
        symbol: &'static str,
    },
    /// The driver finds no GPU.
    #[error(
        "the CUDA driver {library} (CUDA {version}) finds no device: check that `nvidia-smi` lists one and that \
         CUDA_VISIBLE_DEVICES does not hide it"
    )]
    NoDevice {
        /// The file.
        library: PathBuf,
        /// The newest version that the driver supports.
        version: DriverVersion,
    },
    /// The driver's initialisation failed.
    #[error("the CUDA driver {library} does not start, {function} returned {name} ({code}): {}", hint(*code))]
    Failed {
        /// The file.
        library: PathBuf,
        /// The function that failed: `cuInit`, or one called right before or after it.
        function: &'static str,
        /// The name of its result, as in cuda.h.
        name: String,
        /// The value of its result.
        code: i32,
    },
}

/// A hint on how to fix the failure `code`.
fn hint(code: i32) -> &'static str {
    match code {
        34 => "it is a stub, made for linking only; take it off the library path and install the NVIDIA driver",
        46 => "another process may use the GPU exclusively; check `nvidia-smi`",
        802 => "wait until the machine has started, and check that the NVIDIA fabric manager runs",
        803 => "the driver was updated; restart the machine",
        _ => "restart the machine; if that does not help, reinstall the NVIDIA driver",
    }
}

/// Checks that this machine has a usable CUDA driver and a device. Returns the newest version of CUDA that the driver
/// supports.
///
/// The first call opens the library and calls `cuInit`, which can take some tenths of a second; later calls return the
/// cached result. If it is Ok, cust can be used without calling `cust::init`.
///
/// # Errors
/// The first of these that applies: there is no library, it cannot be loaded, it is too old, it lacks an essential
/// function, the driver does not start, there is no device.
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

    // The version is checked first: it can be queried before cuInit, and explains other failures of an old driver.
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
    // SAFETY: the flags must be zero.
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
