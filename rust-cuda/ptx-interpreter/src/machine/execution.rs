//! Execution of a warp's instructions.

use super::context::Context;
use super::divergence::{Path, PathState};
use super::fault::{Failure, Fault};
use super::observer::Step;
use super::spin::Spin;
use super::warp::{Next, Warp};
use crate::program::Kernel;
use crate::program::instruction::{Action, DecodedInstruction};
use crate::semantics::LANES;

/// Length of a time slice, in instructions. Another path runs afterwards.
const TIME_SLICE: u32 = 4096;

/// Number of expired time slices of a warp after which lanes at a reconvergence point stop waiting
/// for the running path.
const MAX_SLICES_WAITING: u32 = 16;

/// Number of instructions of a warp after which others run as if its time slice had expired. Paths
/// that diverge and reconverge within a slice never use one up.
const MAX_WITHOUT_EXPIRY: u64 = 1 << 16;

impl Warp {
    /// Runs ready paths until none is left, a time slice or the warp's turn ends, or the observer
    /// stops it. Returns whether any path ran.
    ///
    /// # Errors
    /// The fault of a thread.
    pub(super) fn run(&mut self, context: &mut Context<'_>) -> Result<bool, Box<Fault>> {
        if self.spins(context.residents.changes) {
            return Ok(false);
        }
        if !self.is_tested() {
            self.spin = Spin::No;
        }
        let progress = self.run_paths(context)?;
        if context.stopped_before.is_none() {
            self.last_of_turn = None;
        }
        Ok(progress)
    }

    fn run_paths(&mut self, context: &mut Context<'_>) -> Result<bool, Box<Fault>> {
        let (mut progress, started) = (false, context.state.executed);
        // At each step, a path may end or another one may take its index.
        while let Some(index) = self.next_path(context.kernel, context.launch.options.strict) {
            progress = true;
            let is_tested = self.is_tested();
            if is_tested {
                self.note_poll(index, context);
                context.slice_used = TIME_SLICE - 1;
            }
            self.run_path(index, context)?;
            if context.stopped_before.is_some() {
                return Ok(true);
            }
            if std::mem::take(&mut context.turn_ended) {
                context.gave_way = true;
                return Ok(true);
            }
            if context.slice_expired && is_tested {
                self.divergence.paths[index..].rotate_left(1);
                if self.is_still_tested(context) {
                    continue;
                }
                context.gave_way = true;
                return Ok(true);
            }
            if context.slice_expired {
                self.slices += 1;
                if self.slices.is_multiple_of(MAX_SLICES_WAITING) {
                    self.divergence.stop_waiting_for(index);
                }
                // Round-robin: the path may wait for another path, or for another warp.
                self.divergence.paths[index..].rotate_left(1);
            }
            if context.slice_expired || !is_tested && context.state.executed - started >= MAX_WITHOUT_EXPIRY {
                self.note_slice(context);
                context.gave_way = true;
                return Ok(true);
            }
        }
        Ok(progress)
    }

    /// A path that can run. If there is none, lanes at a reconvergence point may block lanes at a
    /// warp-level operation. Then the former resume: GPUs do not make them wait for lanes at a warp
    /// barrier, nor for any lanes at the kernel's end. A lane that then exits is no longer waited
    /// for. Unless `strict` is set, this also applies to lanes at a barrier of the block or the
    /// cluster.
    pub(super) fn next_path(&mut self, kernel: &Kernel, strict: bool) -> Option<usize> {
        let ready = |warp: &Self| warp.divergence.paths.iter().position(|path| path.state == PathState::Ready);
        let found = ready(self);
        let is_at_operation = |path: &Path| matches!(path.state, PathState::AtWarpOperation(_));
        if found.is_none() && self.divergence.paths.iter().any(is_at_operation) {
            let ends = |pc: usize| {
                let end = kernel.instructions.get(pc);
                end.is_some_and(|end| end.guard.is_none() && matches!(end.action, Action::Exit))
            };
            let is_at_barrier = |path: &Path| {
                is_at_operation(path) && matches!(kernel.instructions[path.pc].action, Action::WarpBarrier { .. })
            };
            let resumed = self.divergence.resume_at(ends)
                || (0..self.divergence.paths.len())
                    .any(|path| is_at_barrier(&self.divergence.paths[path]) && self.divergence.stop_waiting_for(path));
            if resumed {
                return ready(self);
            }
        }
        let is_at_barrier = |path: &Path| matches!(path.state, PathState::AtBarrier(_) | PathState::AtClusterBarrier);
        if found.is_none() && !strict {
            let mut paths = 0..self.divergence.paths.len();
            if paths.any(|path| is_at_barrier(&self.divergence.paths[path]) && self.divergence.stop_waiting_for(path)) {
                return ready(self);
            }
        }
        found
    }

