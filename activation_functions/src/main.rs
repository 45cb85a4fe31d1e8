//! Checks and times the preprocessing of greyscale values for a neuron: normalize, weigh, activate.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::main()
}
