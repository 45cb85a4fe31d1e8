//! Why CUDA cannot be used, and the version of its driver.

use std::ffi::c_int;
use std::fmt;
use std::path::PathBuf;

/// The newest CUDA version that a driver supports. Newer versions compare as greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriverVersion {
    /// The 12 of 12.4.
    pub major: u32,
    /// The 4 of 12.4.
    pub minor: u32,
}

impl DriverVersion {
    /// The oldest supported version: the first with all functions that cust needs at startup, such
    /// as `cuDevicePrimaryCtxRelease_v2`. Driver 450 (2020) supports it.
    pub const MIN_SUPPORTED: Self = Self { major: 11, minor: 0 };

    /// Decodes the driver's version number, such as 12040 for 12.4.
    pub(crate) fn from_code(code: c_int) -> Self {
        let code = code.unsigned_abs();
        Self { major: code / 1000, minor: code % 1000 / 10 }
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// What to do if there is no driver.
const NO_LIBRARY_HINT: &str = match cfg!(target_os = "macos") {
    true => "NVIDIA makes none for macOS since 2019; a machine with Linux or Windows can have one",
    false => "to use an NVIDIA GPU, install the NVIDIA driver",
};

/// Why CUDA cannot be used on this machine. It is displayed as one line with a hint on how to fix
/// it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The driver's library is not installed.
    #[error("no CUDA driver ({library}) on this machine: {NO_LIBRARY_HINT}")]
    NoLibrary {
        /// The file that was searched for.
        library: PathBuf,
    },
    /// The driver's library exists, but the dynamic linker cannot load it.
    #[error(
        "the CUDA driver {library}, or a library that it needs, cannot be loaded ({reason}): reinstall the NVIDIA driver"
    )]
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
    /// The driver does not find a GPU.
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
    /// The driver's initialization failed.
    #[error("the CUDA driver {library} does not start, {function} returned {name} ({code}): {}", hint(*code))]
    Failed {
        /// The file.
        library: PathBuf,
        /// The function that failed: `cuInit`, or a function called right before or after it.
        function: &'static str,
        /// The name of its result in cuda.h.
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
