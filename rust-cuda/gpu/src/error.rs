//! Errors of devices, buffers and launches.

use std::fmt;

use cuda_launch::message::Message;
use cuda_launch::words::wrong_range;
use cuda_std::{ArgumentError, LaunchConfig, LimitError, simulator};
use cust::error::CudaError;
use cust::sys::CUresult;
use thiserror::Error;

/// An error of the CUDA driver.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{text} (CUDA error {code})")]
pub struct DriverError {
    /// The `CUresult` value from cuda.h, such as 700.
    pub code: u32,
    /// The driver's description of it.
    pub text: String,
}

impl From<CudaError> for DriverError {
    fn from(error: CudaError) -> Self {
        let code = match error {
            // This includes errors that are newer than cust.
            CudaError::UnknownError => cuda_driver::code_of(CUresult::CUDA_ERROR_UNKNOWN).unsigned_abs(),
            error => error as u32,
        };
        // cust displays the driver's text as a C string in quotes.
        Self { code, text: error.to_string().trim_matches('"').to_owned() }
    }
}

/// Why a device cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// CUDA cannot be used on this machine.
    #[error(transparent)]
    Unavailable(#[from] cuda_driver::Unavailable),
    /// The GPU is older than every architecture that the kernels were compiled for.
    #[error(
        "{device} has compute capability {}, and the kernels are compiled for {}",
        Capability(*compute_capability),
        Capabilities(variants)
    )]
    NoPtxVariant {
        /// The GPU's name.
        device: String,
        /// Its compute capability.
        compute_capability: (u32, u32),
        /// The compute capabilities that the kernels were compiled for, all of them higher.
        variants: Vec<(u32, u32)>,
    },
    /// The driver cannot compile the kernels' PTX.
    #[error("{device} rejects the kernels' PTX for {}: {error}{}", Capability(*variant), Log(log))]
    Ptx {
        /// The GPU's name.
        device: String,
        /// The compute capability of the PTX.
        variant: (u32, u32),
        /// The driver's error.
        error: DriverError,
        /// The log of the driver's JIT compiler, errors first.
        log: String,
    },
    /// The interpreter cannot load the kernels' PTX.
    #[error("the interpreter cannot run the kernels' PTX for {}: {error}", Capability(*variant))]
    Interpreter {
        /// The compute capability of the PTX.
        variant: (u32, u32),
        /// The interpreter's error.
        error: Box<ptx_interpreter::LoadError>,
    },
    /// The kernels have changed since their PTX was compiled, and the build found no toolchain to compile it.
    #[error(
        "there is no PTX of the changed kernels, so that only the simulator runs them ({reason}): `cargo xtask ptx` compiles it \
         where there is a toolchain, which `cargo xtask doctor` names"
    )]
    StalePtx {
        /// Why it is stale.
        reason: &'static str,
    },
    /// There is no PTX to interpret.
    #[error("there is no PTX of the kernels to interpret")]
    NoPtx,
    /// Any other failed call of the driver.
    #[error("{operation} failed: {error}")]
    Driver {
        /// The operation that failed.
        operation: &'static str,
        /// The driver's error.
        error: DriverError,
    },
}

impl OpenError {
    /// Whether there is no usable GPU or no PTX for it, as opposed to a GPU that fails.
    pub(crate) fn is_absence(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::NoPtxVariant { .. } | Self::StalePtx { .. })
    }

    /// Adds the name of the failed operation to an error of the driver.
    pub(crate) fn driver(operation: &'static str) -> impl Fn(CudaError) -> Self {
        move |error| Self::Driver { operation, error: error.into() }
    }
}

/// Launches of one kernel with one configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Grid, block and dynamic shared memory.
    pub config: LaunchConfig,
    /// The number of launches.
    pub times: u64,
}

impl fmt::Display for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, config, times } = self;
        let cooperative = if config.cooperative { "cooperative, " } else { "" };
        write!(f, "{kernel} ({cooperative}grid {}, block {}", config.grid, config.block)?;
        if config.dynamic_shared_bytes > 0 {
            write!(f, ", {} bytes of shared memory", config.dynamic_shared_bytes)?;
        }
        f.write_str(")")?;
        if *times > 1 { write!(f, " × {times}") } else { Ok(()) }
    }
}

