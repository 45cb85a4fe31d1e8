//! The students' commands for their kernels in the workspace that `cargo course starter` writes:
//! `cargo profile` and `cargo debug`.
//!
//! The workspace has a package `see_kernels`. Its main function calls [`run`] with the kernels of
//! the parts. Each kernel is compiled to PTX from the student's file, and the student's own
//! function launches it on the interpreter.

mod ptx;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use gpu::{Capture, Device, InterpreterOptions};
use kernel_debugger::record::{Options, record};
use kernel_debugger::terminal;
use kernel_launch::{LaunchFile, Order};

/// Exit code for invalid input, the same as in the project's other programs.
const BAD_INPUT: u8 = 2;

/// A kernel known to the commands.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the kernel.
    pub name: &'static str,
    /// The kernel's package, which is also its folder.
    pub package: &'static str,
    /// The kernel's file in the package's `src`, without `.rs`.
    pub module: &'static str,
    /// Description of the launch.
    pub launch: &'static str,
    /// Launches the kernel on a device. The error is the device's, or comes from a check of the
    /// result.
    pub run: fn(&Device) -> Result<(), String>,
}

/// Shows what your kernels do on a GPU, without a GPU
#[derive(Parser)]
#[command(name = "see_kernels")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Counts a kernel's instructions, memory accesses and lanes at work, line by line
    #[command(name = "profile", bin_name = "cargo profile")]
    Profile {
        /// The kernel, such as max_kernel
        kernel: String,
        /// Number of source lines to list, in descending order of instructions
        #[arg(long, default_value_t = 10)]
        lines: usize,
    },
    /// Steps through a kernel in this terminal, forward and backward, or writes a page that plays
    /// it
    #[command(name = "debug", bin_name = "cargo debug")]
    Debug {
        /// The kernel, such as max_kernel
        kernel: String,
        /// Write a page that plays a block, instead of debugging it here
        #[arg(long, value_name = "FILE.html")]
        record: Option<PathBuf>,
        /// The order in which warps execute
        #[arg(long, default_value = "lines")]
        order: Order,
    },
}

/// Entry point of the package `see_kernels`, started by cargo in the students' workspace.
pub fn run(kernels: &[Kernel]) -> ExitCode {
    match execute(&Arguments::parse().command, kernels) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", printable(&format!("{error:#}")));
            ExitCode::from(BAD_INPUT)
        }
    }
}

fn execute(command: &Command, kernels: &[Kernel]) -> Result<()> {
    // Read at run time, not at compile time: the workspace may have been moved.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = package.as_deref().and_then(Path::parent).context("run it as cargo profile or cargo debug")?;
    let (Command::Profile { kernel: name, .. } | Command::Debug { kernel: name, .. }) = command;
    let Some(kernel) = kernels.iter().find(|kernel| kernel.name == name) else {
        let known: Vec<&str> = kernels.iter().map(|kernel| kernel.name).collect();
        bail!("there is no kernel {name} here: choose one of {}", known.join(", "));
    };
    let variant = ptx::compile(root, kernel)?;
    let check_races = matches!(command, Command::Debug { .. });
    let device = Device::interpreter(&variant, InterpreterOptions { check_races, ..Default::default() })?;
    match command {
        Command::Profile { lines, .. } => profile(root, kernel, &device, *lines),
        Command::Debug { record, order, .. } => debug(root, kernel, &device, record.as_deref(), order.clone()),
    }
}

fn profile(root: &Path, kernel: &Kernel, device: &Device, lines: usize) -> Result<()> {
    device.take_ptx_reports();
    (kernel.run)(device).map_err(anyhow::Error::msg)?;
    let report = device.take_ptx_reports().into_iter().find(|report| *report.kernel == *kernel.name);
    let report = report.with_context(|| format!("{} is not launched", kernel.name))?;
    let source = |file: &str, line: u32| {
        let text = std::fs::read_to_string(root.join(file)).ok()?;
        text.lines().nth((line as usize).checked_sub(1)?).map(str::to_owned)
    };
    println!("[*] {}: {}", kernel.name, kernel.launch);
    print!("{}", printable(&report.describe(lines, source)));
    Ok(())
}

fn debug(root: &Path, kernel: &Kernel, device: &Device, page: Option<&Path>, order: Order) -> Result<()> {
    if let Some(page) = page {
        whole_files::require_writable(page).with_context(|| page.display().to_string())?;
    }
    let folder = tempfile::tempdir().context("cannot make a folder for the launch")?;
    let capture = Capture::new(folder.path(), Some(kernel.name)).without_running();
    device.capture(capture.clone());
    // Code after the launch may fail, since the kernel's results are missing.
    let launched = (kernel.run)(device);
    let file = capture.launch_file();
    if !file.exists() {
        bail!(launched.err().unwrap_or_else(|| format!("{} is not launched", kernel.name)));
    }
    let launch = LaunchFile::read(&file)?.in_order(Some(order)).launch(&file)?;
    let Some(page) = page else {
        return Ok(terminal::run(&launch, root)?);
    };
    let recorded = record(
        &launch,
        &Options { ptx: kernel.package.to_owned(), source_root: root.to_owned(), ..Default::default() },
    )?;
    whole_files::write_atomically(page, recorded.html.as_bytes()).with_context(|| page.display().to_string())?;
    println!("{}", recorded.describe(page, kernel.name));
    Ok(())
}

/// Text for a terminal: escapes the control characters of a source file, except line feeds.
fn printable(text: &str) -> String {
    let escaped = |character: char| match character.is_control() && character != '\n' {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    text.chars().map(escaped).collect()
}
