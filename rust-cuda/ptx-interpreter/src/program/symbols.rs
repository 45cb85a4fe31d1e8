//! The decoder's knowledge about a kernel: the meaning of each name, and the registers and memory
//! allocated so far.

use std::collections::HashMap;

use super::error::Problem;
use super::globals::Globals;
use super::immediate::truncate;
use super::instruction::{Action, Clock, EffectiveAddress, Extend, Flow, Predicate, Register};
use super::names::{Label, Named, Scopes};
use super::ranges::Ranges;
use super::registers::{Initial, NamedRegister, Special};
use crate::limits::max_bytes;
use crate::memory::{first_address, window_bytes};
use crate::semantics;
use crate::syntax::{Element, Linkage, Module, ScalarType, Space, Variable};

/// First address of dynamic shared memory. It comes after the range of static arrays, even if only
/// the lowest 18 bits count, as in a matrix descriptor.
pub(crate) const DYNAMIC_SHARED_START: u64 =
    first_address(Space::Shared) + window_bytes(Space::Shared) + max_bytes(Space::Shared);

/// The names, registers and memory of the kernel being built.
pub(crate) struct Symbols<'a> {
    module: &'a Module,
    globals: &'a Globals,
    pub(crate) scopes: Scopes,
    registers: Vec<Initial>,
    /// The registers that hold constants and special registers' values.
    interned: HashMap<Initial, Register>,
    predicates: usize,
    register_names: Vec<NamedRegister>,
    shared: Ranges,
    has_dynamic_shared: bool,
    local: Ranges,
    /// The variables of the current frame, within a function that may call itself.
    pub(crate) frame: Option<Ranges>,
    /// The register that holds the address of the current frame.
    frame_register: Option<Register>,
    /// Computations to perform before the instruction being decoded.
    pub(crate) before: Vec<Action>,
    /// The functions being inlined, outermost first, each with the label after its body.
    pub(crate) calls: Vec<(String, Label)>,
    /// The module's remaining budget for inlined statements and branch table entries.
    expansion_left: &'a mut usize,
}

/// The registers and memory that a kernel needs.
pub(crate) struct Resources {
    pub(crate) registers: Vec<Initial>,
    pub(crate) predicates: usize,
    pub(crate) register_names: Vec<NamedRegister>,
    pub(crate) shared: Ranges,
    pub(crate) has_dynamic_shared: bool,
    pub(crate) local: Ranges,
}

impl<'a> Symbols<'a> {
    pub(crate) fn new(module: &'a Module, globals: &'a Globals, expansion_left: &'a mut usize) -> Self {
        Self {
            module,
            globals,
            scopes: Scopes::default(),
            // No kernel uses register 0 directly: instructions with fewer than four sources name it
            // for the missing ones.
            registers: vec![Initial::Constant(0)],
            interned: HashMap::new(),
            predicates: 0,
            register_names: Vec::new(),
            shared: Ranges::new(Space::Shared),
            has_dynamic_shared: false,
            local: Ranges::new(Space::Local),
            frame: None,
            frame_register: None,
            before: Vec::new(),
            calls: Vec::new(),
            expansion_left,
        }
    }

