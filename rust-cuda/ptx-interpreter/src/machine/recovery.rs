//! How a launch goes on after a fault, so that the faults of other lines are found too.

use super::context::Context;
use super::fault::{Failure, Fault, FaultKind};
use super::warp::{Next, Warp};
use crate::program::instruction::{Action, DecodedInstruction};

impl Warp {
    /// Executes an instruction for the lanes that have no fault. The results of a read by the others have an unspecified value, of
    /// which no other fault is reported. Returns how the path continues, or the last failure if no lane is left.
    ///
    /// # Errors
    /// A fault with which the launch ends.
    #[cold]
    pub(super) fn go_on(
        &mut self,
        (index, pc): (usize, usize),
        (instruction, mut active): (&DecodedInstruction, u32),
        mut failure: Failure,
        context: &mut Context<'_>,
    ) -> Result<Result<Next, Failure>, Box<Fault>> {
        loop {
            let lane = failure.lane.unwrap_or(active.trailing_zeros());
            let fault = context.fault(failure.pc.unwrap_or(pc), self.first_thread() + lane, failure.kind.clone());
            if context.launch.options.max_faults <= 1 || !matches!(fault.kind, FaultKind::Access { .. }) {
                return Err(fault);
            }
            context.note_fault(fault)?;
            match &instruction.action {
                // A value that a fault has made unspecified is stored.
                Action::Store(store) if failure.pc.is_some() && !self.is_unspecified(store.address.base, lane) => {
                    store.sources.iter().for_each(|source| self.specify(*source, lane));
                }
                action => {
                    if matches!(action, Action::Load(_) | Action::Atomic(_)) {
                        let source = (failure.pc.unwrap_or(pc), &failure.kind);
                        action.visit_destinations(&mut |register| self.make_unspecified(register, lane, source));
                    }
                    active &= !(1 << lane);
                }
            }
            if active == 0 {
                return Ok(Err(failure));
            }
            match self.execute(index, instruction, active, context) {
                Err(next) => failure = next,
                executed => return Ok(executed),
            }
        }
    }
}
