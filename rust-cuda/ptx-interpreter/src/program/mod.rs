//! A module prepared for execution: names resolved, calls inlined, instructions decoded, reconvergence points computed.

mod atomic;
mod builder;
mod called;
mod control_flow;
mod decode;
mod error;
mod globals;
pub(crate) mod image;
mod immediate;
pub(crate) mod instruction;
mod kernel;
mod live_registers;
mod modifiers;
mod names;
mod place;
mod ranges;
mod registers;
mod symbols;
mod tensor;
mod uses;

use std::collections::HashSet;
use std::sync::Arc;

pub(crate) use called::Stack;
pub use error::{LoadError, Problem};
pub(crate) use immediate::truncate;
pub(crate) use kernel::Kernel;
pub use place::{Place, SourcePlace};
pub(crate) use ranges::Ranges;
pub(crate) use registers::{Initial, Special};
pub(crate) use symbols::DYNAMIC_SHARED_START;

use crate::limits::MAX_EXPANSION;
use crate::memory::{Extent, GlobalMemory};
use crate::syntax::{self, Function, Linkage, Location, Module, Variable};
use error::at;
use globals::Globals;
use instruction::Description;

/// A decoded module.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) kernels: Vec<Kernel>,
    /// The kernels that cannot be launched, and the reasons.
    pub(crate) refused: Vec<(String, LoadError)>,
    /// The module's `.const` variables.
    pub(crate) constants: Ranges,
    pub(crate) constant_bytes: Vec<u8>,
    /// The module's `.global` variables.
    pub(crate) variables: Vec<Extent>,
    /// Addresses of the managed variables among them.
    pub(crate) managed: Vec<u64>,
    files: Vec<syntax::SourceFile>,
}

impl Program {
    /// Parses the module, decodes its kernels and allocates its global variables in `memory`.
    pub(crate) fn load(text: &str, memory: &mut GlobalMemory) -> Result<Self, LoadError> {
        let module = syntax::parse_keeping_errors(text)?;
        if module.address_size != 64 {
            return Err(LoadError::AddressSize(module.address_size));
        }
        let mut globals = Globals::new(&module);
        check_functions(&module)?;
        // Skip declarations of variables that the text also defines.
        let is_defined = |variable: &&Variable| {
            let defines = |other: &Variable| other.linkage != Linkage::Extern && other.name == variable.name;
            variable.linkage == Linkage::Extern && module.variables.iter().any(defines)
        };
        let variables: Vec<&Variable> = module.variables.iter().filter(|variable| !is_defined(variable)).collect();
        let declared = variables.iter().map(|variable| globals.declare(variable, memory));
        let addresses = declared.collect::<Result<Vec<_>, _>>()?;
        for (variable, address) in variables.into_iter().zip(addresses) {
            if let Some(address) = address {
                globals.initialise(variable, address, memory)?;
            }
        }
        let not_inlined = called::reaches_a_cycle(&module, &globals);
        let mut expansion_left = MAX_EXPANSION;
        let (mut kernels, mut refused) = (Vec::new(), Vec::new());
        for entry in module.functions.iter().filter(|function| function.is_entry) {
            match builder::build(&module, &globals, &not_inlined, entry, &mut expansion_left) {
                Ok(kernel) => kernels.push(kernel),
                Err(error) => refused.push((entry.name.clone(), error)),
            }
        }
        Ok(Self {
            kernels,
            refused,
            constants: globals.constants,
            constant_bytes: globals.constant_bytes,
            variables: globals.variables,
            managed: globals.managed,
            files: module.files,
        })
    }

    pub(crate) fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| &*kernel.name == name)
    }

    /// The reason why a kernel cannot be launched, if any.
    pub(crate) fn refusal(&self, name: &str) -> Option<&LoadError> {
        self.refused.iter().find_map(|(refused, error)| (refused == name).then_some(error))
    }

    /// Location of an instruction in the PTX and in the source.
    pub(crate) fn place(&self, kernel: &Kernel, pc: usize) -> Place {
        let Description { line, text, location, .. } = &kernel.descriptions[pc];
        let source = location.and_then(|Location { file, line, column, inlined_at }| {
            let inlined_at = inlined_at.and_then(|call| self.source_place(call, None)).map(Box::new);
            self.source_place([file, line, column], inlined_at)
        });
        Place { line: *line, text: Arc::clone(text), source }
    }

    fn source_place(
        &self,
        [file, line, column]: [u32; 3],
        inlined_at: Option<Box<SourcePlace>>,
    ) -> Option<SourcePlace> {
        Some(SourcePlace { file: syntax::printable(self.file(file)?).into(), line, column, inlined_at })
    }

    /// Name of the source file with this number.
    fn file(&self, number: u32) -> Option<&str> {
        self.files.iter().find(|file| file.number == number).map(|file| file.name.as_str())
    }
}

/// Rejects functions and kernels that are defined twice.
fn check_functions(module: &Module) -> Result<(), LoadError> {
    let mut names = HashSet::new();
    let defined = |function: &&Function| function.body.is_some() || function.unsupported.is_some();
    match module.functions.iter().filter(defined).find(|function| !names.insert(&*function.name)) {
        None => Ok(()),
        Some(twice) => Err(at(twice.line, &twice.name, Problem::DeclaredTwice(twice.name.clone()))),
    }
}
