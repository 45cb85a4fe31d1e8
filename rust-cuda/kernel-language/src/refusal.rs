//! Errors in a source.

use std::fmt;

use proc_macro2::Span;

/// A place in the sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The index of the file.
    pub(crate) file: usize,
    /// The line, starting at 1.
    pub(crate) line: u32,
    /// The column, starting at 1.
    pub(crate) column: u32,
}

impl Place {
    pub(crate) fn of(file: usize, span: Span) -> Self {
        let start = span.start();
        Self { file, line: start.line as u32, column: start.column as u32 + 1 }
    }

    /// The place after the last character.
    pub(crate) fn behind(file: usize, span: Span) -> Self {
        let end = span.end();
        Self { file, line: end.line as u32, column: end.column as u32 + 1 }
    }

    pub(crate) fn refused<T>(self, reason: impl Into<String>) -> Checked<T> {
        Err(Refused { place: self, reason: reason.into(), is_name: false })
    }

    /// Rejects an unknown name, which may come from another language.
    pub(crate) fn unknown<T>(self, reason: impl Into<String>) -> Checked<T> {
        Err(Refused { place: self, reason: reason.into(), is_name: true })
    }
}

/// A reason with its place.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) place: Place,
    pub(crate) reason: String,
    /// Whether it concerns an unknown name.
    pub(crate) is_name: bool,
}

pub(crate) type Checked<T> = Result<T, Refused>;

/// Why a source is rejected, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The file's name.
    pub file: String,
    /// The line, starting at 1; 0 if the error concerns no line.
    pub line: u32,
    /// The column, starting at 1; 0 if the error concerns no line.
    pub column: u32,
    /// What is wrong or unsupported there.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.reason),
            line => write!(f, "{}, line {line}: {}", self.file, self.reason),
        }
    }
}

impl std::error::Error for Refusal {}
