//! `cargo xtask ptx`: rebuilds the committed PTX of every kernel crate, or checks that it matches the kernels.

#[path = "../../kernels-gpu/build/settings.rs"]
mod settings;

mod profile;
#[path = "../../learn/build/puzzles.rs"]
mod puzzles;
mod workloads;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use command_line::CHECK_FAILED;
use command_line::say;
use cuda_builder::{Arch, Comparison, CudaBuilder, PtxasError, ptxas};

use crate::workspace_root;
use settings::kernel_crate;

pub(crate) use profile::launch;

/// Constructs the builder of a crate in the given folder, for one architecture.
type MakeBuilder = fn(&Path, Arch) -> CudaBuilder;

/// The kernel crates with committed PTX: their folders, their architectures, and the constructors of their builders.
const CRATES: [(&str, &[Arch], MakeBuilder); 5] = [
    ("kernels-gpu", settings::ARCHS, settings::builder),
    ("learn", kernel_crate::OLDEST, kernel_crate::builder),
    ("learn", kernel_crate::OLDEST, puzzles::builder),
    ("rust-cuda/test_kernels", kernel_crate::OLDEST_AND_TUNED, kernel_crate::builder),
    ("rust-cuda/seeded_bugs", kernel_crate::OLDEST, kernel_crate::builder),
];

/// Options of `cargo xtask ptx`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    /// Change nothing; exit with 1 if the committed PTX does not match the kernels
    #[arg(long)]
    check: bool,
}

/// Subcommands of `cargo xtask ptx`.
#[derive(clap::Subcommand)]
enum Command {
    /// Runs a kernel's PTX in the interpreter, and prints its instructions, coalescing, bank conflicts and divergence
    Profile(profile::Options),
}

/// Rewrites or checks the PTX of each crate and architecture. If ptxas is installed, assembles the
/// PTX for this and every later architecture that ptxas supports.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if let Some(Command::Profile(options)) = &options.command {
        return profile::run(options);
    }
    let mut good = true;
    for (folder, archs, make_builder) in CRATES {
        say!("[*] {folder}");
        let kernels = workspace_root().join(folder);
        for &arch in archs {
            let builder = make_builder(&kernels, arch).target_dir(workspace_root().join("target/nvptx"));
            let path =
                builder.committed_path()?.with_context(|| format!("{folder} has no path for its committed PTX"))?;
            match options.check {
                true => good &= check(&builder, arch)?,
                false => rewrite(&builder, arch, &path)?,
            }
            good &= assemble(&path, arch)?;
        }
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

fn rewrite(builder: &CudaBuilder, arch: Arch, path: &Path) -> Result<()> {
    let rebuilt = builder.rebuild()?;
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    }
    rebuilt.write_to(path)?;
    say!("[*] {arch}: written by {}", rebuilt.header.compiler);
    Ok(())
}

fn check(builder: &CudaBuilder, arch: Arch) -> Result<bool> {
    let comparison = builder.check()?;
    match &comparison {
        Comparison::Same => say!("[+] {arch}: the committed PTX matches the kernels"),
        Comparison::DebugDiffers { line } => {
            say!("[-] {arch}: the names for debuggers differ from line {line} on: run cargo xtask ptx");
        }
        Comparison::Missing => say!("[-] {arch}: there is no committed PTX: run cargo xtask ptx"),
        Comparison::HeaderDiffers { staleness } => say!("[-] {arch}: stale, for {staleness}: run cargo xtask ptx"),
        Comparison::Differs { line, committed, rebuilt, committed_compiler, compiler } => {
            say!("[-] {arch}: line {line} below the header differs: run cargo xtask ptx");
            say!("    committed: {committed} ({})", committed_compiler.as_deref().unwrap_or("an unknown compiler"));
            say!("    rebuilt:   {rebuilt} ({compiler})");
        }
    }
    Ok(comparison == Comparison::Same)
}

/// Prints the kernels' registers, shared memory and spills for the architecture itself, and lists
/// the later architectures that accept the PTX.
fn assemble(path: &Path, arch: Arch) -> Result<bool> {
    let report = match ptxas(path, arch) {
        Ok(report) => report,
        Err(error @ PtxasError::NotFound) => {
            say!("[*] {arch}: not assembled: {error}");
            return Ok(true);
        }
        Err(error) => return Err(error.into()),
    };
    if report.kernels.is_empty() {
        bail!("{}: ptxas reports no kernel", path.display());
    }
    let mut good = true;
    for kernel in &report.kernels {
        let spilled = kernel.spill_stores + kernel.spill_loads;
        good &= spilled == 0;
        let (mark, name) = (if spilled == 0 { '+' } else { '-' }, &kernel.name);
        let (registers, shared) = (kernel.registers, kernel.shared_bytes);
        say!("[{mark}] {arch}: {name:<20} {registers:>3} registers, {shared:>5} bytes shared, {spilled} bytes spilled");
    }
    let later = Arch::ALL.into_iter().filter(|&later| later >= arch && !later.name().ends_with('a'));
    let mut accepted = Vec::new();
    for later in later {
        match ptxas(path, later) {
            Ok(_) => accepted.push(later.to_string()),
            Err(PtxasError::Refused { messages, .. }) if messages.contains("is not defined for option 'gpu-name'") => {}
            Err(error) => {
                say!("[-] {arch}: {error}");
                good = false;
            }
        }
    }
    say!("[+] {arch}: ptxas accepts it for {}", accepted.join(", "));
    Ok(good)
}
