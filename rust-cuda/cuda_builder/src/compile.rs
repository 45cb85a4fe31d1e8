//! The compilation itself: cargo, called with the flags that make good PTX and without the outer build's environment.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::cannot;
use crate::manifest::Manifest;
use crate::{Arch, BuilderError, TARGET, Toolchain};

/// What the compiler is told about the kernels and `core` alike. Nothing here names a folder, or `core` would be
/// compiled anew for each: cargo tells two builds of it apart by these flags.
const RUSTFLAGS: [&str; 5] = [
    "-Zunstable-options",
    // A panic becomes a trap in its place, so that no formatting code is left.
    "-Cpanic=immediate-abort",
    // Whoever asks for the place of a panic gets no path of this machine.
    "-Zlocation-detail=none",
    // Names are made in one way by all compilers.
    "-Csymbol-mangling-version=v0",
    // This pass duplicates what lies between two branches of one condition, without regard for barriers and shuffles:
    // a warp's threads would then come to different copies of one, which PTX leaves undefined (bar.sync is aligned).
    // LLVM's pass of the same name leaves them alone.
    "-Zmir-enable-passes=-JumpThreading",
];

/// What it is told about the kernels alone.
///
/// The extra pass turns generic loads and stores into those of shared memory where it can prove them to be. The PTX is
/// the assembly; there is nothing to link, and no linker is needed. Its comments say through which calls a line came to
/// be where it is; they are read and taken out again.
const KERNEL_FLAGS: [&str; 5] = ["--emit", "asm", "-Cpasses=infer-address-spaces", "-Zno-link", "-Zverbose-asm"];

/// The profile: everything in one unit, so that calls into `core` and `cuda_std` are inlined, and of debug information
/// the source lines, which are directives between the instructions and cost nothing on the GPU. It is given by the
/// environment, which goes before the workspace's own profile.
const PROFILE: [(&str, &str); 9] = [
    ("CODEGEN_UNITS", "1"),
    ("DEBUG", "line-directives-only"),
    ("DEBUG_ASSERTIONS", "false"),
    ("INCREMENTAL", "false"),
    ("LTO", "true"),
    ("OPT_LEVEL", "3"),
    ("OVERFLOW_CHECKS", "false"),
    ("PANIC", "abort"),
    ("STRIP", "none"),
];

/// What to compile, and where.
pub(crate) struct Compilation<'a> {
    pub(crate) kernels: &'a Manifest,
    pub(crate) arch: Arch,
    pub(crate) flags: Flags,
    pub(crate) target_directory: &'a Path,
}

/// The flags that depend on the builder's settings. All other ones are the same for every PTX.
#[derive(Clone, Debug)]
pub(crate) struct Flags(Vec<String>);

impl Flags {
    /// The flags for an architecture, and for a version of PTX as `(7, 8)` if one is asked for.
    pub(crate) fn new(arch: Arch, ptx_version: Option<(u32, u32)>) -> Self {
        let mut flags: Vec<_> = RUSTFLAGS.map(str::to_owned).into();
        flags.push(format!("-Ctarget-cpu={arch}"));
        flags.extend(ptx_version.map(|(major, minor)| format!("-Ctarget-feature=+ptx{major}{minor}")));
        Self(flags)
    }

    /// All that is said to the compiler and goes into the fingerprint.
    pub(crate) fn described(&self) -> String {
        let profile = PROFILE.map(|(key, value)| format!("{key}={value}")).join(" ");
        format!("{} {} {profile}", self.0.join(" "), KERNEL_FLAGS.join(" "))
    }
}

/// What came out of a compilation.
pub(crate) struct Compiled {
    /// The PTX as LLVM wrote it.
    pub(crate) text: String,
    /// What cargo and the compiler said: warnings.
    pub(crate) messages: String,
}

