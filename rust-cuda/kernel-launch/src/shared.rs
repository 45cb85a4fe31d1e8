//! A kernel's variables in shared memory, with the names and types from their source declarations.

use std::collections::BTreeMap;

use cuda_launch::LaunchConfig;
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Fault, Machine};

use crate::argument::Argument;
use crate::debug_information::{DebugInformation, SharedMemory};
use crate::element_type::ElementType;

/// A variable in shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedVariable {
    /// The name in the source if the debug information contains it; the symbol in PTX from other
    /// compilers; otherwise `shared0`, `shared1`, … in the order of the kernel's variables.
    pub name: String,
    /// The element type, if it is known and a buffer can have it.
    pub element: Option<ElementType>,
    /// First address; None for dynamic shared memory.
    start: Option<u64>,
    element_bytes: Option<usize>,
}

impl SharedVariable {
    /// The variables of a kernel, in the order of `StoppedBlock::shared`.
    pub(crate) fn all(
        machine: &Machine,
        kernel: &str,
        config: LaunchConfig,
        arguments: &[Argument],
        information: &DebugInformation,
    ) -> Vec<Self> {
        let Some(code) = machine.code(kernel) else { return Vec::new() };
        let mut variables = Vec::new();
        // Symbols by the frame that declares them and their size, in order of declaration.
        let mut declared: BTreeMap<(usize, u64), BTreeMap<&str, usize>> = BTreeMap::new();
        for (index, (extent, place)) in code.shared().enumerate() {
            let name = code.shared_name(extent);
            variables.push(Self { name, element: None, start: Some(extent.start), element_bytes: None });
            let frame = place.and_then(|place| information.frame_at(place.line));
            // The declaring frame and the frames it returns the array to, otherwise one that it
            // passes the array to.
            let callers = frame.into_iter().flat_map(|frame| information.with_callers(frame));
            let is_called = |other: &usize| information.with_callers(*other).any(|caller| Some(caller) == frame);
            let called = (0..information.frames()).filter(is_called);
            let mut frames = callers.chain(called);
            if let Some(frame) = frames.find(|frame| !information.shared_arrays(*frame, extent.bytes).is_empty()) {
                declared.entry((frame, extent.bytes)).or_default().insert(&extent.name, index);
            }
        }
        for ((frame, bytes), symbols) in declared {
            let arrays = information.shared_arrays(frame, bytes);
            // Otherwise the compiler has removed a variable or an array, and they cannot be
            // matched.
            if arrays.len() == symbols.len() {
                symbols.into_values().zip(arrays).for_each(|(index, array)| variables[index].declare(array));
            }
        }
        if config.dynamic_shared_bytes > 0 {
            let name = format!("shared{}", variables.len());
            let mut dynamic = Self { name, element: None, start: None, element_bytes: None };
            if let [memory] = &information.dynamic_shared()[..] {
                dynamic.declare(memory.clone());
            }
            variables.push(dynamic);
        }
        // A name shared with something else would be ambiguous.
        let names: Vec<String> = variables.iter().map(|variable| variable.name.clone()).collect();
        for (index, variable) in variables.iter_mut().enumerate() {
            let is_taken = names.iter().filter(|name| **name == variable.name).count() > 1
                || arguments.iter().any(|argument| argument.name() == variable.name);
            if is_taken {
                variable.name = format!("shared{index}");
            }
        }
        variables
    }

    fn declare(&mut self, memory: SharedMemory) {
        self.name = memory.name;
        (self.element, self.element_bytes) = (memory.element, Some(memory.element_bytes));
    }

    /// Adds the name and element type to the memory in an error.
    pub(crate) fn name_in(variables: &[Self], fault: &mut Fault) {
        let Some(memory) = fault.kind.memory_mut().filter(|memory| memory.space == Space::Shared) else { return };
        let is_it = |variable: &&Self| variable.start == Some(memory.start);
        let found = variables.iter().find(is_it).or_else(|| variables.last().filter(|last| last.start.is_none()));
        if let Some(variable) = found {
            memory.name = variable.name.as_str().into();
            memory.element = variable
                .element_bytes
                .and_then(|bytes| std::num::NonZeroU32::new(u32::try_from(bytes).ok()?))
                .or(memory.element);
        }
    }
}
