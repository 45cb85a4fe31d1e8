use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::staleness::Staleness;
use crate::toolchain::{RUST_SRC_COMMANDS, RejectedCandidate};
use crate::{Arch, Candidate};

/// Why there is no PTX.
#[derive(Debug, thiserror::Error)]
pub enum BuilderError {
    /// The committed PTX cannot be used, and nothing on this machine can build it.
    #[error(
        "{}: {}, and no toolchain that can build PTX was found:\n{}\n{}",
        describe(.package, *.arch, .committed.as_ref()), reason(.staleness.as_ref()),
        RejectedToolchains(.refusals), install_hint()
    )]
    NoToolchain {
        /// The kernel crate.
        package: String,
        /// The architecture of the PTX.
        arch: Arch,
        /// The path of the committed PTX, if one was set.
        committed: Option<PathBuf>,
        /// Why it cannot be used; None if it is fresh and a rebuild was requested.
        staleness: Option<Staleness>,
        /// The toolchains that were tried, and why each was rejected.
        refusals: Vec<RejectedCandidate>,
    },
    /// The kernels do not compile.
    #[error("{package}: the kernels do not compile for {arch} with {compiler}:\n{messages}")]
    Compile {
        /// The kernel crate.
        package: String,
        /// The architecture of the PTX.
        arch: Arch,
        /// The compiler's name and version.
        compiler: String,
        /// The output of cargo and the compiler.
        messages: String,
    },
    /// A kernel calls a function that no crate defines.
    #[error("the kernel {kernel} calls {function}{place}, which nothing defines: a GPU has no such function")]
    Unresolved {
        /// The function.
        function: String,
        /// The kernel, or a function that kernels call.
        kernel: String,
        /// `, at FILE:LINE`, or empty.
        place: String,
    },
    /// A float remainder that the compiler approximates in an unknown form.
    #[error(
        "the compiler approximates the `%` of floats {place} in a form that cuda_builder does not know, so a GPU would compute \
         something else: write `libm::fmodf(x, y)` or, of f64, `libm::fmod(x, y)`"
    )]
    Remainder {
        /// `at FILE:LINE`, or empty.
        place: String,
    },
    /// The compiler succeeded, but wrote no PTX.
    #[error("{package}: cargo succeeded, but wrote no {file_name} below {}", directory.display())]
    NoPtx {
        /// The kernel crate.
        package: String,
        /// The expected file.
        file_name: String,
        /// The directory that was searched.
        directory: PathBuf,
    },
    /// Launch bounds for a kernel that does not exist.
    #[error("launch bounds for the kernel {kernel:?}: no such kernel; there are {}", kernels.join(", "))]
    UnknownKernel {
        /// The given name.
        kernel: String,
        /// The kernels of the PTX.
        kernels: Vec<String>,
    },
    /// Launch bounds outside the limits of CUDA.
    #[error("launch bounds for the kernel {kernel:?}: {max_threads} threads per block; must be 1 to 1024")]
    LaunchBounds {
        /// The kernel's name.
        kernel: String,
        /// The given bound.
        max_threads: u32,
    },
    /// An invalid Cargo.toml.
    #[error("{}: {reason}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An error of the operating system.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The action that failed, such as "read" or "run".
        action: &'static str,
        /// The file, directory or program.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// There is no target directory.
    #[error("OUT_DIR is not set: call build from a build script, or set a target_dir")]
    NoTargetDirectory,
    /// `check` was called without a committed path.
    #[error("nothing to check: set the path of the committed PTX with committed or committed_dir")]
    NoCommittedPath,
    /// The compilation ran the kernel crate's own build script, which had started the compilation.
    #[error(
        "the build script is run for the GPU's target, by the compilation it started: \
         begin it with `if cuda_builder::compiling_kernels() {{ return; }}`"
    )]
    Recursion,
}

impl BuilderError {
    /// Fails a build script: passes every line of the error and its causes to cargo, and exits with status 1.
    pub fn fail_build(&self) -> ! {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        for line in text.lines() {
            println!("cargo::error={line}");
        }
        std::process::exit(1);
    }
}

pub(crate) fn describe(package: &str, arch: Arch, committed: Option<&PathBuf>) -> String {
    match committed {
        Some(path) => format!("{package}: the PTX for {arch} ({})", path.display()),
        None => format!("{package}: the PTX for {arch}"),
    }
}

fn reason(staleness: Option<&Staleness>) -> String {
    staleness.map_or_else(|| "a rebuild was requested".to_owned(), Staleness::to_string)
}

/// How to install a toolchain, for a warning.
pub(crate) fn install_in_a_line() -> String {
    let commands = RUST_SRC_COMMANDS.map(|(command, _)| format!("`{command}`"));
    format!("Install one: {}", commands.join(" or "))
}

fn install_hint() -> String {
    let commands = RUST_SRC_COMMANDS.map(|(command, place)| format!("  {command:<48} # {place}")).join("\n");
    format!(
        "Install one:\n{commands}\n\
         or set the environment variables {} and {} to one, or revert the changes to the kernels.",
        Candidate::RUSTC_VARIABLE,
        Candidate::CARGO_VARIABLE,
    )
}

/// The rejected toolchains, one per line.
struct RejectedToolchains<'a>(&'a [RejectedCandidate]);

impl fmt::Display for RejectedToolchains<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("  (no toolchain to try)");
        }
        let lines: Vec<_> = self.0.iter().map(|refusal| format!("  - {refusal}")).collect();
        f.write_str(&lines.join("\n"))
    }
}
