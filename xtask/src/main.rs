//! The workspace's own commands: `cargo xtask --help` lists them.

mod capture;
mod cargo;
mod debug;
mod doctor;
mod draw;
mod gpu_check;
mod lab;
mod package;
mod page;
mod peers;
mod profiles;
mod programs;
mod ptx;
mod site;
mod skipped;
mod test;
mod wasm;
mod workspace;
mod zipped;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};

pub(crate) use workspace::workspace_root;

/// The workspace's own commands
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Steps through a kernel's launch in this terminal, without a GPU, or writes a page that plays it
    Debug(debug::Options),
    /// Lists the requirements that this machine meets or lacks, and the command that fixes each
    Doctor(doctor::Options),
    /// Builds the digit recognizer, docs/draw/index.html, or checks that it is up to date
    Draw(draw::Options),
    /// Creates a folder that checks and times the kernels on a machine with a GPU and without Rust
    GpuCheck(gpu_check::Options),
    /// Builds the kernel lab, docs/lab/index.html, or checks that it is fresh
    Lab(lab::Options),
    /// Makes archives of the regression studio and the kernel debugger for people without Rust
    Package(package::Options),
    /// Rewrites or checks the committed PTX of the GPU kernels, or profiles a kernel's PTX
    Ptx(ptx::Options),
    /// Times the programs against NumPy, Numba and PyTorch, and prints ours/peer: below 1, ours is faster
    Peers(peers::Options),
    /// Times every function in the dev and release profiles: their times must be within 25 % of each other
    Profiles(profiles::Options),
    /// Makes the site: the lab, the digit page and the documents as HTML, for any static host
    Site(site::Options),
    /// Counts the tests that a run skipped, and fails if a skip is not allowed
    Skipped(skipped::Options),
    /// Runs the tests of all workspaces
    Test(test::Options),
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

/// Commands of earlier versions, with their replacements.
const MOVED: [(&str, &str); 3] =
    [("autograder", "cargo course autograder"), ("grade", "cargo course grade"), ("starter", "cargo course starter")];

/// # Errors
/// Always: there is no such command.
fn unknown(command: &[OsString]) -> Result<ExitCode> {
    let name = command.first().map(|name| name.to_string_lossy()).unwrap_or_default();
    match MOVED.iter().find(|(old, _)| *old == name) {
        Some((old, new)) => bail!("`cargo xtask {old}` has moved: type `{new}`, with the same arguments"),
        None => bail!("there is no command {name}: `cargo xtask --help` lists them"),
    }
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run_tool(|| match arguments.command {
        Command::Debug(options) => debug::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Draw(options) => draw::run(&options),
        Command::GpuCheck(options) => gpu_check::run(&options),
        Command::Lab(options) => lab::run(&options),
        Command::Package(options) => package::run(&options),
        Command::Ptx(options) => ptx::run(&options),
        Command::Peers(options) => peers::run(&options),
        Command::Profiles(options) => profiles::run(&options),
        Command::Site(options) => site::run(&options),
        Command::Skipped(options) => skipped::run(&options),
        Command::Test(options) => test::run(&options),
        Command::Other(command) => unknown(&command),
    })
}
