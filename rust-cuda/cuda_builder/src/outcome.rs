//! The results of the builder.

use std::path::{Path, PathBuf};

use crate::files::{cannot, read_text, replace_file};
use crate::header::Header;
use crate::staleness::Staleness;
use crate::{Arch, BuilderError};

/// The PTX provided by [`CudaBuilder::build`](crate::CudaBuilder::build).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptx {
    /// The file: the `copy_to` path, otherwise the committed file, otherwise a file below the
    /// target directory.
    pub path: PathBuf,
    /// Its architecture.
    pub arch: Arch,
    /// Whether it is the committed file, newly built, or stale.
    pub origin: Origin,
}

/// The origin of PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The committed file was fresh.
    Committed,
    /// It was newly compiled.
    Built {
        /// Why the committed file could not be used.
        staleness: Staleness,
        /// The compiler's name and version.
        compiler: String,
    },
    /// It is stale, and there is no toolchain: neither a GPU nor the interpreter may run it. Its
    /// text begins with [`STALE`](crate::STALE) and the reason.
    Stale {
        /// Why the committed file could not be used.
        staleness: Staleness,
    },
}

impl Ptx {
    /// The file with the debug names of its functions and variables. It is missing if the committed
    /// one is missing, or if the compiler's debug information could not be read.
    pub fn debug_file(&self) -> PathBuf {
        debug_file(&self.path)
    }
}

/// The file with debug names beside a PTX file: `kernels.sm_75.debug` beside `kernels.sm_75.ptx`.
pub(crate) fn debug_file(ptx: &Path) -> PathBuf {
    ptx.with_extension("debug")
}

/// Newly compiled PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// The header, which records its inputs and its compiler.
    pub header: Header,
    /// The PTX below the header.
    pub body: String,
    /// The debug names of functions and variables: the contents of the file beside the PTX. Empty
    /// if the compiler wrote none.
    pub debug: String,
    /// The compiler's warnings.
    pub messages: String,
}

impl Rebuilt {
    /// The PTX with its header: the contents of the committed file.
    pub fn text(&self) -> String {
        format!("{}{}", self.header, self.body)
    }

    /// Writes the PTX with its header to a file, and the debug names to the file beside it, each
    /// atomically.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write_to(&self, path: impl AsRef<Path>) -> Result<(), BuilderError> {
        write_both(path.as_ref(), &self.text(), &self.debug)
    }
}

/// Writes PTX, and the debug names beside it. A reader between the two writes can tell from the
/// functions' digests that the names belong to other code.
pub(crate) fn write_both(path: &Path, text: &str, debug: &str) -> Result<(), BuilderError> {
    let beside = debug_file(path);
    if !debug.is_empty() {
        replace_file(&beside, debug)?;
    } else if beside.exists() {
        std::fs::remove_file(&beside).map_err(cannot("remove", &beside))?;
    }
    replace_file(path, text)
}

/// The debug names beside a PTX file; empty if there are none.
pub(crate) fn read_debug(path: &Path) -> Result<String, BuilderError> {
    let beside = debug_file(path);
    if beside.exists() { read_text(&beside) } else { Ok(String::new()) }
}

/// The result of [`CudaBuilder::check`](crate::CudaBuilder::check).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The committed PTX equals the rebuilt one.
    Same,
    /// There is no committed PTX.
    Missing,
    /// The bodies are equal, but the committed header is damaged or belongs to other sources or
    /// flags.
    HeaderDiffers {
        /// Why a build would not use the file.
        staleness: Staleness,
    },
    /// The bodies differ. If the compilers differ too, that may be the only reason.
    Differs {
        /// The first line that differs, counted from 1 at the start of the body.
        line: usize,
        /// The committed line; empty past the end.
        committed: String,
        /// The rebuilt line; empty past the end.
        rebuilt: String,
        /// The compiler of the committed file, if its header is valid.
        committed_compiler: Option<String>,
        /// The compiler of the rebuilt PTX.
        compiler: String,
    },
    /// The PTX is equal, but the debug names beside it differ or are missing.
    DebugDiffers {
        /// The first line that differs, counted from 1.
        line: usize,
    },
}

impl Comparison {
    /// Compares the text of a committed file and its debug names with the rebuilt PTX.
    pub(crate) fn of(committed: &str, debug: &str, rebuilt: &Rebuilt) -> Self {
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
        if let Some(staleness) = Header::staleness(committed, &rebuilt.header.fingerprint) {
            return Self::HeaderDiffers { staleness };
        }
        first_difference(debug, &rebuilt.debug).map_or(Self::Same, |(line, ..)| Self::DebugDiffers { line })
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
