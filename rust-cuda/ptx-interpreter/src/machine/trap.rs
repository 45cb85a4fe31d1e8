//! Finds the failed check that led to a `trap`.
//!
//! rustc compiles a panic to a `trap`, after which `cuda_builder` writes the reason as a comment.
//! The bounds check of `x[i]` consists of a comparison and a branch. The comparison's registers
//! still hold the index and the length.

use cuda_launch::Overflow;
use cuda_launch::trap::{Bounded, INDEX_OUT_OF_BOUNDS, slice_message};

use super::context::Context;
use super::fault::{FaultKind, Indexed};
use super::warp::Warp;
use crate::memory::first_address;
use crate::program::instruction::{AccessSpace, Action, Predicate, Reason, ReasonPiece, Register};
use crate::program::{Initial, Kernel};

use crate::syntax::Space;

/// Size in bytes of a buffer's address and of its length, the two parameters that a slice becomes
/// in a Rust kernel.
const POINTER_BYTES: u64 = 8;

impl Warp {
    /// The fault of a `trap` at `pc` for the lowest of the `active` lanes. A panic, if the thread
    /// has reported its message; otherwise the reason in the PTX. Without a reason, it is an index
    /// out of bounds if the only way to the trap is a comparison with the length of a buffer.
    #[cold]
    pub(super) fn trap(&self, pc: usize, reason: Option<&Reason>, active: u32, context: &Context<'_>) -> FaultKind {
        let lane = active.trailing_zeros() as usize;
        if let Some(message) = self.panic(lane, context) {
            return FaultKind::Panic { message };
        }
        let value = |register: &Register| self.registers[*register as usize][lane];
        let bounds = || self.failed_bounds_check(pc, lane, reason.is_some(), context);
        let of_buffer = || bounds().and_then(|check| self.index_of_buffer(check, reason.is_some(), lane, context));
        match reason {
            None => of_buffer().unwrap_or(FaultKind::Trap),
            Some(Reason::OutOfBounds(Bounded::Buffer)) => of_buffer().unwrap_or_else(|| FaultKind::OutOfBounds {
                memory: Indexed::Buffer { parameter: None, name: None },
                bounds: bounds().map(|check| (check.index, check.length)),
            }),
            Some(Reason::OutOfBounds(Bounded::SharedArray)) => FaultKind::OutOfBounds {
                memory: Indexed::SharedArray,
                bounds: bounds().map(|check| (check.index, check.length)),
            },
            Some(Reason::Slice(values)) => {
                let [start, end, length] = values.each_ref().map(value);
                FaultKind::Panic { message: slice_message(start, end, length) }
            }
            Some(Reason::Range(values)) => {
                let [start, end, length] = values.each_ref().map(value);
                let parameter = self.length_of_a_buffer(values[2], true, lane, context).map(|(parameter, _)| parameter);
                FaultKind::Range { memory: Indexed::Buffer { parameter, name: None }, start, end, length }
            }
            Some(Reason::Panic(pieces)) => {
                let text = |piece: &ReasonPiece| match piece {
                    ReasonPiece::Text(text) => text.clone(),
                    ReasonPiece::Value(register) => value(register).to_string(),
                };
                let mut message: String = pieces.iter().map(text).collect();
                if message.starts_with(INDEX_OUT_OF_BOUNDS) {
                    // A plain Rust slice, passed to an unsafe kernel.
                    if let Some(fault) = of_buffer() {
                        return fault;
                    }
                    if let Some(BoundsCheck { index, length, .. }) = bounds().filter(|_| message == INDEX_OUT_OF_BOUNDS)
                    {
                        message += &format!(": the len is {length} but the index is {index}");
                    }
                }
                Overflow::of_panic(&message).map_or(FaultKind::Panic { message }, FaultKind::Overflow)
            }
        }
    }

    fn panic(&self, lane: usize, context: &Context<'_>) -> Option<String> {
        let thread = context.thread_index(self.first_thread() + lane as u32);
        Some(context.launch.speech?.panic(&context.launch.view, (context.block, thread))?.text)
    }

    /// The index and length compared by the branch before the trap.
    fn failed_bounds_check(
        &self,
        pc: usize,
        lane: usize,
        is_known: bool,
        context: &Context<'_>,
    ) -> Option<BoundsCheck> {
        let kernel = context.kernel;
        let (branch, (predicate, value)) = only_way_to(kernel, pc)?;
        let comparison = comparison_before(kernel, branch, predicate)?;
        let (index, length, is_last) = index_and_length(kernel, comparison, value, is_known)?;
        let value = |register: Register| self.registers[register as usize][lane];
        let check = BoundsCheck {
            index: value(index),
            length: value(length).checked_add(is_last.into())?,
            length_register: (!is_last).then_some(length),
        };
        // The registers may have been overwritten since.
        (check.index >= check.length).then_some(check)
    }

