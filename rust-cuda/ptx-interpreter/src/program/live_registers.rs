//! An estimate of the number of registers that a GPU compiler assigns to a thread.

use std::collections::{HashMap, HashSet};

use crate::syntax::{Function, Module, ScalarType, Statement};

/// Maximum number of registers per thread (CUDA C++ Programming Guide, Technical Specifications per
/// Compute Capability).
const MAX_REGISTERS: u32 = 255;

/// Registers in addition to the PTX's: the stack pointer, and registers for composing addresses.
const OTHERS: u32 = 4;

/// The maximum number of simultaneously live 32-bit registers in the text of a kernel and the
/// functions that it calls, plus a few more; at most `.maxnreg`. A compiler may need fewer if it
/// reorders instructions, or more if it unrolls loops.
pub(super) fn estimate(module: &Module, kernel: &Function) -> u32 {
    let live = live_at_once(module, kernel, &mut HashSet::new());
    (live + OTHERS).min(kernel.performance.max_registers.unwrap_or(MAX_REGISTERS)).min(MAX_REGISTERS)
}

/// The live range of a register, from its first to its last mention, in instruction numbers.
#[derive(Clone, Copy, Debug)]
struct Life {
    first: usize,
    last: usize,
    /// Its size in 32-bit registers.
    size: u32,
}

#[derive(Default)]
struct Text<'m> {
    instructions: usize,
    lives: Vec<Life>,
    /// The registers in scope, by nesting depth of blocks. Each has its index in `lives`, once
    /// mentioned, and its size.
    scopes: Vec<HashMap<&'m str, (Option<usize>, u32)>>,
    labels: HashMap<&'m str, usize>,
    /// Branches to earlier labels: positions of the label and of the branch.
    loops: Vec<(usize, usize)>,
    called: HashSet<&'m str>,
}

fn live_at_once<'m>(module: &'m Module, function: &'m Function, visited: &mut HashSet<&'m str>) -> u32 {
    if !visited.insert(&function.name) {
        return 0;
    }
    let mut text = Text::default();
    text.read(function.body.as_deref().unwrap_or_default());
    let Text { instructions, mut lives, loops, called, .. } = text;
    // A register that is live at the beginning of a loop and mentioned in it is live to the loop's
    // end. Inner loops end before outer ones.
    for (begin, end) in loops {
        lives
            .iter_mut()
            .filter(|life| life.first < begin && life.last >= begin)
            .for_each(|life| life.last = life.last.max(end));
    }
    let mut changes = vec![0_i64; instructions + 2];
    for Life { first, last, size } in lives {
        changes[first] += i64::from(size);
        changes[last + 1] -= i64::from(size);
    }
    let mut live = 0;
    let most = changes.into_iter().map(|change| {
        live += change;
        live
    });
    let own = most.max().unwrap_or(0).clamp(0, MAX_REGISTERS.into()) as u32;
    let bodies = module.functions.iter().filter(|other| other.body.is_some() && called.contains(other.name.as_str()));
    own + bodies.map(|callee| live_at_once(module, callee, visited)).max().unwrap_or(0)
}

impl<'m> Text<'m> {
    fn read(&mut self, statements: &'m [Statement]) {
        self.scopes.push(HashMap::new());
        for statement in statements {
            match statement {
                Statement::Registers { element, vector, names, .. } => {
                    // Predicates have separate registers.
                    let size =
                        if *element == ScalarType::Pred { 0 } else { (element.bytes() * vector).div_ceil(4) as u32 };
                    if let Some(scope) = self.scopes.last_mut() {
                        scope.extend(names.iter().map(|name| (name.as_str(), (None, size))));
                    }
                }
                Statement::Label { name, .. } => {
                    self.labels.insert(name, self.instructions);
                }
                Statement::Instruction(instruction) => {
                    self.instructions += 1;
                    if let Some(guard) = &instruction.guard {
                        self.mention(&guard.register);
                    }
                    instruction.operands.iter().for_each(|operand| operand.visit_names(&mut |name| self.mention(name)));
                }
                Statement::Block(statements) => self.read(statements),
                _ => {}
            }
        }
        self.scopes.pop();
    }

    /// A mention of a register, a label or a function.
    fn mention(&mut self, name: &'m str) {
        let place = self.instructions;
        if let Some((life, size)) = self.scopes.iter_mut().rev().find_map(|scope| scope.get_mut(name)) {
            let index = *life.get_or_insert_with(|| {
                self.lives.push(Life { first: place, last: place, size: *size });
                self.lives.len() - 1
            });
            self.lives[index].last = place;
        } else if let Some(begin) = self.labels.get(name) {
            self.loops.push((*begin, place));
        } else {
            self.called.insert(name);
        }
    }
}
