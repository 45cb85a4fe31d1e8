//! The syntax tree of a PTX module, with unresolved names.

use cuda_launch::trap::TrapReason;

use super::{ScalarType, SyntaxError};

/// A PTX module.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The PTX ISA version of `.version`, such as (7, 0).
    pub version: (u32, u32),
    /// The first name of `.target`, such as "sm_75".
    pub target: String,
    /// Size of an address in bits; only 64 is supported.
    pub address_size: u32,
    /// Variables at module scope, in the order of the text.
    pub variables: Vec<Variable>,
    /// Entries and functions, in the order of the text.
    pub functions: Vec<Function>,
    /// The source files named by `.file`.
    pub files: Vec<SourceFile>,
}

/// A source file that `.loc` refers to by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The number that `.loc` uses.
    pub number: u32,
    /// The file's name.
    pub name: String,
}

/// Visibility of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Linkage {
    /// Visible only in this module.
    #[default]
    Internal,
    /// `.visible`
    Visible,
    /// `.extern`: defined elsewhere, or, for shared memory, sized by the launch.
    Extern,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// A state space (PTX ISA 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param`
    Param,
    /// `.shared`
    Shared,
}

/// A variable in memory: `.shared .align 16 .b8 NAME[1024];`, or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The state space.
    pub space: Space,
    /// Visibility of the name.
    pub linkage: Linkage,
    /// Alignment in bytes: the value of `.align`, otherwise the size of the type, or of the vector
    /// with `.v2` and `.v4`.
    pub align: usize,
    /// The type of an element.
    pub element: ScalarType,
    /// 1, or 2 or 4 for `.v2` and `.v4`.
    pub vector: usize,
    /// The name.
    pub name: String,
    /// Number of elements, the product of the dimensions. 1 without dimensions, `None` for `[]`.
    pub count: Option<usize>,
    /// Whether it has dimensions.
    pub is_array: bool,
    /// Whether host and device access it at the same address (`.attribute(.managed)`).
    pub is_managed: bool,
    /// Whether it is a kernel's parameter that holds a pointer (`.ptr`).
    pub is_pointer: bool,
    /// Initial values in row-major order. Missing ones at the end are zero. Empty without an
    /// initializer.
    pub initial: Vec<Initializer>,
    /// The line of the text, from 1.
    pub line: u32,
}

impl Variable {
    /// Size in bytes of the elements that an index counts, if it is an array. Elements of vectors
    /// and rows are also scalars, as in NVIDIA's assembler.
    pub(crate) fn indexed_bytes(&self) -> Option<usize> {
        self.is_array.then(|| self.element.bytes())
    }

    /// Size in bytes. `None` if the launch determines it.
    pub fn bytes(&self) -> Option<usize> {
        self.count.map(|count| count * self.vector * self.element.bytes())
    }
}

/// One initial value.
#[derive(Clone, Debug, PartialEq)]
pub enum Initializer {
    /// A number.
    Value(Immediate),
    /// The address of a variable plus an offset.
    Address {
        /// The variable.
        name: String,
        /// The offset in bytes.
        offset: i64,
        /// Whether it is `generic(NAME)`, a generic address.
        generic: bool,
    },
}

/// An `.entry` or a `.func`.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The name.
    pub name: String,
    /// Whether it is a kernel.
    pub is_entry: bool,
    /// Visibility of the name.
    pub linkage: Linkage,
    /// Return values of a `.func`: variables of space Param.
    pub returns: Vec<Variable>,
    /// Parameters: variables of space Param.
    pub parameters: Vec<Variable>,
    /// Performance-tuning directives.
    pub performance: Performance,
    /// `None` for a declaration, and for an unsupported body.
    pub body: Option<Vec<Statement>>,
    /// The reason why the body is unsupported, if it is.
    pub(crate) unsupported: Option<SyntaxError>,
    /// The line of the text, from 1.
    pub line: u32,
}

/// Performance-tuning directives (PTX ISA 11.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Performance {
    /// `.maxntid`: maximum block size; missing dimensions are 1.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: required block size; missing dimensions are 1.
    pub required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`: required blocks of a cluster; missing dimensions are 1.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`: maximum number of blocks of a cluster
    pub max_cluster_rank: Option<u32>,
    /// `.minnctapersm`
    pub min_blocks: Option<u32>,
    /// `.maxnreg`
    pub max_registers: Option<u32>,
}

