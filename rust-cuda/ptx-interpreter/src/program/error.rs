//! Errors of loading a module.

use thiserror::Error;

use crate::memory::SpaceName;
use crate::semantics::UnknownForm;
use crate::syntax::{Space, SyntaxError};

/// The reason why a module cannot be loaded.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LoadError {
    /// The text is not PTX, or uses unsupported syntax.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A statement is invalid or not supported.
    #[error("PTX line {line}: {problem}: `{text}`")]
    Statement {
        /// Line of the PTX, from 1.
        line: u32,
        /// The instruction, or the name being declared.
        text: String,
        /// The problem.
        problem: Problem,
    },
    /// A module with addresses that do not have 64 bits.
    #[error("the module has {0}-bit addresses; only 64 are supported")]
    AddressSize(u32),
}

impl LoadError {
    /// Whether the text may be valid PTX with an unsupported feature.
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Syntax(_) => false,
            Self::Statement { problem, .. } => matches!(
                problem,
                Problem::Unsupported(_)
                    | Problem::SpecialRegister(_)
                    | Problem::TooLarge { .. }
                    | Problem::TooMuchExpanded
                    | Problem::TooDeep
            ),
            Self::AddressSize(_) => true,
        }
    }
}

/// A problem with a statement.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Problem {
    /// No such instruction, or none with these modifiers.
    #[error(transparent)]
    UnknownForm(#[from] UnknownForm),
    /// A modifier that the instruction does not have, or not at this position.
    #[error("`.{0}` is not a known modifier at this position")]
    Modifier(String),
    /// A modifier is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A name that is not in scope.
    #[error("`{0}` is not declared")]
    Undeclared(String),
    /// A function that is declared but not defined in the module.
    #[error("`{0}` is declared but has no body in this module")]
    NoBody(String),
    /// An index after a name that is not an array.
    #[error("`{0}` is not an array")]
    NoArray(String),
    /// An element index in a register that does not hold an integer of this size.
    #[error("the index `{0}` must be a number or a register of 32 or 64 bits")]
    Index(String),
    /// A name that is declared twice in one scope.
    #[error("`{0}` is declared twice")]
    DeclaredTwice(String),
    /// A special register that is not supported, such as `%clock`.
    #[error("the special register {0} is not supported")]
    SpecialRegister(String),
    /// Too few or too many operands.
    #[error("{found} operands; expected {expected}")]
    OperandCount {
        /// The expected number.
        expected: &'static str,
        /// The number of operands found.
        found: usize,
    },
    /// An operand of the wrong kind.
    #[error("operand {number} must be {expected}")]
    Operand {
        /// Position of the operand, from 1.
        number: usize,
        /// The expected kind.
        expected: &'static str,
    },
    /// A register of the wrong width.
    #[error("{register} has {found} bits; the instruction requires {expected}")]
    Width {
        /// The register.
        register: String,
        /// Width of the register in bits.
        found: usize,
        /// Width that the instruction requires, in bits.
        expected: usize,
    },
    /// A feature of PTX that is not supported.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
    /// Variables that exceed the size of a state space.
    #[error("{bytes} bytes of {} memory; the limit is {limit}", SpaceName(*space))]
    TooLarge {
        /// The space.
        space: Space,
        /// Size of all variables up to this one, in bytes.
        bytes: u64,
        /// Maximum, in bytes.
        limit: u64,
    },
    /// Calls or branch tables that expand to too many statements.
    #[error(
        "too large after inlining: statements copied by calls and entries of branch tables may be at most {} in a module",
        crate::limits::MAX_EXPANSION
    )]
    TooMuchExpanded,
    /// Calls and blocks nested too deeply.
    #[error("nested too deeply: at most {} levels of calls and blocks", crate::limits::MAX_CALL_DEPTH)]
    TooDeep,
    /// Control reaches the end of the body.
    #[error("control runs past the end of the body")]
    RunsPastTheEnd,
}

/// The load error for a problem with a statement.
pub(super) fn at(line: u32, text: &str, problem: Problem) -> LoadError {
    LoadError::Statement { line, text: text.to_owned(), problem }
}