    fn run_path(&mut self, index: usize, context: &mut Context<'_>) -> Result<(), Box<Fault>> {
        let kernel = context.kernel;
        context.slice_expired = false;
        let used = std::mem::take(&mut context.slice_used).max(std::mem::take(&mut self.slice_used));
        for used in used..TIME_SLICE {
            let path = self.divergence.paths[index];
            if self.divergence.reconvergence_pc(index) == path.pc {
                self.divergence.arrive(index);
                return Ok(());
            }
            let instruction = &kernel.instructions[path.pc];
            if !self.uninitialised.is_empty() {
                self.check_guard(path.pc, instruction, path.mask, context)?;
            }
            let active = self.active_lanes(instruction, path.mask);
            if context.is_watched && self.pauses(index, instruction, active, used, context) {
                return Ok(());
            }
            self.is_counted = false;
            context.count(path.pc, active);
            // A warp-level operation counts arriving lanes, so a lane with a false guard passes it.
            if active == 0 {
                self.divergence.paths[index].pc += 1;
                continue;
            }
            let mut executed = self.execute(index, instruction, active, context);
            if let Err(failure) = executed {
                executed = self.go_on(index, path.pc, instruction, active, failure, context)?;
            }
            match executed {
                Ok(Next::Advance) | Err(_) => self.divergence.paths[index].pc += 1,
                Ok(Next::Jumped) => {}
                Ok(Next::Stop) => return Ok(()),
            }
            if std::mem::take(&mut context.suspends) {
                break;
            }
        }
        context.slice_expired = true;
        Ok(())
    }

    /// Whether a path pauses before an instruction, after executing this many of its time slice:
    /// the warp's turn is over, or the observer stops it.
    fn pauses(
        &mut self,
        index: usize,
        instruction: &DecodedInstruction,
        active: u32,
        used: u32,
        context: &mut Context<'_>,
    ) -> bool {
        let Path { pc, mask, .. } = self.divergence.paths[index];
        let gives_way = self.gives_way(instruction, active, context);
        if gives_way {
            self.divergence.paths[index..].rotate_left(1);
        }
        let interleaved = context.launch.options.interleaved && context.residents.turns.switches.is_none();
        let ends_line = || interleaved && self.last_of_turn.is_some_and(|last| context.kernel.begins_line(pc, last));
        if gives_way || ends_line() {
            (context.turn_ended, self.slice_used) = (true, used);
            return true;
        }
        let step = Step { block: context.state.number, warp: self.number, pc, lanes: active, path: mask };
        if context.stops_before(step) {
            context.slice_used = used;
            return true;
        }
        self.last_of_turn = Some(pc);
        false
    }

    /// The lanes of a path that execute an instruction: the ones with a true guard.
    #[inline]
    pub(super) fn active_lanes(&self, instruction: &DecodedInstruction, path: u32) -> u32 {
        match instruction.guard {
            None => path,
            Some((predicate, negated)) => {
                let bits = self.predicates[predicate as usize];
                path & if negated { !bits } else { bits }
            }
        }
    }

    /// Whether the warp yields to all others before an instruction, according to the schedule. The
    /// schedule counts synchronizing instructions.
    fn gives_way(&mut self, instruction: &DecodedInstruction, active: u32, context: &mut Context<'_>) -> bool {
        let Some(switches) = &mut context.residents.turns.switches else { return false };
        if active == 0 || !instruction.action.synchronises() || std::mem::replace(&mut self.is_counted, true) {
            return false;
        }
        switches.gives_way()
    }

