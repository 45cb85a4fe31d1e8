//! Checks whether a program would overwrite a file that it reads.

use std::fs;
use std::path::{Path, PathBuf};

/// The error of [`require_distinct`].
#[derive(Debug, thiserror::Error)]
#[error("{flag} {} would overwrite {}, which is read: choose another place", output.display(), input.display())]
pub struct Overwrites {
    /// The option that names the output, such as `--out`.
    pub flag: String,
    /// The file to write.
    pub output: PathBuf,
    /// The same file as an input, under this name or another.
    pub input: PathBuf,
}

/// Checks that none of the `outputs`, each with the option that names it, is also an input. Files
/// are recognized under other names too, through links or another directory.
///
/// # Errors
/// For the first output that is also an input.
pub fn require_distinct<'a>(
    outputs: impl IntoIterator<Item = (&'a str, &'a Path)>,
    inputs: &[impl AsRef<Path>],
) -> Result<(), Overwrites> {
    for (flag, output) in outputs {
        if let Some(input) = inputs.iter().map(AsRef::as_ref).find(|input| is_same_file(output, input)) {
            return Err(Overwrites { flag: flag.to_owned(), output: output.to_owned(), input: input.to_owned() });
        }
    }
    Ok(())
}

/// Whether both paths lead to the same existing regular file. A terminal, a pipe or a device can be
/// both read and written.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    identity(one).is_some_and(|of_one| identity(other).is_some_and(|of_other| of_one == of_other))
}

/// The device and inode number, which hard links share.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    fs::canonicalize(path).ok()
}
