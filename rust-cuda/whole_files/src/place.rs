//! Resolves where a path leads.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf, is_separator};

/// The target of a path.
#[derive(Debug)]
pub(crate) enum Place {
    /// A regular file, or nothing yet. The path is not a link.
    File(PathBuf),
    /// A pipe, a device, or one of this process's open files.
    #[cfg_attr(not(unix), allow(dead_code, reason = "there, everything is replaced"))]
    Stream(Stream),
}

impl Place {
    /// # Errors
    /// If `path` is a directory, or its links form a loop.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let ends_in_separator =
            path.as_os_str().as_encoded_bytes().last().is_some_and(|&byte| is_separator(byte.into()));
        if ends_in_separator || path.file_name().is_none() || path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        imp::place_of(path)
    }
}

#[cfg(unix)]
mod imp {
    use std::fs;
    use std::os::fd::AsFd;

    use super::{File, Path, PathBuf, Place, io};
    use crate::directory_of;

    /// Maximum number of links, as on Linux.
    const MAX_LINKS: usize = 40;

    /// A target that is written to directly.
    #[derive(Debug)]
    pub(crate) enum Stream {
        /// This process's standard output.
        Output,
        /// Its standard error.
        Error,
        /// A pipe or a device.
        Named(PathBuf),
    }

    impl Stream {
        /// Opens it for writing at its end. Waits for the reader of a named pipe.
        pub(crate) fn open(&self) -> io::Result<File> {
            // If standard output is a file, opening it by name would write from its beginning.
            match self {
                Self::Output => io::stdout().as_fd().try_clone_to_owned().map(File::from),
                Self::Error => io::stderr().as_fd().try_clone_to_owned().map(File::from),
                Self::Named(path) => File::options().append(true).open(path),
            }
        }
    }

    pub(crate) fn place_of(path: &Path) -> io::Result<Place> {
        let mut place = path.to_path_buf();
        for _ in 0..MAX_LINKS {
            // In these directories, a link's text is not necessarily a path.
            if let Some(stream) = open_file(&place) {
                return Ok(Place::Stream(stream));
            }
            match fs::symlink_metadata(&place) {
                Ok(found) if found.is_symlink() => place = directory_of(&place).join(fs::read_link(&place)?),
                Ok(found) if !found.is_file() => return Ok(Place::Stream(Stream::Named(place))),
                Ok(_) => return Ok(Place::File(place)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Place::File(place)),
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("its symbolic links form a loop: remove them, or choose another file"))
    }

    /// The open file that a name such as `/dev/fd/1` refers to, whatever its kind.
    fn open_file(path: &Path) -> Option<Stream> {
        let number: u32 = path.file_name()?.to_str()?.parse().ok()?;
        let directory = directory_of(path).canonicalize().ok()?;
        let of_this_process = Path::new("/proc").join(std::process::id().to_string()).join("fd");
        let is_of_this_process = directory == of_this_process || directory == Path::new("/dev/fd");
        let is_of_any = is_of_this_process || (directory.starts_with("/proc") && directory.ends_with("fd"));
        is_of_any.then(|| match number {
            1 if is_of_this_process => Stream::Output,
            2 if is_of_this_process => Stream::Error,
            _ => Stream::Named(path.to_path_buf()),
        })
    }
}

#[cfg(not(unix))]
mod imp {
    use super::{File, Path, Place, io};

    /// On this system, everything is replaced.
    #[derive(Debug)]
    pub(crate) enum Stream {}

    impl Stream {
        pub(crate) fn open(&self) -> io::Result<File> {
            match *self {}
        }
    }

    pub(crate) fn place_of(path: &Path) -> io::Result<Place> {
        Ok(Place::File(path.to_path_buf()))
    }
}

pub(crate) use imp::Stream;
