//! The teacher's commands: `cargo course --help` lists them.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The homework for a course: a starting point for students, and grades for their submissions
#[derive(Parser)]
#[command(name = "cargo course", bin_name = "cargo course")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Writes a class's answers next to the key, and a table for their marks
    #[cfg(unix)]
    Answers(course::grade::answers::Options),
    /// Writes the file that Gradescope or Classroom 50 needs to grade each submission
    Autograder(course::autograder::Options),
    /// Grades submissions of the homework
    Grade(Box<course::grade::Options>),
    /// Writes a workspace in which a student does the homework
    Starter(course::starter::Options),
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run_tool(|| match arguments.command {
        #[cfg(unix)]
        Command::Answers(options) => course::grade::answers::run(&options),
        Command::Autograder(options) => course::autograder::run(&options),
        Command::Grade(options) => course::grade::run(&options),
        Command::Starter(options) => course::starter::run(&options),
    })
}
