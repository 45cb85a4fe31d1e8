//! Finds the batch size from which a network's forward pass is faster as a compute shader than on
//! the CPU.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::main()
}
