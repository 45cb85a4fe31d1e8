//! Arrival of threads at the block's barriers.

use super::context::Context;
use super::divergence::PathState;
use super::fault::{Failure, FaultKind};
use super::lanes::{ALL, lanes_of};
use super::warp::{Next, Warp};
use crate::memory::races::{BarrierOf, Phase};
use crate::program::instruction::{Barrier, BarrierReduction};
use crate::semantics::LANES;

impl Warp {
    /// The active lanes of a path arrive at a barrier.
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
        let state = &mut context.state.barriers[number as usize];
        if barrier.waits
            && let Some(other) = state.pc.replace(pc)
            && other != pc
        {
            let arrived = state.arrived.min(threads as u32) as usize;
            let other_place = Some(Box::new(context.place(other)));
            let waiting = arrived + active.count_ones() as usize;
            return Err(FaultKind::BarrierDivergence { waiting, exited: 0, other_place }.into());
        }
        // A warp counts as 32 threads, though the last one of the block may have fewer (PTX ISA, `barrier`).
        state.expected = (count as u32).next_multiple_of(LANES as u32);
        state.arrived += active.count_ones();
        state.arrived += if active & self.last_lane() != 0 { LANES as u32 - self.existing.count_ones() } else { 0 };
        if let Some(BarrierReduction { source, negated, .. }) = barrier.reduction {
            let bits = self.predicates[source as usize];
            let holds = active & if negated { !bits } else { bits };
            state.all &= holds == active;
            state.any |= holds != 0;
            state.count += holds.count_ones();
        }
        state.has_arrivals |= !barrier.waits;
        if state.arrived >= state.expected {
            context.state.complete |= 1 << number;
        }
        if !barrier.waits {
            let barrier = BarrierOf::Block { block: context.state.number, number: number as u8 };
            let lanes = self.lanes_of_phase(active, context);
            if let Some(races) = &mut context.races {
                races.detector.arrive(barrier, lanes);
            }
            return Ok(Next::Advance);
        }
        self.wait(index, active, PathState::AtBarrier(number as u8));
        Ok(Next::Stop)
    }

    /// The active lanes arrive at the cluster's barrier.
    pub(super) fn cluster_arrive(&mut self, active: u32, context: &mut Context<'_>) -> Result<(), Failure> {
        if let Some(lane) = lanes_of(active & (self.cluster_arrived | self.cluster_passed)).next() {
            return Err(Failure::at(lane, FaultKind::ClusterBarrierOrder { waits: false }));
        }
        self.cluster_arrived |= active;
        context.state.cluster_arrived += active.count_ones();
        let (barrier, lanes) = (context.cluster_barrier(), self.lanes_of_phase(active, context));
        if let (Some(races), true) = (&mut context.races, context.kernel.splits_cluster_barriers) {
            races.detector.arrive(barrier, lanes);
        }
        Ok(())
    }

    /// The active lanes of a path wait until all threads of the cluster have arrived.
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

    /// Resumes the lanes that wait at the cluster's barrier, which is complete.
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
        let (barrier, lanes) = (context.cluster_barrier(), self.lanes_of_phase(active, context));
        if let (Some(races), true) = (&mut context.races, context.kernel.splits_cluster_barriers) {
            races.detector.pass(barrier, lanes);
        }
    }

    /// Lanes for the race detector, as the whole warp if no others are left.
    pub(super) fn lanes_of_phase(&self, lanes: u32, context: &Context<'_>) -> (Phase, u32) {
        (context.phase(self), if lanes == self.live() { ALL } else { lanes })
    }

    /// Mask of the highest lane that has a thread.
    fn last_lane(&self) -> u32 {
        1 << (31 - self.existing.leading_zeros())
    }
}
