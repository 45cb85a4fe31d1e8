//! The driver's library, opened once and never closed.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::unavailable::Unavailable;

/// Paths of the driver's library. The dynamic linker finds the first on most systems. The others
/// are the paths in WSL, in NixOS, and in containers that mount the driver.
#[cfg(not(any(windows, target_os = "macos")))]
const CANDIDATES: &[&str] = &[
    "libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
];
#[cfg(windows)]
const CANDIDATES: &[&str] = &["nvcuda.dll"];
#[cfg(target_os = "macos")]
const CANDIDATES: &[&str] = &["libcuda.dylib"];

/// The opened library.
pub(crate) struct Library {
    handle: libloading::Library,
    /// The file that it was opened from: the full path if the system reports it, otherwise the name
    /// that was opened.
    pub(crate) path: PathBuf,
}

impl Library {
    /// Returns the library, or the reason why it cannot be opened. The first call opens it.
    pub(crate) fn get() -> Result<&'static Self, &'static Unavailable> {
        static LIBRARY: OnceLock<Result<Library, Unavailable>> = OnceLock::new();
        LIBRARY.get_or_init(Self::open).as_ref()
    }

    /// The address of the function `name`, if the library contains it.
    ///
    /// # Safety
    /// `F` is the type of that function, an `unsafe extern "C" fn`.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: the caller guarantees the type `F`. The address outlives the symbol, because the
        // library is never closed.
        unsafe { self.handle.get::<F>(name) }.ok().map(|symbol| *symbol)
    }

    /// Whether the library has a function `name`.
    #[allow(unsafe_code)]
    pub(crate) fn has(&self, name: &str) -> bool {
        // SAFETY: the pointer is not called, so its type does not matter.
        unsafe { self.function::<unsafe extern "C" fn()>(name) }.is_some()
    }

    fn open() -> Result<Self, Unavailable> {
        let named = std::env::var_os("CUDA_DRIVER_LIBRARY").filter(|name| !name.is_empty());
        let candidates = match named {
            Some(name) => vec![name],
            None => CANDIDATES.iter().map(OsString::from).collect(),
        };
        let mut errors = Vec::new();
        for candidate in &candidates {
            match Self::open_file(Path::new(candidate)) {
                Ok(library) => return Ok(library),
                Err(error) => errors.push(error),
            }
        }
        // Prefer the error of a library that exists but cannot be loaded to the error of a missing
        // library.
        let specific = errors.iter().position(|error| !matches!(error, Unavailable::NoLibrary { .. }));
        Err(errors.swap_remove(specific.unwrap_or(0)))
    }

    #[allow(unsafe_code)]
    fn open_file(file: &Path) -> Result<Self, Unavailable> {
        // SAFETY: opening runs the library's initializers. They belong to NVIDIA's driver, which
        // supports dlopen, or to a file that the user chose in the environment.
        let handle = unsafe { libloading::Library::new(file) }.map_err(|error| {
            // libloading's error only names the call, dlopen. Its source is the dynamic linker's
            // message.
            let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            match is_absence(file, &reason) {
                true => Unavailable::NoLibrary { library: file.to_path_buf() },
                false => Unavailable::LibraryNotLoadable { library: file.to_path_buf(), reason },
            }
        })?;
        let mut library = Self { handle, path: file.to_path_buf() };
        if let Some(path) = library.loaded_from() {
            library.path = path;
        }
        Ok(library)
    }

    /// The file that the dynamic linker found, with links resolved. Its name contains the driver's
    /// version: libcuda.so.550.54.14.
    #[cfg(unix)]
    #[allow(unsafe_code)]
    fn loaded_from(&self) -> Option<PathBuf> {
        use std::ffi::{CStr, OsStr, c_int, c_uint};
        use std::os::unix::ffi::OsStrExt;

        // SAFETY: this is the type of cuInit in cuda.h.
        let address = unsafe { self.function::<unsafe extern "C" fn(c_uint) -> c_int>("cuInit") }?;
        let mut information = libc::Dl_info {
            dli_fname: std::ptr::null(),
            dli_fbase: std::ptr::null_mut(),
            dli_sname: std::ptr::null(),
            dli_saddr: std::ptr::null_mut(),
        };
        // SAFETY: dladdr accepts any address, and writes only to `information`.
        let found = unsafe { libc::dladdr(address as *const libc::c_void, &raw mut information) };
        if found == 0 || information.dli_fname.is_null() {
            return None;
        }
        // SAFETY: dladdr found the library, so the name is a C string that lives as long as the library is open.
        let name = unsafe { CStr::from_ptr(information.dli_fname) };
        Path::new(OsStr::from_bytes(name.to_bytes())).canonicalize().ok()
    }

    #[cfg(not(unix))]
    fn loaded_from(&self) -> Option<PathBuf> {
        None
    }
}

/// The file that the driver's library was opened from; None if it cannot be opened.
///
/// On Windows it is the name that was opened; elsewhere it is the full path with links resolved.
pub fn library_path() -> Option<&'static Path> {
    Library::get().ok().map(|library| library.path.as_path())
}

/// Whether `reason`, the dynamic linker's message, says that `file` itself is missing and not one
/// of its dependencies.
///
/// There is no error code, only the message: "no such file" from glibc, musl and macOS.
#[cfg(not(windows))]
fn is_absence(file: &Path, reason: &str) -> bool {
    let reason = reason.to_lowercase();
    reason.contains("no such file") && reason.contains(&file.to_string_lossy().to_lowercase())
}

/// Whether `reason`, the system's message, says that `file` itself is missing and not one of its
/// dependencies.
///
/// ERROR_MOD_NOT_FOUND can mean either. So search for the file where LoadLibrary does: in the
/// program's folder, the system's folder, the current folder, and the folders in PATH.
#[cfg(windows)]
fn is_absence(file: &Path, reason: &str) -> bool {
    if !reason.contains("os error 126") {
        return false;
    }
    let of_program = std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_path_buf));
    let of_system = std::env::var_os("SystemRoot").map(|root| Path::new(&root).join("System32"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = of_program.into_iter().chain(of_system).chain([PathBuf::new()]);
    !folders.chain(std::env::split_paths(&path)).any(|folder| folder.join(file).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(windows)]
    #[test]
    fn a_missing_library_is_distinguished_from_a_missing_dependency() {
        let reason = "The specified module could not be found. (os error 126)";
        assert!(is_absence(Path::new("no-such-library.dll"), reason));
        assert!(!is_absence(Path::new("kernel32.dll"), reason));
        assert!(!is_absence(Path::new("no-such-library.dll"), "%1 is not a valid Win32 application. (os error 193)"));
    }

    #[cfg(not(windows))]
    #[test]
    fn a_missing_library_is_distinguished_from_a_missing_dependency() {
        let file = Path::new("libcuda.so.1");
        assert!(is_absence(file, "libcuda.so.1: cannot open shared object file: No such file or directory"));
        assert!(is_absence(file, "Error loading shared library libcuda.so.1: No such file or directory"));
        assert!(!is_absence(file, "libnvidia-x.so: cannot open shared object file: No such file or directory"));
        assert!(!is_absence(file, "libcuda.so.1: file too short"));
    }
}
