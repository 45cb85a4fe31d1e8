//! The state of a block: its warps, its shared memory and its barriers.

use std::collections::HashMap;
use std::sync::Arc;

use super::divergence::PathState;
use super::lane_addresses::Memory;
use super::launch::Launch;
use super::warp::{Origin, Warp};
use crate::memory::races::Watched;
use crate::memory::{Extent, Region};
use crate::program::Kernel;
use crate::semantics::LANES;

/// The warps of a running block.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) warps: Vec<Warp>,
    /// The position within the block's turn. The default value stands for a position between two
    /// turns.
    pub(super) turn: UnfinishedTurn,
}

/// A position within a block's turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnfinishedTurn {
    /// Index of the running warp.
    pub(super) warp: usize,
    /// Whether any instruction was executed.
    pub(super) progress: bool,
    /// Whether an earlier warp has a thread that has not exited.
    pub(super) live: bool,
}

impl Block {
    pub(super) fn new(launch: &Launch<'_>) -> Self {
        let threads = launch.config.block.count() as u32;
        let warps = (0..threads.div_ceil(LANES as u32))
            .map(|number| Warp::new(number, threads - number * LANES as u32, launch.kernel));
        Self { warps: warps.collect(), turn: UnfinishedTurn::default() }
    }

    /// The warps, in order.
    pub(super) fn warps(&self) -> &[Warp] {
        &self.warps
    }

    /// Number of threads that have exited.
    pub(super) fn exited(&self) -> usize {
        self.warps.iter().map(|warp| warp.exited.count_ones() as usize).sum()
    }

    /// Size on the host, in bytes.
    pub(super) fn host_bytes(&self) -> usize {
        self.warps().iter().map(Warp::host_bytes).sum()
    }
}

/// State of one block, except its warps.
#[derive(Clone, Debug)]
pub(super) struct BlockState {
    pub(super) number: u32,
    pub(super) shared: Region,
    pub(super) dynamic_shared: Region,
    /// The race detector's handles of `shared` and `dynamic_shared`.
    pub(super) watched: Option<[Watched; 2]>,
    pub(super) barriers: [BarrierState; 16],
    /// Bit i: all threads have arrived at barrier i.
    pub(super) complete: u16,
    /// Number of lanes that no barrier of all threads waits for: lanes without a thread and, unless
    /// the options are strict, exited lanes.
    pub(super) gone: u32,
    /// Number of barriers that the block has passed.
    pub(super) barriers_passed: u32,
    /// Number of instructions issued by the block's warps.
    pub(super) executed: u64,
    /// Value of `executed` at the last barrier or store to memory that other threads see.
    pub(super) executed_at_progress: u64,
    /// Number of waits that found an mbarrier's phase incomplete, and the number of memory changes
    /// at which they were counted.
    pub(super) failed_waits: (u64, u64),
    /// Number of threads that have arrived at the cluster's barrier.
    pub(super) cluster_arrived: u32,
    /// Number of the cluster's barriers that the block has passed.
    pub(super) cluster_barriers: u32,
    /// Whether all threads of the block have exited.
    pub(super) ended: bool,
    /// Places in local and shared memory that hold uninitialized values.
    pub(super) stored: HashMap<StoredAt, Stored>,
}

/// A memory, an offset in it, and for local memory the warp.
pub(super) type StoredAt = (Memory, usize, Option<u32>);

/// An uninitialized value: its load, the lane that loaded it, and whether the value was computed
/// from the loaded one.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) origin: Arc<Origin>,
    pub(super) loaded_by: u8,
    pub(super) is_computed: bool,
}

/// The threads that have arrived at a barrier and the reduction of their predicates.
#[derive(Clone, Copy, Debug)]
pub(super) struct BarrierState {
    pub(super) arrived: u32,
    pub(super) expected: u32,
    /// Whether the barrier waits for a given number of threads, rather than for all threads of the
    /// block.
    pub(super) has_count: bool,
    /// Number of threads that arrived and then exited, for a barrier of all threads.
    pub(super) gone: u32,
    /// Index of the instruction at which threads wait.
    pub(super) pc: Option<usize>,
    pub(super) all: bool,
    pub(super) any: bool,
    pub(super) count: u32,
    /// Whether any threads have arrived without waiting.
    pub(super) has_arrivals: bool,
}

pub(super) const EMPTY_BARRIER: BarrierState = BarrierState {
    arrived: 0,
    expected: 0,
    has_count: false,
    gone: 0,
    pc: None,
    all: true,
    any: false,
    count: 0,
    has_arrivals: false,
};

impl BlockState {
    pub(super) fn new(kernel: &Kernel, dynamic_shared: &Extent) -> Self {
        Self {
            number: 0,
            shared: Region::private(kernel.shared.bytes()),
            dynamic_shared: Region::private(dynamic_shared.bytes as usize),
            watched: None,
            barriers: [EMPTY_BARRIER; 16],
            complete: 0,
            gone: 0,
            barriers_passed: 0,
            executed: 0,
            executed_at_progress: 0,
            failed_waits: (0, 0),
            cluster_arrived: 0,
            cluster_barriers: 0,
            ended: false,
            stored: HashMap::new(),
        }
    }

    /// Size on the host, in bytes.
    pub(super) fn host_bytes(&self) -> usize {
        size_of::<Self>() + [&self.shared, &self.dynamic_shared].map(Region::host_bytes).iter().sum::<usize>()
    }

    /// Records that the block makes progress: it is not in an endless loop that only computes or
    /// waits.
    #[inline]
    pub(super) fn note_progress(&mut self) {
        self.executed_at_progress = self.executed;
    }

    /// Marks a barrier as complete once all threads have arrived.
    pub(super) fn complete_if_all_arrived(&mut self, number: usize) {
        let barrier = &self.barriers[number];
        let gone = if barrier.has_count { 0 } else { self.gone - barrier.gone };
        if barrier.arrived != 0 && barrier.arrived + gone >= barrier.expected {
            self.complete |= 1 << number;
        }
    }

    /// The number of threads that the barrier of a waiting path waits for. `None` if it waits for
    /// all threads.
    pub(super) fn expected_at(&self, state: PathState) -> Option<usize> {
        let PathState::AtBarrier(number) = state else { return None };
        let barrier = &self.barriers[usize::from(number)];
        barrier.has_count.then_some(barrier.expected as usize)
    }

    /// Resets the state for block `number`. Its last warp has `without_thread` lanes without a
    /// thread.
    pub(super) fn start(&mut self, number: u32, without_thread: u32) {
        (self.number, self.gone) = (number, without_thread);
        self.shared.poison();
        self.dynamic_shared.poison();
        self.barriers = [EMPTY_BARRIER; 16];
        (self.complete, self.barriers_passed, self.executed, self.executed_at_progress) = (0, 0, 0, 0);
        self.failed_waits = (0, 0);
        self.stored.clear();
        (self.cluster_arrived, self.cluster_barriers, self.ended) = (0, 0, false);
    }
}
