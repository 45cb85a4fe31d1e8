//! The runtime library's version: the one under which a program loaded this library.

use std::ffi::c_int;

use crate::driver;
use crate::error::Result;

/// The version reported for CUDA 12.
const TWELVE: c_int = 12_090;

/// The version as a number, such as 12090. A program that loaded only `libcudart.so.12` gets a
/// version 12; any other gets the driver's.
///
/// # Errors
/// `INVALID_VALUE` if the environment is invalid.
pub(crate) fn number() -> Result<c_int> {
    let of_driver = driver::version()?;
    Ok(if is_twelve() { of_driver.min(TWELVE) } else { of_driver })
}

/// Whether the program was built for CUDA 12.
pub(crate) fn is_twelve() -> bool {
    let is_loaded = |major: u32| is_loaded(&format!("libcudart.so.{major}\0"));
    match (is_loaded(12), is_loaded(13)) {
        (true, false) => true,
        (false, true) => false,
        _ => driver::version().is_ok_and(|version| version < 13_000),
    }
}

/// Whether the process has loaded a library under this name. The name ends with a zero.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "calls of the dynamic linker")]
fn is_loaded(name: &str) -> bool {
    let name = std::ffi::CStr::from_bytes_until_nul(name.as_bytes()).expect("the name ends with a zero");
    // SAFETY: the name is a C string. With this flag the function loads nothing and runs no library
    // code.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if library.is_null() {
        return false;
    }
    // SAFETY: the handle comes from the call above, which added one reference to the library.
    unsafe { libc::dlclose(library) };
    true
}

#[cfg(not(target_os = "linux"))]
fn is_loaded(_: &str) -> bool {
    false
}
