//! Programs that are unaware of the emulator run on it: in C, in Rust with cust, and in Python.

mod c;
mod python;
mod runner;
mod rust;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A file beside this one.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

/// Output of a program that runs under `cuda-emulate run` with these options.
fn emulated(options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut runner = Command::new(env!("CARGO_BIN_EXE_cuda-emulate"));
    runner.arg("run").args(options).arg(program).args(arguments);
    runner.output().expect("the runner starts")
}

/// A program's output, stdout and stderr.
fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}