/// Why an operation on a buffer, a launch or a synchronization failed.
#[derive(Debug, Error)]
pub enum Error {
    /// A buffer and a slice have different lengths.
    #[error("{operation}: the buffer has {buffer} elements, the slice {slice}")]
    Length {
        /// The copy: `copy_from` or `copy_to`.
        operation: &'static str,
        /// Number of elements in the buffer.
        buffer: usize,
        /// Number of elements in the slice.
        slice: usize,
    },
    /// A range of elements is out of the buffer's bounds.
    #[error("{operation}: {}", wrong_range(*.start as u64, *.end as u64, "a buffer", *.buffer as u64))]
    Range {
        /// The copy: `copy_from_at` or `to_vec_at`.
        operation: &'static str,
        /// Number of elements in the buffer.
        buffer: usize,
        /// The first element.
        start: usize,
        /// The end of the range, exclusive.
        end: usize,
    },
    /// Elements that were read back but never written. On a GPU they contain whatever was in its
    /// memory.
    #[error(transparent)]
    Unwritten(Unwritten),
    /// The GPU does not have enough memory.
    #[error("the GPU has no memory for a buffer of {} × {} bytes: {free} of its {total} bytes are free", .elements, .element_bytes)]
    OutOfMemory {
        /// The requested number of elements.
        elements: usize,
        /// The size of an element in bytes.
        element_bytes: usize,
        /// The GPU's free memory in bytes.
        free: usize,
        /// The GPU's total memory in bytes.
        total: usize,
    },
    /// The launch configuration exceeds one of CUDA's limits.
    #[error("kernel {kernel}: {error}")]
    Limit {
        /// The kernel's name.
        kernel: &'static str,
        /// The limit that it exceeds.
        error: LimitError,
    },
    /// A launch needs more shared memory than a block on this GPU may have.
    #[error(
        "kernel {kernel}: {static_bytes} bytes of shared memory in arrays and {dynamic_bytes} dynamic ones; \
         a block of this GPU has at most {limit}"
    )]
    SharedMemory {
        /// The kernel's name.
        kernel: &'static str,
        /// Static shared memory for the kernel's arrays, in bytes.
        static_bytes: u32,
        /// Dynamic shared memory added by the launch, in bytes.
        dynamic_bytes: u32,
        /// The value of [`Device::max_shared_bytes`](crate::Device::max_shared_bytes).
        limit: u32,
    },
    /// The GPU, or the way it is shared, does not support cooperative launches.
    #[error("kernel {kernel}: {device} has no cooperative launches: launch it once for each part between two barriers")]
    NotCooperative {
        /// The kernel's name.
        kernel: &'static str,
        /// The GPU's name.
        device: String,
    },
    /// A cooperative launch has more blocks than can be resident on the GPU at once.
    #[error(
        "kernel {kernel}: a cooperative launch of {blocks} blocks; the GPU runs at most {limit} at once, \
         {per_multiprocessor} on each of {multiprocessors} multiprocessors"
    )]
    TooManyBlocks {
        /// The kernel's name.
        kernel: &'static str,
        /// The number of blocks in the launch.
        blocks: u64,
        /// The value of [`Device::max_cooperative_blocks`](crate::Device::max_cooperative_blocks).
        limit: u64,
        /// Maximum resident blocks of this shape per multiprocessor.
        per_multiprocessor: u32,
        /// Number of multiprocessors on the GPU.
        multiprocessors: u32,
    },
    /// An operation other than a launch through the recorder, while launches are being recorded.
    #[error("{operation} while launches are recorded: the closure of replay may only launch, through its recorder")]
    Recording {
        /// The rejected operation.
        operation: &'static str,
    },
    /// The driver cannot capture, instantiate or launch a graph.
    #[error("{operation} a replay of {} failed: {error}", List(launches))]
    Replay {
        /// "recording", "preparing" or "repeating".
        operation: &'static str,
        /// The launches that were recorded.
        launches: Vec<Launch>,
        /// The driver's error.
        error: DriverError,
    },
    /// The driver cannot compile the kernel's PTX.
    #[error("the driver rejects the PTX of kernel {kernel}: {error}{}", Log(log))]
    Ptx {
        /// The kernel's name.
        kernel: &'static str,
        /// The driver's error.
        error: DriverError,
        /// The log of the driver's JIT compiler, errors first. Its line numbers refer to the PTX
        /// text.
        log: String,
    },
    /// A buffer is on another device.
    #[error("kernel {kernel}: {error}")]
    Argument {
        /// The kernel's name.
        kernel: &'static str,
        /// Which buffer, and where it is.
        error: ArgumentError,
    },
    /// The device's PTX has no such kernel.
    #[error("the PTX has no kernel {kernel}: it was compiled from another crate of kernels, or an older version of it")]
    NoSuchKernel {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// The kernel's parameters differ between the PTX and the program.
    #[error(
        "kernel {kernel} is {kernel}{in_ptx} in the PTX and {kernel}{in_program} in the program: \
         the PTX was compiled from another kernel of this name"
    )]
    Signature {
        /// The kernel's name.
        kernel: &'static str,
        /// The types of its parameters in the PTX, or a note that they are unknown.
        in_ptx: String,
        /// The types of its parameters in the program.
        in_program: String,
    },
    /// The PTX has a different number of parameters than the launch passes, though their types are
    /// the same.
    #[error(
        "kernel {kernel} has {in_ptx} parameters in the PTX, and the launch passes {passed}: compile the PTX again"
    )]
    ParameterCount {
        /// The kernel's name.
        kernel: &'static str,
        /// The number in the PTX, where a buffer counts as two.
        in_ptx: usize,
        /// The number that the launch passes.
        passed: usize,
    },
    /// The kernel has a grid-wide barrier but the launch is not cooperative: it could deadlock.
    #[error("kernel {kernel} has a grid-wide barrier: launch it with a configuration that is `.cooperative()`")]
    NeedsCooperative {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// The launch has another cluster size than the kernel was compiled for.
    #[error(
        "kernel {kernel} was compiled for clusters of {compiled} blocks, and the launch has clusters of {launched}: \
         launch it with a configuration that is `.clusters_of({compiled})`"
    )]
    Cluster {
        /// The kernel's name.
        kernel: &'static str,
        /// Blocks per cluster in the PTX; 1 without clusters.
        compiled: u32,
        /// Blocks per cluster in the launch.
        launched: u32,
    },
    /// The driver rejects a launch.
    #[error("the launch of {launch} failed: {error}")]
    Launch {
        /// The launch.
        launch: Launch,
        /// The driver's error.
        error: DriverError,
    },
    /// A queued launch failed on the GPU. The error is sticky: the process can no longer use the GPU.
    #[error("{error}, in {}", Launches(launches))]
    Queued {
        /// The driver's error.
        error: DriverError,
        /// The launches that may have caused it: all since the last synchronization.
        launches: Vec<Launch>,
    },
    /// A kernel panicked on the GPU. The error is sticky: the process can no longer use the GPU.
    #[error("kernel {kernel}, block {}, thread {}, {}:{}: panic: {}", message.block, message.thread, message.file, message.line, message.text)]
    Panic {
        /// The kernel that was launched last.
        kernel: &'static str,
        /// The panic's message and its place in the source and in the grid.
        message: Box<Message>,
    },
    /// The simulator stopped a kernel.
    #[error(transparent)]
    Simulator(Box<simulator::LaunchError>),
    /// The interpreter stopped a kernel.
    #[error(transparent)]
    Interpreter(Box<ptx_interpreter::LaunchError>),
    /// A captured launch cannot be written.
    #[error("cannot write {}: {error}; KERNEL_CAPTURE names a directory for the captured launch", path.display())]
    Capture {
        /// The file or directory.
        path: std::path::PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The interpreter's device memory is exhausted, or an access to it failed.
    #[error(transparent)]
    InterpreterMemory(#[from] ptx_interpreter::memory::MemoryError),
    /// Any other failed call of the driver.
    #[error("{operation} failed: {error}")]
    Driver {
        /// The operation that failed.
        operation: &'static str,
        /// The driver's error.
        error: DriverError,
    },
}

/// Elements of a buffer that were read back although no kernel and no copy has written them.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub struct Unwritten {
    /// Index of the first such element.
    pub first: usize,
    /// Number of such elements.
    pub count: usize,
    /// The number of elements that were read back.
    pub elements: usize,
    /// The last kernel launched with the buffer that could have written to it.
    pub kernel: Option<&'static str>,
    /// The name of that kernel's parameter. The interpreter does not know it.
    pub parameter: Option<&'static str>,
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, count, elements, kernel, parameter } = self;
        write!(f, "element {first} of ")?;
        match parameter {
            Some(parameter) => write!(f, "`{parameter}`")?,
            None => f.write_str("a buffer")?,
        }
        f.write_str(" was never written")?;
        if let Some(kernel) = kernel {
            write!(f, " by `{kernel}`")?;
        }
        if count == elements {
            f.write_str(", nor was any other")
        } else {
            write!(f, " ({count} of {elements} elements)")
        }
    }
}

