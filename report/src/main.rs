//! Measures the homework on this machine and writes hw1.pdf.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::main()
}
