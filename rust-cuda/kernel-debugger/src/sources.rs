//! Locates the source files of a kernel.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// The path of a source file by its name in the PTX. The name starts at the source root or, for the
/// crates of `rust-cuda/`, at that directory. A file found in neither gets the path below the
/// source root.
pub(crate) fn find(source_root: &Path, file: &str) -> PathBuf {
    let candidates = [source_root.join(file), source_root.join("rust-cuda").join(file)];
    let found = candidates.iter().position(|path| path.exists());
    let [first, second] = candidates;
    if found == Some(1) { second } else { first }
}

/// A source root that is not a directory.
#[derive(Debug, Error)]
#[error("{} is no directory: name the one at which the sources' names in the PTX begin", .0.display())]
pub struct NoSourceRoot(PathBuf);

/// Parses the option that names the source root.
///
/// # Errors
/// If there is no such directory.
pub fn parse_source_root(text: &str) -> Result<PathBuf, NoSourceRoot> {
    let path = PathBuf::from(text);
    if path.is_dir() { Ok(path) } else { Err(NoSourceRoot(path)) }
}
