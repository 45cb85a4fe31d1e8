//! Files that appear whole or not at all, and directories that one process at a time writes to.
//!
//! A file is written to a temporary name beside its own, made durable, and renamed: a reader, a killed process and a
//! power cut see the old content or the new, never half of it. A temporary file is locked by the process that writes
//! it. The system frees the lock however the process ends, so that the next write to the same name, or the next
//! [`DirectoryLock`] on the directory, removes the temporary files of processes that were killed, and no others.

mod lock;
mod replacement;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use lock::{DirectoryLock, LockError};
pub use replacement::Replacement;

/// Writes `bytes` to `path`, whole or not at all.
///
/// # Errors
/// If anything fails; see [`Replacement::commit`] for what is at `path` then.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::begin(path)?;
    replacement.file().write_all(bytes)?;
    replacement.commit()
}

/// Makes sure that `path` can be written later, before work is done that would be lost.
///
/// # Errors
/// If a file beside it cannot be created.
pub fn require_writable(path: &Path) -> io::Result<()> {
    Replacement::begin(path).map(drop)
}

/// Creates a directory and its missing parents, durably, and returns those that were missing, from the innermost on.
///
/// # Errors
/// If it cannot be created, or is there and no directory.
pub fn create_directory(path: &Path) -> io::Result<Vec<PathBuf>> {
    let named = path.ancestors().take_while(|directory| !directory.as_os_str().is_empty());
    let missing: Vec<PathBuf> = named.take_while(|directory| !directory.exists()).map(Path::to_path_buf).collect();
    fs::create_dir_all(path)?;
    missing.iter().rev().try_for_each(|directory| sync_directory_of(directory))?;
    Ok(missing)
}

/// Creates a directory that must not be there, durably. Of several processes that try to, one succeeds.
///
/// # Errors
/// If it cannot be created, or is there.
pub fn create_new_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    sync_directory_of(path)
}

/// Makes the name `path` durable: its directory is written to the disk.
fn sync_directory_of(path: &Path) -> io::Result<()> {
    // Elsewhere directories cannot be opened as files; the system writes them in its own time.
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(directory_of(path)).and_then(|directory| directory.sync_all()) {
        // A directory may be writable and not readable, and some file systems sync no directories.
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        synced => synced,
    }
}

/// The directory in which `path` names something: the current one for a bare name.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
