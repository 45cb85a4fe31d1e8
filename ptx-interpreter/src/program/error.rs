//! Why a module cannot be run.

use thiserror::Error;

use crate::memory::SpaceName;
use crate::semantics::UnknownForm;
use crate::syntax::{Space, SyntaxError};

/// Why a module cannot be run.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LoadError {
    /// The text is not PTX, as far as this crate knows it.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The text says something that cannot be, or that this crate cannot do.
    #[error("PTX line {line}: {problem}: `{text}`")]
    Statement {
        /// The line, from 1.
        line: u32,
        /// The instruction or the name of what is declared.
        text: String,
        /// What is wrong.
        problem: Problem,
    },
    /// A module for something else.
    #[error("the module has {0}-bit addresses; only 64 are supported")]
    AddressSize(u32),
}

/// What is wrong with a statement.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Problem {
    /// No such instruction, or none with these modifiers.
    #[error(transparent)]
    UnknownForm(#[from] UnknownForm),
    /// A modifier that the instruction does not have, or that is out of place.
    #[error("`.{0}` is not a modifier that is known here")]
    Modifier(String),
    /// A modifier is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A name that nothing in scope has.
    #[error("`{0}` is not declared")]
    Undeclared(String),
    /// A name that two things in one scope have.
    #[error("`{0}` is declared twice")]
    DeclaredTwice(String),
    /// A special register that this crate does not have, such as a clock.
    #[error("the special register {0} is not supported")]
    SpecialRegister(String),
    /// Too few or too many operands.
    #[error("{found} operands; there should be {expected}")]
    OperandCount {
        /// How many there should be.
        expected: &'static str,
        /// How many there are.
        found: usize,
    },
    /// An operand of the wrong kind.
    #[error("operand {number} should be {expected}")]
    Operand {
        /// Which, from 1.
        number: usize,
        /// What it should be.
        expected: &'static str,
    },
    /// A register of the wrong width.
    #[error("{register} has {found} bits; the instruction wants {expected}")]
    Width {
        /// The register.
        register: String,
        /// The register's bits.
        found: usize,
        /// The instruction's.
        expected: usize,
    },
    /// Something that PTX has and this crate has not.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
    /// More memory than the space has.
    #[error("{bytes} bytes of {} memory; at most {limit} are possible", SpaceName(*space))]
    TooLarge {
        /// The space.
        space: Space,
        /// What all variables up to this one take.
        bytes: u64,
        /// The most there can be.
        limit: u64,
    },
    /// Calls or branch tables that make much of little text.
    #[error(
        "too much: calls copy the functions' statements, and with the entries of branch tables a module has at most {}",
        crate::limits::MAX_EXPANSION
    )]
    TooMuchExpanded,
    /// Calls and blocks too deep within each other.
    #[error("too deep: at most {} calls and blocks within each other are possible", crate::limits::MAX_CALL_DEPTH)]
    TooDeep,
    /// A function that calls itself, by whatever way.
    #[error("`{0}` calls itself, which is not supported")]
    Recursion(String),
    /// Control reaches the end of the body.
    #[error("control runs past the end of the body")]
    RunsPastTheEnd,
}
