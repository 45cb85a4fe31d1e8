//! The emulator's library, in a folder where a program finds it under the name of NVIDIA's.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use tempfile::TempDir;
use thiserror::Error;

/// Names under which programs look for the driver.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else if cfg!(target_os = "macos") {
    &["libcuda.dylib"]
} else {
    &["libcuda.so.1", "libcuda.so"]
};
/// Names of a linker that makes binaries, which the emulator cannot run. Programs that find a library of that name without the
/// linker's functions link with the driver's, which keep PTX: Python's cuda-core does.
const LINKER_NAMES: &[&str] =
    if cfg!(target_os = "linux") { &["libnvJitLink.so.12", "libnvJitLink.so.13"] } else { &[] };

/// Variable that lists where they look.
const SEARCH_PATH: &str = if cfg!(windows) {
    "PATH"
} else if cfg!(target_os = "macos") {
    "DYLD_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// Why there is no library.
#[derive(Debug, Error)]
pub(crate) enum LibraryError {
    #[error("{} is missing beside this program: build it with `cargo build -p cuda_emulator`", path.display())]
    Missing { path: PathBuf },
    #[error("a temporary folder cannot be made: {0}")]
    Folder(#[from] io::Error),
}

/// The library, which is beside this program, or where Cargo has built it for this program.
pub(crate) fn path() -> Result<PathBuf, LibraryError> {
    let file = format!("{DLL_PREFIX}cuda_emulator{DLL_SUFFIX}");
    let program = std::env::current_exe()?;
    let beside = program.with_file_name(&file);
    let built = program.with_file_name("deps").join(&file);
    // Cargo updates the file in `deps`, and the other only when the library itself is asked for.
    [built, beside.clone()].into_iter().find(|path| path.is_file()).ok_or(LibraryError::Missing { path: beside })
}

/// A folder with the library, and one for reports, which end with this value.
pub(crate) struct Folder {
    folder: TempDir,
    reports: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Result<Self, LibraryError> {
        let library = path()?;
        let folder = tempfile::Builder::new().prefix("cuda-emulate-").tempdir()?;
        for name in NAMES.iter().chain(LINKER_NAMES) {
            link(&library, &folder.path().join(name))?;
        }
        let reports = folder.path().join("reports");
        fs::create_dir(&reports)?;
        Ok(Self { folder, reports })
    }

    /// Where processes write their reports.
    pub(crate) fn reports(&self) -> &Path {
        &self.reports
    }

    /// Has a program find the library before any other of its name.
    pub(crate) fn add_to(&self, command: &mut Command) {
        let others = std::env::var_os(SEARCH_PATH).unwrap_or_default();
        let folders = [self.folder.path().to_owned()].into_iter().chain(std::env::split_paths(&others));
        let folders = folders.filter(|folder| !folder.as_os_str().is_empty());
        let path = std::env::join_paths(folders).unwrap_or_else(|_| OsString::from(self.folder.path()));
        command.env(SEARCH_PATH, path);
        // Programs with `cust` here look for this one first.
        command.env("CUDA_DRIVER_LIBRARY", self.folder.path().join(NAMES[0]));
    }
}

#[cfg(unix)]
fn link(library: &Path, name: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(library, name)
}

#[cfg(not(unix))]
fn link(library: &Path, name: &Path) -> io::Result<()> {
    fs::copy(library, name).map(drop)
}
