//! Writing files so that a reader never sees half of one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf, is_separator};

/// Writes `bytes` to `path`: to a temporary name beside it, made durable, then renamed.
///
/// The temporary name is always the same, so that a killed process leaves at most one file, which the next write replaces.
///
/// # Errors
/// If anything fails; what was at `path` before is then still there.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_name(path)?;
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
        return written;
    }
    // The new name is durable once the directory is; where directories cannot be opened, the system sees to it.
    if let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty())
        && let Ok(directory) = File::open(directory)
    {
        let _ = directory.sync_all();
    }
    Ok(())
}

/// Makes sure that `path` can be written later, before work is done that would be lost.
///
/// # Errors
/// If a file beside it cannot be created.
pub fn require_writable(path: &Path) -> io::Result<()> {
    let temporary = temporary_name(path)?;
    File::create(&temporary)?;
    fs::remove_file(&temporary)
}

/// The name beside `path` that is written first. An error if `path` is a directory's name.
fn temporary_name(path: &Path) -> io::Result<PathBuf> {
    let ends_in_separator = path.as_os_str().as_encoded_bytes().last().is_some_and(|&byte| is_separator(byte.into()));
    match path.file_name() {
        Some(name) if !ends_in_separator && !path.is_dir() => {
            let mut name = name.to_owned();
            name.push(".tmp");
            Ok(path.with_file_name(name))
        }
        _ => Err(io::ErrorKind::IsADirectory.into()),
    }
}
