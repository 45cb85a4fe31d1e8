//! What can go wrong.

use std::fmt;

use cuda_std::{ArgumentError, LaunchConfig, LimitError, simulator};
use cust::error::CudaError;
use thiserror::Error;

/// An error of the CUDA driver.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{text} (CUDA error {code})")]
pub struct DriverError {
    /// The number of the result in cuda.h, such as 700.
    pub code: u32,
    /// What it means, in the driver's words.
    pub text: String,
}

impl From<CudaError> for DriverError {
    fn from(error: CudaError) -> Self {
        // cust displays the driver's text as a C string, in quotes.
        Self { code: error as u32, text: error.to_string().trim_matches('"').to_owned() }
    }
}

/// Why a device cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// This machine has no CUDA that can be used.
    #[error(transparent)]
    Unavailable(#[from] cuda_driver::Unavailable),
    /// The kernels were not compiled for a GPU as old as this one.
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
        /// Those that there are kernels for, all of them higher.
        variants: Vec<(u32, u32)>,
    },
    /// The driver cannot compile the kernels' PTX.
    #[error("{device} refuses the kernels' PTX for {}: {error}{}", Capability(*variant), Log(log))]
    Ptx {
        /// The GPU's name.
        device: String,
        /// The compute capability that the PTX is for.
        variant: (u32, u32),
        /// The driver's error.
        error: DriverError,
        /// What the driver's compiler wrote, errors first.
        log: String,
    },
    /// The interpreter does not understand the kernels' PTX.
    #[error("the interpreter cannot run the kernels' PTX for {}: {error}", Capability(*variant))]
    Interpreter {
        /// The compute capability that the PTX is for.
        variant: (u32, u32),
        /// What it does not understand.
        error: Box<ptx_interpreter::LoadError>,
    },
    /// There is no PTX to interpret.
    #[error("there is no PTX of the kernels to interpret")]
    NoPtx,
    /// Something else in the driver.
    #[error("{operation} failed: {error}")]
    Driver {
        /// What was being done.
        operation: &'static str,
        /// The driver's error.
        error: DriverError,
    },
}

impl OpenError {
    /// Whether the machine lacks a GPU that can be used, as opposed to having one that fails.
    pub(crate) fn is_absence(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::NoPtxVariant { .. })
    }

    /// Puts the name of what was being done to an error of the driver.
    pub(crate) fn driver(operation: &'static str) -> impl Fn(CudaError) -> Self {
        move |error| Self::Driver { operation, error: error.into() }
    }
}

/// Launches of one kernel in one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The shape.
    pub config: LaunchConfig,
    /// How many there were.
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

