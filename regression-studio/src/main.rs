//! Trains a network on a table, with a window or without.

use std::process::ExitCode;

fn main() -> ExitCode {
    timing::program::run(|| anyhow::bail!("say what to do: see --help"))
}