impl Error {
    /// Converts the simulator's error about `kernel`.
    pub(crate) fn simulated(kernel: &'static str, error: simulator::LaunchError) -> Self {
        match error {
            simulator::LaunchError::Limit(error) => Self::Limit { kernel, error },
            simulator::LaunchError::Argument(error) => Self::Argument { kernel, error },
            error => Self::Simulator(Box::new(error)),
        }
    }

    /// The kernel's error, if the simulator found one.
    pub fn fault(&self) -> Option<&simulator::Fault> {
        match self {
            Self::Simulator(error) => error.fault(),
            _ => None,
        }
    }

    /// The kernel's error, if the interpreter found one.
    pub fn ptx_fault(&self) -> Option<&ptx_interpreter::Fault> {
        match self {
            Self::Interpreter(error) => error.fault(),
            _ => None,
        }
    }
}

/// A compute capability, displayed as "7.5".
struct Capability((u32, u32));

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self((major, minor)) = self;
        write!(f, "{major}.{minor}")
    }
}

/// A list of compute capabilities, displayed as "7.5 and above" or "none".
struct Capabilities<'a>(&'a [(u32, u32)]);

impl fmt::Display for Capabilities<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.iter().min() {
            Some(lowest) => write!(f, "{} and above", Capability(*lowest)),
            None => f.write_str("none"),
        }
    }
}

