//! Functions that may call themselves. Other functions are inlined. These have their own
//! instructions, and each call has a frame in local memory.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::decode;
use super::globals::Globals;
use super::instruction::Register;
use super::names::Label;
use super::ranges::Ranges;
use crate::syntax::{Function, Instruction, Module, Statement};

/// A function while a kernel is being translated.
#[derive(Debug)]
pub(super) struct Called<'a> {
    pub(super) function: &'a Function,
    pub(super) start: Label,
    /// The variables of a frame. The code's own variables are missing until it is translated.
    pub(super) frame: Ranges,
    /// Offsets in the frame, and sizes, of the return values and parameters.
    pub(super) formals: Vec<(u64, usize)>,
}

/// The data needed to call a function.
#[derive(Debug)]
pub(crate) struct CalledFunction {
    pub(crate) name: Arc<str>,
    /// Size of a frame.
    pub(crate) frame_bytes: u64,
    /// Its registers and predicates. Each call has its own.
    pub(crate) registers: Range<usize>,
    pub(crate) predicates: Range<usize>,
}

/// The call frames of a thread, in local memory.
#[derive(Debug)]
pub(crate) struct Stack {
    /// First address, and the address after the last one.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The register that holds the address of the current frame.
    pub(crate) register: Register,
    pub(crate) functions: Vec<CalledFunction>,
}

/// The functions from which a chain of calls leads to a cycle of calls. A call through a pointer
/// may reach every function with its address taken.
pub(super) fn reaches_a_cycle<'a>(module: &'a Module, globals: &Globals) -> HashSet<&'a str> {
    let defined = module.functions.iter().filter_map(|function| Some((function, function.body.as_deref()?)));
    let defined: HashMap<&str, &[Statement]> = defined.map(|(function, body)| (&*function.name, body)).collect();
    let taken: Vec<&str> = defined.keys().copied().filter(|name| globals.function(name).is_some()).collect();
    let (mut callers, mut left) = (HashMap::<&str, Vec<&str>>::new(), HashMap::<&str, usize>::new());
    for (&name, body) in &defined {
        let mut callees = HashSet::new();
        visit_calls(body, &mut |call| match decode::call(call) {
            Ok(call) if call.targets.is_some() => callees.extend(taken.iter().copied()),
            Ok(call) => callees.extend(defined.get_key_value(call.function).map(|(name, _)| *name)),
            Err(_) => {}
        });
        left.insert(name, callees.len());
        callees.into_iter().for_each(|callee| callers.entry(callee).or_default().push(name));
    }
    // Remove functions that call nothing, then functions that called only those, and so on.
    let mut leaves: Vec<&str> = left.iter().filter(|(_, callees)| **callees == 0).map(|(name, _)| *name).collect();
    while let Some(leaf) = leaves.pop() {
        left.remove(leaf);
        for caller in callers.get(leaf).into_iter().flatten() {
            if let Some(callees) = left.get_mut(caller) {
                *callees -= 1;
                leaves.extend((*callees == 0).then_some(*caller));
            }
        }
    }
    left.into_keys().collect()
}

fn visit_calls<'a>(statements: &'a [Statement], visit: &mut impl FnMut(&'a Instruction)) {
    for statement in statements {
        match statement {
            Statement::Block(statements) => visit_calls(statements, visit),
            Statement::Instruction(instruction) if instruction.opcode == "call" => visit(instruction),
            _ => {}
        }
    }
}
