//! Runs a test with a given driver library.
//!
//! A process opens the driver library only once. To choose it, the test executable therefore
//! restarts itself with the library's name in the environment, and runs the one test there.

use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::{Need, in_own_process, is_own_process, skip};

/// Runs `body`, the body of the test `test`, in its own process with `library` as the driver
/// library.
///
/// # Panics
/// If the test fails there, or there is no test of that name.
pub(crate) fn with_library(test: &str, library: &Path, body: impl FnOnce()) {
    let set_up = |child: &mut Command| {
        child.env("CUDA_DRIVER_LIBRARY", library);
    };
    in_own_process(test, set_up, body);
}

/// Runs `body`, the body of the test `test`, with the stand-in, compiled with `defines`, as the driver's library.
///
/// Without a C compiler the test is skipped.
///
/// # Panics
/// If the stand-in does not compile, or the test fails.
pub(crate) fn with_stand_in(test: &str, defines: &[&str], body: impl FnOnce()) {
    if is_own_process() {
        return body();
    }
    match compile_stand_in(test, defines) {
        Some(library) => with_library(test, &library, body),
        None => skip(Need::Cc, "it needs a C compiler for Unix, by the name in CC, else cc"),
    }
}

fn compile_stand_in(test: &str, defines: &[&str]) -> Option<PathBuf> {
    if !cfg!(unix) {
        return None;
    }
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("libcuda-{test}.so"));
    // Built under another name: the same test in another process may have loaded the library.
    let made = library.with_extension(format!("{}.so", std::process::id()));
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler)
        .args(["-shared", "-fPIC", "-Wall", "-Wextra"])
        .args(defines.iter().map(|define| format!("-D{define}")))
        .arg("-o")
        .arg(&made)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/stand_in.c"))
        .output()
        .ok()?;
    assert!(output.status.success(), "the stand-in does not compile: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(made, &library).expect("the library was written");
    Some(library)
}
