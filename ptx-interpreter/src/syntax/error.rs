//! What is wrong with a text.

use thiserror::Error;

/// A text that is no PTX, or PTX that this crate does not know.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: expected {expected}, found {found}, in: {text}")]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: u32,
    /// The text of the line, without blanks at its ends; of a very long line the beginning.
    pub text: String,
    /// What could stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}