/// The compiler's log on separate lines, if it wrote any.
struct Log<'a>(&'a str);

impl fmt::Display for Log<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "\n{}", self.0) }
    }
}

/// The launches and, if there are several, how to find the one that failed.
struct Launches<'a>(&'a [Launch]);

impl fmt::Display for Launches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [Launch { times: 1, .. }] = self.0 {
            return write!(f, "the launch of {}", self.0[0]);
        }
        let all = List(self.0);
        write!(
            f,
            "one of the launches since the last synchronisation: {all} (set GPU_LAUNCH_BLOCKING=1 to find out which)"
        )
    }
}

/// The launches, separated by commas.
struct List<'a>(&'a [Launch]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, launch) in self.0.iter().enumerate() {
            write!(f, "{}{launch}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_send_and_sync() {
        fn assert<E: std::error::Error + Send + Sync + 'static>() {}
        assert::<OpenError>();
        assert::<Error>();
    }

    #[test]
    fn a_launch_shows_its_shape_and_only_what_is_special_about_it() {
        let shown = |config, times| Launch { kernel: "scale", config, times }.to_string();
        let config = LaunchConfig::new((3, 2), 64);
        assert_eq!(shown(config, 1), "scale (grid (3, 2, 1), block (64, 1, 1))");
        assert_eq!(
            shown(config.with_dynamic_shared(1).cooperative(), 2),
            "scale (cooperative, grid (3, 2, 1), block (64, 1, 1), 1 bytes of shared memory) × 2"
        );
    }
}
