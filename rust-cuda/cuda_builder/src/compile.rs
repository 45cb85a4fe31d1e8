//! Compiles the kernels: runs cargo with the flags for PTX and without the outer build's
//! environment.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::features::Features;
use crate::files::cannot;
use crate::llvm_ir::wide_conversions;
use crate::manifest::Manifest;
use crate::remainders::may_have_remainders;
use crate::source_names::SourceNames;
use crate::{Arch, BuilderError, TARGET, Toolchain};

/// Compiler flags for the kernels and `core`. None may contain a path: cargo's cache distinguishes
/// builds of `core` by these flags, and would recompile it for each path.
const RUSTFLAGS: [&str; 6] = [
    "-Zunstable-options",
    // A panic calls a function, which `crate::panics` replaces with a trap. No message formatting
    // code remains.
    "-Cpanic=abort",
    // `Location::caller` must not contain a path from this machine.
    "-Zlocation-detail=none",
    // The same name mangling in all compilers.
    "-Csymbol-mangling-version=v0",
    // This pass duplicates the code between two branches on the same condition, even barriers and
    // shuffles. The threads of a warp would then execute different copies of one instruction, which
    // is undefined in PTX (bar.sync is aligned). LLVM's pass of the same name does not duplicate
    // convergent operations.
    "-Zmir-enable-passes=-JumpThreading",
    // A GPU cannot convert a wider integer to a float, and has no function that LLVM could call for
    // it, so LLVM expands the conversion.
    "-Cllvm-args=-expand-fp-convert-bits=64",
];

/// Compiler flags for the kernels only.
///
/// The extra pass turns generic loads and stores into accesses to shared memory if it can prove the
/// address space. It uses the dominator tree only if another pass has left one. Without it, an
/// assumption about an address would apply only in its own basic block. The PTX is the assembly
/// output, so nothing is linked and no linker is needed. [`crate::remainders`] reads the LLVM IR.
/// The verbose comments contain the inlined-at chain of each source line; [`crate::source_lines`]
/// reads and removes them.
const KERNEL_FLAGS: [&str; 5] = ["--emit", OUTPUTS, EXTRA_PASS, "-Zno-link", "-Zverbose-asm"];

/// The outputs of the compiler.
const OUTPUTS: &str = "asm,llvm-ir";

/// LLVM 22 crashes in this pass if a pointer is chosen between constants and local memory. The
/// kernels are then compiled without the pass.
const EXTRA_PASS: &str = "-Cpasses=function(require<domtree>,infer-address-spaces)";

/// The compiler's message when it is killed by a signal.
const CRASH: &str = "interrupted by SIG";

/// Macros for kernels with the same names as macros in `core`.
const SPEAKING: [&str; 4] = ["panic", "assert", "assert_eq", "assert_ne"];

/// How to resolve such an ambiguity.
const BY_NAME: &str = "`panic!` and `assert!` of `use cuda_std::*` are ambiguous, since `core` has them too: import them by name, \
                       `use cuda_std::panic;`, or write `#[macro_use] extern crate cuda_std;` in the library's root and \
                       `use cuda_std::prelude::*` in place of `use cuda_std::*`";

/// LLVM's message for an operation that would need a call to a C library function.
const LIBRARY_CALL: &str = "unsupported library call operation";

/// The warning for a compilation without the extra pass.
pub(crate) const WITHOUT_PASS: &str = "LLVM's pass infer-address-spaces crashes on these kernels. They are compiled without it: correct, but their \
                            accesses to shared memory find its address space when they run, and are slower";

/// Compiler flags for unoptimized kernels, replacing the extra pass. Functions are inlined in MIR,
/// so an instruction from `core` or `cuda_std` has the kernel's line, and no other pass changes,
/// removes or moves an access.
const UNOPTIMISED: [&str; 4] =
    ["-Zmir-opt-level=0", "-Zinline-mir", "-Zinline-mir-threshold=100000", "-Zinline-mir-hint-threshold=100000"];

/// A flag for all crates without optimization: functions of other crates are compiled where they
/// are used, so the PTX contains no separate functions from `core`.
const COMPILED_WHERE_USED: &str = "-Zcross-crate-inline-threshold=always";

