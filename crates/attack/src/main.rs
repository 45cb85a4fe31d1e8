//! Fuzzer for the programs' inputs: mutated files, odd command lines, kills, and two processes in one folder.
//!
//! A case is a function of a seed, a target and an index, and can be run again by itself. Files are read in worker
//! processes, one for each core, which a case may crash: [`worker`] runs cases, [`supervisor`] starts workers and
//! resumes after a case that crashed one. [`targets`] has a reader for each kind of file, with the promises that its
//! accepted results keep; [`programs`] runs whole programs.

mod campaign;
mod finding;
mod memory;
mod mutate;
mod programs;
mod random;
mod shrink;
mod supervisor;
mod system;
mod table;
mod targets;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::targets::Target;

/// Attacks the programs with mutated files, odd command lines and kills; exit code 1 if a defect was found
#[derive(Debug, Parser)]
#[command(name = "cargo xtask attack", bin_name = "cargo xtask attack", args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    attack: AttackArguments,
}

#[derive(Debug, clap::Args)]
struct AttackArguments {
    /// Minutes for all targets together [default: 2; no limit with --cases]
    #[arg(long = "for", value_name = "MINUTES", value_parser = minutes)]
    minutes: Option<f64>,
    /// Maximum number of cases per target
    #[arg(long, value_name = "N")]
    cases: Option<u64>,
    /// Seed of the cases
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Attack only this target; may be repeated
    #[arg(long, value_enum, value_name = "TARGET")]
    only: Vec<Target>,
    /// Run one case of a single --only target again
    #[arg(long, value_name = "I", requires = "only")]
    case: Option<u64>,
    /// Read a kept file again with the reader of a single --only target
    #[arg(long, value_name = "FILE", requires = "only", conflicts_with = "case")]
    file: Option<PathBuf>,
    /// Print the counts as one JSON object
    #[arg(long)]
    json: bool,
    /// Folder of the programs' executables
    #[arg(long, hide = true, value_name = "DIR")]
    programs: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
enum Command {
    /// Runs cases in a process that a case may crash
    #[command(hide = true)]
    Work(worker::Share),
    /// Examines the files named on stdin
    #[command(hide = true)]
    Serve {
        #[arg(long)]
        target: Target,
        #[arg(long)]
        folder: PathBuf,
    },
    /// Prints the packages whose programs an attack with these arguments runs
    #[command(hide = true)]
    Programs(AttackArguments),
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse().ok().filter(|minutes| (0.0..=1e6).contains(minutes));
    minutes.ok_or_else(|| "must be a number of minutes from 0 to 1,000,000".to_owned())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    command_line::run(|| match arguments.command {
        Some(Command::Work(share)) => worker::run(&share),
        Some(Command::Serve { target, folder }) => worker::serve(target, &folder),
        Some(Command::Programs(attack)) => {
            if campaign::chosen(&attack.only).iter().any(|target| target.runs_programs()) {
                programs::PACKAGES.iter().for_each(|package| command_line::say!("{package}"));
            }
            Ok(ExitCode::SUCCESS)
        }
        None => campaign::run(&arguments.attack),
    })
}
