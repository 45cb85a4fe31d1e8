//! Maps kernel errors to the driver's error codes.

use ptx_interpreter::memory::AccessError;
use ptx_interpreter::{FaultKind, LaunchError};

use crate::error::Error;

/// The error that a GPU's driver would return if a GPU would notice; otherwise the code for an
/// unspecified failure.
pub(crate) fn code(error: &LaunchError) -> Error {
    match error {
        LaunchError::Fault(fault) => of_kind(&fault.kind),
        LaunchError::Refused { .. } => Error::NOT_SUPPORTED,
        LaunchError::Cluster { .. } | LaunchError::ClusterRank { .. } => Error::INVALID_CLUSTER_SIZE,
        LaunchError::HostMemory { .. } | LaunchError::Copy { .. } => Error::LAUNCH_OUT_OF_RESOURCES,
        LaunchError::NoSuchKernel(_)
        | LaunchError::Limit { .. }
        | LaunchError::SharedMemory { .. }
        | LaunchError::Threads { .. }
        | LaunchError::ParameterCount { .. }
        | LaunchError::ParameterSize { .. } => Error::INVALID_VALUE,
    }
}

fn of_kind(kind: &FaultKind) -> Error {
    match kind {
        FaultKind::Access { error, .. } => match error {
            AccessError::OutOfBounds { .. }
            | AccessError::NoAllocation { .. }
            | AccessError::Freed { .. }
            | AccessError::ReadOnly { .. } => Error::ILLEGAL_ADDRESS,
            AccessError::Misaligned { .. } => Error::MISALIGNED_ADDRESS,
            AccessError::WrongSpace { .. } => Error::INVALID_ADDRESS_SPACE,
            AccessError::Uninitialised { .. } | AccessError::Image(_) => Error::LAUNCH_FAILED,
        },
        FaultKind::NoFunction { .. } => Error::INVALID_PC,
        FaultKind::Recursion { .. } => Error::HARDWARE_STACK_ERROR,
        FaultKind::AssertionFailed { .. } => Error::ASSERT,
        FaultKind::WaitsForever { .. }
        | FaultKind::PhaseNeverEnds { .. }
        | FaultKind::EndlessLoop
        | FaultKind::Endless { .. }
        | FaultKind::NoProgress { .. } => Error::LAUNCH_TIMEOUT,
        _ => Error::LAUNCH_FAILED,
    }
}