/// Why a buffer, a launch or waiting for a device failed.
#[derive(Debug, Error)]
pub enum Error {
    /// A buffer and a slice that should have the same number of elements do not.
    #[error("{operation}: the buffer has {buffer} elements, the slice {slice}")]
    Length {
        /// The copy: `copy_from` or `copy_to`.
        operation: &'static str,
        /// The buffer's elements.
        buffer: usize,
        /// The slice's elements.
        slice: usize,
    },
    /// A part of a buffer that is not in it.
    #[error("{operation}: the buffer has {buffer} elements, which {start} up to {end} are not all among")]
    Range {
        /// The copy: `copy_from_at` or `to_vec_at`.
        operation: &'static str,
        /// The buffer's elements.
        buffer: usize,
        /// The first element.
        start: usize,
        /// The element after the last.
        end: usize,
    },
    /// The GPU has not enough memory.
    #[error("the GPU has no memory for a buffer of {} × {} bytes: {free} of its {total} bytes are free", .elements, .element_bytes)]
    OutOfMemory {
        /// The elements asked for.
        elements: usize,
        /// The bytes of each.
        element_bytes: usize,
        /// The bytes that are free.
        free: usize,
        /// The bytes that the GPU has.
        total: usize,
    },
    /// CUDA takes no launch of this shape.
    #[error("kernel {kernel}: {error}")]
    Limit {
        /// The kernel's name.
        kernel: &'static str,
        /// The limit that the shape passes.
        error: LimitError,
    },
    /// A launch has more shared memory than a block of this GPU may have.
    #[error(
        "kernel {kernel}: {static_bytes} bytes of shared memory in arrays and {dynamic_bytes} dynamic ones; \
         a block of this GPU has at most {limit}"
    )]
    SharedMemory {
        /// The kernel's name.
        kernel: &'static str,
        /// The bytes of its arrays.
        static_bytes: u32,
        /// The bytes that the launch adds.
        dynamic_bytes: u32,
        /// What [`Device::max_shared_bytes`](crate::Device::max_shared_bytes) says.
        limit: u32,
    },
    /// The GPU, or the way that it is shared, has no cooperative launches.
    #[error("kernel {kernel}: {device} has no cooperative launches: launch it once for each part between two barriers")]
    NotCooperative {
        /// The kernel's name.
        kernel: &'static str,
        /// The GPU's name.
        device: String,
    },
    /// A cooperative launch has more blocks than the GPU runs at once.
    #[error(
        "kernel {kernel}: a cooperative launch of {blocks} blocks; the GPU runs at most {limit} at once, \
         {per_multiprocessor} on each of {multiprocessors} multiprocessors"
    )]
    TooManyBlocks {
        /// The kernel's name.
        kernel: &'static str,
        /// The blocks of the launch.
        blocks: u64,
        /// What [`Device::max_cooperative_blocks`](crate::Device::max_cooperative_blocks) says.
        limit: u64,
        /// Blocks of this shape that each multiprocessor runs at once.
        per_multiprocessor: u32,
        /// The GPU's multiprocessors.
        multiprocessors: u32,
    },
    /// Something that is not a launch by the recorder, while launches are recorded.
    #[error("{operation} while launches are recorded: what replay runs may only launch, and only by its recorder")]
    Recording {
        /// What was asked for.
        operation: &'static str,
    },
    /// The driver does not take launches as a graph.
    #[error("{operation} a replay of {} failed: {error}", List(launches))]
    Replay {
        /// Recording, preparing or repeating.
        operation: &'static str,
        /// The launches that were recorded.
        launches: Vec<Launch>,
        /// The driver's error.
        error: DriverError,
    },
    /// A buffer is on another device.
    #[error("kernel {kernel}: {error}")]
    Argument {
        /// The kernel's name.
        kernel: &'static str,
        /// Which buffer, and where it is.
        error: ArgumentError,
    },
    /// The PTX that the device was opened with lacks the kernel.
    #[error("the PTX has no kernel {kernel}: it was made from other kernels, or from an older state of them")]
    NoSuchKernel {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// The kernel has other parameters in the PTX than in the program.
    #[error(
        "kernel {kernel} is {kernel}{in_ptx} in the PTX and {kernel}{in_program} in the program: \
         the PTX was made from another kernel of this name"
    )]
    Signature {
        /// The kernel's name.
        kernel: &'static str,
        /// The types of its parameters in the PTX, or that it does not say.
        in_ptx: String,
        /// The types in the program.
        in_program: String,
    },
    /// The kernel waits at a barrier of the grid, and the launch is not cooperative: it might wait for ever.
    #[error("kernel {kernel} waits at a barrier of the grid: launch it by a configuration with `.cooperative()`")]
    NeedsCooperative {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// The driver does not take a launch.
    #[error("the launch of {launch} failed: {error}")]
    Launch {
        /// The launch.
        launch: Launch,
        /// The driver's error.
        error: DriverError,
    },
    /// A launch that was taken has failed on the GPU, which can no longer be used by this process.
    #[error("{error}, in {}", Launches(launches))]
    Queued {
        /// The driver's error.
        error: DriverError,
        /// The launches that it may belong to: all since the device was last waited for.
        launches: Vec<Launch>,
    },
    /// The simulator has stopped a kernel.
    #[error(transparent)]
    Simulator(Box<simulator::LaunchError>),
    /// The interpreter has stopped a kernel.
    #[error(transparent)]
    Interpreter(Box<ptx_interpreter::LaunchError>),
    /// The interpreter's memory.
    #[error(transparent)]
    InterpreterMemory(#[from] ptx_interpreter::memory::MemoryError),
    /// Something else in the driver.
    #[error("{operation} failed: {error}")]
    Driver {
        /// What was being done.
        operation: &'static str,
        /// The driver's error.
        error: DriverError,
    },
}

impl Error {
    /// The simulator's error about `kernel`.
    pub(crate) fn simulated(kernel: &'static str, error: simulator::LaunchError) -> Self {
        match error {
            simulator::LaunchError::Limit(error) => Self::Limit { kernel, error },
            simulator::LaunchError::Argument(error) => Self::Argument { kernel, error },
            error => Self::Simulator(Box::new(error)),
        }
    }

    /// What the kernel did wrong, if the simulator found that.
    pub fn fault(&self) -> Option<&simulator::Fault> {
        match self {
            Self::Simulator(error) => error.fault(),
            _ => None,
        }
    }

    /// What the kernel's PTX did wrong, if the interpreter found that.
    pub fn ptx_fault(&self) -> Option<&ptx_interpreter::Fault> {
        match self {
            Self::Interpreter(error) => error.fault(),
            _ => None,
        }
    }
}

/// 7.5
struct Capability((u32, u32));

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self((major, minor)) = self;
        write!(f, "{major}.{minor}")
    }
}

/// "7.5 and above", or "none"
struct Capabilities<'a>(&'a [(u32, u32)]);

impl fmt::Display for Capabilities<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.iter().min() {
            Some(lowest) => write!(f, "{} and above", Capability(*lowest)),
            None => f.write_str("none"),
        }
    }
}

/// The compiler's log on lines of its own, if it wrote any.
struct Log<'a>(&'a str);

impl fmt::Display for Log<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "\n{}", self.0) }
    }
}

/// The launches, one after the other; where there are several, how to find the one.
struct Launches<'a>(&'a [Launch]);

impl fmt::Display for Launches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [Launch { times: 1, .. }] = self.0 {
            return write!(f, "the launch of {}", self.0[0]);
        }
        let all = List(self.0);
        write!(
            f,
            "one of the launches since the device was last waited for: {all} (GPU_LAUNCH_BLOCKING=1 finds out which)"
        )
    }
}

/// The launches, one after the other.
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
    fn errors_can_leave_their_thread() {
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
