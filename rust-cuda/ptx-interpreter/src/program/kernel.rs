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
    /// Whether the PTX marks each parameter as a pointer.
    pub(crate) pointers: Vec<bool>,
    pub(crate) instructions: Vec<DecodedInstruction>,
    /// Line, text, source location and class of each instruction.
    pub(crate) descriptions: Vec<Description>,
    /// Each register's initial value.
    pub(crate) registers: Vec<Initial>,
    pub(crate) predicates: usize,
    /// The named registers and predicates, in declaration order.
    pub(crate) register_names: Vec<NamedRegister>,
    /// Static shared memory.
    pub(crate) shared: Ranges,
    /// Whether it accesses a shared array with a size set by the launch.
    pub(crate) has_dynamic_shared: bool,
    /// Local memory of one thread, with the stack at the end.
    pub(crate) local: Ranges,
    /// The stack, if any functions may call themselves.
    pub(crate) stack: Option<Stack>,
    /// Whether no instruction may run twice in a thread.
    pub(crate) has_no_loops: bool,
    /// An estimate of a thread's registers on a GPU.
    pub(crate) live_registers: u32,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) required_threads: Option<[u32; 3]>,
    pub(crate) required_cluster: Option<[u32; 3]>,
    pub(crate) max_cluster_rank: Option<u32>,
    /// Whether threads do anything between arriving at the cluster's barrier and waiting there.
    pub(crate) splits_cluster_barriers: bool,
}

/// Whether any arrival at the cluster's barrier is not immediately followed by the wait.
pub(super) fn splits_cluster_barriers(instructions: &[DecodedInstruction]) -> bool {
    let arrives = |pc: &usize| matches!(instructions[*pc].action, Action::ClusterArrive);
    let waits = |pc: usize| {
        let next = instructions.get(pc + 1);
        next.is_some_and(|next| matches!(next.action, Action::ClusterWait) && next.guard == instructions[pc].guard)
    };
    (0..instructions.len()).filter(arrives).any(|pc| !waits(pc))
}

impl Kernel {
    /// Whether it allocates or frees heap memory.
    pub(crate) fn uses_heap(&self) -> bool {
        self.instructions.iter().any(|instruction| matches!(instruction.action, Action::Heap(_)))
    }

    /// Whether any access or fence has a scope narrower than the device.
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

    /// The size in bytes of each instruction's strong access to one element. 0 for other
    /// instructions.
    pub(crate) fn access_sizes(&self) -> Vec<u8> {
        let size = |instruction: &DecodedInstruction| match &instruction.action {
            Action::Load(Load { ordering, bytes, destinations, .. }) if ordering.strong => bytes * destinations.len(),
            Action::Store(Store { ordering, bytes, sources, .. }) if ordering.strong => bytes * sources.len(),
            Action::Atomic(Atomic { bytes, .. }) => *bytes,
            _ => 0,
        };
        self.instructions.iter().map(|instruction| size(instruction) as u8).collect()
    }

    /// Whether an instruction that executes after `last` begins a source line: a different line, or
    /// the same one again in a loop. An instruction without a line in the PTX begins one.
    pub(crate) fn begins_line(&self, pc: usize, last: usize) -> bool {
        let line = |pc: usize| self.descriptions[pc].location.map(|location| (location.file, location.line));
        // Line 0 marks instructions without their own line.
        let is_part = |line: Option<(u32, u32)>| line.is_some_and(|(_, line)| line == 0);
        pc <= last || !is_part(line(pc)) && (line(pc).is_none() || line(pc) != self.line_before(last))
    }

    /// File and line of the last instruction, up to `pc`, with its own line.
    fn line_before(&self, pc: usize) -> Option<(u32, u32)> {
        let mut locations = self.descriptions[..=pc].iter().rev().map_while(|description| description.location);
        locations.find(|location| location.line > 0).map(|location| (location.file, location.line))
    }

    /// The name in messages of a shared variable with a meaningless symbol in the PTX: `shared0`,
    /// `shared1`, … in the order of the kernel's variables, with dynamic shared memory last. `None`
    /// if the symbol is meaningful.
    pub(crate) fn shared_name(&self, variable: &Extent) -> Option<String> {
        let is_generated = variable.start >= DYNAMIC_SHARED_START || variable.name.starts_with(GENERATED);
        let index = self.shared.iter().take_while(|other| other.start != variable.start).count();
        is_generated.then(|| format!("shared{index}"))
    }
}

/// Prefix of the symbols generated by `cuda_std::shared_array!`.
const GENERATED: &str = "__shared_";
