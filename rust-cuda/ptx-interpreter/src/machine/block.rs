//! Execution of a block: its warps and its barriers.

use super::block_state::{Block, EMPTY_BARRIER, UnfinishedTurn};
use super::collective::are_one_operation;
use super::context::Context;
use super::divergence::{Path, PathState};
use super::fault::{Fault, FaultKind};
use super::options::Options;
use super::warp::Warp;
use crate::memory::races::BarrierOf;
use crate::semantics::LANES;

/// The result of a block's turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// Whether all of the block's threads have exited.
    pub(super) ended: bool,
    /// Whether any instruction was executed.
    pub(super) progress: bool,
}

/// Threads of a cluster, for its barrier.
#[derive(Clone, Copy)]
pub(super) struct ClusterCounts {
    /// Threads that have arrived.
    pub(super) arrived: usize,
    /// All threads of the cluster.
    pub(super) threads: usize,
    /// Threads that have exited the kernel.
    pub(super) exited: usize,
}

impl Block {
    /// Resets the warps and `context` for block `number` of the grid, where x varies fastest.
    pub(super) fn start(&mut self, number: u64, context: &mut Context<'_>) {
        context.block = context.launch.block_index(number);
        let without_thread = self.warps.last().map_or(0, |warp| (!warp.existing).count_ones());
        context.state.start(number as u32, without_thread);
        if let Some(races) = &mut context.races {
            context.state.watched = Some(races.start_block(&context.state.shared, &context.state.dynamic_shared));
        }
        self.turn = UnfinishedTurn::default();
        for warp in &mut self.warps {
            warp.start(context);
        }
    }

    /// Runs each warp until it waits or its time slice expires. The block ends if the observer
    /// abandons the launch. After a snapshot is restored, finishes the interrupted turn.
    ///
    /// # Errors
    /// A thread's fault, or a deadlock: no thread can continue.
    pub(super) fn run(&mut self, context: &mut Context<'_>) -> Result<Turn, Box<Fault>> {
        self.run_warps(context).map_err(|fault| self.observed(fault, context))
    }

    fn run_warps(&mut self, context: &mut Context<'_>) -> Result<Turn, Box<Fault>> {
        while self.turn.warp < self.warps.len() {
            let index = self.turn.warp;
            let progress = self.run_warp(index, context)?;
            if context.abandoned {
                return Ok(Turn { ended: true, progress: true });
            }
            self.turn.progress |= progress;
            self.turn.live |= self.warps[index].live() != 0;
            self.turn.warp += 1;
        }
        let UnfinishedTurn { mut progress, live, .. } = std::mem::take(&mut self.turn);
        progress |= self.complete_barriers(context);
        self.check_end(context)?;
        if live && !progress && !self.waits_for_blocks(context) {
            return Err(self.stuck_fault(context));
        }
        self.note_end(live, context);
        Ok(Turn { ended: !live, progress })
    }

    /// Completes a fault of the block with its threads' positions, which a warp does not know, and
    /// shows it to the observer.
    pub(super) fn observed(&self, mut fault: Box<Fault>, context: &mut Context<'_>) -> Box<Fault> {
        self.locate_threads(&mut fault, context);
        context.observe_fault(&fault, self);
        fault
    }

    /// Adds the waiting threads, and the positions of the others, to a fault of barrier divergence.
    fn locate_threads(&self, fault: &mut Fault, context: &Context<'_>) {
        let FaultKind::BarrierDivergence { waiting, exited, elsewhere, running, .. } = &mut fault.kind else { return };
        *exited = self.exited();
        for (pc, lanes, runs) in self.warps.iter().flat_map(|warp| warp.divergence.places()) {
            let count = lanes.count_ones() as usize;
            let place = context.place(pc);
            if pc == fault.pc {
                *waiting += count;
            } else if runs {
                *running += count;
            } else if let Some((known, _)) = elsewhere.iter_mut().find(|(_, known)| known.is_at_line_of(&place)) {
                *known += count;
            } else {
                elsewhere.push((count, place));
            }
        }
        elsewhere.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    }