impl Compilation<'_> {
    /// Compiles the kernels. Only one process at a time does so in a target directory; others wait.
    pub(crate) fn run(&self, toolchain: &Toolchain) -> Result<Compiled, BuilderError> {
        fs::create_dir_all(self.target_directory).map_err(cannot("create the folder", self.target_directory))?;
        let lock_path = self.target_directory.join(".cuda_builder.lock");
        let lock = File::create(&lock_path).map_err(cannot("create", &lock_path))?;
        lock.lock().map_err(cannot("lock", &lock_path))?;

        let artifacts = self.target_directory.join(TARGET);
        let file_name = format!("{}.s", self.kernels.library());
        for stale in find_below(&artifacts, &file_name) {
            fs::remove_file(&stale).map_err(cannot("remove", &stale))?;
        }
        let output = self.command(toolchain).output().map_err(cannot("run", &toolchain.cargo))?;
        let messages = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        if !output.status.success() {
            return Err(BuilderError::Compile {
                package: self.kernels.package.clone(),
                arch: self.arch,
                compiler: toolchain.compiler.clone(),
                messages,
            });
        }
        let Some(path) = find_below(&artifacts, &file_name).pop() else {
            let package = self.kernels.package.clone();
            return Err(BuilderError::NoPtx { package, file_name, directory: artifacts });
        };
        let text = fs::read_to_string(&path).map_err(cannot("read", &path))?;
        Ok(Compiled { text, messages })
    }

    fn command(&self, toolchain: &Toolchain) -> Command {
        let mut command = Command::new(&toolchain.cargo);
        for (name, _) in std::env::vars_os() {
            if belongs_to_outer_build(&name) {
                command.env_remove(name);
            }
        }
        command.current_dir(&self.kernels.directory);
        // Stable compilers accept unstable features, for this compilation only.
        command.env("RUSTC", &toolchain.rustc).env("RUSTC_BOOTSTRAP", "1");
        command.env("CARGO_ENCODED_RUSTFLAGS", self.flags.0.join("\x1f"));
        for (key, value) in PROFILE {
            command.env(format!("CARGO_PROFILE_RELEASE_{key}"), value);
        }
        command.args(["rustc", "--quiet", "--color", "never", "--release", "--lib", "--crate-type", "cdylib"]);
        command.args(["--target", TARGET, "-Zbuild-std=core", "--target-dir"]).arg(self.target_directory);
        if self.kernels.workspace_directory().join("Cargo.lock").is_file() {
            command.arg("--locked");
        }
        command.arg("--").args(KERNEL_FLAGS);
        command
    }
}

/// Whether an environment variable was set by or for the build that runs the build script, and would change the inner
/// one. What concerns the user's network and registries stays, and so does the jobserver, so that both share the cores.
fn belongs_to_outer_build(name: &OsStr) -> bool {
    const KEPT: [&str; 3] = ["CARGO_HOME", "CARGO_MAKEFLAGS", "RUSTUP_HOME"];
    const KEPT_STARTS: [&str; 5] =
        ["CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_SOURCE_"];
    const REMOVED: [&str; 8] =
        ["DEBUG", "HOST", "LD_LIBRARY_PATH", "NUM_JOBS", "OPT_LEVEL", "OUT_DIR", "PROFILE", "TARGET"];
    const REMOVED_STARTS: [&str; 3] = ["CARGO", "DEP_", "RUST"];
    let name = name.to_string_lossy();
    let starts_with = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if KEPT.contains(&&*name) || starts_with(&KEPT_STARTS) {
        return false;
    }
    REMOVED.contains(&&*name) || starts_with(&REMOVED_STARTS)
}

/// All files of that name below a folder, wherever this version of cargo puts them.
fn find_below(directory: &Path, file_name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(find_below(&path, file_name));
        } else if entry.file_name() == file_name {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_build_is_told_from_the_users_settings() {
        let removed = [
            "CARGO",
            "CARGO_PKG_NAME",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
            "CARGO_PROFILE_RELEASE_LTO",
            "RUSTC",
            "RUSTFLAGS",
            "RUSTUP_TOOLCHAIN",
            "RUSTC_WRAPPER",
            "TARGET",
            "OUT_DIR",
            "DEP_Z_INCLUDE",
            "LD_LIBRARY_PATH",
        ];
        let kept =
            ["PATH", "HOME", "CARGO_HOME", "CARGO_MAKEFLAGS", "RUSTUP_HOME", "CARGO_NET_OFFLINE", "CARGO_HTTP_PROXY"];
        assert!(removed.iter().all(|name| belongs_to_outer_build(name.as_ref())));
        assert!(!kept.iter().any(|name| belongs_to_outer_build(name.as_ref())));
    }
}
