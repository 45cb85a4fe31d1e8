//! A case, the verdict of its reader, and the defect that it shows.

use serde::{Deserialize, Serialize};

/// An input, with the name by which its reader is chosen.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The file's name in the reader's folder.
    pub(crate) name: String,
    /// The file's content.
    pub(crate) bytes: Vec<u8>,
    /// The verdict that the reader must return.
    pub(crate) expected: Expected,
}

/// The verdict that a reader must return for a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Any consistent verdict.
    Any,
    /// Rejection: the case is a valid file with one bit flipped, which the reader must detect.
    Rejected,
}

/// The result of reading a case.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// The reader rejected the input with this message.
    Rejected {
        /// The whole message, with its causes.
        message: String,
        /// Text that the message must contain, such as the file's path; may be empty.
        names: String,
    },
    /// The reader accepted the input, and the result is consistent.
    Accepted,
    /// The accepted result is inconsistent, or the message of a rejection is malformed.
    Wrong(Wrong),
}

/// A promise that was broken.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    /// The promise's name, the same for all cases that break it.
    pub(crate) promise: &'static str,
    /// How the case breaks it.
    pub(crate) detail: String,
}

/// The verdict that the case breaks a promise.
pub(crate) fn wrong(promise: &'static str, detail: impl Into<String>) -> Verdict {
    Verdict::Wrong(Wrong { promise, detail: detail.into() })
}

impl Verdict {
    /// A rejection whose message is the reader's error with its causes, as the programs print it, and must contain
    /// `names`.
    pub(crate) fn rejected(error: impl Into<anyhow::Error>, names: impl ToString) -> Self {
        Self::Rejected { message: format!("{:#}", error.into()), names: names.to_string() }
    }

    /// The verdict after the checks common to all readers: a message is not empty and names the file, and a flipped bit
    /// is detected. The attack on whole programs checks that a message is printed as one line without control
    /// characters.
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

/// Kind of a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A panic, a stack overflow, an abort, or another signal.
    Panic,
    /// The case took longer than [`crate::targets::Target::time_limit`].
    Hang,
    /// The case held more memory than [`crate::memory::LIMIT`].
    Memory,
    /// A broken promise.
    Wrong,
}

impl Kind {
    /// Name in files and tables.
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
    /// Index of the case.
    pub(crate) index: u64,
    /// Kind of the defect.
    pub(crate) kind: Kind,
    /// The panic's source line, the broken promise or the exceeded limit; the same for all cases of one defect.
    pub(crate) place: String,
    /// Description of the failure for the user.
    pub(crate) detail: String,
}

impl Finding {
    /// Whether both findings show the same defect.
    pub(crate) fn is_same_defect(&self, other: &Self) -> bool {
        (self.kind, &self.place) == (other.kind, &other.place)
    }
}
