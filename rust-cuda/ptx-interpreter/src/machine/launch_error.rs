//! Errors that make a launch fail.

use std::sync::Arc;

use cuda_launch::LimitError;
use thiserror::Error;

use super::fault::Fault;
use crate::memory::MemoryError;
use crate::program::LoadError;

/// The reason why a launch failed.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The module has no such kernel.
    #[error("the PTX has no kernel {0}")]
    NoSuchKernel(String),
    /// The kernel, or a function that it calls, contains something unsupported.
    #[error("kernel {kernel}: {error}")]
    Refused {
        /// The kernel's name.
        kernel: String,
        /// The unsupported construct, with its line.
        error: LoadError,
    },
    /// The launch configuration exceeds a limit that all GPUs have.
    #[error("kernel {kernel}: {error}")]
    Limit {
        /// The kernel's name.
        kernel: Arc<str>,
        /// The exceeded limit.
        error: LimitError,
    },
    /// More static and dynamic shared memory than a block may have.
    #[error("kernel {kernel}: {bytes} bytes of shared memory; a block has at most {limit}")]
    SharedMemory {
        /// The kernel's name.
        kernel: Arc<str>,
        /// Static and dynamic shared memory together, in bytes.
        bytes: usize,
        /// Maximum, in bytes.
        limit: usize,
    },
    /// The host lacks the memory for a copy of global memory. A launch under several schedules
    /// restores it before each.
    #[error("kernel {kernel} in several orders: {error}")]
    Copy {
        /// The kernel's name.
        kernel: Arc<str>,
        /// The reason why there is no copy.
        error: MemoryError,
    },
    /// A block size that the kernel was not compiled for.
    #[error("kernel {kernel}: a block of {block} threads; it was compiled for {directive} {compiled}")]
    Threads {
        /// The kernel's name.
        kernel: Arc<str>,
        /// The block size of the launch.
        block: cuda_launch::Dim3,
        /// `.maxntid` or `.reqntid`.
        directive: &'static str,
        /// The block size of the directive.
        compiled: cuda_launch::Dim3,
    },
    /// A cluster size that the kernel was not compiled for.
    #[error("kernel {kernel}: clusters of {cluster} blocks; it was compiled for .reqnctapercluster {compiled}")]
    Cluster {
        /// The kernel's name.
        kernel: Arc<str>,
        /// Blocks of a cluster in the launch.
        cluster: u32,
        /// The cluster size of the directive.
        compiled: cuda_launch::Dim3,
    },
    /// Clusters with more blocks than the kernel was compiled for.
    #[error("kernel {kernel}: clusters of {cluster} blocks; it was compiled for .maxclusterrank {max}")]
    ClusterRank {
        /// The kernel's name.
        kernel: Arc<str>,
        /// Blocks of a cluster in the launch.
        cluster: u32,
        /// The maximum of the directive.
        max: u32,
    },
    /// Too few or too many parameters.
    #[error("kernel {kernel} has {expected} parameters; the launch passes {found}")]
    ParameterCount {
        /// The kernel's name.
        kernel: Arc<str>,
        /// The number of its parameters.
        expected: usize,
        /// The number that the launch passes.
        found: usize,
    },
    /// A parameter with too few bytes.
    #[error("kernel {kernel}: parameter {number} has {expected} bytes; the launch passes {bytes}")]
    ParameterSize {
        /// The kernel's name.
        kernel: Arc<str>,
        /// The parameter's index, from 0.
        number: usize,
        /// Size of the parameter in bytes.
        expected: usize,
        /// Size passed by the launch, in bytes.
        bytes: usize,
    },
    /// Registers, local and shared memory that exceed the limit of host memory.
    #[error(
        "kernel {kernel}: the registers and memory of {blocks} resident blocks take {bytes} bytes on the host; the limit is {limit}; use smaller or fewer blocks"
    )]
    HostMemory {
        /// The kernel's name.
        kernel: Arc<str>,
        /// Number of blocks that are resident at the same time.
        blocks: u64,
        /// Their total size on the host, in bytes.
        bytes: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// A fault of the kernel.
    #[error(transparent)]
    Fault(Box<Fault>),
}

impl LaunchError {
    /// The kernel's fault. `None` if the launch failed for another reason.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            _ => None,
        }
    }
}
