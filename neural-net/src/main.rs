//! Trains a network on handwritten digits, evaluates it, and recognizes digits with it.

mod program;

use std::process::ExitCode;

use program::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = command_line::arguments::<Arguments>();
    command_line::run(|| match arguments.command {
        None => program::train::run(&arguments.train),
        Some(Command::Evaluate(arguments)) => program::evaluate::run(&arguments),
        Some(Command::Predict(arguments)) => program::predict::run(&arguments),
        Some(Command::Digits(arguments)) => program::digits::run(&arguments),
    })
}
