//! Detects whether a warp is in a loop that only a change of memory can end, by a recurrence of its
//! state.

use super::context::Context;
use super::fault::{Access, Fault, FaultKind, Unstarted};
use super::spin::{Poll, Spin, Test};
use super::warp::Warp;
use crate::memory::{block_of_cluster, from_generic, space_of};
use crate::program::instruction::{AccessSpace, Action, MBARRIER_BYTES};
use crate::syntax::Space;

/// Maximum period, in instructions, after which a warp's state must recur to be detected.
const MAX_PERIOD: u32 = 4096;

impl Warp {
    /// Whether the warp is in a loop that only a change of memory can end, and memory has not
    /// changed.
    pub(super) fn spins(&self, changes: u64) -> bool {
        matches!(self.spin, Spin::Found { since, .. } if since == changes)
    }

    /// Whether its state is being tested for a recurrence.
    pub(super) fn is_tested(&self) -> bool {
        matches!(self.spin, Spin::Tested(_))
    }

    /// Records that a time slice has expired. Starts a test of the warp's state after one slice
    /// without a memory change, and then after twice as many each time.
    pub(super) fn note_slice(&mut self, context: &Context<'_>) {
        let changes = context.residents.changes;
        if !context.is_alone || std::mem::replace(&mut self.changes_at_slice, changes) != changes {
            self.idle_slices = 0;
            return;
        }
        self.idle_slices += 1;
        if self.idle_slices.is_power_of_two() {
            self.spin = Spin::Tested(Box::new(Test {
                since: changes,
                divergence: self.divergence.clone(),
                registers: self.registers.clone(),
                predicates: self.predicates.clone(),
                carry: self.carry,
                instructions: 0,
                poll: None,
            }));
        }
    }

    /// Records the upcoming read of a path, if the warp is being tested.
    pub(super) fn note_poll(&mut self, index: usize, context: &Context<'_>) {
        let path = self.divergence.paths[index];
        let Some(instruction) = context.kernel.instructions.get(path.pc) else { return };
        let (access, space, address, bytes) = match &instruction.action {
            Action::Load(load) => (Access::Read, load.space, &load.address, load.bytes * load.destinations.len()),
            Action::Atomic(atomic) => (Access::Atomic, atomic.space, &atomic.address, atomic.bytes),
            Action::Mbarrier(mbarrier) => (Access::Read, mbarrier.space, &mbarrier.address, MBARRIER_BYTES),
            _ => return,
        };
        let active = self.active_lanes(instruction, path.mask);
        if active == 0 {
            return;
        }
        let lane = active.trailing_zeros();
        let address = self.addresses(address)[lane as usize];
        let (space, address) = match space {
            AccessSpace::Space(space) => (space, address),
            AccessSpace::Generic => (space_of(address), from_generic(space_of(address), address)),
            AccessSpace::Cluster => (Space::Shared, u64::from(block_of_cluster(address as u32).1)),
        };
        if let (Spin::Tested(test), Space::Global | Space::Shared) = (&mut self.spin, space) {
            test.poll = Some(Poll { pc: path.pc, lane, access, space, address, bytes });
        }
    }

    /// Counts an instruction of a warp under test. Returns whether the test continues. Once the
    /// state has recurred, lanes that wait at a reconvergence point resume, if there are any.
    /// Otherwise the warp spins.
    pub(super) fn is_still_tested(&mut self, context: &Context<'_>) -> bool {
        let Spin::Tested(test) = &mut self.spin else { return false };
        test.instructions += 1;
        if test.since != context.residents.changes || test.instructions > MAX_PERIOD {
            self.spin = Spin::No;
            return false;
        }
        let recurs = test.divergence == self.divergence
            && test.predicates == self.predicates
            && test.carry == self.carry
            && test.registers == self.registers;
        if recurs {
            let found = Spin::Found { since: test.since, poll: test.poll };
            let resumed = self.divergence.stop_waiting();
            if resumed {
                // The resumed lanes run next.
                self.divergence.paths.rotate_right(1);
            }
            self.spin = if resumed { Spin::No } else { found };
        }
        !recurs
    }

    /// The fault of a spinning warp, while no runnable thread changes memory.
    #[cold]
    pub(super) fn spin_fault(&self, context: &mut Context<'_>) -> Option<Box<Fault>> {
        let Spin::Found { poll, .. } = self.spin else { return None };
        let path = self.divergence.paths.first()?;
        let Some(Poll { pc, lane, access, space, address, bytes }) = poll else {
            return Some(context.fault(path.pc, self.first_thread_of(path), FaultKind::EndlessLoop));
        };
        let waits_for_phase = matches!(context.kernel.instructions[pc].action, Action::Mbarrier(_));
        let kind = match context.resolve(self, space, lane as usize, address, bytes) {
            Ok(place) if waits_for_phase => context.phase_never_ends(place, self).unwrap_or(FaultKind::EndlessLoop),
            Ok((memory, offset)) => {
                let (first, count) = context.unstarted;
                let (memory, address) = context.extent_at(memory, offset);
                let unstarted = Unstarted { first, count };
                FaultKind::WaitsForever { address, bytes, memory: Box::new(memory), access, unstarted }
            }
            Err(_) => FaultKind::EndlessLoop,
        };
        Some(context.fault(pc, self.first_thread() + lane, kind))
    }
}