    /// The fault of an index that was compared with the length of a buffer.
    fn index_of_buffer(
        &self,
        check: BoundsCheck,
        is_known: bool,
        lane: usize,
        context: &Context<'_>,
    ) -> Option<FaultKind> {
        let (parameter, length) = self.length_of_a_buffer(check.length_register?, is_known, lane, context)?;
        (check.length == length).then_some(FaultKind::OutOfBounds {
            memory: Indexed::Buffer { parameter: Some(parameter), name: None },
            bounds: Some((check.index, length)),
        })
    }

    /// The value of the parameter that the only load into a register reads, and the number of the
    /// previous parameter, if that one is the address of a buffer. `is_known` tells that the value
    /// is the length of some buffer.
    fn length_of_a_buffer(
        &self,
        register: Register,
        is_known: bool,
        lane: usize,
        context: &Context<'_>,
    ) -> Option<(usize, u64)> {
        let mut loads = context.kernel.instructions.iter().filter_map(|instruction| match &instruction.action {
            Action::Load(load) if load.destinations.contains(&Some(register)) => Some(load),
            _ => None,
        });
        let load = loads.next().filter(|load| matches!(load.space, AccessSpace::Space(Space::Param)))?;
        if loads.next().is_some() {
            return None;
        }
        let address = self.addresses(&load.address)[lane];
        let parameters = &context.kernel.parameters;
        let number = parameters.iter().position(|extent| (extent.start, extent.bytes) == (address, POINTER_BYTES))?;
        let pointer = parameters.iter().nth(number.checked_sub(1)?).filter(|pointer| pointer.bytes == POINTER_BYTES)?;
        let value = |address: u64| {
            let offset = address.checked_sub(first_address(Space::Param))? as usize;
            Some(context.launch.parameters.load(offset, POINTER_BYTES as usize))
        };
        let length = value(address)?;
        // An empty buffer may have any address.
        if length > 0 || !is_known {
            context.launch.view.find(value(pointer.start)?, 0).ok()?;
        }
        Some((number - 1, length))
    }
}

/// A failed comparison of an index with a length that it must be less than.
struct BoundsCheck {
    index: u64,
    length: u64,
    /// The register that holds the length, if any.
    length_register: Option<Register>,
}

/// The branch that is the only way to reach an instruction, and the predicate with the value that
/// leads there.
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

/// The branches that lead to an instruction, each with whether it jumps there. If not, it is the
/// preceding instruction and falls through.
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
            Action::Branch { .. } | Action::Call(_) | Action::Return { .. } | Action::Exit | Action::Trap(_)
        );
        !ends || instructions[before].guard.is_some()
    });
    jumps.map(|pc| (pc, true)).chain(before.map(|pc| (pc, false)))
}

/// The comparison before a branch, in the same basic block, that writes the branch's predicate.
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
            | Action::Trap(_)
    )
}

/// The registers of an index and of the length that it must be less than, if the comparison's
/// result `value` means that it is not. Also returns whether the second register holds the last
/// index instead. Unless the comparison `is_known` to be such a check, it must have the form that
/// rustc emits.
fn index_and_length(kernel: &Kernel, pc: usize, value: bool, is_known: bool) -> Option<(Register, Register, bool)> {
    let Action::Compare { sources, combine: None, .. } = &kernel.instructions[pc].action else { return None };
    let [first, second] = [sources[0], sources[1]];
    let is_constant = |register: Register| matches!(kernel.registers[register as usize], Initial::Constant(_));
    let mut parts = kernel.descriptions[pc].text.split_once("setp.")?.1.split(['.', ' ']);
    let (relation, kind) = (parts.next()?, parts.next()?);
    // A comparison for equality is independent of the sign.
    let is_unsigned =
        matches!(kind, "u32" | "u64" | "b32" | "b64") || relation == "eq" && matches!(kind, "s32" | "s64");
    if !is_unsigned || !is_known && (kind != "u64" || relation == "eq") {
        return None;
    }
    match (relation, value) {
        ("ge" | "hs", true) | ("lt" | "lo", false) | ("eq", true) => Some((first, second, false)),
        ("le" | "ls", true) | ("gt" | "hi", false) => Some((second, first, false)),
        ("gt" | "hi", true) | ("le" | "ls", false) if is_constant(second) => Some((first, second, true)),
        ("lt" | "lo", true) | ("ge" | "hs", false) if is_constant(first) => Some((second, first, true)),
        _ => None,
    }
}
