//! The students' commands in the workspace that `cargo course starter` writes: `cargo check-homework` and `cargo hand-in`.
//!
//! The workspace has a package `check_homework`, whose main function is [`run`].

mod answers;
mod hand_in;
mod hints;
mod part;
mod printed;
mod tested;

use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

pub use hints::{HintsError, parse as parse_hints};
use part::Part;
use printed::{note, say};
use tested::{Tested, compile, summary};

/// Exit codes, as those of the project's programs.
const CHECK_FAILED: u8 = 1;
const BAD_INPUT: u8 = 2;

/// Shows which tests of the homework pass
#[derive(Parser)]
#[command(name = "cargo check-homework", bin_name = "cargo check-homework", args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Test a part again whenever one of its source files is saved
    #[arg(long)]
    watch: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Gives a hint, and a further one at each call
    Hint {
        /// A function, such as sigmoid, or a part, such as part1, for the first function to be written there
        #[arg(value_name = "FUNCTION|PART")]
        name: String,
        /// Give all hints at once
        #[arg(long)]
        all: bool,
    },
    /// Writes homework.zip, the file to hand in
    HandIn {
        /// Also hand in a part that does not compile
        #[arg(long)]
        anyway: bool,
        /// Instead, time what was written with 1, 2, 4 and 8 threads, and write the times into answers.md
        #[arg(long, conflicts_with = "anyway")]
        measure: bool,
    },
}

/// The program of the package `check_homework`, started by cargo in the students' workspace.
pub fn run() -> ExitCode {
    execute(Arguments::parse()).unwrap_or_else(|error| {
        note!("error: {error:#}");
        ExitCode::from(BAD_INPUT)
    })
}

fn execute(Arguments { watch, command }: Arguments) -> Result<ExitCode> {
    // As cargo sets it now, not when this was compiled: the workspace may have been moved.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = package.as_deref().and_then(Path::parent).context("this is run as cargo check-homework")?;
    let parts = Part::of_workspace(root);
    match command {
        None if watch => test_saved(root, &parts),
        None => test(root, &parts),
        Some(Command::Hint { name, all }) => hints::give(root, &parts, &name, all),
        Some(Command::HandIn { measure: true, .. }) => answers::measure(root, &parts),
        Some(Command::HandIn { anyway, .. }) => hand_in::pack(root, &parts, anyway),
    }
}

fn test(root: &Path, parts: &[Part]) -> Result<ExitCode> {
    let mut all = Vec::new();
    for (part, program) in parts.iter().zip(compile(root, parts)?) {
        let tested = tested::test_part(root, *part, program)?;
        say!("{tested}");
        all.push(tested);
    }
    let line = summary(root, &all);
    say!("{line}");
    Ok(if all.iter().all(Tested::has_passed) { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// Tests again what is saved, until the program is interrupted.
///
/// The times of some twenty files are polled: unlike a system's notifications, they also work on network drives and in
/// WSL, and compile nothing.
fn test_saved(root: &Path, parts: &[Part]) -> Result<ExitCode> {
    const INTERVAL: Duration = Duration::from_millis(300);
    let times = || parts.iter().map(|part| part.times(root)).collect::<Vec<_>>();
    // Taken before the tests: a file that is saved while they run is noticed.
    let mut seen = times();
    let mut all = tested::all(root, parts)?;
    loop {
        if std::io::stdout().is_terminal() {
            // Clears the screen and what can be scrolled to.
            print!("\x1b[2J\x1b[3J\x1b[H");
            std::io::stdout().flush()?;
        }
        for tested in &all {
            say!("{tested}");
        }
        let line = summary(root, &all);
        say!("{line}\nWaiting for a file to be saved; Ctrl-C ends.");
        let now = loop {
            thread::sleep(INTERVAL);
            let now = times();
            if now != seen {
                break now;
            }
        };
        for (index, program) in compile(root, parts)?.into_iter().enumerate() {
            if now[index] != seen[index] {
                all[index] = tested::test_part(root, parts[index], program)?;
            }
        }
        seen = now;
    }
}
