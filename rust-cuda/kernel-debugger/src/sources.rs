//! Where the source files of a kernel are.

use std::path::{Path, PathBuf};

/// The path of a source file by its name in the PTX. The name begins at the source root or, for the crates of
/// `rust-cuda/`, at that directory. The path of a file that is in neither is the one below the source root.
pub(crate) fn find(source_root: &Path, file: &str) -> PathBuf {
    let candidates = [source_root.join(file), source_root.join("rust-cuda").join(file)];
    let found = candidates.iter().position(|path| path.exists());
    let [first, second] = candidates;
    if found == Some(1) { second } else { first }
}
