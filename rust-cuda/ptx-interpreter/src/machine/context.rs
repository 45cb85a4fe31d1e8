//! The state that the warps of a block share, and what their instructions ask of it.

use std::sync::Arc;

use cuda_std::{Dim3, LaunchConfig};

use super::counts::InstructionCounts;
use super::fault::{Fault, FaultKind};
use super::lanes::lanes_of;
use super::launch::{Launch, LaunchResults};
use super::observer::{Observing, Step};
use super::race::RaceChecker;
use super::schedule::Schedule;
use super::warp::Warp;
use crate::memory::races::{Phase, Watched};
use crate::memory::{Extent, Region};
use crate::program::instruction::FenceScope;
use crate::program::{Kernel, Place};

/// State of the worker that executes a block, other than the block's warps.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) launch: &'a Launch<'a>,
    pub(super) kernel: &'a Kernel,
    pub(super) config: LaunchConfig,
    pub(super) counts: Vec<InstructionCounts>,
    pub(super) races: Option<RaceChecker>,
    /// Index of the allocation accessed last, which the next access often hits too.
    pub(super) last_allocation: usize,
    /// Whether the path that ran last stopped because its time slice expired.
    pub(super) slice_expired: bool,
    /// Instructions of the time slice that the path had executed when the observer stopped it.
    pub(super) slice_used: u32,
    pub(super) observer: Option<Observing<'a>>,
    /// The instruction before which the observer stops the launch.
    pub(super) stopped_before: Option<Step>,
    /// Whether the next instruction is the one at which the observer stopped.
    pub(super) resumes: bool,
    /// Whether the observer has abandoned the launch.
    pub(super) abandoned: bool,
    /// Index of the current block in the grid.
    pub(super) block: Dim3,
    pub(super) state: BlockState,
    /// The blocks that take turns.
    pub(super) schedule: Schedule,
}

/// State of one block, other than its warps.
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
    /// Number of barriers that the block has passed.
    pub(super) barriers_passed: u32,
    /// Number of instructions that its warps have issued.
    pub(super) executed: u64,
    /// Number of threads that have arrived at the cluster's barrier.
    pub(super) cluster_arrived: u32,
    /// Number of the cluster's barriers that the block has passed.
    pub(super) cluster_barriers: u32,
    /// Whether all its threads have exited.
    pub(super) ended: bool,
}

/// The threads that have arrived at a barrier and the reduction of their predicates.
#[derive(Clone, Copy, Debug)]
pub(super) struct BarrierState {
    pub(super) arrived: u32,
    pub(super) expected: u32,
    /// Index of the instruction at which threads wait.
    pub(super) pc: Option<usize>,
    pub(super) all: bool,
    pub(super) any: bool,
    pub(super) count: u32,
}

pub(super) const EMPTY_BARRIER: BarrierState =
    BarrierState { arrived: 0, expected: 0, pc: None, all: true, any: false, count: 0 };

impl BlockState {
    pub(super) fn new(kernel: &Kernel, dynamic_shared: &Extent) -> Self {
        Self {
            number: 0,
            shared: Region::private(kernel.shared.bytes()),
            dynamic_shared: Region::private(dynamic_shared.bytes as usize),
            watched: None,
            barriers: [EMPTY_BARRIER; 16],
            complete: 0,
            barriers_passed: 0,
            executed: 0,
            cluster_arrived: 0,
            cluster_barriers: 0,
            ended: false,
        }
    }

    pub(super) fn start(&mut self, number: u32) {
        self.number = number;
        self.shared.poison();
        self.dynamic_shared.poison();
        self.barriers = [EMPTY_BARRIER; 16];
        (self.complete, self.barriers_passed, self.executed) = (0, 0, 0);
        (self.cluster_arrived, self.cluster_barriers, self.ended) = (0, 0, false);
    }
}

impl<'a> Context<'a> {
    pub(super) fn new(launch: &'a Launch<'a>) -> Self {
        Self {
            launch,
            kernel: launch.kernel,
            config: launch.config,
            counts: vec![InstructionCounts::default(); launch.kernel.instructions.len()],
            races: launch.options.check_races.then(Default::default),
            last_allocation: 0,
            slice_expired: false,
            slice_used: 0,
            observer: None,
            stopped_before: None,
            resumes: false,
            abandoned: false,
            block: Dim3::default(),
            state: BlockState::new(launch.kernel, &launch.dynamic_shared),
            schedule: Schedule::default(),
        }
    }

    pub(super) fn into_results(self) -> LaunchResults {
        let same_value_races = self.races.map(|races| races.same_value.into_values().collect());
        LaunchResults { counts: self.counts, same_value_races: same_value_races.unwrap_or_default() }
    }
}

impl Context<'_> {
    #[inline]
    pub(super) fn count(&mut self, pc: usize, active: u32) {
        let counts = &mut self.counts[pc];
        counts.issued += 1;
        counts.lanes += u64::from(active.count_ones());
        self.state.executed += 1;
    }

    pub(super) fn count_divergence(&mut self, pc: usize) {
        self.counts[pc].divergent += 1;
    }

    /// Lets the blocks of the cluster pass its barrier, at which all their threads have arrived.
    pub(super) fn pass_cluster_barrier(&mut self) {
        let mut phases = Vec::new();
        for rank in 0..self.schedule.residents.len() {
            self.with_resident(rank, |block, context| {
                block.pass_cluster_barrier(context);
                let BlockState { number: block, barriers_passed: barriers, .. } = context.state;
                phases.push(Phase { block, warp: 0, barriers, warp_syncs: 0 });
            });
        }
        if let Some(races) = &mut self.races {
            races.detector.synchronise(&phases);
        }
    }

    /// The current block's index in its cluster.
    pub(super) fn rank(&self) -> u32 {
        self.block.x % u32::from(self.config.cluster)
    }

    /// Three-dimensional index of thread `thread` in the block.
    pub(super) fn thread_index(&self, thread: u32) -> Dim3 {
        self.config.block.index_of(u64::from(thread))
    }

    /// The warp's current phase, for the race detector.
    pub(super) fn phase(&self, warp: &Warp) -> Phase {
        Phase {
            block: self.state.number,
            warp: warp.number,
            barriers: self.state.barriers_passed,
            warp_syncs: warp.warp_syncs,
        }
    }

    pub(super) fn fence(&mut self, _: FenceScope, warp: &Warp, active: u32) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        let phase = self.phase(warp);
        if let Some(races) = &mut self.races {
            for lane in lanes_of(active) {
                races.detector.fence((phase, lane as u32));
            }
        }
    }

    #[cold]
    pub(super) fn fault(&self, pc: usize, thread: u32, kind: FaultKind) -> Box<Fault> {
        Box::new(Fault {
            kernel: Arc::clone(&self.kernel.name),
            block: self.block,
            thread: self.thread_index(thread),
            pc,
            place: self.place(pc),
            kind,
        })
    }

    /// Location of an instruction in the PTX and in the source.
    pub(super) fn place(&self, pc: usize) -> Place {
        self.launch.program.place(self.kernel, pc)
    }
}
