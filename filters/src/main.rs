//! Checks and times the correlation of an image with kernels, and writes the pictures of all filters.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::main()
}
