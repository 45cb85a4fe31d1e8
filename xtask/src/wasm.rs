//! Builds WebAssembly modules for the pages, with the toolchain that compiles PTX.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use cuda_builder::{Arch, find_toolchain, toolchain_candidates};

use crate::capture::stdout_of;
use crate::workspace_root;

/// The target of the modules.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";
/// Environment variables that configure the cargo profile.
pub(crate) const PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_LTO", "true"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
];

/// Compiles the crate in a folder to a WebAssembly module, as part of the workspace around it.
/// `std` lists the crates of the standard library that it needs.
pub(crate) fn compile(folder: &Path, package: &str, flags: &[&str], std: &str) -> Result<Vec<u8>> {
    let toolchain = find_toolchain(&toolchain_candidates(), Arch::Sm75, workspace_root()).map_err(|rejected| {
        let reasons: Vec<String> = rejected.iter().map(ToString::to_string).collect();
        anyhow!("no toolchain for WebAssembly: {}; cargo xtask doctor names a fix", reasons.join("; "))
    })?;
    let target_directory = workspace_root().join("target/wasm");
    let mut cargo = toolchain.cargo_command();
    cargo
        .current_dir(folder)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker()?)
        .envs(PROFILE)
        .args(["rustc", "--quiet", "--release", "--lib", "--crate-type", "cdylib", "--locked"])
        .args(["--target", TARGET, &format!("-Zbuild-std={std}"), "--target-dir"])
        .arg(&target_directory);
    let output = cargo.output().with_context(|| format!("cannot start {}", toolchain.cargo.display()))?;
    ensure!(
        output.status.success(),
        "{} does not compile the page's module:\n{}",
        toolchain.compiler,
        String::from_utf8_lossy(&output.stderr)
    );
    let path = target_directory.join(TARGET).join(format!("release/{package}.wasm"));
    fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// The linker in the workspace's toolchain, since a system's compiler may have none for
/// WebAssembly. Otherwise, LLVM's, which Debian's package lld installs.
fn linker() -> Result<PathBuf> {
    let libraries = stdout_of(Command::new("rustc").args(["--print", "target-libdir"]).current_dir(workspace_root()))?;
    let own = Path::new(libraries.trim_end()).with_file_name("bin");
    let own = own.join(format!("rust-lld{}", std::env::consts::EXE_SUFFIX));
    Ok(if own.is_file() { own } else { "wasm-ld".into() })
}
