//! Locations of instructions.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Location of an instruction in the PTX and in the source from which it was compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line of the PTX, from 1.
    pub line: u32,
    /// Text of the instruction.
    pub text: Arc<str>,
    /// Location in the source, if the PTX has it.
    pub source: Option<SourcePlace>,
}

/// A location in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourcePlace {
    /// The file's name, as passed to the compiler.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1. 0 if the compiler emitted none.
    pub column: u32,
    /// The outermost call, if the location is in an inlined function: a line of the kernel itself.
    pub inlined_at: Option<Box<SourcePlace>>,
}

impl SourcePlace {
    /// The line in its file's `text`, without surrounding spaces. `None` if there is no such line
    /// or it is empty.
    pub fn line_of(&self, text: &str) -> Option<Arc<str>> {
        let line = text.lines().nth((self.line as usize).checked_sub(1)?)?.trim();
        (!line.is_empty()).then(|| line.into())
    }
}

impl Place {
    /// Whether both are at the same source line, or at the same PTX line if the source is unknown.
    pub(crate) fn is_at_line_of(&self, other: &Self) -> bool {
        match (&self.source, &other.source) {
            (Some(source), Some(other)) => (&source.file, source.line) == (&other.file, other.line),
            _ => self.line == other.line,
        }
    }

    /// Size in bytes of an element that the instruction accesses, such as 4 for `ld.shared.v4.b32`.
    /// `None` if its name contains no size.
    pub fn element_bytes(&self) -> Option<NonZeroU32> {
        let opcode = self.text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
        let mut sizes = opcode.trim_end_matches(';').split('.').filter_map(|modifier| {
            let (kind, bits) = modifier.split_at_checked(1)?;
            let bits: u32 = matches!(kind, "b" | "u" | "s" | "f").then(|| bits.parse().ok())??;
            matches!(bits, 8 | 16 | 32 | 64).then_some(bits / 8)
        });
        sizes.next_back().and_then(NonZeroU32::new)
    }
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