    pub(crate) fn into_resources(self) -> Resources {
        let Self { registers, predicates, register_names, shared, has_dynamic_shared, local, .. } = self;
        Resources { registers, predicates, register_names, shared, has_dynamic_shared, local }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Named> {
        self.scopes.find(name)
    }

    /// Counts statements or branch table entries against the module's expansion budget.
    ///
    /// # Errors
    /// `TooMuchExpanded` if the budget does not suffice.
    pub(crate) fn charge_expansion(&mut self, count: usize) -> Result<(), Problem> {
        *self.expansion_left = self.expansion_left.checked_sub(count).ok_or(Problem::TooMuchExpanded)?;
        Ok(())
    }

    /// The label after the function being inlined. `None` in the kernel itself.
    pub(crate) fn return_label(&self) -> Option<Label> {
        self.calls.last().map(|(_, label)| *label)
    }

    /// Creates a register or predicate with this name and type.
    ///
    /// # Errors
    /// `Unsupported` for 128 bits.
    pub(crate) fn new_named_register(&mut self, name: &str, element: ScalarType) -> Result<Named, Problem> {
        let (named, index, bits) = match element {
            ScalarType::Pred => {
                self.predicates += 1;
                let predicate = self.predicates as Predicate - 1;
                (Named::Predicate(predicate), predicate, 1)
            }
            ScalarType::B128 => return Err(Problem::Unsupported("a register of 128 bits")),
            _ => {
                let bits = element.bytes() * 8;
                let register = self.new_register(Initial::Uninitialised(bits));
                (Named::Register { register, bits }, register, bits)
            }
        };
        self.register_names.push(NamedRegister { name: name.to_owned(), index, bits });
        Ok(named)
    }

    /// Creates a variable of a function, in local or shared memory.
    ///
    /// # Errors
    /// `Unsupported` for other state spaces. Also fails if the memory cannot hold the variable.
    pub(crate) fn new_variable(&mut self, variable: &Variable) -> Result<Named, Problem> {
        // Call parameters are in local memory.
        let (space, ranges) = match variable.space {
            Space::Local | Space::Param => (Space::Local, &mut self.local),
            Space::Shared => (Space::Shared, &mut self.shared),
            _ => return Err(UNSUPPORTED_VARIABLE),
        };
        let bytes = variable.bytes().ok_or(UNSUPPORTED_VARIABLE)?;
        if let (Some(frame), Space::Local) = (&mut self.frame, space) {
            let address = frame.append_packed(&variable.name, bytes, variable.align)?;
            let address = in_frame(address - first_address(Space::Local));
            return Ok(Named::Variable { space, address, indexed_bytes: variable.indexed_bytes() });
        }
        let address = ranges.append(&variable.name, bytes, variable.align)?;
        Ok(Named::Variable { space, address, indexed_bytes: variable.indexed_bytes() })
    }

    /// The address of a function, unless a variable or register hides its name.
    pub(crate) fn function_address(&self, name: &str) -> Option<u64> {
        self.scopes.find(name).is_none().then(|| self.globals.function(name)).flatten()
    }

    /// Number of registers and number of predicates so far.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.registers.len(), self.predicates)
    }

    /// The register that holds the address of the current frame.
    pub(crate) fn frame_register(&mut self) -> Register {
        match self.frame_register {
            Some(register) => register,
            None => {
                let register = self.new_register(Initial::Uninitialised(64));
                *self.frame_register.insert(register)
            }
        }
    }

    /// The address of a variable plus an offset.
    pub(crate) fn effective(&mut self, address: u64, offset: i64) -> EffectiveAddress {
        match address.checked_sub(FRAME) {
            Some(of_frame) => {
                let base = Some(self.frame_register());
                EffectiveAddress { base, offset: offset.wrapping_add_unsigned(of_frame), narrow: false }
            }
            None => EffectiveAddress { base: None, offset: offset.wrapping_add_unsigned(address), narrow: false },
        }
    }

    /// A register with the address of a variable plus an offset.
    ///
    /// # Errors
    /// Only the type error of an addition.
    pub(crate) fn address_in_register(&mut self, address: u64, offset: i64) -> Result<Register, Problem> {
        let address = self.effective(address, offset);
        self.effective_in_register(address)
    }

    /// A register with the address of a variable or an array element.
    ///
    /// # Errors
    /// Only the type error of an addition.
    pub(crate) fn effective_in_register(&mut self, address: EffectiveAddress) -> Result<Register, Problem> {
        let EffectiveAddress { base, offset, .. } = address;
        if let (Some(base), 0) = (base, offset) {
            return Ok(base);
        }
        let distance = self.constant(offset as u64, 64);
        let Some(frame) = base else { return Ok(distance) };
        self.computed_before("add", &["u64"], [frame, distance, 0, 0], 64)
    }

    /// The state space of an array element, and its address there. Only the lower 32 bits of an
    /// index in a register count, as in NVIDIA's assembler.
    ///
    /// # Errors
    /// If no array has the name, or if the index is not in a register of 32 or 64 bits.
    pub(crate) fn element_address(&mut self, element: &Element) -> Result<(EffectiveAddress, Space), Problem> {
        let name = &element.array;
        let bytes = match self.scopes.find(name) {
            Some(Named::Variable { indexed_bytes, .. }) => *indexed_bytes,
            Some(_) => None,
            None => {
                let is_named = |variable: &&Variable| variable.name == *name;
                self.module.variables.iter().find(is_named).and_then(Variable::indexed_bytes)
            }
        };
        let Some((space, address)) = self.variable_address(name)? else {
            let is_known = self.scopes.find(name).is_some() || self.globals.function(name).is_some();
            return Err(if is_known { Problem::NoArray(name.clone()) } else { Problem::Undeclared(name.clone()) });
        };
        let bytes = bytes.ok_or_else(|| Problem::NoArray(name.clone()))?;
        let Some(register) = &element.register else {
            return Ok((self.effective(address, element.index.wrapping_mul(bytes as i64)), space));
        };
        let index = match self.scopes.find(register) {
            Some(Named::Register { register, bits: 32 | 64 }) => *register,
            Some(_) => return Err(Problem::Index(register.clone())),
            None => return Err(Problem::Undeclared(register.clone())),
        };
        let index = match element.index {
            0 => index,
            number => {
                let number = self.constant(number as u64, 32);
                self.computed_before("add", &["u32"], [index, number, 0, 0], 32)?
            }
        };
        let (bytes, base) = (self.constant(bytes as u64, 32), self.address_in_register(address, 0)?);
        let base = self.computed_before("mad", &["wide", "u32"], [index, bytes, base, 0], 64)?;
        Ok((EffectiveAddress { base: Some(base), offset: 0, narrow: false }, space))
    }

