//! Arrival of threads at the block's barriers.

use super::block_state::BarrierState;
use super::context::Context;
use super::divergence::{Path, PathState};
use super::fault::{Failure, FaultKind};
use super::lanes::{ALL, lanes_of};
use super::warp::{Next, Warp};
use crate::memory::races::BarrierOf;
use crate::program::Kernel;
use crate::program::instruction::{Action, Barrier, BarrierReduction, BarrierReductionKind};
use crate::semantics::LANES;

impl Warp {
    /// Makes the active lanes of a path arrive at a barrier.
    pub(super) fn barrier(
        &mut self,
        index: usize,
        barrier: &Barrier,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        let pc = self.divergence.paths[index].pc;
        let lane = active.trailing_zeros() as usize;
        let threads = context.config.block.count();
        let number = self.registers[barrier.number as usize][lane];
        let count = barrier.count.map_or(threads, |count| self.registers[count as usize][lane]);
        let whole_warps = barrier.count.is_none() || count.is_multiple_of(LANES as u64);
        if number > 15 || count == 0 || !whole_warps || count > threads.next_multiple_of(LANES as u64) {
            return Err(FaultKind::BarrierOperands { number, count }.into());
        }
        let operands = [Some(barrier.number), barrier.count].into_iter().flatten();
        for values in operands.map(|operand| &self.registers[operand as usize]) {
            if let Some(other) = lanes_of(active).find(|other| values[*other] != values[lane]) {
                return Err(Failure::at(other, FaultKind::DifferentBarriers));
            }
        }
        if barrier.waits
            && let Some(other) = self.waits_elsewhere(number as u8, barrier, pc, context)
        {
            let other_place = Some(Box::new(context.place(other)));
            return Err(FaultKind::barrier_divergence(count as usize, other_place).into());
        }
        let gone = self.gone(context);
        let state = &mut context.state.barriers[number as usize];
        // A warp counts as 32 threads, though the last one of the block may have fewer (PTX ISA, `barrier`).
        state.expected = (count as u32).next_multiple_of(LANES as u32);
        state.has_count = barrier.count.is_some();
        state.arrived += active.count_ones();
        if state.has_count && self.arrived[number as usize] == 0 {
            state.arrived += gone.count_ones();
        }
        self.arrived[number as usize] |= active;
        if let Some(BarrierReduction { source, negated, .. }) = barrier.reduction {
            let bits = self.predicates[source as usize];
            let holds = active & if negated { !bits } else { bits };
            state.all &= holds == active;
            state.any |= holds != 0;
            state.count += holds.count_ones();
        }
        state.has_arrivals |= !barrier.waits;
        context.state.complete_if_all_arrived(number as usize);
        if !barrier.waits {
            let barrier = BarrierOf::Block { block: context.state.number, number: number as u8 };
            let threads = context.threads(self, active);
            if let Some(races) = &mut context.races {
                races.detector.arrive(barrier, threads);
            }
            return Ok(Next::Advance);
        }
        self.wait(index, active, PathState::AtBarrier(number as u8));
        Ok(Next::Stop)
    }

    /// Resumes the lanes that wait at a complete barrier of the block.
    pub(super) fn pass_barrier(&mut self, number: u8, barrier: &BarrierState, context: &mut Context<'_>) {
        self.arrived[usize::from(number)] = 0;
        for index in 0..self.divergence.paths.len() {
            let path = &mut self.divergence.paths[index];
            if path.state != PathState::AtBarrier(number) {
                continue;
            }
            let (pc, mask) = (path.pc, path.mask);
            path.state = PathState::Ready;
            path.pc += 1;
            self.note_barrier_of_some_lanes(pc, mask, context);
            let as_mask = |holds: bool| if holds { ALL } else { 0 };
            match context.kernel.barrier_reduction(pc).map(|reduction| reduction.kind) {
                Some(BarrierReductionKind::And(p)) => self.write_predicate(p, as_mask(barrier.all), mask),
                Some(BarrierReductionKind::Or(p)) => self.write_predicate(p, as_mask(barrier.any), mask),
                Some(BarrierReductionKind::Count(register)) => {
                    self.write(register, &[u64::from(barrier.count); LANES], mask);
                }
                None => {}
            }
        }
    }

    /// Another place where threads wait for the barrier, if that is a fault. Records a note if it
    /// is not.
    fn waits_elsewhere(&self, number: u8, barrier: &Barrier, pc: usize, context: &mut Context<'_>) -> Option<usize> {
        let other = context.state.barriers[usize::from(number)].pc.replace(pc).filter(|other| *other != pc);
        if context.launch.options.strict {
            return other;
        }
        let mut of_warp = self.divergence.paths.iter().filter(|path| path.state == PathState::AtBarrier(number));
        let is_aligned = |path: &&Path| barrier.aligned || context.kernel.is_aligned_barrier(path.pc);
        if let Some(path) = of_warp.find(|path| path.pc != pc && is_aligned(path)) {
            return Some(path.pc);
        }
        if let Some(other) = other.filter(|_| number == 0 && barrier.count.is_none()) {
            let kind =
                |context: &Context<'_>| FaultKind::BarrierInTwoArms { other_place: Box::new(context.place(other)) };
            context.note("barrier-in-two-arms", (pc.max(other), pc.min(other)), self.first_thread(), kind);
        }
        None
    }

