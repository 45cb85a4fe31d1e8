//! Differences between systems: how a process marks an open file as its own, and how open files are
//! replaced and removed.

/// The opened lock file.
#[derive(Debug)]
pub(crate) enum Opened {
    /// Opened by this process, which holds the lock until the file is closed.
    Locked(std::fs::File),
    /// Opened for reading while another process holds the lock.
    Held(std::fs::File),
    /// The file or its directory was just removed.
    Removed,
}

/// Files are marked with advisory locks, and can be renamed and removed while they are open.
#[cfg(unix)]
mod imp {
    use std::fs::{self, File, TryLockError};
    use std::io;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
    use std::path::Path;

    use super::Opened;

    /// Creates `path`, marked as in use until it is closed, and readable only by its owner if
    /// `is_private`. Returns None if another process considered it abandoned.
    pub(crate) fn create_in_use(path: &Path, is_private: bool) -> io::Result<Option<File>> {
        let mode = if is_private { 0o600 } else { 0o666 };
        let file = File::options().write(true).create_new(true).mode(mode).open(path)?;
        // Between its creation and its lock the file looks abandoned, so another process may have
        // locked or removed it. On file systems without locks, no file is removed as abandoned.
        let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || !path.try_exists()?;
        Ok((!is_taken).then_some(file))
    }

    /// Gives `file`, which only its owner can read so far, the owner, group and mode of the file at
    /// `path`, if there is one. Anyone who could not read that file cannot read `file` either. A
    /// private file keeps its own mode.
    pub(crate) fn keep_access(file: &File, path: &Path, is_private: bool) -> io::Result<()> {
        let (old, new) = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            old => (old?, file.metadata()?),
        };
        // Only root may change the owner; an owner may change the group to one of their own.
        if old.uid() != new.uid() {
            let _ = fchown(file, Some(old.uid()), None);
        }
        let mut mode = old.mode() & 0o777;
        if old.gid() != new.gid() && fchown(file, None, Some(old.gid())).is_err() {
            // Members of a different group get the same access as everyone else, and no more.
            let of_others = mode & 0o007;
            mode = (mode & 0o707) | (mode & (of_others << 3));
        }
        if is_private {
            return Ok(());
        }
        // A file system without modes rejects this. The file is then as private as the file system
        // allows.
        let _ = file.set_permissions(fs::Permissions::from_mode(mode));
        Ok(())
    }

    /// Removes `path` if no process has it in use.
    pub(crate) fn remove_if_abandoned(path: &Path) -> io::Result<()> {
        let file = File::options().write(true).open(path)?;
        file.try_lock()?;
        fs::remove_file(path)
    }

    /// Renames `from` to `to`, replacing it.
    pub(crate) fn replace(from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    /// Opens a lock file, creating it if it is missing.
    pub(crate) fn open_lock(path: &Path) -> io::Result<Opened> {
        let file = match File::options().read(true).write(true).create(true).truncate(false).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Opened::Removed),
            opened => opened?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Opened::Held(file)),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The previous holder may have removed the file between `open` and `try_lock`. Then the
        // path may already name another file with its own lock.
        Ok(if is_at(&file, path)? { Opened::Locked(file) } else { Opened::Removed })
    }

    /// Removes a lock file, and then releases the lock.
    pub(crate) fn remove_lock(path: &Path, file: File) {
        let _ = fs::remove_file(path);
        drop(file);
    }

    /// Whether `path` names the open `file`.
    fn is_at(file: &File, path: &Path) -> io::Result<bool> {
        let opened = file.metadata()?;
        match fs::metadata(path) {
            Ok(named) => Ok((named.dev(), named.ino()) == (opened.dev(), opened.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A file is marked by opening it for writing without sharing write access. Windows locks would
/// also keep readers out, so no other process could read who holds a lock.
#[cfg(windows)]
mod imp {
    use std::fs::{self, File};
    use std::io;
    use std::os::windows::fs::OpenOptionsExt;
    use std::path::Path;
    use std::time::Duration;

    use super::Opened;

    // Constants from winnt.h and winbase.h.
    const FILE_SHARE_READ: u32 = 1;
    const FILE_SHARE_DELETE: u32 = 4;
    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;

    // Constants from winerror.h. A file that is being deleted, or is open without sharing deletion,
    // causes the first.
    const ERROR_ACCESS_DENIED: i32 = 5;
    const ERROR_SHARING_VIOLATION: i32 = 32;

    /// Creates `path`, marked as in use until it is closed. Its folder determines who may read it.
    pub(crate) fn create_in_use(path: &Path, _is_private: bool) -> io::Result<Option<File>> {
        let shared = FILE_SHARE_READ | FILE_SHARE_DELETE;
        File::options().write(true).create_new(true).share_mode(shared).open(path).map(Some)
    }

    /// Does nothing: a file's folder determines who may read it.
    pub(crate) fn keep_access(_: &File, _: &Path, _is_private: bool) -> io::Result<()> {
        Ok(())
    }

    /// Removes `path` if no process has it in use.
    pub(crate) fn remove_if_abandoned(path: &Path) -> io::Result<()> {
        drop(File::options().write(true).open(path)?);
        fs::remove_file(path)
    }

    /// Renames `from` to `to`, replacing it. This fails while another process has `to` open, such
    /// as a virus scanner, an indexer or a reader, so it is retried.
    pub(crate) fn replace(from: &Path, to: &Path) -> io::Result<()> {
        patiently(|| fs::rename(from, to))
    }

    /// Opens a lock file, creating it if it is missing. The system removes it when it is closed,
    /// even if the process is killed.
    pub(crate) fn open_lock(path: &Path) -> io::Result<Opened> {
        let open = || {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false);
            options.share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE).custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
            match options.open(path) {
                Ok(file) => Ok(Opened::Locked(file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Opened::Removed),
                Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => {
                    // The holder may have closed it between the two calls.
                    Ok(File::open(path).map_or(Opened::Removed, Opened::Held))
                }
                Err(error) => Err(error),
            }
        };
        patiently(open)
    }

    /// Releases the lock. The system removes its file.
    pub(crate) fn remove_lock(_: &Path, file: File) {
        drop(file);
    }

    /// Retries `operation` for up to about two seconds while another process blocks it.
    fn patiently<T>(operation: impl Fn() -> io::Result<T>) -> io::Result<T> {
        for milliseconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] {
            match operation() {
                Err(error) if matches!(error.raw_os_error(), Some(ERROR_ACCESS_DENIED | ERROR_SHARING_VIOLATION)) => {
                    std::thread::sleep(Duration::from_millis(milliseconds));
                }
                result => return result,
            }
        }
        operation()
    }
}

pub(crate) use imp::{create_in_use, keep_access, open_lock, remove_if_abandoned, remove_lock, replace};
