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
    /// The column, from 1; 0 where the compiler tells none.
    pub column: u32,
    /// The outermost call, if the place is in a function that was inlined: that is the kernel's own line.
    pub inlined_at: Option<Box<SourcePlace>>,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        self.inlined_at.as_ref().map_or(Ok(()), |call| write!(f, ", inlined at {call}"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX line {} `{}`", self.line, self.text)?;
        self.source.as_ref().map_or(Ok(()), |source| write!(f, " ({source})"))
    }
}
