//! A module prepared for execution: names resolved, calls inlined, instructions decoded, reconvergence points computed.

mod atomic;
mod builder;
mod control_flow;
mod decode;
mod error;
pub(crate) mod instruction;
mod modifiers;
mod names;
mod place;
mod ranges;
mod symbols;

use std::collections::HashMap;
use std::sync::Arc;

pub use error::{LoadError, Problem};
pub use place::{Place, SourcePlace};
pub(crate) use ranges::Ranges;

use crate::limits::{MAX_EXPANSION, MAX_GLOBAL_BYTES};
use crate::memory::{GlobalMemory, first_address, window_bytes};
use crate::syntax::{self, Function, Immediate, Initializer, Linkage, Location, Module, ScalarType, Space, Variable};
use instruction::{DecodedInstruction, Description};

/// First address of dynamic shared memory: after the range of static arrays.
pub(crate) const DYNAMIC_SHARED_START: u64 = first_address(Space::Shared) + window_bytes(Space::Shared);

/// A decoded module.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) kernels: Vec<Kernel>,
    /// The module's `.const` variables.
    pub(crate) constants: Ranges,
    pub(crate) constant_bytes: Vec<u8>,
    files: Vec<syntax::SourceFile>,
}

/// A decoded kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: Arc<str>,
    /// The parameters, in the `.param` space.
    pub(crate) parameters: Ranges,
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
    /// Local memory of one thread.
    pub(crate) local: Ranges,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) required_threads: Option<[u32; 3]>,
    pub(crate) required_cluster: Option<[u32; 3]>,
}

/// A register or a predicate that the PTX declares.
#[derive(Clone, Debug)]
pub(crate) struct NamedRegister {
    pub(crate) name: String,
    /// Index among the registers, or among the predicates.
    pub(crate) index: u32,
    /// Size in bits; 1 for predicates.
    pub(crate) bits: usize,
}

/// A register's value when a warp starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Initial {
    /// Unspecified: the low bits, as many as the register has, hold a recognisable pattern.
    Uninitialised(usize),
    Constant(u64),
    Special(Special),
}

impl Initial {
    /// Whether it is half of the address of the grid workspace.
    pub(crate) fn is_grid_workspace(&self) -> bool {
        matches!(self, Self::Special(Special::GridWorkspace { .. }))
    }
}

/// A special register (PTX ISA 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    ThreadIndex(usize),
    BlockSize(usize),
    BlockIndex(usize),
    GridSize(usize),
    Lane,
    Warp,
    Warps,
    /// Mask of the lanes whose index compares so with the own lane's.
    LaneMask(LaneComparison),
    DynamicSharedBytes,
    /// The block's index in its cluster.
    ClusterRank,
    /// The number of blocks of a cluster.
    ClusterSize,
    /// The upper or lower half of the address of the grid workspace; 0 in a launch that is not cooperative.
    GridWorkspace {
        upper: bool,
    },
    Zero,
}

/// Comparison of other lanes' indices with the own one, in `%lanemask_eq` and its variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LaneComparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl LaneComparison {
    /// Mask of the lanes for which the comparison with `lane` holds.
    pub(crate) fn mask(self, lane: u32) -> u32 {
        match self {
            Self::Equal => 1 << lane,
            Self::Less => (1 << lane) - 1,
            Self::LessOrEqual => u32::MAX >> (31 - lane),
            Self::Greater => !(u32::MAX >> (31 - lane)),
            Self::GreaterOrEqual => u32::MAX << lane,
        }
    }
}

impl Program {
    /// Parses the module, decodes its kernels and allocates its global variables in `memory`.
    pub(crate) fn load(text: &str, memory: &mut GlobalMemory) -> Result<Self, LoadError> {
        let module = syntax::parse(text)?;
        if module.address_size != 64 {
            return Err(LoadError::AddressSize(module.address_size));
        }
        let mut globals = Globals::new();
        let declared = module.variables.iter().map(|variable| globals.declare(variable, memory));
        let addresses = declared.collect::<Result<Vec<_>, _>>()?;
        for (variable, address) in module.variables.iter().zip(addresses) {
            if let Some(address) = address {
                globals.initialise(variable, address, memory)?;
            }
        }
        let mut expansion_left = MAX_EXPANSION;
        let entries = module.functions.iter().filter(|function| function.is_entry);
        let kernels = entries.map(|entry| builder::build(&module, &globals, entry, &mut expansion_left));
        let kernels = kernels.collect::<Result<_, _>>()?;
        Ok(Self { kernels, constants: globals.constants, constant_bytes: globals.constant_bytes, files: module.files })
    }

    pub(crate) fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| &*kernel.name == name)
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

/// The module's `.global` and `.const` variables.
#[derive(Debug)]
pub(crate) struct Globals {
    /// Addresses of `.global` variables by name.
    addresses: HashMap<String, u64>,
    global_bytes: u64,
    constants: Ranges,
    constant_bytes: Vec<u8>,
}

impl Globals {
    fn new() -> Self {
        let constants = Ranges::new(Space::Const);
        Self { addresses: HashMap::new(), global_bytes: 0, constants, constant_bytes: Vec::new() }
    }

    /// Assigns a variable its address; None for shared memory, which each kernel lays out separately.
    fn declare(&mut self, variable: &Variable, memory: &mut GlobalMemory) -> Result<Option<u64>, LoadError> {
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

    /// Writes a variable's initial values, and zeros after them, at its address.
    fn initialise(&mut self, variable: &Variable, address: u64, memory: &GlobalMemory) -> Result<(), LoadError> {
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
                None => Err(at(variable.line, name, Problem::Undeclared(name.clone()))),
            },
        }
    }

    /// A variable's state space and its address there.
    pub(crate) fn find(&self, name: &str) -> Option<(Space, u64)> {
        let constant = || Some((Space::Const, self.constants.start_of(name)?));
        self.addresses.get(name).map(|address| (Space::Global, *address)).or_else(constant)
    }
}

/// The bits of an immediate in a register or variable of this type.
pub(crate) fn immediate_bits(value: Immediate, scalar_type: ScalarType) -> u64 {
    let bits = match (value, scalar_type) {
        (Immediate::Integer(value), _) => value as u64,
        (Immediate::F32(bits), ScalarType::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (Immediate::F32(bits), _) => u64::from(bits),
        (Immediate::F64(bits), ScalarType::F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Immediate::F64(bits), _) => bits,
    };
    truncate(bits, scalar_type.bytes() * 8)
}

/// The low `bits` bits of a value.
pub(crate) fn truncate(value: u64, bits: usize) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// The load error for a problem with a statement.
pub(crate) fn at(line: u32, text: &str, problem: Problem) -> LoadError {
    LoadError::Statement { line, text: text.to_owned(), problem }
}

/// The definition of the function with this name.
pub(crate) fn function<'a>(module: &'a Module, name: &str) -> Option<&'a Function> {
    module.functions.iter().find(|function| function.name == name && function.body.is_some())
}
