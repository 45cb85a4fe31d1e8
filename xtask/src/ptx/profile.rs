//! `cargo xtask ptx profile KERNEL`: counts a kernel's instructions and memory accesses in the
//! homework's launch, with the interpreter.

use std::process::ExitCode;

use anyhow::{Result, bail};
use command_line::say;
use gpu::{Device, InterpreterOptions, PtxVariant};
use ptx_interpreter::LaunchReport;

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

/// Runs a launch of the kernel and prints its counts.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    describe(options)?.lines().for_each(|line| say!("{line}"));
    Ok(ExitCode::SUCCESS)
}

/// The counts of a launch of the kernel, in words.
fn describe(options: &Options) -> Result<String> {
    let Launched { arch, workload, report } = launch(&options.kernel, options.arch.as_deref(), |_| ())?;
    let counts = report.describe(options.lines, source_text);
    Ok(format!("[*] {} for {arch}: {workload}\n{counts}", options.kernel))
}

/// A launch on the interpreter.
pub(crate) struct Launched {
    /// The architecture of its PTX, such as sm_75.
    arch: String,
    /// A description of the workload.
    workload: String,
    report: LaunchReport,
}

/// Launches a kernel at the homework's size, or at the size on its page in docs/learn, on an
/// interpreter of the variant for `arch` (by default, the newest). `prepare` receives the device
/// first.
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

/// The line's text, if the file is in the workspace.
fn source_text(file: &str, line: u32) -> Option<String> {
    let paths = [workspace_root().join(file), workspace_root().join("rust-cuda").join(file)];
    let text = paths.iter().find_map(|path| std::fs::read_to_string(path).ok())?;
    text.lines().nth(line.checked_sub(1)? as usize).map(str::to_owned)
}

/// The documents' figures match the command's output. Figures in `docs/learn` have a test next to
/// the kernels.
#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        options: Options,
    }

    fn document(name: &str) -> String {
        std::fs::read_to_string(workspace_root().join("docs").join(name)).unwrap()
    }

    /// The lines after each `$ cargo xtask ptx profile …` in a document, up to the next command or
    /// the end of the block.
    fn quoted(text: &str) -> Vec<(Options, Vec<&str>)> {
        let commands = text.split("$ cargo xtask ptx profile ").skip(1);
        let quote = |text| {
            let block: &str = str::split(text, "```").next().unwrap();
            let block = block.split("$ ").next().unwrap();
            let mut lines = block.lines();
            let words = lines.next().unwrap().split_whitespace();
            (CommandLine::parse_from(["profile"].into_iter().chain(words)).options, lines.collect())
        };
        commands.map(quote).collect()
    }

    #[test]
    fn documents_quote_what_the_command_prints() {
        if !gpu_testing::require_ptx(&kernels_gpu::PTX) {
            return;
        }
        let quotes = ["ptx.md", "performance.md", "gpu-kernels.md", "homework.md"].map(document);
        let quotes: Vec<_> = quotes.iter().flat_map(|text| quoted(text)).collect();
        assert!(quotes.len() >= 2, "docs/ptx.md quotes two profiles");
        for (options, lines) in quotes {
            let printed = describe(&options).unwrap();
            let mut rest = printed.lines();
            for line in lines.iter().filter(|line| **line != "…") {
                assert!(rest.any(|printed| printed == *line), "not printed, or not in this order: {line}\n{printed}");
            }
        }
    }

    /// The table of copies and launches counts the instructions of the activation's kernels.
    #[test]
    fn the_homework_has_the_activations_instructions() {
        if !gpu_testing::require_ptx(&kernels_gpu::PTX) {
            return;
        }
        let count = |kernel: &str| launch(kernel, None, |_| ()).unwrap().report.thread_instructions();
        let steps: u64 = ["normalize_kernel", "weigh_kernel", "activate_kernel"].map(count).iter().sum();
        let text = document("homework.md");
        for (row, instructions) in [
            ("| a kernel for each step, every intermediate", steps),
            ("| a kernel for each step, intermediates stay", steps),
            ("| one kernel for all steps", count("normalize_weigh_activate_kernel")),
        ] {
            let found = text.lines().find(|line| line.starts_with(row)).expect(row);
            let expected = format!(" {:.1} million |", instructions as f64 / 1e6);
            assert!(found.ends_with(&expected), "{found}: counted{expected}");
        }
    }
}
