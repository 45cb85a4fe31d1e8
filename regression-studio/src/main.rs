//! The desktop program, and its subcommands `train`, `predict` and `example-config`.

mod program;

use std::process::ExitCode;

use program::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = command_line::arguments::<Arguments>();
    command_line::run(|| match arguments.command {
        None => program::window(),
        Some(Command::Train(arguments)) => program::train::run(&arguments),
        Some(Command::Predict(arguments)) => program::predict::run(&arguments),
        Some(Command::ExampleConfig) => program::example::run(),
    })
}
