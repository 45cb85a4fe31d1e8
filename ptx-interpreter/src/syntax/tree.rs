//! The tree of a PTX module: what the text says, with names not yet resolved.

use super::ScalarType;

/// A PTX module.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The PTX ISA version of `.version`, such as (7, 0).
    pub version: (u32, u32),
    /// The first name of `.target`, such as "sm_75".
    pub target: String,
    /// The bits of an address; this crate knows 64 alone.
    pub address_size: u32,
    /// Variables at module scope, in the order of the text.
    pub variables: Vec<Variable>,
    /// Entries and functions, in the order of the text.
    pub functions: Vec<Function>,
    /// What `.file` names, by its number.
    pub files: Vec<SourceFile>,
}

/// A source file that `.loc` refers to by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The number.
    pub number: u32,
    /// The name.
    pub name: String,
}

/// Who sees a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Linkage {
    /// This module alone.
    #[default]
    Internal,
    /// `.visible`
    Visible,
    /// `.extern`: defined elsewhere, or, for shared memory, sized by the launch.
    Extern,
    /// `.weak` or `.common`
    Weak,
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
    /// Where it lies.
    pub space: Space,
    /// Who sees it.
    pub linkage: Linkage,
    /// The alignment in bytes: that of `.align`, or else the size of its type, of a vector the whole size.
    pub align: usize,
    /// The type of an element.
    pub element: ScalarType,
    /// 1, or 2 or 4 for `.v2` and `.v4`.
    pub vector: usize,
    /// The name.
    pub name: String,
    /// How many elements, the dimensions multiplied; 1 if it is no array, None if it is `[]`.
    pub count: Option<usize>,
    /// Initial values, row by row; what is missing is zero. Empty if there is no initialiser.
    pub initial: Vec<Initializer>,
    /// The line of the text, from 1.
    pub line: u32,
}

impl Variable {
    /// Its size in bytes; None if the launch decides it.
    pub fn bytes(&self) -> Option<usize> {
        self.count.map(|count| count * self.vector * self.element.bytes())
    }
}

/// One initial value.
#[derive(Clone, Debug, PartialEq)]
pub enum Initializer {
    /// A number.
    Value(Immediate),
    /// The address of a variable, plus so many bytes; `generic(NAME)` if the flag is set.
    Address {
        /// The variable.
        name: String,
        /// What is added.
        offset: i64,
        /// Whether it is written `generic(…)`.
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
    /// Who sees it.
    pub linkage: Linkage,
    /// What a `.func` returns: variables of space Param.
    pub returns: Vec<Variable>,
    /// What it takes: variables of space Param.
    pub parameters: Vec<Variable>,
    /// `.maxntid` and the like.
    pub performance: Performance,
    /// None for a declaration.
    pub body: Option<Vec<Statement>>,
    /// The line of the text, from 1.
    pub line: u32,
}

/// Performance-tuning directives (PTX ISA 11.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Performance {
    /// `.maxntid`: the most threads of a block along each dimension; a missing dimension is 1.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: exactly so many.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`
    pub min_blocks: Option<u32>,
    /// `.maxnreg`
    pub max_registers: Option<u32>,
}

/// A statement of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `.reg .b32 %r<5>;` declares %r0 to %r4: each name in full.
    Registers {
        /// Their type.
        element: ScalarType,
        /// 1, or 2 or 4 for `.v2` and `.v4`.
        vector: usize,
        /// Their names. A range `%r<5>` is expanded.
        names: Vec<String>,
        /// The line of the text, from 1.
        line: u32,
    },
    /// A variable in the scope of the body or block, `.param` space of a call included.
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
    /// `.loc`: the following instructions come from there.
    Location(Location),
    /// An instruction.
    Instruction(Instruction),
    /// `{ … }`: a scope of its own for registers, variables and labels.
    Block(Vec<Statement>),
}

/// A place in a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file's number.
    pub file: u32,
    /// The line, from 1; 0 where the compiler knows none.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The file, line and column of the call that put it there, if it is of a function that was inlined.
    pub inlined_at: Option<[u32; 3]>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// The first part of the name: "ld" of `ld.global.nc.v4.f32`.
    pub opcode: String,
    /// The other parts, without dots: "global", "nc", "v4", "f32"; `shared::cta` is one part, "shared::cta".
    pub modifiers: Vec<String>,
    /// The operands, destinations first, as they stand in the text. `call (r), f, (a, b)` has `Group`s.
    pub operands: Vec<Operand>,
    /// The line of the text, from 1.
    pub line: u32,
    /// The text, without guard, blanks at the ends and the semicolon, blanks within made one.
    pub text: String,
}

/// The predicate of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The register.
    pub register: String,
    /// Whether the instruction is executed where the register is false.
    pub negated: bool,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register, a special register such as `%tid.x` (in full), a variable, a label or a function.
    Name(String),
    /// `!p`
    Not(String),
    /// `p|q`, the two destinations of setp, shfl and others; `_` is a name too.
    Pair(String, String),
    /// A number; a negative one is negated already.
    Immediate(Immediate),
    /// `NAME+8` outside of brackets, as in `mov.u64 %rd1, NAME+8`.
    Offset(String, i64),
    /// `[…]`
    Address(Address),
    /// `{a, b, c, d}`
    Vector(Vec<Operand>),
    /// `(a, b)` of a call.
    Group(Vec<Operand>),
}

/// What an address is computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// The base.
    pub base: AddressBase,
    /// The bytes that are added.
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

/// A number of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Immediate {
    /// An integer: its 64 bits in two's complement, as PTX constant expressions have it.
    Integer(i64),
    /// `0fXXXXXXXX`
    F32(u32),
    /// `0dXXXXXXXXXXXXXXXX`, or a decimal number, which is a double in PTX.
    F64(u64),
}
