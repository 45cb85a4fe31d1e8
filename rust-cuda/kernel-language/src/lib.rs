//! A compiler for kernels from a subset of Rust to PTX, small enough for a web page.
//!
//! [`compile`] takes the sources of a crate of kernels and produces PTX for the interpreter. Like
//! rustc's PTX in this project, it has the source line of each instruction and debug names of
//! variables. This compiler is not rustc. It does not optimize. It supports numbers, tuples,
//! arrays, `Option`, structs without traits, closures, and the functions and macros of `cuda_std`
//! that most kernels use. It rejects everything else with a one-line error that has the place and a
//! suggestion. Accepted code computes the same bits: integers wrap around, a division by zero and
//! an index out of bounds trap, and floats are rounded after each operation.
//!
//! The sources are untrusted. Their size, their nesting and the size of the result are limited, so
//! invalid input causes an error and never a panic, a stack overflow or an endless run.

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

/// A kernel compiled to PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The PTX text.
    pub ptx: String,
    /// The contents of the file with the debug names of functions and variables.
    pub names: String,
}

/// Compiles one kernel of a crate. The keys of `files` are file names, such as
/// `learn/src/step01_index.rs`.
///
/// # Errors
/// If the sources are invalid, or use something that is not supported.
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