    /// The register with a counter's value before the instruction being decoded.
    pub(crate) fn clock_before(&mut self, clock: Clock) -> Register {
        let destination = self.new_register(Initial::Uninitialised(clock.bits));
        self.before.push(Action::ReadClock { destination, clock });
        destination
    }

    /// The register with the result of an integer instruction of this many bits, placed before the
    /// one being decoded.
    fn computed_before(
        &mut self,
        opcode: &str,
        modifiers: &[&str],
        sources: [Register; 4],
        bits: u32,
    ) -> Result<Register, Problem> {
        let semantics::Compute::Value(compute) = semantics::operation(opcode, modifiers)?.compute else {
            return Err(Problem::Unsupported("an address"));
        };
        let destination = self.new_register(Initial::Uninitialised(bits as usize));
        let (extend, flow) = (Extend::Zero, Flow::Upwards(bits));
        self.before.push(Action::Compute { compute, destination, sources, extend, flow });
        Ok(destination)
    }

    fn new_register(&mut self, initial: Initial) -> Register {
        self.registers.push(initial);
        self.registers.len() as Register - 1
    }

    /// Width of a register in bits. 64 for constants and special registers.
    pub(crate) fn register_bits(&self, register: Register) -> usize {
        match self.registers[register as usize] {
            Initial::Uninitialised(bits) => bits,
            Initial::Constant(_) | Initial::Special(_) => 64,
        }
    }

    /// The register that holds this constant in all lanes.
    pub(crate) fn constant(&mut self, value: u64, bits: usize) -> Register {
        self.interned_register(Initial::Constant(truncate(value, bits)))
    }

    /// The register of a constant truncated to `bits`. Other registers are unchanged.
    pub(crate) fn truncated(&mut self, register: Register, bits: usize) -> Register {
        match self.registers[register as usize] {
            Initial::Constant(value) => self.constant(value, bits),
            Initial::Uninitialised(_) | Initial::Special(_) => register,
        }
    }

    /// The register that holds a special register's value.
    pub(crate) fn special(&mut self, special: Special) -> Register {
        self.interned_register(Initial::Special(special))
    }

    fn interned_register(&mut self, initial: Initial) -> Register {
        if let Some(register) = self.interned.get(&initial) {
            return *register;
        }
        let register = self.new_register(initial);
        self.interned.insert(initial, register);
        register
    }

    /// A variable's state space and its address there. A shared variable of the module is added to
    /// the kernel's shared memory at its first use, as NVIDIA's assembler does. `None` if there is
    /// no variable with this name.
    ///
    /// # Errors
    /// If shared memory cannot hold the variable.
    pub(crate) fn variable_address(&mut self, name: &str) -> Result<Option<(Space, u64)>, Problem> {
        if let Some(named) = self.scopes.find(name) {
            return match named {
                Named::Variable { space, address, .. } => Ok(Some((*space, *address))),
                _ => Ok(None),
            };
        }
        if let Some(found) = self.globals.find(name) {
            return Ok(Some(found));
        }
        let is_named = |variable: &&Variable| variable.space == Space::Shared && variable.name == name;
        let Some(variable) = self.module.variables.iter().find(is_named) else { return Ok(None) };
        let start = match variable.bytes() {
            Some(bytes) if variable.linkage != Linkage::Extern || bytes > 0 => match self.shared.start_of(name) {
                Some(start) => start,
                None => self.shared.append(name, bytes, variable.align)?,
            },
            _ => {
                self.has_dynamic_shared = true;
                DYNAMIC_SHARED_START
            }
        };
        Ok(Some((Space::Shared, start)))
    }
}

/// Added to a variable's offset in a call frame, in place of an address. No generic address is this
/// large.
const FRAME: u64 = 1 << 63;

/// Marks a variable in a call frame, in place of its address.
pub(super) fn in_frame(offset: u64) -> u64 {
    FRAME + offset
}

const UNSUPPORTED_VARIABLE: Problem = Problem::Unsupported("a variable of this space in a function");
