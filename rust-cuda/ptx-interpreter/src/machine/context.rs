//! The state shared by the warps of a block, and its operations for their instructions.

use std::sync::Arc;

use cuda_launch::{Dim3, LaunchConfig};

use super::block_state::{Block, BlockState};
use super::counts::InstructionCounts;
use super::fault::{Fault, FaultKind};
use super::launch::{Launch, LaunchResults};
use super::note::Notes;
use super::observer::{Observing, Step};
use super::options::{Options, Uninitialised};
use super::race::RaceChecker;
use super::residents::Residents;
use crate::memory::races::{BarrierOf, Phase};
use crate::program::{Kernel, Place};
use crate::syntax::Space;

/// State of the worker that executes a block, except the block's warps.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) launch: &'a Launch<'a>,
    pub(super) kernel: &'a Kernel,
    pub(super) config: LaunchConfig,
    pub(super) counts: Vec<InstructionCounts>,
    pub(super) races: Option<RaceChecker>,
    /// Index of the allocation accessed last. The next access often hits it too.
    pub(super) last_allocation: usize,
    /// Whether the path that ran last stopped because the warp's turn is over: it executed a source
    /// line, or yields under the schedule.
    pub(super) turn_ended: bool,
    /// Whether the warp that ran last must run after all others.
    pub(super) gave_way: bool,
    /// Whether each instruction is inspected before it executes, by an observer or for the
    /// schedule.
    pub(super) is_watched: bool,
    /// Whether diverging paths run in descending lane order, and so do the lanes of atomic
    /// operations.
    pub(super) reverses_lanes: bool,
    /// Whether no other worker changes memory.
    pub(super) is_alone: bool,
    /// The first block that has not started, provided that no later block has started, and the
    /// number of unstarted blocks.
    pub(super) unstarted: (Option<u64>, u64),
    /// Whether the path that ran last stopped because its time slice expired.
    pub(super) slice_expired: bool,
    /// Whether the last instruction suspends the path, which ends its time slice.
    pub(super) suspends: bool,
    /// Number of instructions of the time slice that the path had executed when the observer
    /// stopped it.
    pub(super) slice_used: u32,
    pub(super) observer: Option<Observing<'a>>,
    /// The instruction before which the observer stops the launch.
    pub(super) stopped_before: Option<Step>,
    /// Whether the next instruction is the one where the observer stopped.
    pub(super) resumes: bool,
    /// Whether the observer has abandoned the launch.
    pub(super) abandoned: bool,
    /// Index of the current block in the grid.
    pub(super) block: Dim3,
    pub(super) state: BlockState,
    /// The faults after which the launch continued.
    pub(super) faults: Vec<Fault>,
    /// Uses of uninitialized memory. Reported unless a race is found with the write that should
    /// have come first.
    pub(super) deferred: Vec<Fault>,
    pub(super) notes: Notes,
    /// Whether a load may read uninitialized memory.
    pub(super) reads_uninitialised: bool,
    /// The blocks that take turns.
    pub(super) residents: Residents,
}

impl<'a> Context<'a> {
    pub(super) fn new(launch: &'a Launch<'a>) -> Self {
        Self {
            launch,
            kernel: launch.kernel,
            config: launch.config,
            counts: vec![InstructionCounts::default(); launch.kernel.instructions.len()],
            races: launch.options.check_races.then(|| RaceChecker::new(launch)),
            last_allocation: 0,
            turn_ended: false,
            gave_way: false,
            is_watched: false,
            reverses_lanes: false,
            is_alone: false,
            unstarted: (None, 0),
            slice_expired: false,
            suspends: false,
            slice_used: 0,
            observer: None,
            stopped_before: None,
            resumes: false,
            abandoned: false,
            block: Dim3::default(),
            state: BlockState::new(launch.kernel, &launch.dynamic_shared),
            faults: Vec::new(),
            deferred: Vec::new(),
            notes: Notes::new(),
            reads_uninitialised: false,
            residents: Residents::default(),
        }
    }

