//! What comes out of the builder.

use std::path::{Path, PathBuf};

use crate::files::replace_file;
use crate::header::{Header, Staleness};
use crate::{Arch, BuilderError};

/// PTX that is ready for use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptx {
    /// Where it lies: where `copy_to` put it, else the committed file, else below the target directory.
    pub path: PathBuf,
    /// The architecture it is for.
    pub arch: Arch,
    /// Where it came from.
    pub origin: Origin,
}

/// Where PTX came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The committed file was fresh.
    Committed,
    /// It was compiled.
    Built {
        /// Why the committed file could not be used.
        staleness: Staleness,
        /// The compiler's name and version.
        compiler: String,
    },
}

/// PTX that was compiled just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// What made it.
    pub header: Header,
    /// The PTX below the header.
    pub body: String,
    /// The compiler's warnings.
    pub messages: String,
}

impl Rebuilt {
    /// The PTX with its header, as it is to be committed.
    pub fn text(&self) -> String {
        format!("{}{}", self.header, self.body)
    }

    /// Writes the PTX to a file, all at once.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_to(&self, path: impl AsRef<Path>) -> Result<(), BuilderError> {
        replace_file(path.as_ref(), &self.text())
    }
}

/// What [`CudaBuilder::check`](crate::CudaBuilder::check) found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The committed PTX is what the kernels compile to today.
    Same,
    /// There is no committed PTX.
    Missing,
    /// The PTX is what the kernels compile to, but its header belongs to other sources or flags, or is damaged.
    HeaderDiffers {
        /// Why a build would not use the file.
        staleness: Staleness,
    },
    /// The PTX is not what the kernels compile to. Where the compilers differ, they may be the only reason.
    Differs {
        /// The first line that differs, counted from 1 below the header.
        line: usize,
        /// The committed line; empty past the end.
        committed: String,
        /// The line that came out now; empty past the end.
        rebuilt: String,
        /// The compiler that made the committed file, if its header tells.
        committed_compiler: Option<String>,
        /// The compiler that was used now.
        compiler: String,
    },
}

impl Comparison {
    /// Compares the text of a committed file with what came out now.
    pub(crate) fn of(committed: &str, rebuilt: &Rebuilt) -> Self {
        let (header, body) = match Header::split(committed) {
            Ok((header, body)) => (Some(header), body),
            Err(_) => (None, committed.to_owned()),
        };
        if let Some((line, committed, new)) = first_difference(&body, &rebuilt.body) {
            return Self::Differs {
                line,
                committed,
                rebuilt: new,
                committed_compiler: header.map(|header| header.compiler),
                compiler: rebuilt.header.compiler.clone(),
            };
        }
        match Header::staleness(committed, &rebuilt.header.fingerprint) {
            None => Self::Same,
            Some(staleness) => Self::HeaderDiffers { staleness },
        }
    }
}

fn first_difference(a: &str, b: &str) -> Option<(usize, String, String)> {
    let (mut a, mut b) = (a.lines(), b.lines());
    for line in 1.. {
        match (a.next(), b.next()) {
            (None, None) => return None,
            (a, b) if a != b => {
                return Some((line, a.unwrap_or_default().to_owned(), b.unwrap_or_default().to_owned()));
            }
            _ => {}
        }
    }
    None
}