/// A cargo setting for unoptimized kernels: their dependencies are optimized, since they do not
/// always compile otherwise.
const OPTIMISED_DEPENDENCIES: &str = "profile.release.package.\"*\".opt-level=3";

/// The cargo profile. It uses one codegen unit, so calls into `core` and `cuda_std` are inlined,
/// and debug information. The PTX keeps only the debug information that costs nothing on the GPU:
/// line directives, and comments for debuggers ([`crate::debug_information`]). The profile is set
/// by environment variables, which override the workspace's own profile.
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
    pub(crate) features: &'a Features,
    pub(crate) names: &'a SourceNames,
    pub(crate) target_directory: &'a Path,
}

/// The builder's settings that determine the compiler's flags.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) arch: Arch,
    /// A PTX ISA version such as `(7, 8)`, if one is set.
    pub(crate) ptx_version: Option<(u32, u32)>,
    /// Whether products and sums are fused.
    pub(crate) contracts: bool,
    pub(crate) optimises: bool,
    pub(crate) checks_overflow: bool,
}

/// The value of RUSTFLAGS, the fixed flags, the flags that depend on the builder's settings, and
/// the profile settings.
#[derive(Clone, Debug)]
pub(crate) struct Flags {
    rustflags: Vec<String>,
    optimises: bool,
    checks_overflow: bool,
}

impl Flags {
    pub(crate) fn new(settings: Settings) -> Self {
        let Settings { arch, ptx_version, contracts, optimises, checks_overflow } = settings;
        let mut flags: Vec<_> = RUSTFLAGS.map(str::to_owned).into();
        flags.push(format!("-Ctarget-cpu={arch}"));
        flags.extend(ptx_version.map(|(major, minor)| format!("-Ctarget-feature=+ptx{major}{minor}")));
        flags.extend(contracts.then(|| "-Cllvm-args=-nvptx-fma-level=1".to_owned()));
        flags.extend((!optimises).then(|| COMPILED_WHERE_USED.to_owned()));
        Self { rustflags: flags, optimises, checks_overflow }
    }

    /// All compiler flags and profile settings, as text for the fingerprint.
    pub(crate) fn description(&self) -> String {
        let profile = self.profile().map(|(key, value)| format!("{key}={value}")).join(" ");
        format!("{} {} {profile}", self.rustflags.join(" "), self.kernel_flags().join(" "))
    }

    /// The flags for the kernels only.
    fn kernel_flags(&self) -> Vec<&'static str> {
        match self.optimises {
            true => KERNEL_FLAGS.into(),
            false => KERNEL_FLAGS.into_iter().filter(|flag| *flag != EXTRA_PASS).chain(UNOPTIMISED).collect(),
        }
    }

    /// The settings of the cargo profile.
    fn profile(&self) -> [(&'static str, &'static str); 9] {
        PROFILE.map(|(key, value)| match key {
            "OPT_LEVEL" if !self.optimises => (key, "0"),
            "OVERFLOW_CHECKS" if self.checks_overflow => (key, "true"),
            _ => (key, value),
        })
    }
}

/// The output of a compilation.
pub(crate) struct Compiled {
    /// The PTX as LLVM emitted it.
    pub(crate) text: String,
    /// The LLVM IR of the same kernels, if it is needed to find float remainders.
    pub(crate) ir: Option<String>,
    /// The warnings of cargo and the compiler.
    pub(crate) messages: String,
}