    #[inline]
    pub(super) fn execute(
        &mut self,
        index: usize,
        instruction: &DecodedInstruction,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        let pc = self.divergence.paths[index].pc;
        if !self.uninitialised.is_empty() {
            self.propagate_uninitialised(instruction, active, context.launch.options.uninitialised)?;
        }
        if self.products.has_results() {
            self.check_results(instruction, active, context)?;
        }
        match &instruction.action {
            // Registers and predicates.
            Action::Compute { compute, destination, sources, extend, flow: _ } => {
                self.compute(*compute, *destination, *sources, *extend, active);
            }
            Action::Carry { compute, destination, sources } => self.carry(*compute, *destination, *sources, active),
            Action::Compare { compute, sources, combine, destinations } => {
                self.compare(*compute, *sources, *combine, *destinations, active);
            }
            Action::Move { destination, source } => {
                let values = self.registers[*source as usize];
                self.write(*destination, &values, active);
            }
            Action::Select { destination, sources, predicate } => {
                self.select(*destination, *sources, *predicate, active);
            }
            Action::Logic { logic, destination, sources } => {
                let value = logic.apply(self.predicate(sources[0]), self.predicate(sources[1]));
                self.write_predicate(*destination, value, active);
            }
            Action::Pack { destination, parts, bits } => self.pack(*destination, parts, *bits, active),
            Action::Unpack { destinations, source, bits } => self.unpack(destinations, *source, *bits, active),
            Action::MapAddress { destination, address, rank } => {
                self.map_address(*destination, *address, *rank, active, context);
            }
            Action::IsSpace { space, destination, address } => self.is_space(*destination, *space, *address, active),
            Action::ActiveMask { destination } => self.write(*destination, &[u64::from(active); LANES], active),
            Action::ReadClock { destination, clock } => self.read_clock(*destination, *clock, active, context),

            // Control flow of the lanes.
            Action::Branch { target, reconvergence } => {
                return Ok(self.branch(index, active, *target, *reconvergence, context));
            }
            Action::BranchTable { index: register, targets, reconvergence } => {
                return self.branch_by_table(index, active, *register, targets, *reconvergence, context);
            }
            Action::BranchToFunction { address, functions, reconvergence } => {
                return self.branch_to_function(index, active, *address, functions, *reconvergence, context);
            }
            Action::Call(call) => return self.call(index, call, active, context),
            Action::Return { reconvergence, .. } => return Ok(self.return_to_callers(index, *reconvergence, context)),
            Action::Exit => return self.exit(index, active, context),
            Action::Trap(reason) => return Err(self.trap(pc, reason.as_deref(), active, context).into()),
            Action::FailAssertion(assertion) => return Err(self.failed_assertion(assertion, active, context)),

            // Other lanes, warps and blocks.
            Action::Barrier(barrier) => return self.barrier(index, barrier, active, context),
            Action::ClusterArrive => self.cluster_arrive(active, context)?,
            Action::ClusterWait => return self.cluster_wait(index, active, context),
            Action::WarpBarrier { .. }
            | Action::Shuffle(_)
            | Action::Vote(_)
            | Action::Match { .. }
            | Action::Reduce { .. }
            | Action::Elect { .. }
            | Action::Matrix(_)
            | Action::LoadMatrix(_)
            | Action::Wmma(_)
            | Action::Wgmma(_) => return self.collective(index, instruction, active, context),

            // Memory.
            Action::Load(load) => self.load(pc, load, active, context)?,
            Action::Store(store) => self.store(pc, store, active, context)?,
            Action::Atomic(atomic) => self.atomic(pc, atomic, active, context)?,
            Action::Mbarrier(mbarrier) => self.mbarrier(pc, mbarrier, active, context)?,
            Action::StoreAsync(store) => self.store_async(pc, store, active, context)?,
            Action::CopyAsync(copy) => self.copy_async(pc, copy, active, context)?,
            Action::CopyAsyncCommit => self.copies.commit(active),
            Action::CopyAsyncWait(groups) => self.wait_for_copies(pc, *groups, active, context)?,
            Action::BulkCopy(copy) => self.copy_bulk(pc, copy, active, context)?,
            Action::TensorCopy(copy) => self.copy_tensor(pc, copy, active, context)?,
            Action::BulkCommit => self.commit_bulk_copies(active),
            Action::BulkWait { groups, reads_only } => {
                self.wait_for_bulk_copies(*groups, *reads_only, active, context);
            }
            Action::Fence(fence) => context.fence(*fence, self, active),
            Action::Image(access) => self.access_image(pc, access, active, context)?,
            Action::Heap(call) => self.call_heap(call, active, context)?,
            Action::Print(print) => self.print(print, active, context)?,
            Action::Nothing => {}
        }
        Ok(Next::Advance)
    }
}
