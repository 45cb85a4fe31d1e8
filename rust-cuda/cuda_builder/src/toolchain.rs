use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment::belongs_to_outer_build;
use crate::{Arch, TARGET};

/// The oldest rustc release with all unstable features that the kernels and the flags use.
const MIN_RELEASE: (u32, u32) = (1, 95);

/// The commands that install a toolchain, and the systems where each works.
pub(crate) const RUST_SRC_COMMANDS: [(&str, &str); 2] = [
    ("rustup component add rust-src", "any system with rustup, in this workspace"),
    ("apt-get install rustc-web cargo-web rust-web-src", "Debian, without rustup"),
];

/// A toolchain to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// A description for messages.
    pub description: String,
    /// Its compiler; a bare name is searched for in PATH.
    pub rustc: PathBuf,
    /// Its cargo; None means the one in the toolchain's own `bin` directory.
    pub cargo: Option<PathBuf>,
}

impl Candidate {
    /// The environment variable with a compiler's path. If it is set, no other compiler is tried.
    pub const RUSTC_VARIABLE: &'static str = "CUDA_BUILDER_RUSTC";
    /// The environment variable with the path of that compiler's cargo.
    pub const CARGO_VARIABLE: &'static str = "CUDA_BUILDER_CARGO";

    /// A candidate with the cargo from the toolchain's own `bin` directory.
    pub fn new(description: &str, rustc: impl Into<PathBuf>) -> Self {
        Self { description: description.to_owned(), rustc: rustc.into(), cargo: None }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} ({})", self.description, self.rustc.display())
    }
}

/// The toolchains to try: only the one from CUDA_BUILDER_RUSTC if that is set; otherwise the
/// workspace's own toolchain, then the operating system's.
pub fn toolchain_candidates() -> Vec<Candidate> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(rustc) = variable(Candidate::RUSTC_VARIABLE) {
        let named = Candidate::new(Candidate::RUSTC_VARIABLE, rustc);
        return vec![Candidate { cargo: variable(Candidate::CARGO_VARIABLE), ..named }];
    }
    // Cargo sets RUSTC for build scripts; a program such as xtask uses rustup's `rustc`.
    let own = variable("RUSTC").unwrap_or_else(|| "rustc".into());
    vec![
        Candidate::new("the workspace's own toolchain", own),
        Candidate::new("the operating system's toolchain", "/usr/bin/rustc"),
    ]
}

/// A toolchain that can build PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Its compiler.
    pub rustc: PathBuf,
    /// Its cargo.
    pub cargo: PathBuf,
    /// Its directory, `rustc --print sysroot`.
    pub sysroot: PathBuf,
    /// The compiler's name and version and LLVM's version, on one line.
    pub compiler: String,
}

impl Toolchain {
    /// A command that runs the toolchain's cargo, without the environment of the calling build or
    /// program, and with permission to use unstable features.
    pub fn cargo_command(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        for (name, _) in std::env::vars_os() {
            if belongs_to_outer_build(&name) {
                command.env_remove(name);
            }
        }
        command.env("RUSTC", &self.rustc).env("RUSTC_BOOTSTRAP", "1");
        command
    }
}

/// The first candidate that can build PTX for `arch`.
///
/// It runs the compilers in `directory`, which determines the toolchain that rustup selects. It
/// installs nothing.
///
/// # Errors
/// If there is none, with the reason why each candidate was rejected.
pub fn find_toolchain(
    candidates: &[Candidate],
    arch: Arch,
    directory: &Path,
) -> Result<Toolchain, Vec<RejectedCandidate>> {
    let mut refusals = Vec::new();
    for candidate in candidates {
        match examine(candidate, arch, directory) {
            Ok(toolchain) => return Ok(toolchain),
            Err(reason) => refusals.push(RejectedCandidate { candidate: candidate.clone(), reason }),
        }
    }
    Err(refusals)
}

