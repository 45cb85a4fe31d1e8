//! Names of functions and variables, from the file that `cuda_builder` writes beside the PTX.

mod parse;
mod value;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub(crate) use value::{Bytes, slice};

/// The inlined functions and the variables of a kernel; empty if they have no names.
///
/// Lines are those of the PTX, from 1.
#[derive(Clone, Debug, Default)]
pub struct DebugInformation {
    types: Vec<Type>,
    /// The kernel, then the inlined calls.
    frames: Vec<Frame>,
    /// Lines from which on the instructions belong to another frame, ascending.
    lines: Vec<(u32, usize)>,
    variables: Vec<Variable>,
    /// Why there are no names.
    missing: Option<String>,
}

/// Why a kernel has no names, though `cuda_builder` wrote its PTX. It is debugged by its registers.
#[derive(Debug, Error)]
enum NoNames {
    #[error("{}: {error}", .0.display(), error = .1)]
    Read(PathBuf, io::Error),
    #[error("{} is of other PTX than {kernel}'s; build both again", path.display())]
    OfOtherPtx { path: PathBuf, kernel: String },
    #[error("{}, line {line}: `{text}` is not debug information of format 2; build the PTX again", path.display())]
    Form { path: PathBuf, line: usize, text: String },
    #[error("the compiler's debug information cannot be read: {0}")]
    Compiler(String),
}

/// An inlined call, or the kernel itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function's name.
    pub function: String,
    /// Index of the frame that it is called from; that of the kernel is its own.
    pub caller: usize,
    /// File, line and column of the call.
    pub call: (String, u32, u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) bytes: usize,
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
    Pointer,
    /// Offset, type and name of each member.
    Struct(Vec<(usize, usize, String)>),
    /// The elements' type and their number.
    Array(usize, usize),
    Other,
}

/// A variable of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub(crate) frame: usize,
    /// The first line of its scope, and the one after the last.
    scope: (u32, u32),
    pub(crate) r#type: usize,
    /// Its name in Rust.
    pub name: String,
    /// First lines, lines after the last, and the value between.
    values: Vec<(u32, u32, Vec<Piece>)>,
}

/// A part of a variable's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// None for the only piece.
    bytes: Option<usize>,
    /// In postfix notation; empty if the compiler has removed the piece.
    words: Vec<Word>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Register(String),
    Constant(u64),
    Operation(Operation),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    And,
    Minus,
    Mul,
    Neg,
    Not,
    Or,
    Plus,
    Shl,
    Shr,
    Shra,
    Xor,
}

impl DebugInformation {
    /// What the file beside the PTX file `ptx` says of a kernel of its `text`. Without such a file, or if it is of other
    /// code, there are no names; then, unless another compiler than `cuda_builder` wrote the PTX, [`missing`](Self::missing)
    /// says why.
    pub fn beside(ptx: &Path, text: &str, kernel: &str) -> Self {
        let path = ptx.with_extension("debug");
        let found = match fs::read_to_string(&path) {
            Ok(names) => parse::parse(&text.replace("\r\n", "\n"), &names, kernel, &path),
            Err(_) if !text.starts_with("// PTX of ") => return Self::default(),
            Err(error) => Err(NoNames::Read(path, error)),
        };
        found.unwrap_or_else(|reason| Self {
            missing: Some(format!("functions and variables have no names: {reason}")),
            ..Self::default()
        })
    }

    /// Why there are no names, in one line.
    pub fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Whether there are any names.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The frame of an instruction at a line of the PTX; None outside of the kernel.
    pub(crate) fn frame_at(&self, line: u32) -> Option<usize> {
        let after = self.lines.partition_point(|(from, _)| *from <= line);
        after.checked_sub(1).map(|index| self.lines[index].1)
    }

    /// A frame, by its index.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn frame(&self, index: usize) -> &Frame {
        &self.frames[index]
    }

    /// A frame and its callers, up to the kernel.
    pub fn with_callers(&self, frame: usize) -> impl Iterator<Item = usize> {
        let caller = |frame: &usize| (*frame > 0).then(|| self.frames[*frame].caller);
        std::iter::successors((frame < self.frames.len()).then_some(frame), caller)
    }

    /// The variables of a frame that are in scope, or have a value, at a line of the PTX. Of several with one name, only
    /// the innermost is visible.
    pub fn variables(&self, frame: usize, line: u32) -> Vec<&Variable> {
        let mut visible: Vec<&Variable> = Vec::new();
        let is_visible = |variable: &&Variable| {
            let (from, to) = variable.scope;
            variable.frame == frame && ((from..to).contains(&line) || variable.pieces_at(line).is_some())
        };
        // Inner scopes come after outer ones.
        for variable in self.variables.iter().filter(is_visible) {
            match visible.iter().position(|known| known.name == variable.name) {
                Some(known) if variable.pieces_at(line).is_some() => visible[known] = variable,
                Some(_) => {}
                None => visible.push(variable),
            }
        }
        visible
    }

    pub(crate) fn type_of(&self, index: usize) -> &Type {
        &self.types[index]
    }
}

impl Type {
    pub(crate) fn is_bool(&self) -> bool {
        self.kind == Kind::Bool
    }
}

impl Variable {
    /// The pieces of its value at a line of the PTX; None if the compiler has removed it there.
    pub(crate) fn pieces_at(&self, line: u32) -> Option<&[Piece]> {
        self.values.iter().find(|(from, to, _)| (*from..*to).contains(&line)).map(|(.., pieces)| &pieces[..])
    }
}
