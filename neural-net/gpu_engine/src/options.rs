//! The GPU engine's options and errors.

use std::num::NonZeroU32;

use gpu::Error;
use perceptron::names::display_and_parse_names;

/// The mapping of training steps to launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GpuPath {
    /// One launch for many steps if the network and its batch are small enough, otherwise launches for each step
    #[default]
    Auto,
    /// A few launches for each step
    Steps,
    /// One launch for many steps; an error if the network or its batch is too large
    Persistent,
}

display_and_parse_names!(GpuPath, "GPU path");

impl GpuPath {
    /// All values, in the order of their declaration.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Steps, Self::Persistent];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Steps => "steps",
            Self::Persistent => "persistent",
        }
    }

    /// One line of help on the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::Auto => {
                "One launch for many steps if the network and its batch are small enough, otherwise launches for each step"
            }
            Self::Steps => "A few launches for each step",
            Self::Persistent => "One launch for many steps; an error if the network or its batch is too large",
        }
    }
}

/// Options of a GPU engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// The mapping of steps to launches.
    pub path: GpuPath,
    /// Maximum number of blocks of a launch for many steps; None for the device's limit.
    pub max_blocks: Option<NonZeroU32>,
    /// Whether a launch for many steps is never one cluster of blocks, for which there is a kernel for the homework's
    /// network.
    pub no_clusters: bool,
}

/// The reason why one launch for many steps is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPersistent {
    /// The batch is too large.
    #[error("batches of {batch_size} are too large for one launch: the maximum is {maximum}")]
    Batch {
        /// The batch size.
        batch_size: usize,
        /// The kernel's maximum.
        maximum: u32,
    },
    /// A block does not have enough shared memory.
    #[error("the network and its batch need {needed} bytes of shared memory per block; the limit is {limit}")]
    SharedMemory {
        /// Required bytes per block.
        needed: u64,
        /// Available bytes per block.
        limit: u32,
    },
    /// No kernel trains a network of these layers.
    #[error(
        "no kernel trains this network in one launch: it needs one to three hidden layers and a size that docs/gpu-kernels.md lists"
    )]
    Layers,
    /// The kernel's indices have 32 bits.
    #[error("the training samples have 2³² or more values, too many for one launch")]
    Samples,
    /// The kernel has one learning rate for all layers.
    #[error("layers with different learning rates need launches for each step")]
    LearningRateFactors,
    /// The device does not support the cooperative launch.
    #[error("{0}")]
    Device(String),
}

/// The error of creating a GPU engine.
#[derive(Debug, thiserror::Error)]
pub enum GpuEngineError {
    /// A count exceeds the kernels' 32-bit indices.
    #[error("{what} on the GPU: 2³² or more; choose {way_out}, or the CPU")]
    TooLarge {
        /// The counted objects.
        what: &'static str,
        /// The suggested change.
        way_out: &'static str,
    },
    /// One launch for many steps was requested, and is not possible.
    #[error(
        "one launch for many steps is not possible here; use --gpu-path steps, which launches kernels for each step"
    )]
    NotPersistent(#[from] NotPersistent),
    /// The device does not have enough memory.
    #[error("the GPU's memory does not hold {what}: choose {way_out}, or --device cpu")]
    OutOfMemory {
        /// The contents of the buffer.
        what: &'static str,
        /// The suggested change.
        way_out: &'static str,
        /// The failed allocation.
        source: Error,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] Error),
}

impl GpuEngineError {
    /// Converts an error of allocating `what`: adds `way_out` to an out-of-memory error.
    pub(super) fn allocating(what: &'static str, way_out: &'static str) -> impl Fn(Error) -> Self {
        move |error| match error {
            source @ Error::OutOfMemory { .. } => Self::OutOfMemory { what, way_out, source },
            error => Self::Device(error),
        }
    }
}
