//! Compiles the stand-in for the CUDA driver. Tests in other packages include this file too.

use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::{Need, skip};

/// Compiles the stand-in library with `defines` for the test `test`. A process with its path in the
/// environment variable `CUDA_DRIVER_LIBRARY` uses it as the driver.
///
/// Returns None without a C compiler, and records the test as skipped.
///
/// # Panics
/// If the stand-in does not compile.
pub(crate) fn compile(test: &str, defines: &[&str]) -> Option<PathBuf> {
    let library = compile_if_possible(test, defines);
    if library.is_none() {
        skip(Need::Cc, "it needs a C compiler for Unix, by the name in CC, else cc");
    }
    library
}

fn compile_if_possible(test: &str, defines: &[&str]) -> Option<PathBuf> {
    if !cfg!(unix) {
        return None;
    }
    let name = format!("libcuda-{}-{test}", env!("CARGO_PKG_NAME"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = folder.join(format!("{name}.so"));
    // Built under another name: the same test in another process may have loaded the library.
    let [source, made] = ["c", "so"].map(|extension| folder.join(format!("{name}-{}.{extension}", std::process::id())));
    std::fs::write(&source, include_str!("stand_in.c")).expect("the target's folder can be written to");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler)
        .args(["-shared", "-fPIC", "-Wall", "-Wextra"])
        .args(defines.iter().map(|define| format!("-D{define}")))
        .arg("-o")
        .arg(&made)
        .arg(&source)
        .output();
    std::fs::remove_file(&source).expect("the source was written");
    let output = output.ok()?;
    assert!(output.status.success(), "the stand-in does not compile: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(made, &library).expect("the library was written");
    Some(library)
}
