//! A kernel that has been decoded.

use std::sync::Arc;

use super::called::Stack;
use super::instruction::{Action, Atomic, DecodedInstruction, Description, Load, Store};
use super::ranges::Ranges;
use super::registers::{Initial, NamedRegister};
use super::symbols::DYNAMIC_SHARED_START;
use crate::memory::Extent;
use crate::memory::races::{Fence, Scope};

/// A decoded kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: Arc<str>,
    /// The parameters, in the `.param` space.
    pub(crate) parameters: Ranges,
    /// Which of the parameters the PTX marks as pointers.
    pub(crate) pointers: Vec<bool>,
    pub(crate) instructions: Vec<DecodedInstruction>,
    /// Line, text, source location and class of each instruction.
    pub(crate) descriptions: Vec<Description>,
    /// Each register's initial value.
    pub(crate) registers: Vec<Initial>,
    pub(crate) predicates: usize,
    /// The registers and predicates with a name, in the order of their declaration.
    pub(crate) register_names: Vec<NamedRegister>,
    /// Static shared memory.
    pub(crate) shared: Ranges,
    /// Whether the launch sets the size of a shared array that it accesses.
    pub(crate) has_dynamic_shared: bool,
    /// Local memory of one thread, the stack last.
    pub(crate) local: Ranges,
    /// The stack, if functions may call themselves.
    pub(crate) stack: Option<Stack>,
    /// Whether no instruction may run twice in a thread.
    pub(crate) has_no_loops: bool,
    /// An estimate of a thread's registers on a GPU.
    pub(crate) live_registers: u32,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) required_threads: Option<[u32; 3]>,
    pub(crate) required_cluster: Option<[u32; 3]>,
    pub(crate) max_cluster_rank: Option<u32>,
    /// Whether threads do something between the arrival at the cluster's barrier and the wait there.
    pub(crate) splits_cluster_barriers: bool,
}

/// Whether the wait at the cluster's barrier does not follow each arrival at once.
pub(super) fn splits_cluster_barriers(instructions: &[DecodedInstruction]) -> bool {
    let arrives = |pc: &usize| matches!(instructions[*pc].action, Action::ClusterArrive);
    let waits = |pc: usize| {
        let next = instructions.get(pc + 1);
        next.is_some_and(|next| matches!(next.action, Action::ClusterWait) && next.guard == instructions[pc].guard)
    };
    (0..instructions.len()).filter(arrives).any(|pc| !waits(pc))
}

impl Kernel {
    /// Whether it takes or frees memory of the heap.
    pub(crate) fn uses_heap(&self) -> bool {
        self.instructions.iter().any(|instruction| matches!(instruction.action, Action::Heap(_)))
    }

    /// Whether an access or a fence has a scope other than the device's.
    pub(crate) fn has_narrow_scopes(&self) -> bool {
        self.instructions.iter().any(|instruction| {
            let scope = match &instruction.action {
                Action::Load(Load { ordering, .. })
                | Action::Store(Store { ordering, .. })
                | Action::Atomic(Atomic { ordering, .. }) => ordering.scope,
                Action::Fence(Fence { scope, .. }) => *scope,
                _ => Scope::Device,
            };
            scope != Scope::Device
        })
    }

    /// The size in bytes of each instruction's strong access to one element; 0 for others.
    pub(crate) fn access_sizes(&self) -> Vec<u8> {
        let size = |instruction: &DecodedInstruction| match &instruction.action {
            Action::Load(Load { ordering, bytes, destinations, .. }) if ordering.strong => bytes * destinations.len(),
            Action::Store(Store { ordering, bytes, sources, .. }) if ordering.strong => bytes * sources.len(),
            Action::Atomic(Atomic { bytes, .. }) => *bytes,
            _ => 0,
        };
        self.instructions.iter().map(|instruction| size(instruction) as u8).collect()
    }

    /// Whether an instruction that is executed after `last` begins a source line: another one, or the same again in a loop. An
    /// instruction for which the PTX names no line begins one.
    pub(crate) fn begins_line(&self, pc: usize, last: usize) -> bool {
        let line = |pc: usize| self.descriptions[pc].location.map(|location| (location.file, location.line));
        // Of line 0 are instructions without a line of their own.
        let is_part = |line: Option<(u32, u32)>| line.is_some_and(|(_, line)| line == 0);
        pc <= last || !is_part(line(pc)) && (line(pc).is_none() || line(pc) != self.line_before(last))
    }

    /// File and line of the last instruction up to `pc` that has a line of its own.
    fn line_before(&self, pc: usize) -> Option<(u32, u32)> {
        let mut locations = self.descriptions[..=pc].iter().rev().map_while(|description| description.location);
        locations.find(|location| location.line > 0).map(|location| (location.file, location.line))
    }

    /// The name in messages of a variable in shared memory whose symbol in the PTX says nothing: `shared0`, `shared1`, … in the
    /// order of the kernel's variables, with dynamic shared memory last. None if the symbol is a name.
    pub(crate) fn shared_name(&self, variable: &Extent) -> Option<String> {
        let is_generated = variable.start >= DYNAMIC_SHARED_START || variable.name.starts_with(GENERATED);
        let index = self.shared.iter().take_while(|other| other.start != variable.start).count();
        is_generated.then(|| format!("shared{index}"))
    }
}

/// How the symbols of `cuda_std::shared_array!` begin.
const GENERATED: &str = "__shared_";
