//! Syntax errors.

use thiserror::Error;

/// A text that is not PTX, or unsupported syntax.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: expected {expected}, found {found}, in: {text}")]
pub struct SyntaxError {
    /// Line number, from 1.
    pub line: u32,
    /// Text of the line, trimmed. Only the beginning of a very long line.
    pub text: String,
    /// Description of the valid alternatives.
    pub expected: String,
    /// Description of the token found.
    pub found: String,
}
