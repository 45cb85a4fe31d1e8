//! Where an instruction stands.

use std::fmt;
use std::sync::Arc;

/// An instruction's place in the PTX, and in the source that it was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line of the PTX, from 1.
    pub line: u32,
    /// The instruction.
    pub text: Arc<str>,
    /// The source, where the PTX tells it.
    pub source: Option<SourcePlace>,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourcePlace {
    /// The file, as the compiler was told its name.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX line {} `{}`", self.line, self.text)?;
        self.source.as_ref().map_or(Ok(()), |source| write!(f, " ({source})"))
    }
}
