//! Calls of possibly recursive functions. Each lane has frames in local memory, which also hold its
//! callers' registers.

use std::ops::Range;

use super::context::Context;
use super::fault::{Failure, FaultKind};
use super::lanes::lanes_of;
use super::warp::{Activation, Held, Next, UninitialisedRegister, Warp};
use crate::memory::first_address;
use crate::program::Stack;
use crate::program::instruction::{Action, Call};
use crate::semantics::LANES;
use crate::syntax::Space;

/// The stack of a kernel with calls.
fn stack_of<'a>(context: &Context<'a>) -> &'a Stack {
    context.kernel.stack.as_ref().expect("a kernel with calls has a stack")
}

impl Warp {
    /// Gives the active lanes new frames with their arguments, and jumps to the function.
    ///
    /// # Errors
    /// If a lane's stack has no room.
    pub(super) fn call(
        &mut self,
        index: usize,
        call: &Call,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        let stack = stack_of(context);
        let (callee, caller) = (&stack.functions[call.function], call.caller.map(|caller| &stack.functions[caller]));
        let (before, register) = (self.registers[stack.register as usize], stack.register);
        let frames: [u64; LANES] =
            std::array::from_fn(|lane| caller.map_or(stack.start, |caller| before[lane] + caller.frame_bytes));
        if let Some(lane) = lanes_of(active).find(|&lane| frames[lane] + callee.frame_bytes > stack.end) {
            return Err(Failure::at(lane, FaultKind::Recursion { function: callee.name.as_ref().into() }));
        }
        let pc = self.divergence.paths[index].pc;
        let (registers, predicates) =
            caller.map(|caller| (caller.registers.clone(), caller.predicates.clone())).unwrap_or_default();
        self.activations.resize_with(LANES, Vec::new);
        for lane in lanes_of(active) {
            let uninitialised = self.take_uninitialised(&registers, &predicates, lane);
            self.activations[lane].push(Activation {
                call: pc,
                frame: before[lane],
                registers: self.registers[registers.clone()].iter().map(|register| register[lane]).collect(),
                predicates: self.predicates[predicates.clone()].iter().map(|bits| bits >> lane & 1 != 0).collect(),
                uninitialised,
            });
            self.local.mark_uninitialised(self.local_offset(lane, frames[lane]), callee.frame_bytes as usize);
        }
        for (from, to, bytes) in &call.arguments {
            let from = self.addresses(from);
            lanes_of(active).for_each(|lane| self.copy_local(lane, from[lane], frames[lane] + to, *bytes));
        }
        self.write(register, &frames, active);
        self.jump(index, active, &[call.start; LANES], call.reconvergence, context);
        Ok(Next::Jumped)
    }

    /// Returns the lanes of a path from their calls. Passes the results to their callers and
    /// restores the callers' registers.
    pub(super) fn return_to_callers(
        &mut self,
        index: usize,
        reconvergence: Option<usize>,
        context: &mut Context<'_>,
    ) -> Next {
        let (stack, kernel) = (stack_of(context), context.kernel);
        let (mask, mut sites) = (self.divergence.paths[index].mask, [0; LANES]);
        for lane in lanes_of(mask) {
            let activation = self.activations[lane].pop().expect("a lane that returns was called");
            let Action::Call(call) = &kernel.instructions[activation.call].action else {
                unreachable!("a call made the activation")
            };
            let frame = std::mem::replace(&mut self.registers[stack.register as usize][lane], activation.frame);
            if let Some(caller) = call.caller.map(|caller| &stack.functions[caller]) {
                for (register, value) in self.registers[caller.registers.clone()].iter_mut().zip(activation.registers) {
                    register[lane] = value;
                }
                let predicates = self.predicates[caller.predicates.clone()].iter_mut();
                for (bits, value) in predicates.zip(activation.predicates) {
                    *bits = *bits & !(1 << lane) | u32::from(value) << lane;
                }
                drop(self.take_uninitialised(&caller.registers, &caller.predicates, lane));
                self.uninitialised.extend(activation.uninitialised);
            }
            for (to, from, bytes) in &call.results {
                let to = self.addresses(to)[lane];
                self.copy_local(lane, frame + from, to, *bytes);
            }
            sites[lane] = activation.call + 1;
        }
        self.jump(index, mask, &sites, reconvergence, context);
        Next::Jumped
    }

    /// Takes the uninitialized bits of registers and predicates in one lane. They are then no
    /// longer recorded.
    fn take_uninitialised(
        &mut self,
        registers: &Range<usize>,
        predicates: &Range<usize>,
        lane: usize,
    ) -> Vec<UninitialisedRegister> {
        let is_taken = |held: Held| match held {
            Held::Register(register) => registers.contains(&(register as usize)),
            Held::Predicate(predicate) => predicates.contains(&(predicate as usize)),
        };
        let mut taken = Vec::new();
        for entry in self.uninitialised.iter_mut().filter(|entry| is_taken(entry.held)) {
            let mut bits = [0; LANES];
            bits[lane] = std::mem::take(&mut entry.bits[lane]);
            if bits[lane] != 0 {
                taken.push(UninitialisedRegister { bits, ..entry.clone() });
            }
        }
        taken
    }

    /// The offset of a lane's address in the region of local memory.
    fn local_offset(&self, lane: usize, address: u64) -> usize {
        lane * (self.local.bytes() / LANES) + (address - first_address(Space::Local)) as usize
    }

    /// Copies the initialized bytes of a lane.
    fn copy_local(&self, lane: usize, from: u64, to: u64, bytes: usize) {
        let (from, to) = (self.local_offset(lane, from), self.local_offset(lane, to));
        for byte in (0..bytes).filter(|byte| self.local.is_initialised(from + byte, 1)) {
            self.local.store(to + byte, 1, self.local.load(from + byte, 1));
        }
    }
}
