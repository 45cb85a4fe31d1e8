//! `MPI_LIBRARY` names a library that cannot be used: the error names the variable, its value, the
//! reason and what to do about it, whether or not an MPI is installed. Each case is a separate
//! process, since the library is opened once.

use std::ffi::OsStr;
use std::process::Command;

use mpi_driver::{Unavailable, Universe};

/// The output about the library from a process with this value of `MPI_LIBRARY`.
fn with(value: &OsStr) -> String {
    let mut process = Command::new(std::env::current_exe().expect("this program has a path"));
    process.args(["--exact", "a_process_with_its_library", "--ignored", "--nocapture", "--test-threads=1"]);
    let output = process.env("MPI_LIBRARY", value).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    text.into_owned()
}

#[test]
#[ignore = "it is a process of the other tests"]
fn a_process_with_its_library() {
    match Universe::available() {
        Ok((library, _)) => println!("found {library}"),
        Err(error @ Unavailable::NamedLibrary { .. }) => println!("named: {error}"),
        Err(error) => println!("error: {error}"),
    }
}

#[track_caller]
fn assert_names(value: &OsStr, reason: &str) {
    let text = with(value);
    let start = format!("named: the environment variable MPI_LIBRARY names {}, which", value.to_string_lossy());
    let line = text.lines().find(|line| line.contains(&start)).unwrap_or_else(|| panic!("{start} is not in {text}"));
    assert!(line.contains(reason), "{line}");
    assert!(line.ends_with("unset it to use an MPI that is installed, or name the library of one"), "{line}");
}

#[test]
fn a_file_that_does_not_exist_is_named() {
    assert_names("there-is-none.so".as_ref(), "there-is-none.so");
}

#[test]
fn a_file_that_is_no_library_is_named() {
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    assert_names(text.as_ref(), "cannot be used (");
}

#[cfg(target_os = "linux")]
#[test]
fn a_library_that_is_no_mpi_is_named() {
    assert_names("libc.so.6".as_ref(), "libc.so.6 has no MPI_Init_thread: is it an MPI library?");
}

#[cfg(unix)]
#[test]
fn a_value_that_is_not_unicode_is_not_ignored() {
    use std::os::unix::ffi::OsStrExt;

    assert_names(OsStr::from_bytes(b"none-\xff.so"), "none-");
}

#[test]
fn an_empty_value_is_as_none() {
    let text = with("".as_ref());
    assert!(
        !text.contains("MPI_LIBRARY") && (text.contains("found ") || text.contains("no MPI on this machine")),
        "{text}"
    );
}
