//! Options of a launch.

use std::fmt;
use std::str::FromStr;

use cuda_launch::{Schedule, Search};
use thiserror::Error;

/// What a load of memory that nothing has written is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uninitialised {
    /// Nothing: it has an unspecified value.
    Off,
    /// A note, if the value is only copied or not used. It is a fault where the value matters: in a branch, in an address, in an atomic
    /// operation, or in a result that is stored to global memory.
    Note,
    /// A fault.
    Error,
}

/// A text that is no name of an [`Uninitialised`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0:?} is not off, note or error")]
pub struct UninitialisedError(String);

impl FromStr for Uninitialised {
    type Err = UninitialisedError;

    fn from_str(text: &str) -> Result<Self, UninitialisedError> {
        match text {
            "off" => Ok(Self::Off),
            "note" => Ok(Self::Note),
            "error" => Ok(Self::Error),
            _ => Err(UninitialisedError(text.to_owned())),
        }
    }
}

impl fmt::Display for Uninitialised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Note => "note",
            Self::Error => "error",
        })
    }
}

/// Options of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether to check for races in global and shared memory. Blocks then run one after the other on one host thread.
    pub check_races: bool,
    /// Whether unordered writes of the same value to the same bytes are a fault. Some compilers emit them for lanes
    /// that hold copies of one result. If false, [`LaunchReport::notes`](crate::LaunchReport::notes) lists them.
    pub same_value_races_are_faults: bool,
    /// Whether a kernel has to follow rules that GPUs do not enforce: every thread of a block reaches the same instruction of a barrier,
    /// also if others have exited the kernel; lanes of a shuffle are less than a warp apart; a fence is behind the atomic operation by
    /// which a thread counts those that have written. If false, a barrier does not wait for threads that have exited, as on GPUs since
    /// sm_70, and the report's notes list what CUDA C or PTX asks of an author.
    pub strict: bool,
    /// What a load is of shared or global memory that nothing has written. Padding in local memory may always be copied.
    pub uninitialised: Uninitialised,
    /// Whether volatile accesses count as plain ones in the check of races, as in the memory models of C++ and Rust. If false, they
    /// may poll, and only volatile stores that race with each other or with plain accesses are faults.
    pub volatile_is_plain: bool,
    /// Maximum number of instructions that the warps of a block may issue; beyond it the kernel counts as endless.
    pub block_instructions: u64,
    /// Maximum number of instructions that the warps of a block may issue without progress: a store to global or shared memory, a
    /// barrier that the block passes, or its end. Beyond it the kernel counts as endless. A wait that finds an mbarrier's phase incomplete counts as 2¹⁴.
    pub instructions_without_progress: u64,
    /// Whether the warps of an observed block take turns: each executes a source line, or an instruction where the PTX names no lines,
    /// and then the next warp does. Otherwise, and in a launch without an observer, a warp runs until it waits or its time slice
    /// expires.
    pub interleaved: bool,
    /// Whether each thread of a warp runs alone from the start until it waits, as GPUs since sm_70 may do. Otherwise the threads of a
    /// warp execute each instruction together until they diverge.
    pub separate_lanes: bool,
    /// Maximum number of source lines whose first fault is reported. With more than one, a launch goes on after a race and after an
    /// access that is an error: a read has an unspecified value, of which nothing else is reported, and a write does nothing.
    pub max_faults: usize,
    /// Whether a launch goes on after any fault: as with several `max_faults`, after which others are not reported, and a fault of another
    /// kind ends its block, or the cluster. A fault of a cooperative launch ends it, as other blocks may wait for the one at fault, and so
    /// does a block that does not end. The launch fails nevertheless, and memory is as after the default order.
    pub keep_going: bool,
    /// The order in which blocks and warps run on one host thread, if it is not the default. `interleaved` then has no effect.
    pub schedule: Schedule,
    /// In which other orders a launch runs after the default one, to look for faults. No search if `schedule` is another.
    pub search: Search,
}

impl Default for Options {
    /// All checks, except that same-value races are no faults and volatile accesses may poll; 2³¹ instructions per block, which take some minutes, and 2³⁰ without
    /// progress, which take about one.
    fn default() -> Self {
        Self {
            check_races: true,
            same_value_races_are_faults: false,
            strict: true,
            uninitialised: Uninitialised::Error,
            volatile_is_plain: false,
            block_instructions: 1 << 31,
            instructions_without_progress: 1 << 30,
            interleaved: false,
            separate_lanes: false,
            max_faults: 1,
            keep_going: false,
            schedule: Schedule::default(),
            search: Search::ONE,
        }
    }
}