    /// The lanes that no barrier waits for: lanes without a thread, and lanes that have exited the
    /// kernel.
    fn gone(&self, context: &Context<'_>) -> u32 {
        !self.existing | if context.launch.options.strict { 0 } else { self.exited }
    }

    /// Releases the barriers from waiting for exited lanes. They no longer hold up a barrier of all
    /// the block's threads (PTX ISA, `exit`), nor their warp at another barrier.
    pub(super) fn leave_barriers(&self, lanes: u32, context: &mut Context<'_>) {
        if context.launch.options.strict {
            return;
        }
        context.state.gone += lanes.count_ones();
        for (number, arrived) in self.arrived.into_iter().enumerate() {
            let state = &mut context.state.barriers[number];
            if state.arrived == 0 {
                continue;
            }
            if !state.has_count {
                state.gone += (lanes & arrived).count_ones();
            } else if arrived != 0 {
                state.arrived += (lanes & !arrived).count_ones();
            }
            context.state.complete_if_all_arrived(number);
        }
    }

    /// Notes that exited lanes do not reach an aligned barrier where other lanes of the warp wait.
    pub(super) fn note_barrier_of_some_lanes(&self, pc: usize, mask: u32, context: &mut Context<'_>) {
        if self.exited != 0 && context.kernel.is_aligned_barrier(pc) {
            let thread = self.first_thread() + mask.trailing_zeros();
            let exited = self.exited;
            context.note("barrier-of-some-lanes", (pc, pc), thread, |_| FaultKind::BarrierOfSomeLanes { exited });
        }
    }

    /// Makes the active lanes arrive at the cluster's barrier.
    pub(super) fn cluster_arrive(&mut self, active: u32, context: &mut Context<'_>) -> Result<(), Failure> {
        if let Some(lane) = lanes_of(active & (self.cluster_arrived | self.cluster_passed)).next() {
            return Err(Failure::at(lane, FaultKind::ClusterBarrierOrder { waits: false }));
        }
        self.cluster_arrived |= active;
        context.state.cluster_arrived += active.count_ones();
        let (barrier, threads) = (context.cluster_barrier(), context.threads(self, active));
        if let (Some(races), true) = (&mut context.races, context.kernel.splits_cluster_barriers) {
            races.detector.arrive(barrier, threads);
        }
        Ok(())
    }

    /// Makes the active lanes of a path wait until all threads of the cluster have arrived.
    pub(super) fn cluster_wait(
        &mut self,
        index: usize,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        if let Some(lane) = lanes_of(active & !(self.cluster_arrived | self.cluster_passed)).next() {
            return Err(Failure::at(lane, FaultKind::ClusterBarrierOrder { waits: true }));
        }
        if active & !self.cluster_passed == 0 {
            self.cluster_passed &= !active;
            self.note_cluster_wait(active, context);
            return Ok(Next::Advance);
        }
        self.wait(index, active, PathState::AtClusterBarrier);
        Ok(Next::Stop)
    }

    /// Resumes the lanes that wait at the complete cluster barrier.
    pub(super) fn pass_cluster_barrier(&mut self, context: &mut Context<'_>) {
        self.cluster_passed |= std::mem::take(&mut self.cluster_arrived);
        let mut waited = 0;
        for path in &mut self.divergence.paths {
            if path.state == PathState::AtClusterBarrier {
                path.state = PathState::Ready;
                path.pc += 1;
                self.cluster_passed &= !path.mask;
                waited |= path.mask;
            }
        }
        if waited != 0 {
            self.note_cluster_wait(waited, context);
        }
    }

    /// Registers that lanes have waited at the cluster's barrier.
    fn note_cluster_wait(&self, active: u32, context: &mut Context<'_>) {
        let (barrier, threads) = (context.cluster_barrier(), context.threads(self, active));
        if let (Some(races), true) = (&mut context.races, context.kernel.splits_cluster_barriers) {
            races.detector.pass(barrier, threads);
        }
    }
}

impl Kernel {
    /// Whether all lanes of a warp must execute the barrier at this instruction.
    pub(super) fn is_aligned_barrier(&self, pc: usize) -> bool {
        matches!(&self.instructions[pc].action, Action::Barrier(barrier) if barrier.aligned)
    }

    /// The reduction that the barrier at this instruction applies to the threads' predicates.
    fn barrier_reduction(&self, pc: usize) -> Option<BarrierReduction> {
        match &self.instructions[pc].action {
            Action::Barrier(barrier) => barrier.reduction,
            _ => None,
        }
    }
}
