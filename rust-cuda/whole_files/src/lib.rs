//! Atomic, durable file replacement, and directories with one writing process at a time.
//!
//! A file is written under a temporary name in the same directory, synced, and renamed. After a
//! crash or a power failure, and for every reader, the path has either the old content or the new,
//! never a part. A temporary file is marked as in use by the process that writes it. The system
//! removes the mark when the process ends for any reason. The next write to the same name, or the
//! next [`DirectoryLock`] on the directory, then removes the temporary files of killed processes,
//! and no others.
//!
//! On Unix, symbolic links are followed: the file that they lead to is replaced or created, and the
//! links stay. A file keeps its mode, its owner and its group. Anything else, such as a pipe or a
//! device, is written to directly.

mod distinct;
mod lock;
mod place;
mod replacement;
mod system;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use place::Place;

pub use distinct::{Overwrites, is_same_file, require_distinct};
pub use lock::{DirectoryLock, LockError};
pub use replacement::Replacement;

/// Writes `bytes` to `path` atomically.
///
/// # Errors
/// If a step fails. See [`Replacement::commit`] for the content of `path` in that case.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::begin(path)?;
    replacement.file().write_all(bytes)?;
    replacement.commit()
}

/// Like [`write_atomically`], for private content: only the owner can read the file, whatever its
/// previous mode.
///
/// # Errors
/// Same as [`write_atomically`].
pub fn write_privately(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::begin_private(path)?;
    replacement.file().write_all(bytes)?;
    replacement.commit()
}

/// Checks that `path` can be written, before work with a result that would otherwise be lost. A
/// pipe is not opened, because its reader would see the end.
///
/// # Errors
/// If its links form a loop, or a file beside it cannot be created.
pub fn require_writable(path: &Path) -> io::Result<()> {
    match Place::of(path)? {
        Place::File(_) => Replacement::begin(path).map(drop),
        Place::Stream(_) => Ok(()),
    }
}

/// Creates a directory and its missing parents durably, and returns the created ones, innermost
/// first. Other processes may create the same directories at the same time, and remove them when
/// they are empty.
///
/// # Errors
/// If it cannot be created, or the path exists and is not a directory.
pub fn create_directory(path: &Path) -> io::Result<Vec<PathBuf>> {
    // The errors for a directory that another process removed. A file or a dangling link causes
    // them at every attempt.
    let may_be_removed = |kind| matches!(kind, io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound);
    const RETRIES: usize = 100;
    for _ in 0..RETRIES {
        match try_create_directory(path) {
            Err(error) if may_be_removed(error.kind()) => std::thread::yield_now(),
            result => return result,
        }
    }
    try_create_directory(path)
}

fn try_create_directory(path: &Path) -> io::Result<Vec<PathBuf>> {
    let named = path.ancestors().take_while(|directory| !directory.as_os_str().is_empty());
    let missing: Vec<PathBuf> = named.take_while(|directory| !directory.exists()).map(Path::to_path_buf).collect();
    fs::create_dir_all(path)?;
    missing.iter().rev().try_for_each(|directory| sync_directory_of(directory))?;
    Ok(missing)
}

/// Makes the directory entry of `path` durable, by syncing its directory.
fn sync_directory_of(path: &Path) -> io::Result<()> {
    // On other systems, directories cannot be opened as files.
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(directory_of(path)).and_then(|directory| directory.sync_all()) {
        // A directory may be writable but not readable, and some file systems do not sync directories.
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        synced => synced,
    }
}

/// The parent directory of `path`; the current directory for a bare name.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
