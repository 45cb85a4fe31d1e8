//! A compiler of kernels from a subset of Rust to PTX, small enough for a page.
//!
//! [`compile`] takes the sources of a crate of kernels and gives PTX that the interpreter runs, with the source line of
//! each instruction and the names of its variables, as rustc's PTX of this project has them. It is no rustc: it does not
//! optimise, knows numbers, tuples, arrays, `Option`, structs without traits, closures, and the functions and macros of
//! `cuda_std` that most kernels use, and it refuses everything else in one line with its place and what to write. What it accepts computes the same bits:
//! integers wrap around, a division by zero and an index out of bounds trap, floats are rounded after each operation.
//!
//! The sources come from outside: their size, their nesting and the size of the result are limited, so that a wrong one
//! is an error, never a panic, an overflow of the stack, or a run without an end.

mod brackets;
mod check;
mod constants;
mod emit;
mod foreign;
mod inference;
mod limits;
mod mathematics;
mod missing_kernel;
mod names;
mod refusal;
mod source;
mod syntax;
mod tokens;
mod tree;
mod types;

use std::collections::BTreeMap;

pub use refusal::Refusal;

use crate::refusal::{Checked, Place};
use crate::source::Program;

/// A kernel as PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The text.
    pub ptx: String,
    /// The text of the file with the names of functions and variables that debuggers read.
    pub names: String,
}

/// Compiles one kernel of a crate, whose files are given by their names, such as `learn/src/step01_index.rs`.
///
/// # Errors
/// At what the sources have wrong, and at what is not known here.
pub fn compile(files: &BTreeMap<String, String>, kernel: &str) -> Result<Compiled, Refusal> {
    constants::forget();
    let compiled = compile_in(files, kernel).map_err(|refused| {
        let Place { file, line, column } = refused.place;
        let file = files.keys().nth(file).filter(|_| line > 0).cloned().unwrap_or_default();
        Refusal { file, line, column, reason: refused.reason.replace(char::is_control, " ") }
    });
    proc_macro2::extra::invalidate_current_thread_spans();
    compiled
}

fn compile_in(files: &BTreeMap<String, String>, kernel: &str) -> Checked<Compiled> {
    let program = Program::read(files)?;
    match program.kernel(kernel) {
        Some(number) => emit::emit(&program, number),
        None => program.no_kernel(files, kernel),
    }
}