fn examine(candidate: &Candidate, arch: Arch, directory: &Path) -> Result<Toolchain, RejectionReason> {
    let ask = |arguments: &[&str]| ask(&candidate.rustc, arguments, directory);
    let version = ask(&["-vV"])?;
    let release = line_after(&version, "release: ").unwrap_or_default();
    if parse_release(release).is_none_or(|release| release < MIN_RELEASE) {
        return Err(RejectionReason::TooOld { release: release.to_owned() });
    }
    if !ask(&["--print", "target-list"])?.lines().any(|target| target == TARGET) {
        return Err(RejectionReason::NoTarget);
    }
    let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim_end());
    let library = sysroot.join("lib/rustlib/src/rust/library");
    if !library.join("core/src/lib.rs").is_file() {
        return Err(RejectionReason::NoLibrarySource { expected: library });
    }
    // If LLVM was built without the NVPTX back end, the compiler lists the target, but none of its CPUs.
    let processors = ask(&["--print", "target-cpus", "--target", TARGET])?;
    if !processors.split_whitespace().any(|word| word == arch.name()) {
        return Err(RejectionReason::NoBackEnd { arch });
    }
    let beside = |name: &str| sysroot.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let cargo = candidate.cargo.clone().unwrap_or_else(|| beside("cargo"));
    if !cargo.is_file() {
        return Err(RejectionReason::NoCargo { expected: cargo });
    }
    // Rustup's `rustc` is a proxy that selects a compiler on each call; the compiler itself is in the sysroot.
    let rustc = Some(beside("rustc")).filter(|rustc| rustc.is_file()).unwrap_or_else(|| candidate.rustc.clone());
    let name = version.lines().next().unwrap_or_default();
    let llvm = line_after(&version, "LLVM version: ").unwrap_or("of an unknown version");
    Ok(Toolchain { rustc, cargo, compiler: format!("{name}, LLVM {llvm}"), sysroot })
}

fn ask(rustc: &Path, arguments: &[&str], directory: &Path) -> Result<String, RejectionReason> {
    let mut command = Command::new(rustc);
    // Cargo puts its own compiler's libraries on LD_LIBRARY_PATH; another compiler must not load them.
    command.args(arguments).current_dir(directory).env_remove("LD_LIBRARY_PATH").env("RUSTUP_AUTO_INSTALL", "0");
    let output = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => RejectionReason::NotThere,
        _ => RejectionReason::CannotRun { message: error.to_string() },
    })?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        let message = messages.lines().find(|line| !line.trim().is_empty()).unwrap_or("it fails without a message");
        return Err(RejectionReason::CannotRun { message: message.trim().to_owned() });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn line_after<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(start))
}

fn parse_release(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// A candidate that cannot build PTX, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedCandidate {
    /// The candidate.
    pub candidate: Candidate,
    /// Why it cannot.
    pub reason: RejectionReason,
}

impl fmt::Display for RejectedCandidate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.candidate, self.reason)
    }
}

/// Why a candidate cannot build PTX.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RejectionReason {
    /// There is no such program.
    #[error("it does not exist")]
    NotThere,
    /// The program does not run, or fails.
    #[error("it cannot be run: {message}")]
    CannotRun {
        /// The operating system's or the program's message.
        message: String,
    },
    /// The compiler lacks features that the flags and the kernels use.
    #[error("it is too old: {} or later is needed, not {release:?}", release_text())]
    TooOld {
        /// Its release.
        release: String,
    },
    /// The compiler does not support the GPU's target.
    #[error("it does not support the target {TARGET}")]
    NoTarget,
    /// The standard library's source is not installed.
    #[error("the source of `core` is missing (rust-src; there is no {})", expected.display())]
    NoLibrarySource {
        /// The expected path.
        expected: PathBuf,
    },
    /// LLVM was built without the back end, or with an older one.
    #[error("its LLVM cannot emit PTX for {arch}")]
    NoBackEnd {
        /// The requested architecture.
        arch: Arch,
    },
    /// The compiler exists, but its cargo does not.
    #[error("its cargo is missing (there is no {})", expected.display())]
    NoCargo {
        /// The expected path.
        expected: PathBuf,
    },
}

fn release_text() -> String {
    let (major, minor) = MIN_RELEASE;
    format!("{major}.{minor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_parsed_as_major_and_minor() {
        let read = ["1.95.0", "1.97.0-nightly", "2.0", "1", "", "one.two"].map(parse_release);
        assert_eq!(read, [Some((1, 95)), Some((1, 97)), Some((2, 0)), None, None, None]);
    }
}
