//! Directory locks, for one writing process at a time.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::create_directory;
use crate::replacement::remove_abandoned;
use crate::system::{Opened, open_lock, remove_lock};

/// The lock file's name in a directory. The file contains the id of the process that holds the
/// lock.
const NAME: &str = ".lock";
/// Maximum wait for the id of a process that has just locked the directory. It may be slow to write
/// it, or be killed before.
const NAMING: Duration = Duration::from_secs(30);

/// An exclusive lock on a directory, held until this is dropped. Processes that only read the
/// directory need no lock: each file in it is complete at any moment.
///
/// The system releases the lock when the process ends for any reason. A killed process may leave
/// the file `.lock` behind, but it is not locked. Only processes that ask for the lock are kept
/// out.
#[derive(Debug)]
pub struct DirectoryLock {
    path: PathBuf,
    /// The locked file, until the lock is dropped.
    file: Option<File>,
    /// The directories that were created for it, innermost first.
    created: Vec<PathBuf>,
}

/// The error from locking a directory. Its messages name the directory.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds the lock.
    #[error(
        "{}: {} writes there: wait until it has ended, or choose another directory",
        directory.display(),
        process.map_or("another process".to_owned(), |id| format!("process {id}"))
    )]
    Held {
        /// The directory.
        directory: PathBuf,
        /// The process's id, if it can be read.
        process: Option<u32>,
    },
    /// The operating system's error.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The directory or its lock file.
        path: PathBuf,
        /// "create", "lock" or "write".
        action: &'static str,
        /// The cause.
        source: io::Error,
    },
}

impl DirectoryLock {
    /// Locks `directory`, creating it if it is missing, and removes the temporary files that killed
    /// processes left in it.
    ///
    /// # Errors
    /// If another process holds the lock, or the directory cannot be written to.
    pub fn acquire(directory: &Path) -> Result<Self, LockError> {
        let path = directory.join(NAME);
        let (mut created, start) = (Vec::new(), Instant::now());
        loop {
            created.extend(create_directory(directory).map_err(io_error(directory, "create"))?);
            let mut file = match open_lock(&path).map_err(io_error(&path, "lock"))? {
                Opened::Locked(file) => file,
                Opened::Held(mut file) => match holder(&mut file) {
                    Ok(None) if start.elapsed() < NAMING => {
                        std::thread::sleep(Duration::from_millis(1));
                        continue;
                    }
                    process => {
                        let process = process.ok().flatten();
                        return Err(LockError::Held { directory: directory.to_path_buf(), process });
                    }
                },
                Opened::Removed => continue,
            };
            // Every id is padded to the same length and written with one call, so a reader sees
            // either the previous holder's id or this one.
            let id = format!("{:>10}\n", std::process::id());
            file.write_all(id.as_bytes()).map_err(io_error(&path, "write"))?;
            remove_abandoned(directory, None);
            return Ok(Self { path, file: Some(file), created });
        }
    }
}

impl Drop for DirectoryLock {
    /// Removes the lock file, and the created directories if they are empty.
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            remove_lock(&self.path, file);
        }
        let _ = self.created.iter().try_for_each(fs::remove_dir);
    }
}

/// The process id in the lock file; `None` if the holder has not written it yet.
fn holder(file: &mut File) -> io::Result<Option<u32>> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text.trim().parse().ok())
}

fn io_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> LockError {
    let path = path.to_path_buf();
    move |source| LockError::Io { path, action, source }
}
