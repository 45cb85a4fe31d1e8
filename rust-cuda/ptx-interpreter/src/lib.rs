//! Runs compiled PTX on the CPU.
//!
//! A GPU receives the PTX that a compiler made from a kernel, not the kernel's source. This crate
//! executes that PTX: blocks, warps of 32 lanes that diverge and reconverge, barriers, shuffles,
//! atomics and every state space. It checks each memory access.

pub mod limits;
mod machine;
pub mod memory;
mod program;
pub mod semantics;
pub mod syntax;

pub use machine::{
    Access, AccessedSpace, Code, Executor, Fault, FaultKind, Fidelity, Indexed, Inexact, InstructionCounts,
    InstructionReport, KernelResources, LaunchError, LaunchReport, LoadedModule, Machine, MemoryRange, ObservedAccess,
    Observer, Options, Printed, RaceReason, Snapshot, SpaceTotals, Step, StoppedBlock, StoppedWarp, Uninitialised,
    UninitialisedError, Unstarted, Variable, Waits, WarpPath, WgmmaError, uninitialised_register,
};
pub use program::{LoadError, Place, Problem, SourcePlace};

/// Advice for PTX that names no source lines.
pub const HOW_TO_GET_LINES: &str = "the PTX names no source lines: compile with -lineinfo (nvcc, NVRTC), lineinfo=True (Numba, cuda.core) or \
                                    -gline-tables-only (clang)";
