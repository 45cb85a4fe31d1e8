//! The variables of a module, and their initial values.

use std::collections::{HashMap, HashSet};

use super::error::{LoadError, Problem, at};
use super::immediate::immediate_bits;
use super::ranges::Ranges;
use crate::limits::MAX_GLOBAL_BYTES;
use crate::memory::{Extent, GlobalMemory, first_address};
use crate::syntax::{Initializer, Linkage, Module, Operand, Space, Statement, Variable};

/// The address of a module's first function, after all windows and before global memory.
const FIRST_FUNCTION: u64 = 1 << 39;

/// The module's `.global` and `.const` variables.
#[derive(Debug)]
pub(crate) struct Globals {
    /// Addresses of the functions with their address taken in the module, by name. Used for calls
    /// through pointers, such as Rust's `dyn`. No memory is at these addresses.
    functions: HashMap<String, u64>,
    /// Addresses of `.global` variables by name.
    addresses: HashMap<String, u64>,
    global_bytes: u64,
    /// The `.global` variables, in declaration order.
    pub(super) variables: Vec<Extent>,
    /// Addresses of the managed variables among them.
    pub(super) managed: Vec<u64>,
    pub(super) constants: Ranges,
    pub(super) constant_bytes: Vec<u8>,
}

impl Globals {
    pub(super) fn new(module: &Module) -> Self {
        let constants = Ranges::new(Space::Const);
        let named = names_of_values(module);
        let functions = module.functions.iter().filter(|function| !function.is_entry);
        let names = functions.map(|function| &*function.name).filter(|name| named.contains(name)).map(str::to_owned);
        let functions = names.zip((FIRST_FUNCTION..).step_by(16)).collect();
        Self {
            functions,
            addresses: HashMap::new(),
            global_bytes: 0,
            variables: Vec::new(),
            managed: Vec::new(),
            constants,
            constant_bytes: Vec::new(),
        }
    }

    /// Assigns an address to a variable. `None` for shared memory, which each kernel lays out
    /// separately.
    pub(super) fn declare(&mut self, variable: &Variable, memory: &mut GlobalMemory) -> Result<Option<u64>, LoadError> {
        let problem = |problem| at(variable.line, &variable.name, problem);
        if variable.space != Space::Shared && self.find(&variable.name).is_some() {
            return Err(problem(Problem::DeclaredTwice(variable.name.clone())));
        }
        match (variable.space, variable.bytes()) {
            (Space::Shared, _) => Ok(None),
            _ if variable.linkage == Linkage::Extern => {
                Err(problem(Problem::Unsupported("a variable that another module defines")))
            }
            (Space::Global, Some(bytes)) => {
                let (all, limit) = (self.global_bytes.saturating_add(bytes as u64), MAX_GLOBAL_BYTES);
                if all > limit {
                    return Err(problem(Problem::TooLarge { space: Space::Global, bytes: all, limit }));
                }
                self.global_bytes = all;
                let allocated = memory.allocate_named(&variable.name, bytes as u64);
                let address = allocated.map_err(|_| problem(Problem::Unsupported("a variable of this size")))?;
                self.addresses.insert(variable.name.clone(), address);
                if variable.is_managed {
                    self.managed.push(address);
                }
                let (name, bytes) = (variable.name.as_str().into(), bytes as u64);
                self.variables.push(Extent { name, space: Space::Global, start: address, bytes, element: None });
                Ok(Some(address))
            }
            (Space::Const, Some(bytes)) => {
                let address = self.constants.append(&variable.name, bytes, variable.align).map_err(problem)?;
                self.constant_bytes.resize(self.constants.bytes(), 0);
                Ok(Some(address))
            }
            (_, None) => Err(problem(Problem::Unsupported("an array without a size outside of shared memory"))),
            _ => Err(problem(Problem::Unsupported("a variable of this space outside of a function"))),
        }
    }

    /// Writes a variable's initial values at its address, followed by zeros.
    pub(super) fn initialise(
        &mut self,
        variable: &Variable,
        address: u64,
        memory: &GlobalMemory,
    ) -> Result<(), LoadError> {
        let bytes = variable.bytes().expect("a variable without a size has been rejected");
        let mut image = Vec::with_capacity(variable.initial.len() * variable.element.bytes());
        for initial in &variable.initial {
            let value = self.initial_value(variable, initial)?;
            image.extend_from_slice(&value.to_le_bytes()[..variable.element.bytes().min(8)]);
        }
        match variable.space {
            Space::Const => {
                // `declare` has filled the bytes of constants with zeros.
                let start = (address - first_address(Space::Const)) as usize;
                self.constant_bytes[start..start + image.len()].copy_from_slice(&image);
            }
            _ => {
                let zeros = bytes - image.len();
                let written = memory.write(address, &image);
                let written = written.and_then(|()| memory.fill_zero(address + image.len() as u64, zeros));
                written.expect("the allocation was made for these bytes");
            }
        }
        Ok(())
    }

    fn initial_value(&self, variable: &Variable, initial: &Initializer) -> Result<u64, LoadError> {
        match initial {
            Initializer::Value(value) => Ok(immediate_bits(*value, variable.element)),
            Initializer::Address { name, offset, .. } => match self.find(name) {
                // A generic address of global memory is the address itself.
                Some((Space::Global, address)) => Ok(address.wrapping_add_signed(*offset)),
                Some(_) => Err(at(variable.line, name, Problem::Unsupported("the address of a constant as a value"))),
                None => match self.function(name) {
                    Some(address) => Ok(address.wrapping_add_signed(*offset)),
                    None => Err(at(variable.line, name, Problem::Undeclared(name.clone()))),
                },
            },
        }
    }

    /// The address of a function.
    pub(crate) fn function(&self, name: &str) -> Option<u64> {
        self.functions.get(name).copied()
    }

    /// A variable's state space, and its address in it.
    pub(crate) fn find(&self, name: &str) -> Option<(Space, u64)> {
        let constant = || Some((Space::Const, self.constants.start_of(name)?));
        self.addresses.get(name).map(|address| (Space::Global, *address)).or_else(constant)
    }
}

/// The names in initial values and in `mov`. A function named there has its address taken.
fn names_of_values(module: &Module) -> HashSet<&str> {
    let initial = module.variables.iter().flat_map(|variable| &variable.initial);
    let mut names: HashSet<&str> = initial
        .filter_map(|initial| match initial {
            Initializer::Address { name, .. } => Some(name.as_str()),
            Initializer::Value(_) => None,
        })
        .collect();
    module
        .functions
        .iter()
        .filter_map(|function| function.body.as_ref())
        .for_each(|body| add_operands(body, &mut names));
    names
}

fn add_operands<'a>(statements: &'a [Statement], names: &mut HashSet<&'a str>) {
    for statement in statements {
        match statement {
            Statement::Block(statements) => add_operands(statements, names),
            Statement::Instruction(instruction) if instruction.opcode == "mov" => {
                names.extend(instruction.operands.iter().filter_map(|operand| match operand {
                    Operand::Name(name) => Some(name.as_str()),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
}
