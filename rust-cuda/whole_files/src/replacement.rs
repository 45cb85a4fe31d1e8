//! The atomic replacement of a file by a temporary file in the same directory.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::place::Place;
use crate::system::{create_in_use, keep_access, remove_if_abandoned, replace};
use crate::{directory_of, sync_directory_of};

/// A temporary file that replaces `path` on [`Replacement::commit`]. Dropping it without a commit
/// removes it. A pipe or a device is written to immediately.
#[derive(Debug)]
pub struct Replacement {
    /// Marked as in use for other processes until it is closed.
    file: File,
    /// None for a pipe or a device, and after the commit.
    pending: Option<Pending>,
}

#[derive(Debug)]
struct Pending {
    path: PathBuf,
    temporary: PathBuf,
    is_private: bool,
}

impl Replacement {
    /// Creates an empty temporary file with a unique name in `path`'s directory, and removes the
    /// files that killed processes left there for the same `path`.
    ///
    /// # Errors
    /// If it cannot be created, `path` is a directory, or its links form a loop.
    pub fn begin(path: &Path) -> io::Result<Self> {
        Self::begin_as(path, false)
    }

    /// Like [`Replacement::begin`], but only the owner can read the file, whatever its previous
    /// mode.
    ///
    /// # Errors
    /// Same as [`Replacement::begin`].
    pub fn begin_private(path: &Path) -> io::Result<Self> {
        Self::begin_as(path, true)
    }

    fn begin_as(path: &Path, is_private: bool) -> io::Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let path = match Place::of(path)? {
            Place::File(path) => path,
            Place::Stream(stream) => return Ok(Self { file: stream.open()?, pending: None }),
        };
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        remove_abandoned(directory_of(&path), Some(name));
        // Until the commit only the owner can read it, since it may replace a private file.
        let starts_private = is_private || path.exists();
        loop {
            let temporary = path.with_file_name(temporary_name(name, COUNTER.fetch_add(1, Ordering::Relaxed)));
            match create_in_use(&temporary, starts_private) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Ok(None) => {}
                Ok(Some(file)) => return Ok(Self { file, pending: Some(Pending { path, temporary, is_private }) }),
                Err(error) => return Err(error),
            }
        }
    }

    /// The file to write to.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Syncs the content, gives the file the mode, owner and group of the existing file at `path`,
    /// renames it to `path`, and syncs the directory. If the owner or group may not be changed, no
    /// one else gains access.
    ///
    /// # Errors
    /// If a step fails. The old content is then still at `path`, unless only the last step failed.
    /// In that case the new content is there, and a power failure may restore the old one.
    pub fn commit(mut self) -> io::Result<()> {
        let Some(Pending { path, temporary, is_private }) = &self.pending else { return Ok(()) };
        self.file.sync_all()?;
        keep_access(&self.file, path, *is_private)?;
        replace(temporary, path)?;
        let synced = sync_directory_of(path);
        self.pending = None;
        synced
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(Pending { temporary, .. }) = &self.pending {
            // If it cannot be removed, it counts as abandoned from here on; the next `Replacement`
            // removes it.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// `.NAME.PROCESS.NUMBER.tmp`: hidden, and different for any two running processes.
fn temporary_name(name: &OsStr, number: u32) -> OsString {
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.{number}.tmp", std::process::id()));
    temporary
}

/// The `NAME` in a name from [`temporary_name`].
fn replaced_name(temporary: &[u8]) -> Option<&[u8]> {
    let mut rest = temporary.strip_prefix(b".")?.strip_suffix(b".tmp")?;
    for _ in ["number", "process"] {
        let dot = rest.iter().rposition(|&byte| byte == b'.')?;
        let digits = &rest[dot + 1..];
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        rest = &rest[..dot];
    }
    Some(rest)
}

/// Removes the temporary files in `directory` that no running process holds open: the files for
/// `name`, or for any name if it is None. Errors are ignored, since no reader opens these files.
pub(crate) fn remove_abandoned(directory: &Path, name: Option<&OsStr>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let file_name = entry.file_name();
        let is_candidate = replaced_name(file_name.as_encoded_bytes())
            .is_some_and(|replaced| name.is_none_or(|name| name.as_encoded_bytes() == replaced));
        if is_candidate && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = remove_if_abandoned(&entry.path());
        }
    }
}