/// A statement of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `.reg .b32 %r<5>;`, which declares %r0 to %r4.
    Registers {
        /// Their type.
        element: ScalarType,
        /// 1, or 2 or 4 for `.v2` and `.v4`.
        vector: usize,
        /// Their names, with ranges such as `%r<5>` expanded.
        names: Vec<String>,
        /// The line of the text, from 1.
        line: u32,
    },
    /// A variable in the scope of the body or block, including `.param` variables of calls.
    Variable(Variable),
    /// `NAME:`
    Label {
        /// The name.
        name: String,
        /// The line of the text, from 1.
        line: u32,
    },
    /// `NAME: .branchtargets A, B, C;`, the table of a `brx.idx`.
    BranchTargets {
        /// The table's name.
        name: String,
        /// The labels.
        targets: Vec<String>,
        /// The line of the text, from 1.
        line: u32,
    },
    /// `NAME: .calltargets F, G;`, the functions that a call through a pointer may reach.
    CallTargets {
        /// The list's name.
        name: String,
        /// The functions.
        functions: Vec<String>,
        /// The line of the text, from 1.
        line: u32,
    },
    /// `NAME: .callprototype (.param .b32 _) _ (.param .b64 _);`, the signature of the functions
    /// that a call through a pointer may reach.
    CallPrototype {
        /// The prototype's name.
        name: String,
        /// Return values: variables of space Param.
        returns: Vec<Variable>,
        /// Parameters: variables of space Param.
        parameters: Vec<Variable>,
        /// The line of the text, from 1.
        line: u32,
    },
    /// `.loc`: the source location of the following instructions.
    Location(Location),
    /// An instruction.
    Instruction(Instruction),
    /// `{ … }`, a separate scope for registers, variables and labels.
    Block(Vec<Statement>),
}

/// A location in a source file, from `.loc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file's number.
    pub file: u32,
    /// Line, from 1; 0 if the compiler emitted none.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// File, line and column of the call, if the location is in an inlined function.
    pub inlined_at: Option<[u32; 3]>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// The first part of the name: "ld" in `ld.global.nc.v4.f32`.
    pub opcode: String,
    /// The other parts, without dots: "global", "nc", "v4", "f32"; `shared::cta` is one part, "shared::cta".
    pub modifiers: Vec<String>,
    /// The operands in the order of the text, destinations first. `call (r), f, (a, b)` has `Group`s.
    pub operands: Vec<Operand>,
    /// The line of the text, from 1.
    pub line: u32,
    /// The text without guard and semicolon, with white space collapsed.
    pub text: String,
    /// The reason for a `trap`, from the comment after it.
    pub reason: Option<Box<TrapReason>>,
}

/// The predicate of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The register.
    pub register: String,
    /// Whether the guard is `@!p`: the instruction executes if the register is false.
    pub negated: bool,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register, a special register such as `%tid.x` (in full), a variable, a label or a function.
    Name(String),
    /// `!p`
    Not(String),
    /// `p|q`, the two destinations of setp, shfl and others. `_` is also a name.
    Pair(String, String),
    /// A number, with its sign applied.
    Immediate(Immediate),
    /// `NAME+8` outside brackets, as in `mov.u64 %rd1, NAME+8`.
    Offset(String, i64),
    /// `NAME[1]`, an element of an array.
    Element(Element),
    /// `[…]`
    Address(Address),
    /// `[a, {x, y}]`, a place in a texture or surface.
    Texel(Texel),
    /// `{a, b, c, d}`
    Vector(Vec<Operand>),
    /// The `(a, b)` of a call.
    Group(Vec<Operand>),
}

impl Operand {
    /// Visits the names in the operand: registers, variables, labels and functions.
    pub(crate) fn visit_names<'a>(&'a self, visit: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Name(name) | Self::Not(name) | Self::Offset(name, _) => visit(name),
            Self::Pair(one, other) => [one, other].into_iter().for_each(|name| visit(name)),
            Self::Address(Address { base: AddressBase::Name(name), .. }) => visit(name),
            Self::Element(element) => {
                visit(&element.array);
                element.register.iter().for_each(|name| visit(name));
            }
            Self::Texel(texel) => {
                visit(&texel.object);
                texel.coordinates.iter().for_each(|operand| operand.visit_names(visit));
            }
            Self::Address(_) | Self::Immediate(_) => {}
            Self::Vector(all) | Self::Group(all) => all.iter().for_each(|operand| operand.visit_names(visit)),
        }
    }
}

/// An element of an array: its name, and the index as a register plus a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// The array.
    pub array: String,
    /// The register. `None` if the index is a number.
    pub register: Option<String>,
    /// The number.
    pub index: i64,
}

/// A place in a texture or surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Texel {
    /// The register with the object's handle, or a variable.
    pub object: String,
    /// The coordinates, preceded by the layer: registers or numbers.
    pub coordinates: Vec<Operand>,
}

/// An address operand: base plus offset.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// The base.
    pub base: AddressBase,
    /// The offset in bytes.
    pub offset: i64,
}

/// The base of an address.
#[derive(Clone, Debug, PartialEq)]
pub enum AddressBase {
    /// A register or a variable.
    Name(String),
    /// A number.
    Immediate(u64),
}

/// A number literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Immediate {
    /// An integer, as 64 bits in two's complement like PTX constant expressions.
    Integer(i64),
    /// `0fXXXXXXXX`
    F32(u32),
    /// `0dXXXXXXXXXXXXXXXX`, or a decimal number, which is a double in PTX.
    F64(u64),
}
