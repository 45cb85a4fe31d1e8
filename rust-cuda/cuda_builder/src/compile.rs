//! The compilation: a cargo process with the flags for PTX and without the outer build's environment.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::cannot;
use crate::manifest::Manifest;
use crate::{Arch, BuilderError, TARGET, Toolchain};

/// Compiler flags for the kernels and `core`. None may contain a path: cargo's cache distinguishes builds of `core` by
/// these flags, and would recompile it for each path.
const RUSTFLAGS: [&str; 5] = [
    "-Zunstable-options",
    // A panic compiles to a trap, so that no formatting code is left.
    "-Cpanic=immediate-abort",
    // `Location::caller` must not contain a path of this machine.
    "-Zlocation-detail=none",
    // The same name mangling in all compilers.
    "-Csymbol-mangling-version=v0",
    // This pass duplicates the code between two branches on one condition, even barriers and shuffles. The threads of a
    // warp would then execute different copies of one, which is undefined in PTX (bar.sync is aligned). LLVM's pass of
    // the same name does not duplicate convergent operations.
    "-Zmir-enable-passes=-JumpThreading",
];

/// Compiler flags for the kernels only.
///
/// The extra pass turns generic loads and stores into accesses to shared memory where it can prove the address space.
/// Without the dominator tree, which it only uses if another pass has left one, an assumption about an address would
/// count in its own basic block alone.
/// The PTX is the assembly output; there is nothing to link, and no linker is needed. The verbose comments contain the
/// inlined-at chain of each source line; [`crate::source_lines`] reads and removes them.
const KERNEL_FLAGS: [&str; 5] =
    ["--emit", "asm", "-Cpasses=function(require<domtree>,infer-address-spaces)", "-Zno-link", "-Zverbose-asm"];

/// The cargo profile: one codegen unit, so that calls into `core` and `cuda_std` are inlined, and debug information, of
/// which the PTX keeps what costs nothing on the GPU: line directives, and comments for debuggers
/// ([`crate::debug_information`]). It is set by environment variables, which override the workspace's own profile.
const PROFILE: [(&str, &str); 9] = [
    ("CODEGEN_UNITS", "1"),
    ("DEBUG", "full"),
    ("DEBUG_ASSERTIONS", "false"),
    ("INCREMENTAL", "false"),
    ("LTO", "true"),
    ("OPT_LEVEL", "3"),
    ("OVERFLOW_CHECKS", "false"),
    ("PANIC", "abort"),
    ("STRIP", "none"),
];

/// A compilation of the kernels for one architecture.
pub(crate) struct Compilation<'a> {
    pub(crate) kernels: &'a Manifest,
    pub(crate) arch: Arch,
    pub(crate) flags: Flags,
    pub(crate) target_directory: &'a Path,
}

/// The value of RUSTFLAGS: the fixed flags, and those that depend on the builder's settings.
#[derive(Clone, Debug)]
pub(crate) struct Flags(Vec<String>);

impl Flags {
    /// The flags for an architecture, and for a PTX ISA version, as `(7, 8)`, if one is set.
    pub(crate) fn new(arch: Arch, ptx_version: Option<(u32, u32)>) -> Self {
        let mut flags: Vec<_> = RUSTFLAGS.map(str::to_owned).into();
        flags.push(format!("-Ctarget-cpu={arch}"));
        flags.extend(ptx_version.map(|(major, minor)| format!("-Ctarget-feature=+ptx{major}{minor}")));
        Self(flags)
    }

    /// All compiler flags and profile settings, as text for the fingerprint.
    pub(crate) fn description(&self) -> String {
        let profile = PROFILE.map(|(key, value)| format!("{key}={value}")).join(" ");
        format!("{} {} {profile}", self.0.join(" "), KERNEL_FLAGS.join(" "))
    }
}

/// The output of a compilation.
pub(crate) struct Compiled {
    /// The PTX as LLVM emitted it.
    pub(crate) text: String,
    /// The warnings of cargo and the compiler.
    pub(crate) messages: String,
}

impl Compilation<'_> {
    /// Compiles the kernels. A lock file lets only one process at a time compile in a target directory.
    pub(crate) fn run(&self, toolchain: &Toolchain) -> Result<Compiled, BuilderError> {
        fs::create_dir_all(self.target_directory).map_err(cannot("create the directory", self.target_directory))?;
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
        // Most of the text, and of no use: the debug information says it with the registers' names.
        let is_kept = |line: &&str| !line.trim_start().starts_with("//DEBUG_VALUE");
        let text = text.split_inclusive('\n').filter(is_kept).collect();
        Ok(Compiled { text, messages })
    }

    fn command(&self, toolchain: &Toolchain) -> Command {
        let mut command = toolchain.cargo_command();
        command.current_dir(&self.kernels.directory);
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

/// All files of that name below a directory: where cargo puts them depends on its version.
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
