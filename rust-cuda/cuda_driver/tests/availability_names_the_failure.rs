//! `availability` distinguishes the possible failures of a machine's driver, and each message has a
//! hint on how to fix it.

mod support;

use cuda_driver::{DriverVersion, Unavailable, availability, library_path};
use support::{with_library, with_stand_in};

/// A library that does not exist.
const ABSENT: &str = "no-such-libcuda.so.1";

/// The path of the stand-in.
fn stand_in() -> std::path::PathBuf {
    library_path().expect("the stand-in is open").to_path_buf()
}

#[test]
fn a_good_driver_has_a_version_and_a_file() {
    with_stand_in("a_good_driver_has_a_version_and_a_file", &[], || {
        assert_eq!(availability(), Ok(DriverVersion { major: 13, minor: 0 }));
        let named = std::env::var_os("CUDA_DRIVER_LIBRARY").expect("the test sets it");
        assert_eq!(stand_in(), std::path::Path::new(&named).canonicalize().unwrap());
    });
}

#[test]
fn no_library() {
    with_library("no_library", ABSENT.as_ref(), || {
        let reason = availability().unwrap_err();
        assert_eq!(reason, Unavailable::NoLibrary { library: ABSENT.into() });
        let line =
            "no CUDA driver (no-such-libcuda.so.1) on this machine: to use an NVIDIA GPU, install the NVIDIA driver";
        assert_eq!(reason.to_string(), line);
        assert_eq!(library_path(), None);
    });
}

#[test]
#[cfg(unix)]
fn a_file_that_is_no_library() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    with_library("a_file_that_is_no_library", &file, || {
        let reason = availability().unwrap_err();
        assert!(matches!(&reason, Unavailable::LibraryNotLoadable { library, .. } if *library == file), "{reason:?}");
        assert!(reason.to_string().ends_with(": reinstall the NVIDIA driver"), "{reason}");
    });
}

#[test]
fn too_old() {
    with_stand_in("too_old", &["VERSION=10020"], || {
        let found = DriverVersion { major: 10, minor: 2 };
        let reason = availability().unwrap_err();
        assert_eq!(reason, Unavailable::TooOld { library: stand_in(), found, needed: DriverVersion::MIN_SUPPORTED });
        let line = reason.to_string();
        assert!(line.ends_with("is for CUDA 10.2, and 11.0 or newer is needed: update the NVIDIA driver"), "{line}");
    });
}

#[test]
fn a_missing_symbol_is_named() {
    with_stand_in("a_missing_symbol_is_named", &["NO_LAUNCH"], || {
        let reason = availability().unwrap_err();
        assert_eq!(reason, Unavailable::MissingSymbol { library: stand_in(), symbol: "cuLaunchKernel" });
        assert!(reason.to_string().ends_with("has no cuLaunchKernel: update the NVIDIA driver"), "{reason}");
    });
}

#[test]
fn no_device_according_to_init() {
    with_stand_in("no_device_according_to_init", &["INIT_RESULT=100", "DEVICES=0"], || {
        let reason = availability().unwrap_err();
        let version = DriverVersion { major: 13, minor: 0 };
        assert_eq!(reason, Unavailable::NoDevice { library: stand_in(), version });
        let line = reason.to_string();
        assert!(line.contains("(CUDA 13.0) finds no device") && line.contains("CUDA_VISIBLE_DEVICES"), "{line}");
    });
}

#[test]
fn no_device_according_to_the_count() {
    with_stand_in("no_device_according_to_the_count", &["DEVICES=0"], || {
        assert!(matches!(availability(), Err(Unavailable::NoDevice { .. })));
    });
}

#[test]
fn init_fails() {
    with_stand_in("init_fails", &["INIT_RESULT=803", "MUTE"], || {
        let line = availability().unwrap_err().to_string();
        let end =
            "cuInit returned CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): the driver was updated; restart the machine";
        assert!(line.ends_with(end), "{line}");
    });
}

#[test]
fn init_fails_with_an_error_newer_than_cuda_11() {
    with_stand_in("init_fails_with_an_error_newer_than_cuda_11", &["INIT_RESULT=46"], || {
        let line = availability().unwrap_err().to_string();
        assert!(line.contains("cuInit returned CUDA_ERROR_DEVICE_UNAVAILABLE (46)"), "{line}");
    });
}
