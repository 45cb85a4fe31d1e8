//! The workspace's own commands: `cargo xtask --help` lists them.

mod capture;
mod doctor;
mod peers;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use timing::program;

/// The workspace's own commands
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists what this machine has and lacks, and the command that fixes each
    Doctor(doctor::Options),
    /// Times the programs beside NumPy, Numba and PyTorch, and prints ours/peer: below 1, ours is faster
    Peers(peers::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    program::run(|| match arguments.command {
        Command::Doctor(options) => doctor::run(&options),
        Command::Peers(options) => peers::run(&options),
    })
}
