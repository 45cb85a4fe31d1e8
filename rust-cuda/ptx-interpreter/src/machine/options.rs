//! Options of a launch.

use std::fmt;
use std::str::FromStr;

use cuda_launch::{Schedule, Search};
use thiserror::Error;

/// How to treat a load of memory that was never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uninitialised {
    /// Ignored: the load has an unspecified value.
    Off,
    /// A note, if the value is only copied or not used. A fault if the value matters: in a branch,
    /// in an address, in an atomic operation, or in a result that is stored to global memory.
    Note,
    /// A fault.
    Error,
}

/// A text that is not the name of an [`Uninitialised`].
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
    /// Whether unordered writes of the same value to the same bytes are faults. Some compilers emit
    /// them for lanes that hold copies of one result. If false,
    /// [`LaunchReport::notes`](crate::LaunchReport::notes) lists them.
    pub same_value_races_are_faults: bool,
    /// Whether a kernel must follow rules that GPUs do not enforce:
    /// - every thread of a block reaches the same barrier instruction, even if others have exited
    ///   the kernel;
    /// - the distance of a shuffle is less than a warp;
    /// - a fence follows the atomic operation by which a thread counts finished writers.
    ///
    /// If false, a barrier does not wait for exited threads, as on GPUs since sm_70. The report's
    /// notes then list what CUDA C or PTX requires of an author.
    pub strict: bool,
    /// How to treat a load of shared or global memory that was never written. Copying padding in
    /// local memory is always allowed.
    pub uninitialised: Uninitialised,
    /// Whether volatile accesses count as plain ones in the race check, as in the memory models of
    /// C++ and Rust. If false, they may poll, and only volatile stores that race with each other or
    /// with plain accesses are faults.
    pub volatile_is_plain: bool,
    /// Maximum number of instructions that the warps of a block may issue. Beyond it the kernel
    /// counts as endless.
    pub block_instructions: u64,
    /// Maximum number of instructions that the warps of a block may issue without progress, beyond
    /// which the kernel counts as endless. Progress is a store to global or shared memory, a passed
    /// barrier, or the end of the block. A wait that finds an mbarrier's phase incomplete counts as
    /// 2¹⁴ instructions.
    pub instructions_without_progress: u64,
    /// Whether the warps of an observed block alternate line by line. Each executes one source
    /// line, or one instruction if the PTX names no lines, and then the next warp runs. Otherwise,
    /// and in a launch without an observer, a warp runs until it waits or its time slice expires.
    pub interleaved: bool,
    /// Whether each thread of a warp runs alone from the start until it waits, as GPUs since sm_70
    /// may do. Otherwise the threads of a warp execute each instruction together until they
    /// diverge.
    pub separate_lanes: bool,
    /// Maximum number of source lines for which the first fault is reported. If it is greater than
    /// one, a launch continues after a race and after an access error. A bad read returns an
    /// unspecified value and suppresses later reports about that value; a bad write does nothing.
    pub max_faults: usize,
    /// Whether a launch continues after any fault, like with several `max_faults`. Beyond that
    /// number, further faults are not reported. A fault of another kind ends its block or cluster.
    /// In a cooperative launch it ends the launch, because other blocks may wait for the block at
    /// fault. A block that does not end also ends the launch. The launch fails nevertheless, and
    /// memory is as after the default schedule.
    pub keep_going: bool,
    /// The schedule of blocks and warps on one host thread, if it is not the default. Then
    /// `interleaved` has no effect.
    pub schedule: Schedule,
    /// Which other schedules to run after the default one, to look for faults. No search if
    /// `schedule` is not the default.
    pub search: Search,
}

impl Default for Options {
    /// All checks, except that same-value races are not faults and volatile accesses may poll. 2³¹
    /// instructions per block, which take a few minutes, and 2³⁰ without progress, which take about
    /// a minute.
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
