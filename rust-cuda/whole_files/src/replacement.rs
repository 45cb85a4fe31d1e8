//! The atomic replacement of a file by a temporary file in the same directory.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf, is_separator};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::system::{create_in_use, remove_if_abandoned, replace};
use crate::{directory_of, sync_directory_of};

/// A temporary file that replaces `path` at [`Replacement::commit`]. Without a commit, dropping removes it.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    temporary: PathBuf,
    /// In use for other processes until it is closed.
    file: File,
    is_committed: bool,
}

impl Replacement {
    /// Creates an empty temporary file with a unique name in `path`'s directory, and removes those that killed
    /// processes left there for the same `path`.
    ///
    /// # Errors
    /// If it cannot be created, or `path` is a directory.
    pub fn begin(path: &Path) -> io::Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let name = file_name(path)?;
        remove_abandoned(directory_of(path), Some(name));
        loop {
            let temporary = path.with_file_name(temporary_name(name, COUNTER.fetch_add(1, Ordering::Relaxed)));
            match create_in_use(&temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Ok(None) => {}
                Ok(Some(file)) => return Ok(Self { path: path.to_path_buf(), temporary, file, is_committed: false }),
                Err(error) => return Err(error),
            }
        }
    }

    /// The file to write to.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Syncs the content, renames the file to `path`, and syncs the directory.
    ///
    /// # Errors
    /// If a step fails. The old content is then still at `path`, unless only the last of the three steps failed: then
    /// the new content is there, and a power failure may restore the old one.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        replace(&self.temporary, &self.path)?;
        self.is_committed = true;
        sync_directory_of(&self.path)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.is_committed {
            // A file that cannot be removed is abandoned from here on; the next `Replacement` removes it.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// The file name of `path`. An error if `path` is a directory.
fn file_name(path: &Path) -> io::Result<&OsStr> {
    let ends_in_separator = path.as_os_str().as_encoded_bytes().last().is_some_and(|&byte| is_separator(byte.into()));
    let name = path.file_name().filter(|_| !ends_in_separator && !path.is_dir());
    name.ok_or_else(|| io::ErrorKind::IsADirectory.into())
}

/// `.NAME.PROCESS.NUMBER.tmp`: hidden, and different for any two running processes.
fn temporary_name(name: &OsStr, number: u32) -> OsString {
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.{number}.tmp", std::process::id()));
    temporary
}

/// The `NAME` in a name that [`temporary_name`] made.
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

/// Removes the temporary files in `directory` that no running process holds open: those for `name`, or for any name if
/// None. Errors are ignored, since no reader opens these files.
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
