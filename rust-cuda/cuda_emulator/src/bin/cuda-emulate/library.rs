//! The emulator's library, in a folder where a program finds it under the name of NVIDIA's.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use tempfile::TempDir;
use thiserror::Error;

use crate::stand_in;

/// Names under which programs look for the driver.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else if cfg!(target_os = "macos") {
    &["libcuda.dylib"]
} else {
    &["libcuda.so.1", "libcuda.so"]
};
/// Names of a linker that makes binaries, which the emulator cannot run: the library has its functions too, and keeps PTX.
const LINKER_NAMES: &[&str] =
    if cfg!(target_os = "linux") { &["libnvJitLink.so.12", "libnvJitLink.so.13"] } else { &[] };

/// Names of a compiler at run time. The library's functions call NVIDIA's, and give PTX in the place of a binary.
const COMPILER_NAMES: &[&str] = if cfg!(target_os = "linux") { &["libnvrtc.so.12", "libnvrtc.so.13"] } else { &[] };

/// Names of the runtime library, whose functions the library has too.
const RUNTIME_NAMES: &[&str] = if cfg!(target_os = "linux") { &["libcudart.so.12", "libcudart.so.13"] } else { &[] };

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

/// The module that each Python loads at its start.
const STARTUP: &str = "sitecustomize.py";
const STARTUP_TEXT: &str = include_str!("sitecustomize.py");

/// The module of Python that fails a test with a fault, and where pytest and Python look for it.
const PLUGIN: &str = "cuda_emulate_pytest";
const PLUGIN_TEXT: &str = include_str!("pytest_plugin.py");
const PLUGINS: &str = "PYTEST_PLUGINS";
const PYTHON_PATH: &str = "PYTHONPATH";

/// A folder with the library, and one for reports, which end with this value.
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

    /// Where each Python that the program starts looks for modules first.
    fn python(&self) -> PathBuf {
        self.folder.path().join("python")
    }

    /// Where processes write their reports.
    pub(crate) fn reports(&self) -> &Path {
        &self.reports
    }

    /// Has pytest load the plugin, in each Python that the program starts.
    ///
    /// # Errors
    /// If the plugin cannot be written.
    pub(crate) fn add_plugin_to(&self, command: &mut Command) -> io::Result<()> {
        fs::write(self.python().join(format!("{PLUGIN}.py")), PLUGIN_TEXT)?;
        let others = std::env::var(PLUGINS).unwrap_or_default();
        command.env(PLUGINS, if others.is_empty() { PLUGIN.to_owned() } else { format!("{others},{PLUGIN}") });
        Ok(())
    }

    /// Has a program find the library before any other of its name.
    pub(crate) fn add_to(&self, command: &mut Command) {
        command.env(SEARCH_PATH, in_front_of(self.folder.path(), SEARCH_PATH));
        command.env(PYTHON_PATH, in_front_of(&self.python(), PYTHON_PATH));
        // Programs with `cust` here look for this one first.
        command.env("CUDA_DRIVER_LIBRARY", self.folder.path().join(NAMES[0]));
    }
}

/// The list of folders in a variable, with one in front.
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
