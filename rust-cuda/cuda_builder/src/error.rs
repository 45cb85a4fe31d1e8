use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::header::Staleness;
use crate::toolchain::{RUST_SRC_COMMANDS, Refusal};
use crate::{Arch, Candidate};

/// Why there is no PTX.
#[derive(Debug, thiserror::Error)]
pub enum BuilderError {
    /// The committed PTX cannot be used, and nothing on this machine can build it.
    #[error(
        "{}: {}, and no toolchain that can build PTX was found:\n{}\n{}",
        describe(.package, *.arch, .committed.as_ref()), reason(.staleness.as_ref()), Lines(.refusals), ways_out()
    )]
    NoToolchain {
        /// The kernel crate.
        package: String,
        /// The architecture the PTX is for.
        arch: Arch,
        /// Where the committed PTX belongs, if the builder was told.
        committed: Option<PathBuf>,
        /// Why it cannot be used; None if it can, and was to be built anew all the same.
        staleness: Option<Staleness>,
        /// Where a toolchain was looked for, and why each was refused.
        refusals: Vec<Refusal>,
    },
    /// The kernels do not compile.
    #[error("{package}: the kernels do not compile for {arch} with {compiler}:\n{messages}")]
    Compile {
        /// The kernel crate.
        package: String,
        /// The architecture the PTX is for.
        arch: Arch,
        /// The compiler's name and version.
        compiler: String,
        /// What cargo and the compiler said.
        messages: String,
    },
    /// The compiler ran and left no PTX.
    #[error("{package}: cargo succeeded, but no {file_name} came out below {}", directory.display())]
    NoPtx {
        /// The kernel crate.
        package: String,
        /// The file that was looked for.
        file_name: String,
        /// Where it was looked for.
        directory: PathBuf,
    },
    /// Launch bounds for a kernel that is not there.
    #[error("launch bounds for the kernel {kernel:?}: there is none of that name, only {}", kernels.join(", "))]
    UnknownKernel {
        /// The name that was given.
        kernel: String,
        /// The kernels that the PTX has.
        kernels: Vec<String>,
    },
    /// Launch bounds that no device can keep.
    #[error("launch bounds for the kernel {kernel:?}: {max_threads} threads a block, but a block has 1 to 1024")]
    LaunchBounds {
        /// The kernel's name.
        kernel: String,
        /// The bound that was given.
        max_threads: u32,
    },
    /// A Cargo.toml that cannot be understood.
    #[error("{}: {reason}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The operating system's error.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried, as "read" or "run".
        action: &'static str,
        /// The file, folder or program.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Nowhere to compile.
    #[error("OUT_DIR is not set: call build from a build script, or say where to compile with target_dir")]
    NoTargetDirectory,
    /// `check` without a committed file to look at.
    #[error("nothing to check: name the committed PTX with committed or committed_dir")]
    NoCommittedPath,
    /// The crate's own build script was run again by the compilation it started.
    #[error(
        "the build script is run for the GPU's target, by the compilation it started: \
         begin it with `if cuda_builder::compiling_kernels() {{ return; }}`"
    )]
    Recursion,
}

impl BuilderError {
    /// Ends a build script: cargo prints every line of the error, its causes included, and the build stops.
    pub fn stop_the_build(&self) -> ! {
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
    staleness.map_or_else(|| "it is to be built anew".to_owned(), Staleness::to_string)
}

fn ways_out() -> String {
    let commands = RUST_SRC_COMMANDS.map(|(command, place)| format!("  {command:<48} # {place}")).join("\n");
    format!(
        "Install one:\n{commands}\n\
         or name one by the environment variables {} and {}, or take back what changed the kernels.",
        Candidate::RUSTC_VARIABLE,
        Candidate::CARGO_VARIABLE,
    )
}

struct Lines<'a>(&'a [Refusal]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("  (nowhere to look)");
        }
        let lines: Vec<_> = self.0.iter().map(|refusal| format!("  - {refusal}")).collect();
        f.write_str(&lines.join("\n"))
    }
}
