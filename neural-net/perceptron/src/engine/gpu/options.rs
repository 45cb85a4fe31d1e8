//! What a caller may ask of the engine, and why it may not get it.

use std::num::NonZeroU32;

use super::NotPersistent;
use crate::engine::DeviceError;

/// How the steps of a training become launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum GpuPath {
    /// One launch for many steps where the network and its batch are small enough, else launches for each step
    #[default]
    Auto,
    /// A few launches for each step
    Steps,
    /// One launch for many steps; it is an error if that cannot be
    Persistent,
}

/// How an engine uses its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// How the steps become launches.
    pub path: GpuPath,
    /// Most blocks of a launch for many steps; None lets the device decide.
    pub most_blocks: Option<NonZeroU32>,
}

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum GpuEngineError {
    /// The kernels count in 32 bits.
    #[error("{what} on the GPU: 2³² or more; choose {way_out}, or the CPU")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// What helps.
        way_out: &'static str,
    },
    /// One launch for many steps was asked for, and there cannot be one.
    #[error("one launch for many steps is not possible here; launches for each step are (--gpu-path steps)")]
    NotPersistent(#[from] NotPersistent),
    /// The device has not enough memory.
    #[error("the GPU's memory does not hold {what}: choose {way_out}, or --device cpu")]
    OutOfMemory {
        /// What there is no room for.
        what: &'static str,
        /// What helps.
        way_out: &'static str,
        /// The buffer that there is no room for.
        source: DeviceError,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl GpuEngineError {
    /// Says of a lack of memory what there is no room for and what helps.
    pub(super) fn making(what: &'static str, way_out: &'static str) -> impl Fn(DeviceError) -> Self {
        move |error| match error {
            source @ DeviceError::OutOfMemory { .. } => Self::OutOfMemory { what, way_out, source },
            error => Self::Device(error),
        }
    }
}
