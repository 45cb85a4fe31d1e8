//! Kinds of memory access.

use std::fmt;

/// A kind of access to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic operation.
    Atomic,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Atomic => "atomically changes",
        })
    }
}
