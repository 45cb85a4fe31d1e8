//! Checks and times greyscale values on their way into a neuron: normalized, weighed, activated.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::main()
}