    pub(super) fn into_results(self) -> LaunchResults {
        let synchronising = self.residents.turns.switches.map_or(0, |switches| switches.accesses());
        LaunchResults {
            counts: self.counts,
            notes: self.notes,
            synchronising,
            faults: self.faults,
            deferred: self.deferred,
        }
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

    /// Records a change of shared memory or a passed barrier: the block is not in an endless loop
    /// that only computes or waits.
    #[inline]
    pub(super) fn note_change(&mut self) {
        self.state.note_progress();
        self.residents.changes += 1;
    }

    pub(super) fn count_divergence(&mut self, pc: usize) {
        self.counts[pc].divergent += 1;
    }

    /// Lets the blocks of the cluster pass its complete barrier.
    pub(super) fn pass_cluster_barrier(&mut self) {
        let mut phases = Vec::new();
        for rank in 0..self.residents.list.len() {
            self.with_resident(rank, |block, context| {
                block.pass_cluster_barrier(context);
                let BlockState { number: block, barriers_passed: barriers, .. } = context.state;
                phases.push(Phase { block, warp: 0, barriers, warp_syncs: 0 });
            });
        }
        if let (Some(races), false) = (&mut self.races, self.kernel.splits_cluster_barriers) {
            races.detector.synchronise(&phases);
        }
    }

    /// Ends the blocks of the resident cluster because one of them has a fault.
    pub(super) fn abandon_cluster(&mut self) {
        for rank in 0..self.residents.list.len() {
            self.with_resident(rank, |block, context| block.abandon(context));
        }
    }

    /// The barrier of the current block's cluster, for the race detector.
    pub(super) fn cluster_barrier(&self) -> BarrierOf {
        BarrierOf::Cluster(self.state.number / u32::from(self.config.cluster))
    }

    /// Calls `act` with the resident block at this index. The context holds that block's state
    /// during the call.
    pub(super) fn with_resident<R>(&mut self, index: usize, act: impl FnOnce(&mut Block, &mut Self) -> R) -> R {
        let mut block = std::mem::take(&mut self.residents.list[index].block);
        std::mem::swap(&mut self.state, &mut self.residents.list[index].state);
        let result = act(&mut block, self);
        std::mem::swap(&mut self.state, &mut self.residents.list[index].state);
        self.residents.list[index].block = block;
        result
    }

    /// The current block's index in its cluster.
    pub(super) fn rank(&self) -> u32 {
        self.block.x % u32::from(self.config.cluster)
    }

    /// Three-dimensional index of thread `thread` in the block.
    pub(super) fn thread_index(&self, thread: u32) -> Dim3 {
        self.config.block.index_of(u64::from(thread))
    }

    #[cold]
    pub(super) fn fault(&self, pc: usize, thread: u32, mut kind: FaultKind) -> Box<Fault> {
        let place = self.place(pc);
        if let Some(memory) = kind.memory_mut().filter(|memory| memory.space == Space::Shared) {
            if let Some(name) = self.kernel.shared_name(memory) {
                memory.name = name.into();
            }
            memory.element = memory.element.or(place.element_bytes());
        }
        Box::new(Fault {
            kernel: Arc::clone(&self.kernel.name),
            block: self.block,
            thread: self.thread_index(thread),
            pc,
            place,
            kind,
            count: 1,
            others: Vec::new(),
            notes: Vec::new(),
            schedule: self.launch.options.schedule.clone(),
            source_line: None,
        })
    }

    /// Counts a note of the kind with this `id`, at an instruction of a thread and another
    /// instruction.
    pub(super) fn note(
        &mut self,
        id: &'static str,
        (pc, other): (usize, usize),
        thread: u32,
        kind: impl FnOnce(&Self) -> FaultKind,
    ) {
        if let Some(note) = self.notes.get_mut(&(pc, other, id)) {
            note.count += 1;
            return;
        }
        let kind = kind(self);
        debug_assert_eq!(kind.id(), id);
        let note = *self.fault(pc, thread, kind);
        self.notes.insert((pc, other, id), note);
    }

    /// Calls `act`. Its loads may read uninitialized memory if `may_read` is set.
    pub(super) fn reading_uninitialised<R>(&mut self, may_read: bool, act: impl FnOnce(&mut Self) -> R) -> R {
        self.reads_uninitialised = may_read;
        let result = act(self);
        self.reads_uninitialised = false;
        result
    }

    /// Whether a copy may read uninitialized memory and propagate it.
    pub(super) fn copies_uninitialised(&self) -> bool {
        self.launch.options.uninitialised != Uninitialised::Error
    }

    /// Records the use of uninitialized memory. With race checks, the launch continues: the missing
    /// write may come later, unordered.
    ///
    /// # Errors
    /// The fault, if the launch ends with it.
    #[cold]
    pub(super) fn defer(&mut self, fault: Box<Fault>) -> Result<(), Box<Fault>> {
        if self.races.is_none() {
            return if self.goes_on() { self.add_fault(fault) } else { Err(fault) };
        }
        match self.deferred.iter_mut().find(|known| known.is_at_line_of(&fault)) {
            Some(known) => known.count += 1,
            None => self.deferred.push(*fault),
        }
        Ok(())
    }

    /// Whether the launch continues after a fault.
    pub(super) fn goes_on(&self) -> bool {
        self.launch.options.max_faults > 1 || self.launch.options.keep_going
    }

    /// Records a fault that ends its block or cluster but not the launch.
    ///
    /// # Errors
    /// The fault, if the launch ends with it.
    pub(super) fn note_end_of_block(&mut self, fault: Box<Fault>) -> Result<(), Box<Fault>> {
        let is_endless = matches!(fault.kind, FaultKind::Endless { .. } | FaultKind::NoProgress { .. });
        let goes_on = self.launch.options.keep_going && !self.config.cooperative && !is_endless;
        if goes_on { self.add_fault(fault) } else { Err(fault) }
    }

    /// Adds a fault after which the launch continues.
    ///
    /// # Errors
    /// The fault, if the launch ends with it.
    #[cold]
    pub(super) fn add_fault(&mut self, fault: Box<Fault>) -> Result<(), Box<Fault>> {
        let Options { max_faults, keep_going, .. } = self.launch.options;
        let found = self.faults.len();
        match self.faults.iter_mut().find(|known| fault.is_known_as(known)) {
            Some(known) => known.count += 1,
            None if found + 1 < max_faults || keep_going && found < max_faults => self.faults.push(*fault),
            None if keep_going => {}
            None => return Err(fault),
        }
        Ok(())
    }

    /// Location of an instruction in the PTX and in the source.
    pub(super) fn place(&self, pc: usize) -> Place {
        self.launch.program.place(self.kernel, pc)
    }
}
