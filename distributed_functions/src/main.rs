//! Times all-reduce, and simulates distributed training.

mod program;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::program::measure::{self, MeasureArguments};
use crate::program::simulate::{self, SimulateArguments};

/// All-reduce of f64 by messages, naive and on a ring, next to MPI's own. Starts its own ranks,
/// unless mpiexec has
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    measure: MeasureArguments,
}

#[derive(Subcommand)]
enum Command {
    /// Simulate distributed training on machines that are not available
    Simulate(SimulateArguments),
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| match &arguments.command {
        Some(Command::Simulate(arguments)) => simulate::run(arguments),
        None => measure::run(&arguments.measure),
    })
}
