//! `cargo xtask ptx profile KERNEL`: the interpreter's counts of a kernel's instructions and accesses in the homework's
//! launch.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Result, bail};
use command_line::say;
use gpu::{Device, InterpreterOptions, PtxVariant};
use ptx_interpreter::{Access, AccessedSpace, InstructionCounts, LaunchReport, SourcePlace};
use timing::grouped;

use super::workloads;
use crate::workspace_root;

/// Options of `cargo xtask ptx profile`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The kernel, by its name in the PTX, such as max_kernel
    kernel: String,
    /// The variant of the PTX; by default the newest
    #[arg(long, value_name = "sm_NN")]
    arch: Option<String>,
    /// Number of source lines to list, those with the most instructions first
    #[arg(long, default_value_t = 10)]
    lines: usize,
}

/// Runs a launch of the kernel, and prints its counts.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let Launched { arch, workload, report } = launch(&options.kernel, options.arch.as_deref(), |_| ())?;
    say!("[*] {} for {arch}: {workload}", options.kernel);
    print_instructions(&report);
    print_memory(&report);
    print_lines(&report, options.lines);
    Ok(ExitCode::SUCCESS)
}

/// A launch on the interpreter.
pub(crate) struct Launched {
    /// The architecture of its PTX, such as sm_75.
    arch: String,
    /// A description of it.
    workload: String,
    report: LaunchReport,
}

/// Launches a kernel at the homework's size, or at that of its page in docs/learn, on an interpreter of the variant for
/// `arch`, by default the newest. `prepare` gets the device first.
///
/// # Errors
/// If there is no such variant, no launch of the kernel is known, or the launch fails.
pub(crate) fn launch(kernel: &str, arch: Option<&str>, prepare: impl FnOnce(&Device)) -> Result<Launched> {
    let name = |(major, minor): (u32, u32)| format!("sm_{major}{minor}");
    let to_learn = learn::host::profiled(kernel);
    let variants: &'static [PtxVariant] = if to_learn.is_some() { &learn::PTX } else { &kernels_gpu::PTX };
    let variant = match arch {
        None => PtxVariant::newest(variants),
        Some(arch) => variants.iter().find(|variant| name(variant.compute_capability()) == *arch),
    };
    let Some(variant) = variant else {
        let known: Vec<String> = variants.iter().map(|variant| name(variant.compute_capability())).collect();
        let arch = arch.map_or("any".into(), |arch| arch.escape_debug().to_string());
        bail!("there is no PTX for {arch}: --arch takes {}", known.join(" or "));
    };
    let device = Device::interpreter(variant, InterpreterOptions { check_races: false, ..Default::default() })?;
    device.take_ptx_reports();
    prepare(&device);
    let run = match to_learn {
        Some((version, size)) => workloads::run_to_learn(&device, version, size)?,
        None => workloads::run(&device, kernel)?,
    };
    let Some((workload, report)) = run else {
        let (names, kernel) = (workloads::names().join(", "), kernel.escape_debug());
        bail!("no launch of {kernel} is known: choose one of {names}, or a kernel of docs/learn");
    };
    Ok(Launched { arch: name(variant.compute_capability()), workload, report })
}

fn print_instructions(report: &LaunchReport) {
    let (threads, warps) = (report.thread_instructions(), report.warp_instructions());
    say!("[*] Instructions: {} of threads, {} of warps", grouped(threads), grouped(warps));
    say!("    lanes at work: {:.1} of 32", threads as f64 / warps.max(1) as f64);
    let mut classes: Vec<_> = report.by_class().into_iter().collect();
    classes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (class, count) in classes {
        let class = format!("{class:?}").to_lowercase();
        say!("    {:5.1} %  {class:8} {:>15}", percent(count, threads), grouped(count));
    }
    let (branches, divergent) = report.branches();
    say!(
        "    of {} branches of warps {} were divergent ({:.2} %)",
        grouped(branches),
        grouped(divergent),
        percent(divergent, branches)
    );
}

fn print_memory(report: &LaunchReport) {
    say!("[*] Memory accesses of warps");
    let spaces = [
        (AccessedSpace::Global, "global", "sectors of 32 bytes"),
        (AccessedSpace::Shared, "shared", "wavefronts"),
        (AccessedSpace::Local, "local", ""),
        (AccessedSpace::Generic, "generic", "sectors or wavefronts"),
    ];
    for (space, name, unit) in spaces {
        for (access, verb) in [(Access::Read, "loads"), (Access::Write, "stores"), (Access::Atomic, "atomics")] {
            let totals = report.accesses(space, access);
            if totals.lanes == 0 {
                continue;
            }
            let lanes = grouped(totals.lanes);
            if unit.is_empty() || totals.requests == 0 {
                say!("    {name} {verb}: {lanes} of threads");
                continue;
            }
            let ratio = totals.transactions as f64 / totals.min_transactions.max(1) as f64;
            say!(
                "    {name} {verb}: {lanes} of threads in {} of warps; {} {unit}, {ratio:.2} times the least possible",
                grouped(totals.requests),
                grouped(totals.transactions),
            );
        }
    }
}

/// The source lines with the most instructions, and their excess of memory transactions over the minimum.
fn print_lines(report: &LaunchReport, count: usize) {
    let mut lines: BTreeMap<SourceLine, InstructionCounts> = BTreeMap::new();
    for instruction in &report.instructions {
        let line = instruction.place.source.as_ref().map(|SourcePlace { file, line, .. }| (file.to_string(), *line));
        lines.entry(line).or_default().add(&instruction.counts);
    }
    let mut lines: Vec<_> = lines.into_iter().filter(|(_, counts)| counts.lanes > 0).collect();
    lines.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.lanes));
    say!("[*] Source lines with the most instructions of threads");
    for (line, counts) in lines.into_iter().take(count) {
        let share = percent(counts.lanes, report.thread_instructions());
        let place = line.as_ref().map_or_else(|| "no source line".to_owned(), |(file, line)| format!("{file}:{line}"));
        let excess = match counts.min_transactions {
            0 => String::new(),
            least => format!(" [{:.2} × least]", counts.transactions as f64 / least as f64),
        };
        say!("    {share:5.1} %  {place}{excess}  {}", line.and_then(source_text).unwrap_or_default());
    }
}

/// A file and a line in it; `None` if the PTX has no line information.
type SourceLine = Option<(String, u32)>;

/// The line's text, if the file is in the workspace.
fn source_text((file, line): (String, u32)) -> Option<String> {
    let paths = [workspace_root().join(&file), workspace_root().join("rust-cuda").join(&file)];
    let text = paths.iter().find_map(|path| std::fs::read_to_string(path).ok())?;
    text.lines().nth(line.checked_sub(1)? as usize).map(|text| text.trim().to_owned())
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
