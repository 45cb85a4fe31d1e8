//! The workspace's own commands: `cargo xtask --help` lists them.

mod attack;
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
mod skipped;
mod wasm;
mod zipped;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub(crate) use cargo::workspace_root;

/// The workspace's own commands
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Attacks the programs with mutated files, odd command lines and kills
    Attack(attack::Options),
    /// Writes what Gradescope or Classroom 50 runs to grade each submission
    Autograder(course::autograder::Options),
    /// Steps through a kernel's launch in this terminal, without a GPU, or writes a page that plays it
    Debug(debug::Options),
    /// Lists the requirements that this machine meets or lacks, and the command that fixes each
    Doctor(doctor::Options),
    /// Builds the page that reads drawn digits, docs/draw/index.html, or checks that it is fresh
    Draw(draw::Options),
    /// Creates a folder that checks and times the kernels on a machine with a GPU and without Rust
    GpuCheck(gpu_check::Options),
    /// Grades submissions of the homework
    Grade(Box<course::grade::Options>),
    /// Builds the laboratory, docs/lab/index.html, or checks that it is fresh
    Lab(lab::Options),
    /// Makes archives of the regression studio and the kernel debugger for people without Rust
    Package(package::Options),
    /// Rewrites or checks the committed PTX of the GPU kernels, or profiles a kernel's PTX
    Ptx(ptx::Options),
    /// Times the programs against NumPy, Numba and PyTorch, and prints ours/peer: below 1, ours is faster
    Peers(peers::Options),
    /// Times every function in the dev and release profiles: their times must be within 25 % of each other
    Profiles(profiles::Options),
    /// Counts the tests that a run skipped, and fails if a skip is not allowed
    Skipped(skipped::Options),
    /// Writes a workspace in which a student does the homework
    Starter(course::starter::Options),
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run_tool(|| match arguments.command {
        Command::Attack(options) => attack::run(&options),
        Command::Autograder(options) => course::autograder::run(&options),
        Command::Debug(options) => debug::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Draw(options) => draw::run(&options),
        Command::GpuCheck(options) => gpu_check::run(&options),
        Command::Grade(options) => course::grade::run(&options),
        Command::Lab(options) => lab::run(&options),
        Command::Package(options) => package::run(&options),
        Command::Ptx(options) => ptx::run(&options),
        Command::Peers(options) => peers::run(&options),
        Command::Profiles(options) => profiles::run(&options),
        Command::Skipped(options) => skipped::run(&options),
        Command::Starter(options) => course::starter::run(&options),
    })
}
