//! What a case showed.

use serde::{Deserialize, Serialize};

/// An input, under the name by which its reader is chosen.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The file's name, in a folder of the reader's.
    pub(crate) name: String,
    /// Its content.
    pub(crate) bytes: Vec<u8>,
    /// What the reader must say.
    pub(crate) expected: Expected,
}

/// What a reader must say of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Anything that is consistent.
    Any,
    /// It is a valid file with one bit flipped, which the reader must notice.
    Rejected,
}

/// What a reader said.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// The input is bad, by this message.
    Rejected {
        /// The whole message, with its causes.
        message: String,
        /// What the message must contain, such as the file's path; empty if nothing.
        names: String,
    },
    /// The input is good, and what was read is consistent.
    Accepted,
    /// The input was accepted, and what was read is not consistent, or the message is not as it must be.
    Wrong(Wrong),
}

/// A promise that was broken.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    /// Which, the same for all cases that break it.
    pub(crate) promise: &'static str,
    /// In what way.
    pub(crate) detail: String,
}

/// Breaks a promise.
pub(crate) fn wrong(promise: &'static str, detail: impl Into<String>) -> Verdict {
    Verdict::Wrong(Wrong { promise, detail: detail.into() })
}

impl Verdict {
    /// The reader's error, with its causes, as the programs print it.
    pub(crate) fn rejected(error: impl Into<anyhow::Error>, names: impl ToString) -> Self {
        Self::Rejected { message: format!("{:#}", error.into()), names: names.to_string() }
    }

    /// The verdict after what holds for every reader: a message says something and names the file, and a flipped bit is
    /// noticed. That it is printed as one line without control characters is for the programs' own attack to see.
    pub(crate) fn judged(self, expected: Expected) -> Self {
        match self {
            Self::Rejected { message, .. } if message.trim().is_empty() => wrong("a message says something", ""),
            Self::Rejected { message, names } if !message.contains(&names) => {
                wrong("a message names the file", format!("{message:?} lacks {names:?}"))
            }
            Self::Accepted if expected == Expected::Rejected => wrong("a flipped bit is noticed", "it was accepted"),
            verdict => verdict,
        }
    }
}

/// The kind of a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A panic, a stack overflow, an abort, or another signal.
    Panic,
    /// Longer than [`crate::targets::Target::time_limit`].
    Hang,
    /// More memory than [`crate::memory::LIMIT`].
    Memory,
    /// A broken promise.
    Wrong,
}

impl Kind {
    /// Its name in files and tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Hang => "hang",
            Self::Memory => "memory",
            Self::Wrong => "wrong",
        }
    }
}

/// A defect that a case showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// The case.
    pub(crate) index: u64,
    /// Its kind.
    pub(crate) kind: Kind,
    /// Where: the panic's source line, or the promise; the same for all cases of one defect.
    pub(crate) place: String,
    /// What happened, for reading.
    pub(crate) detail: String,
}

impl Finding {
    /// Whether both are of one defect.
    pub(crate) fn is_same_defect(&self, other: &Self) -> bool {
        (self.kind, &self.place) == (other.kind, &other.place)
    }
}
