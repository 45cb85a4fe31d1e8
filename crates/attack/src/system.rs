//! What differs between systems.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitStatus;

/// The signal that ended a process.
#[cfg(unix)]
pub(crate) fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// None: there are no signals.
#[cfg(not(unix))]
pub(crate) fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// An argument that is not Unicode.
#[cfg(unix)]
pub(crate) fn not_unicode() -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(b"not\xffUTF-8\xfe".to_vec())
}

/// An argument that is not Unicode: half of a surrogate pair.
#[cfg(windows)]
pub(crate) fn not_unicode() -> OsString {
    std::os::windows::ffi::OsStringExt::from_wide(&[0x6e, 0xd800, 0x6e])
}

/// Makes a link to a file that does not exist.
#[cfg(unix)]
pub(crate) fn dangling_link(link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink("nowhere", link)
}

/// Makes none: links need a right that users do not have.
#[cfg(windows)]
pub(crate) fn dangling_link(_: &Path) -> io::Result<()> {
    Ok(())
}
