//! The counts of a launch.

use std::ops::AddAssign;

/// The counts of a launch: blocks, threads, memory accesses in elements, and barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchReport {
    /// Blocks that ran.
    pub blocks: u64,
    /// Threads that ran.
    pub threads: u64,
    /// Elements read from global memory.
    pub global_loads: u64,
    /// Elements written to global memory.
    pub global_stores: u64,
    /// Elements read from shared memory.
    pub shared_loads: u64,
    /// Elements written to shared memory.
    pub shared_stores: u64,
    /// Atomic operations on global and shared memory.
    pub atomics: u64,
    /// Barriers that blocks passed, including those of the grid.
    pub barriers: u64,
    /// Barriers that the whole grid passed.
    pub grid_barriers: u64,
    /// Writes to an element of the value that another thread wrote to it with no barrier between. Counted if races are checked.
    pub same_value_races: u64,
}

impl AddAssign for LaunchReport {
    fn add_assign(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.threads += other.threads;
        self.global_loads += other.global_loads;
        self.global_stores += other.global_stores;
        self.shared_loads += other.shared_loads;
        self.shared_stores += other.shared_stores;
        self.atomics += other.atomics;
        self.barriers += other.barriers;
        self.grid_barriers += other.grid_barriers;
        self.same_value_races += other.same_value_races;
    }
}
