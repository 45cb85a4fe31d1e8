//! Recovery from a fault: lets a launch continue, to find the faults of other lines too.

use std::sync::Arc;

use super::context::Context;
use super::fault::{Failure, Fault, FaultKind};
use super::options::Uninitialised;
use super::warp::{Held, Next, Origin, Warp};
use crate::memory::AccessError;
use crate::program::image::ImageAccess;
use crate::program::instruction::{Action, DecodedInstruction};

impl Warp {
    /// Executes an instruction for the lanes without a fault. For the other lanes, the results of a
    /// read are unspecified and are not reported again. Returns how the path continues, or the last
    /// failure if no lane is left.
    ///
    /// # Errors
    /// A fault with which the launch ends.
    #[cold]
    pub(super) fn go_on(
        &mut self,
        index: usize,
        pc: usize,
        instruction: &DecodedInstruction,
        mut active: u32,
        mut failure: Failure,
        context: &mut Context<'_>,
    ) -> Result<Result<Next, Failure>, Box<Fault>> {
        loop {
            let lane = failure.lane.unwrap_or(active.trailing_zeros());
            let (place, of_lane) = failure.origin.unwrap_or((pc, lane));
            self.report(pc, active, &failure, context)?;
            match &instruction.action {
                // A value that a fault made unspecified is stored.
                Action::Store(store) if failure.origin.is_some() && !self.is_unspecified(store.address.base, lane) => {
                    store.sources.iter().for_each(|source| self.specify(Held::Register(*source), lane));
                }
                Action::Image(ImageAccess::Store(store))
                    if failure.origin.is_some()
                        && !store.place.registers().any(|register| self.is_unspecified(Some(register), lane)) =>
                {
                    store.registers.iter().flatten().for_each(|source| self.specify(Held::Register(*source), lane));
                }
                // Or it is compared, or it selects lanes. All lanes continue because others may
                // wait for them.
                action if failure.origin.is_some() && !action.accesses_memory() => {
                    let mut sources = Vec::new();
                    action.visit_sources(&mut |register| sources.push(Held::Register(register)));
                    action.visit_predicates(&mut |predicate| sources.push(Held::Predicate(predicate)));
                    sources.into_iter().for_each(|source| self.specify(source, lane));
                }
                action => {
                    if matches!(action, Action::Load(_) | Action::Atomic(_) | Action::Image(_)) {
                        let origin = Arc::new(Origin { pc: place, kind: failure.kind.clone(), of_lanes: Vec::new() });
                        action.visit_destinations(&mut |register| {
                            self.make_unspecified(register, lane, of_lane, &origin);
                        });
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

    /// Records the failure of an instruction.
    ///
    /// # Errors
    /// The fault, if the launch ends with it.
    pub(super) fn report(
        &self,
        pc: usize,
        active: u32,
        failure: &Failure,
        context: &mut Context<'_>,
    ) -> Result<(), Box<Fault>> {
        let lane = failure.lane.unwrap_or(active.trailing_zeros());
        let (place, of_lane) = failure.origin.unwrap_or((pc, lane));
        let fault = context.fault(place, self.first_thread() + of_lane, failure.kind.clone());
        let is_uninitialised = matches!(fault.kind, FaultKind::Access { error: AccessError::Uninitialised { .. }, .. });
        if is_uninitialised && context.launch.options.uninitialised == Uninitialised::Note {
            context.defer(fault)
        } else if !context.goes_on() || !matches!(fault.kind, FaultKind::Access { .. }) {
            Err(fault)
        } else {
            context.add_fault(fault)
        }
    }
}
