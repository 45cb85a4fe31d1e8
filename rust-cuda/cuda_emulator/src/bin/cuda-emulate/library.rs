//! The emulator's library, placed in a folder where programs find it under NVIDIA's names.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use tempfile::TempDir;
use thiserror::Error;

use crate::stand_in;

/// Names that programs use to find the driver.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else if cfg!(target_os = "macos") {
    &["libcuda.dylib"]
} else {
    &["libcuda.so.1", "libcuda.so"]
};
/// Names of nvJitLink, which links binaries. The emulator cannot run binaries, so its library
/// implements these functions too and keeps PTX.
const LINKER_NAMES: &[&str] =
    if cfg!(target_os = "linux") { &["libnvJitLink.so.12", "libnvJitLink.so.13"] } else { &[] };

/// Names of NVRTC, the runtime compiler. The emulator's functions call NVIDIA's and return PTX
/// instead of a binary.
const COMPILER_NAMES: &[&str] = if cfg!(target_os = "linux") { &["libnvrtc.so.12", "libnvrtc.so.13"] } else { &[] };

/// Names of the runtime library. The emulator's library implements its functions too.
const RUNTIME_NAMES: &[&str] = if cfg!(target_os = "linux") { &["libcudart.so.12", "libcudart.so.13"] } else { &[] };

/// Environment variable with the search path for libraries.
const SEARCH_PATH: &str = if cfg!(windows) {
    "PATH"
} else if cfg!(target_os = "macos") {
    "DYLD_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// Reason why the library cannot be used.
#[derive(Debug, Error)]
pub(crate) enum LibraryError {
    #[error("{} is missing beside this program: build it with `cargo build -p cuda_emulator`", path.display())]
    Missing { path: PathBuf },
    #[error("a temporary folder cannot be made: {0}")]
    Folder(#[from] io::Error),
}

/// The path of the library: beside this program, or where Cargo built it for this program.
pub(crate) fn path() -> Result<PathBuf, LibraryError> {
    let file = format!("{DLL_PREFIX}cuda_emulator{DLL_SUFFIX}");
    let program = std::env::current_exe()?;
    let beside = program.with_file_name(&file);
    let built = program.with_file_name("deps").join(&file);
    // Cargo always updates the file in `deps`, but the other only when the library itself is
    // requested.
    [built, beside.clone()].into_iter().find(|path| path.is_file()).ok_or(LibraryError::Missing { path: beside })
}

/// A module that every Python interpreter loads at startup.
const STARTUP: &str = "sitecustomize.py";
const STARTUP_TEXT: &str = include_str!("sitecustomize.py");

/// The Python module that fails a test when a kernel has an error, and the names by which pytest
/// and Python find it.
const PLUGIN: &str = "cuda_emulate_pytest";
const PLUGIN_TEXT: &str = include_str!("pytest_plugin.py");
const PLUGINS: &str = "PYTEST_PLUGINS";
const PYTHON_PATH: &str = "PYTHONPATH";

/// A folder with the library and one for reports. Both are deleted when this value is dropped.
pub(crate) struct Folder {
    folder: TempDir,
    reports: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Result<Self, LibraryError> {
        let library = path()?;
        let folder = tempfile::Builder::new().prefix("cuda-emulate-").tempdir()?;
        for name in NAMES.iter().chain(LINKER_NAMES).chain(COMPILER_NAMES) {
            link(&library, &folder.path().join(name))?;
        }
        for name in RUNTIME_NAMES {
            fs::write(folder.path().join(name), stand_in::library(name, NAMES[0]))?;
        }
        let reports = folder.path().join("reports");
        fs::create_dir(&reports)?;
        let made = Self { folder, reports };
        fs::create_dir(made.python())?;
        fs::write(made.python().join(STARTUP), STARTUP_TEXT)?;
        Ok(made)
    }

    /// The folder that each Python process of the program searches first for modules.
    fn python(&self) -> PathBuf {
        self.folder.path().join("python")
    }

    /// The folder where processes write their reports.
    pub(crate) fn reports(&self) -> &Path {
        &self.reports
    }

    /// Makes pytest load the plugin in each Python process that the program starts.
    ///
    /// # Errors
    /// If the plugin cannot be written.
    pub(crate) fn add_plugin_to(&self, command: &mut Command) -> io::Result<()> {
        fs::write(self.python().join(format!("{PLUGIN}.py")), PLUGIN_TEXT)?;
        let others = std::env::var(PLUGINS).unwrap_or_default();
        command.env(PLUGINS, if others.is_empty() { PLUGIN.to_owned() } else { format!("{others},{PLUGIN}") });
        Ok(())
    }

    /// Makes a program find this library before any other of its name.
    pub(crate) fn add_to(&self, command: &mut Command) {
        command.env(SEARCH_PATH, in_front_of(self.folder.path(), SEARCH_PATH));
        command.env(PYTHON_PATH, in_front_of(&self.python(), PYTHON_PATH));
        // Programs that use this project's `cust` look for this file first.
        command.env("CUDA_DRIVER_LIBRARY", self.folder.path().join(NAMES[0]));
    }
}

/// The folders listed in a variable, with `folder` in front.
fn in_front_of(folder: &Path, variable: &str) -> OsString {
    let others = std::env::var_os(variable).unwrap_or_default();
    let folders = [folder.to_owned()].into_iter().chain(std::env::split_paths(&others));
    let folders = folders.filter(|folder| !folder.as_os_str().is_empty());
    std::env::join_paths(folders).unwrap_or_else(|_| OsString::from(folder))
}

#[cfg(unix)]
fn link(library: &Path, name: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(library, name)
}

#[cfg(not(unix))]
fn link(library: &Path, name: &Path) -> io::Result<()> {
    fs::copy(library, name).map(drop)
}