    /// Runs one warp, like [`run`](Self::run) does for all of them.
    ///
    /// # Errors
    /// A thread's fault.
    pub(super) fn run_alone(&mut self, warp: usize, context: &mut Context<'_>) -> Result<(), Box<Fault>> {
        let run = |block: &mut Self, context: &mut Context<'_>| {
            block.run_warp(warp, context)?;
            block.complete_barriers(context);
            block.check_end(context)
        };
        run(self, context).map_err(|fault| self.observed(fault, context))?;
        let live = self.warps.iter().any(|warp| warp.live() != 0);
        self.note_end(live, context);
        Ok(())
    }

    /// Runs a warp until it waits or its turn is over. Returns whether it executed any instruction.
    fn run_warp(&mut self, index: usize, context: &mut Context<'_>) -> Result<bool, Box<Fault>> {
        let mut progress = self.warps[index].run(context)?;
        while let Some(step) = context.stopped_before.take() {
            context.observe_stop(step, self);
            if context.abandoned {
                return Ok(true);
            }
            progress |= self.warps[index].run(context)?;
        }
        if context.state.complete != 0 {
            self.release(context);
            progress = true;
        }
        Ok(progress)
    }

    /// Resumes the threads that wait at the barrier of a cluster of one block, if the barrier is
    /// complete. Returns whether it is.
    fn complete_barriers(&mut self, context: &mut Context<'_>) -> bool {
        let arrived = context.state.cluster_arrived as usize;
        let is_complete = context.config.cluster == 1
            && arrived != 0
            && arrived + self.gone_before_cluster_barrier(&context.launch.options)
                == context.config.block.count() as usize;
        if is_complete {
            self.pass_cluster_barrier(context);
        }
        is_complete
    }

    /// Ends the block because of a fault.
    pub(super) fn abandon(&self, context: &mut Context<'_>) {
        if !context.state.ended {
            self.note_end(false, context);
        }
    }

    /// Records whether the block has threads that have not exited.
    fn note_end(&self, live: bool, context: &mut Context<'_>) {
        context.state.ended = !live;
        if !live && let Some(races) = &mut context.races {
            let state = &mut context.state;
            races.end_block(state.number, state.watched.take());
        }
    }

    /// Whether other blocks can unblock the threads that have not exited.
    fn waits_for_blocks(&self, context: &Context<'_>) -> bool {
        let has_others = context.config.cooperative || context.config.cluster > 1;
        self.waits_for_cluster() || has_others && self.warps.iter().any(|warp| warp.spins(context.residents.changes))
    }

    /// Whether all threads that have not exited wait for other blocks of the cluster.
    pub(super) fn waits_for_cluster(&self) -> bool {
        let mut paths = self.warps.iter().flat_map(|warp| &warp.divergence.paths);
        paths.all(|path| path.state == PathState::AtClusterBarrier)
    }

    /// Number of threads that have exited the kernel without arriving at the cluster's barrier. The
    /// barrier does not wait for them (PTX ISA, `exit`).
    pub(super) fn gone_before_cluster_barrier(&self, options: &Options) -> usize {
        let gone = |warp: &Warp| (warp.exited & !warp.cluster_arrived).count_ones() as usize;
        if options.strict { 0 } else { self.warps.iter().map(gone).sum() }
    }

    /// Resumes the threads that wait at the complete cluster barrier.
    pub(super) fn pass_cluster_barrier(&mut self, context: &mut Context<'_>) {
        context.state.cluster_arrived = 0;
        context.state.cluster_barriers += 1;
        let barrier = context.cluster_barrier();
        match (&mut context.races, context.kernel.splits_cluster_barriers) {
            // The first block completes the barrier for all blocks.
            (Some(_), true) if !context.state.number.is_multiple_of(context.config.cluster.into()) => {}
            (Some(races), true) => races.detector.complete(barrier),
            // The barrier also orders the threads of a block.
            _ => context.state.barriers_passed += 1,
        }
        context.note_change();
        self.warps.iter_mut().for_each(|warp| warp.pass_cluster_barrier(context));
    }

    /// The fault of a cluster with a barrier that never completes. `None` if no thread of this
    /// block waits there.
    #[cold]
    pub(super) fn cluster_fault(
        &self,
        context: &Context<'_>,
        ClusterCounts { arrived, threads, exited }: ClusterCounts,
    ) -> Option<Box<Fault>> {
        let (warp, path) = self.first_path_that(|state| state == PathState::AtClusterBarrier)?;
        let kind = FaultKind::ClusterBarrierDivergence { arrived, threads, exited };
        Some(context.fault(path.pc, warp.first_thread_of(&path), kind))
    }

    /// The first path with a state that satisfies a condition, and its warp.
    fn first_path_that(&self, holds: impl Fn(PathState) -> bool) -> Option<(&Warp, Path)> {
        let find = |warp: &Warp| warp.divergence.paths.iter().find(|path| holds(path.state)).copied();
        self.warps.iter().find_map(|warp| Some((warp, find(warp)?)))
    }

    /// Resumes the threads that wait at complete barriers.
    fn release(&mut self, context: &mut Context<'_>) {
        for number in 0..16 {
            if context.state.complete >> number & 1 == 0 {
                continue;
            }
            let barrier = std::mem::replace(&mut context.state.barriers[number], EMPTY_BARRIER);
            let whole = context.config.block.count().next_multiple_of(LANES as u64) as u32;
            if barrier.expected < whole || barrier.has_arrivals {
                self.pass_split(number as u8, context);
            } else {
                context.state.barriers_passed += 1;
            }
            self.warps.iter_mut().for_each(|warp| warp.pass_barrier(number as u8, &barrier, context));
            context.note_change();
        }
        context.state.complete = 0;
    }

    /// Registers that the threads waiting at a barrier pass it. They may be fewer than the block's
    /// threads.
    fn pass_split(&self, number: u8, context: &mut Context<'_>) {
        let barrier = BarrierOf::Block { block: context.state.number, number };
        let waiting = |warp: &Warp| {
            let paths = warp.divergence.paths.iter().filter(|path| path.state == PathState::AtBarrier(number));
            paths.fold(0, |mask, path| mask | path.mask)
        };
        let groups = self.warps.iter().map(|warp| (warp, waiting(warp))).filter(|(_, lanes)| *lanes != 0);
        let groups: Vec<_> = groups.map(|(warp, lanes)| context.threads(warp, lanes)).collect();
        let Some(races) = &mut context.races else { return };
        groups.iter().for_each(|group| races.detector.arrive(barrier, *group));
        races.detector.complete(barrier);
        groups.iter().for_each(|group| races.detector.pass(barrier, *group));
    }

    /// Rejects a block that has issued more instructions than a limit allows: the kernel does not
    /// end.
    fn check_end(&self, context: &Context<'_>) -> Result<(), Box<Fault>> {
        let (options, executed) = (&context.launch.options, context.state.executed);
        let without_progress = executed - context.state.executed_at_progress;
        let kind = if executed > options.block_instructions {
            FaultKind::Endless { instructions: executed }
        } else if without_progress > options.instructions_without_progress {
            FaultKind::NoProgress { instructions: without_progress }
        } else {
            return Ok(());
        };
        // Skip a path that waits for the one in the loop.
        let ready = self.first_path_that(|state| state == PathState::Ready);
        let Some((warp, path)) = ready.or_else(|| self.first_path_that(|_| true)) else { return Ok(()) };
        Err(context.fault(path.pc, warp.first_thread_of(&path), kind))
    }

    /// The fault that explains why no thread can continue.
    #[cold]
    pub(super) fn stuck_fault(&self, context: &mut Context<'_>) -> Box<Fault> {
        let changes = context.residents.changes;
        let spinning = self.warps.iter().find(|warp| warp.spins(changes));
        if let Some(fault) = spinning.and_then(|warp| warp.spin_fault(context)) {
            return fault;
        }
        if let Some((warp, path)) = self.first_path_that(|state| matches!(state, PathState::AtWarpOperation(_))) {
            let PathState::AtWarpOperation(expected) = path.state else { unreachable!("found by its state") };
            let here = warp.divergence.paths.iter().filter(|other| other.state == path.state);
            let here = here.filter(|other| are_one_operation(context.kernel, other.pc, path.pc));
            let present = here.fold(0, |mask, other| mask | other.mask);
            let kind = FaultKind::MissingLanes { expected, missing: expected & !present };
            return context.fault(path.pc, warp.first_thread_of(&path), kind);
        }
        let waiting = self.first_path_that(|state| matches!(state, PathState::AtBarrier(_)));
        let threads = waiting.and_then(|(_, path)| context.state.expected_at(path.state));
        let threads = threads.unwrap_or(context.config.block.count() as usize);
        let (pc, thread) = waiting.map_or((0, 0), |(warp, path)| (path.pc, warp.first_thread_of(&path)));
        context.fault(pc, thread, FaultKind::barrier_divergence(threads, None))
    }
}
