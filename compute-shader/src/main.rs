//! Tells when a network's forward pass as a compute shader pays, with figures from this machine.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::main()
}
