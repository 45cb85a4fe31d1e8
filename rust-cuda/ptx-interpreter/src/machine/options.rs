//! Options of a launch.

use cuda_launch::{Schedule, Search};

/// Options of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether to check for races in global and shared memory. Blocks then run one after the other on one host thread.
    pub check_races: bool,
    /// Whether unordered writes of the same value to the same bytes are a fault. Some compilers emit them for lanes
    /// that hold copies of one result. If false, [`LaunchReport::same_value_races`](crate::LaunchReport::same_value_races) lists them.
    pub same_value_races_are_faults: bool,
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
    /// Maximum number of source lines whose first fault is reported. With more than one, a launch goes on after a race and after an
    /// access that is an error: a read has an unspecified value, of which nothing else is reported, and a write does nothing.
    pub max_faults: usize,
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
            volatile_is_plain: false,
            block_instructions: 1 << 31,
            instructions_without_progress: 1 << 30,
            interleaved: false,
            max_faults: 1,
            schedule: Schedule::default(),
            search: Search::ONE,
        }
    }
}
