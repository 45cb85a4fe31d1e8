//! The failed check behind a `trap`.
//!
//! rustc compiles the bounds check of `x[i]` to a comparison, a branch and a `trap`, whose instruction says neither the index nor the
//! length. They are still in the registers that the comparison had.

use super::context::Context;
use super::fault::FaultKind;
use super::warp::Warp;
use crate::memory::first_address;
use crate::program::Kernel;
use crate::program::instruction::{AccessSpace, Action, Predicate, Register};
use crate::syntax::Space;

/// Bytes of a buffer's address and of its length, the two parameters of a kernel in Rust that a slice becomes.
const POINTER_BYTES: u64 = 8;

impl Warp {
    /// The fault of a `trap` at `pc` for the lowest of the `active` lanes: a panic, if the thread has said why; an index out of bounds,
    /// if the only way to it is a comparison of a value with the length of a buffer.
    #[cold]
    pub(super) fn trap(&self, pc: usize, active: u32, context: &Context<'_>) -> FaultKind {
        if let Some(message) = self.panic(active, context) {
            return FaultKind::Panic { message };
        }
        self.failed_bounds_check(pc, active, context).unwrap_or(FaultKind::Trap)
    }

    fn panic(&self, active: u32, context: &Context<'_>) -> Option<String> {
        let thread = context.thread_index(self.first_thread() + active.trailing_zeros());
        Some(context.launch.speech?.panic(&context.launch.view, (context.block, thread))?.text)
    }

    fn failed_bounds_check(&self, pc: usize, active: u32, context: &Context<'_>) -> Option<FaultKind> {
        let kernel = context.kernel;
        let (branch, (predicate, value)) = only_way_to(kernel, pc)?;
        let comparison = comparison_before(kernel, branch, predicate)?;
        let (index, length) = index_and_length(kernel, comparison, value)?;
        let lane = active.trailing_zeros() as usize;
        let [index, of_register] = [index, length].map(|register| self.registers[register as usize][lane]);
        let length = self.length_of_a_buffer(length, lane, context)?;
        // The register may have got another value since.
        (index >= length && of_register == length).then_some(FaultKind::OutOfBounds { index, length })
    }

    /// The value of the parameter that the only load into a register reads, if the parameter before it is the address of a buffer.
    fn length_of_a_buffer(&self, register: Register, lane: usize, context: &Context<'_>) -> Option<u64> {
        let mut loads = context.kernel.instructions.iter().filter_map(|instruction| match &instruction.action {
            Action::Load(load) if load.destinations.contains(&Some(register)) => Some(load),
            _ => None,
        });
        let load = loads.next().filter(|load| matches!(load.space, AccessSpace::Space(Space::Param)))?;
        if loads.next().is_some() {
            return None;
        }
        let parameters = &context.kernel.parameters;
        let address = self.addresses(&load.address)[lane];
        let value = |address: u64| {
            let whole = parameters.iter().any(|extent| (extent.start, extent.bytes) == (address, POINTER_BYTES));
            let offset = address.checked_sub(first_address(Space::Param)).filter(|_| whole)? as usize;
            Some(context.launch.parameters.load(offset, POINTER_BYTES as usize))
        };
        context.launch.view.find(value(address.checked_sub(POINTER_BYTES)?)?, 0).ok()?;
        value(address)
    }
}

/// The branch through which alone an instruction is reached, and the predicate with the value that leads there.
fn only_way_to(kernel: &Kernel, target: usize) -> Option<(usize, (Predicate, bool))> {
    let instructions = &kernel.instructions;
    let mut ways = ways_to(kernel, target);
    let (branch, leads_on) = ways.next().filter(|_| ways.next().is_none())?;
    match (instructions[branch].guard, leads_on) {
        (Some((predicate, negated)), jumps) => Some((branch, (predicate, negated != jumps))),
        // `@p bra ELSEWHERE; bra TRAP;`
        (None, _) => {
            let mut ways = ways_to(kernel, branch);
            let (before, jumps) = ways.next().filter(|_| ways.next().is_none())?;
            let (predicate, negated) = instructions[before].guard?;
            Some((before, (predicate, negated != jumps)))
        }
    }
}

/// The branches that lead to an instruction, each with whether it jumps there: otherwise it is the one before, and does not jump.
fn ways_to(kernel: &Kernel, target: usize) -> impl Iterator<Item = (usize, bool)> {
    let instructions = &kernel.instructions;
    let jumps = (0..instructions.len()).filter(move |&pc| match &instructions[pc].action {
        Action::Branch { target: of_branch, .. } => *of_branch == target,
        Action::BranchTable { targets, .. } => targets.contains(&target),
        Action::BranchToFunction { functions, .. } => functions.iter().any(|(_, start)| *start == target),
        Action::Call(call) => call.start == target,
        Action::Return { sites, .. } => sites.contains(&target),
        _ => false,
    });
    let before = target.checked_sub(1).filter(|&before| {
        let ends = matches!(
            instructions[before].action,
            Action::Branch { .. } | Action::Call(_) | Action::Return { .. } | Action::Exit | Action::Trap
        );
        !ends || instructions[before].guard.is_some()
    });
    jumps.map(|pc| (pc, true)).chain(before.map(|pc| (pc, false)))
}

/// The comparison before a branch, in the same basic block, that writes its predicate.
fn comparison_before(kernel: &Kernel, branch: usize, predicate: Predicate) -> Option<usize> {
    let writes = |pc: &usize| match &kernel.instructions[*pc].action {
        Action::Compare { destinations, .. } => destinations[0] == Some(predicate),
        _ => false,
    };
    let found = (0..branch).rev().take_while(|&pc| !ends_block(kernel, pc)).find(writes)?;
    // No other path enters between the two.
    (found + 1..=branch).all(|pc| ways_to(kernel, pc).all(|(_, jumps)| !jumps)).then_some(found)
}

fn ends_block(kernel: &Kernel, pc: usize) -> bool {
    matches!(
        kernel.instructions[pc].action,
        Action::Branch { .. }
            | Action::BranchTable { .. }
            | Action::BranchToFunction { .. }
            | Action::Call(_)
            | Action::Return { .. }
            | Action::Exit
            | Action::Trap
    )
}

/// The registers of an index and of the length that it must be less than, if the comparison's result `value` means that it is not.
fn index_and_length(kernel: &Kernel, pc: usize, value: bool) -> Option<(Register, Register)> {
    let Action::Compare { sources, combine: None, .. } = &kernel.instructions[pc].action else { return None };
    let [first, second] = [sources[0], sources[1]];
    let text = &kernel.descriptions[pc].text;
    match (text.split_once("setp.")?.1.get(..6)?, value) {
        ("le.u64", true) | ("gt.u64", false) => Some((second, first)),
        ("ge.u64", true) | ("lt.u64", false) => Some((first, second)),
        _ => None,
    }
}