impl Compilation<'_> {
    /// Compiles the kernels. A lock file ensures that only one process at a time compiles in a
    /// target directory.
    pub(crate) fn run(&self, toolchain: &Toolchain) -> Result<Compiled, BuilderError> {
        fs::create_dir_all(self.target_directory).map_err(cannot("create the directory", self.target_directory))?;
        let lock_path = self.target_directory.join(".cuda_builder.lock");
        let lock = File::create(&lock_path).map_err(cannot("create", &lock_path))?;
        lock.lock().map_err(cannot("lock", &lock_path))?;

        let artifacts = self.target_directory.join(TARGET);
        let [file_name, ir_name] = ["s", "ll"].map(|extension| format!("{}.{extension}", self.kernels.library()));
        for stale in [&file_name, &ir_name].into_iter().flat_map(|name| find_below(&artifacts, name)) {
            fs::remove_file(&stale).map_err(cannot("remove", &stale))?;
        }
        let compile = |flags: &[&str]| {
            let output = self.command(toolchain, flags).output().map_err(cannot("run", &toolchain.cargo))?;
            let messages = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            Ok::<_, BuilderError>((output.status.success(), messages))
        };
        let mut flags = self.flags.kernel_flags();
        let (mut succeeded, mut messages) = compile(&flags)?;
        if !succeeded && messages.contains(CRASH) {
            flags.retain(|flag| *flag != EXTRA_PASS);
            (succeeded, messages) = compile(&flags)?;
            if succeeded {
                messages = format!("{messages}\n{WITHOUT_PASS}").trim_start().to_owned();
            }
        }
        if messages.contains(LIBRARY_CALL) {
            // LLVM's error names no location, but its IR does. The IR is written if nothing else is
            // requested from the compiler.
            let only_ir: Vec<_> = flags.iter().map(|flag| if *flag == OUTPUTS { "llvm-ir" } else { *flag }).collect();
            compile(&only_ir)?;
            let ir = find_below(&artifacts, &ir_name).pop().and_then(|path| fs::read_to_string(path).ok());
            let places = wide_conversions(&ir.unwrap_or_default(), &|file| self.names.stable(file));
            messages = format!("{}{messages}", explain_library_call(&places));
        }
        if !succeeded {
            let is_ambiguous = |name: &str| messages.contains(&format!("error[E0659]: `{name}` is ambiguous"));
            if messages.contains("cuda_std") && SPEAKING.iter().any(|name| is_ambiguous(name)) {
                messages = format!("{BY_NAME}\n{messages}");
            }
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
        let read_ir = || {
            let path = path.with_extension("ll");
            fs::read_to_string(&path).map_err(cannot("read", &path))
        };
        let ir = may_have_remainders(&text).then(read_ir).transpose()?;
        // These lines are most of the text but redundant: the debug information contains the same
        // with the registers' names.
        let is_kept = |line: &&str| !line.trim_start().starts_with("//DEBUG_VALUE");
        let text = text.split_inclusive('\n').filter(is_kept).collect();
        Ok(Compiled { text, ir, messages })
    }

    fn command(&self, toolchain: &Toolchain, kernel_flags: &[&str]) -> Command {
        let mut command = toolchain.cargo_command();
        command.current_dir(&self.kernels.directory);
        command.env("CARGO_ENCODED_RUSTFLAGS", self.flags.rustflags.join("\x1f"));
        for (key, value) in self.flags.profile() {
            command.env(format!("CARGO_PROFILE_RELEASE_{key}"), value);
        }
        if !self.flags.optimises {
            command.args(["--config", OPTIMISED_DEPENDENCIES]);
        }
        command.args(["rustc", "--quiet", "--color", "never", "--release", "--lib", "--crate-type", "cdylib"]);
        command.args(["--target", TARGET, "-Zbuild-std=core", "--target-dir"]).arg(self.target_directory);
        if !self.features.has_default {
            command.arg("--no-default-features");
        }
        if !self.features.names.is_empty() {
            command.arg("--features").arg(self.features.names.join(","));
        }
        if self.kernels.lock_path().is_file() {
            command.arg("--locked");
        }
        command.arg("--").args(kernel_flags);
        command
    }
}

/// A line in front of LLVM's message about a library function: the locations of conversions that a
/// GPU cannot do, if there are any.
fn explain_library_call(places: &[String]) -> String {
    if places.is_empty() {
        return String::new();
    }
    format!(
        "a GPU cannot convert a float to an integer of 128 bits by `as`, at {}: write `cuda_std::math::to_u128(x)` or \
         `cuda_std::math::to_i128(x)`\n",
        places.join(", ")
    )
}

/// All files of that name below a directory, since their location depends on cargo's version.
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
