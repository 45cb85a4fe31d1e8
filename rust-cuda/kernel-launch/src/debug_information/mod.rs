//! Debug names of functions and variables, from the file that `cuda_builder` writes beside the PTX.

mod parse;
mod value;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::element_type::ElementType;
use crate::named_file;

use value::MAX_DEPTH;

/// Maximum size in bytes of a debug information file.
const MAX_BYTES: u64 = 256 << 20;
pub use value::{Bytes, Show, slice};

/// The inlined functions and the variables of a kernel; empty if there are no names.
///
/// Lines are PTX lines, starting at 1.
#[derive(Clone, Debug, Default)]
pub struct DebugInformation {
    types: Vec<Type>,
    /// The kernel, followed by the inlined calls.
    frames: Vec<Frame>,
    /// Lines from which on instructions belong to another frame, ascending.
    lines: Vec<(u32, usize)>,
    variables: Vec<Variable>,
    /// Why there are no names.
    missing: Option<String>,
}

/// Why a kernel has no names although `cuda_builder` wrote its PTX. It can only be debugged by its
/// registers.
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
    /// Index of the frame that it is called from. The kernel's caller is itself.
    pub caller: usize,
    /// File, line and column of the call.
    pub call: (String, u32, u32),
}

/// The type of a variable or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Its size in bytes.
    pub bytes: usize,
    /// Its name in Rust.
    pub name: String,
    kind: Kind,
}

/// How to interpret a register's bits: PTX declares only their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterKind {
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A floating-point number.
    Float,
    /// A Boolean.
    Bool,
    /// An address.
    Pointer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
    Pointer,
    /// Offset, type and name of each member.
    Struct(Vec<(usize, usize, String)>),
    /// The element type and the number of elements.
    Array(usize, usize),
    Other,
}

/// A variable with a type that is a view of shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedMemory {
    pub(crate) name: String,
    /// The element type, if a buffer can have it.
    pub(crate) element: Option<ElementType>,
    pub(crate) element_bytes: usize,
}

/// A variable of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    frame: usize,
    /// The first line of its scope, and the one after the last.
    scope: (u32, u32),
    /// The index of its type.
    pub r#type: usize,
    /// Its name in Rust.
    pub name: String,
    /// First lines, lines after the last, and the value in between.
    values: Vec<(u32, u32, Vec<Piece>)>,
}

/// A part of a variable's value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    /// The size in bytes; None for the only piece.
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
    /// The debug names of a kernel in `text`, from the file beside the PTX file `ptx`. Without such
    /// a file, or if it belongs to other code, there are no names. Unless another compiler than
    /// `cuda_builder` wrote the PTX, [`missing`](Self::missing) then gives the reason.
    pub fn beside(ptx: &Path, text: &str, kernel: &str) -> Self {
        let path = ptx.with_extension("debug");
        match named_file::read_text(&path, MAX_BYTES) {
            Ok(names) => Self::of(&path, text, &names, kernel),
            Err(_) if !text.starts_with("// PTX of ") => Self::default(),
            Err(error) => Self::without_names(&NoNames::Read(path, error)),
        }
    }

    /// The debug names of a kernel in the PTX `text`, from the contents `names` of such a file.
    /// `path` is its name in messages.
    pub fn of(path: &Path, text: &str, names: &str, kernel: &str) -> Self {
        let found = parse::parse(&text.replace("\r\n", "\n"), names, kernel, path);
        found.unwrap_or_else(|reason| Self::without_names(&reason))
    }

    fn without_names(reason: &NoNames) -> Self {
        Self { missing: Some(format!("functions and variables have no names: {reason}")), ..Self::default() }
    }

    /// Why there are no names, on one line.
    pub fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Whether there are any names.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The frame of the instruction on a PTX line; None outside the kernel.
    pub fn frame_at(&self, line: u32) -> Option<usize> {
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

    /// Number of frames.
    pub(crate) fn frames(&self) -> usize {
        self.frames.len()
    }

    /// A frame and its callers, up to the kernel.
    pub fn with_callers(&self, frame: usize) -> impl Iterator<Item = usize> {
        let caller = |frame: &usize| (*frame > 0).then(|| self.frames[*frame].caller);
        std::iter::successors((frame < self.frames.len()).then_some(frame), caller)
    }

    /// The variables in a frame that are in scope or have a value on a PTX line. If several have
    /// the same name, only the innermost is visible.
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

    /// Whether the compiler keeps a variable, or a part of it, on a PTX line.
    pub fn has_value(&self, variable: &Variable, line: u32) -> bool {
        variable.pieces_at(line).is_some_and(|pieces| pieces.iter().any(|piece| !piece.words.is_empty()))
    }

    /// The shared memory arrays in a frame that have this size in bytes, in order of declaration.
    pub(crate) fn shared_arrays(&self, frame: usize, bytes: u64) -> Vec<SharedMemory> {
        self.shared_memory(frame, |of| {
            let (name, parameters) = of.strip_suffix('>')?.split_once('<')?;
            let mut parameters = parameters.split(", ");
            let element = parameters.next().filter(|_| ["SharedArray", "SharedArray2d"].contains(&name))?;
            let length = parameters.try_fold(1_usize, |length, size| length.checked_mul(size.parse().ok()?))?;
            let element_bytes = usize::try_from(bytes).ok()?.checked_div(length)?;
            Some((element, element_bytes))
        })
        .into_iter()
        .filter(|memory| memory.element.is_none_or(|element| element.bytes() == memory.element_bytes))
        .collect()
    }

    /// The kernel's own variables in dynamic shared memory.
    pub(crate) fn dynamic_shared(&self) -> Vec<SharedMemory> {
        self.shared_memory(0, |of| {
            let element = of.strip_prefix("DynamicShared<")?.strip_suffix('>')?;
            Some((element, self.types.iter().find(|known| known.name == element)?.bytes))
        })
    }

    /// The variables in a frame with a shared memory type. `element` returns the name and the size
    /// of an element.
    fn shared_memory<'t>(
        &'t self,
        frame: usize,
        element: impl Fn(&'t str) -> Option<(&'t str, usize)>,
    ) -> Vec<SharedMemory> {
        let mut found: Vec<SharedMemory> = Vec::new();
        for variable in self.variables.iter().filter(|variable| variable.frame == frame) {
            let Some((element, element_bytes)) = element(&self.types[variable.r#type].name) else { continue };
            if element_bytes > 0 && found.iter().all(|known| known.name != variable.name) {
                let element = ElementType::ALL.into_iter().find(|known| known.name() == element);
                found.push(SharedMemory { name: variable.name.clone(), element, element_bytes });
            }
        }
        found
    }

    /// The kinds of the registers that hold variables or parts of them, with the first PTX line and
    /// the one after the last.
    pub fn registers(&self) -> HashMap<String, Vec<(u32, u32, RegisterKind)>> {
        let mut registers: HashMap<String, Vec<(u32, u32, RegisterKind)>> = HashMap::new();
        for variable in &self.variables {
            for (from, to, pieces) in &variable.values {
                let mut offset = 0;
                for piece in pieces {
                    let bytes = piece.bytes.unwrap_or(self.types[variable.r#type].bytes);
                    if let [Word::Register(name)] = &piece.words[..]
                        && let Some(kind) = self.kind_at(variable.r#type, offset, bytes, 0)
                    {
                        registers.entry(name.clone()).or_default().push((*from, *to, kind));
                    }
                    offset = offset.saturating_add(bytes);
                }
            }
        }
        registers
    }

    /// The kind of the part of a type, if the part is a single value.
    fn kind_at(&self, r#type: usize, offset: usize, bytes: usize, depth: usize) -> Option<RegisterKind> {
        let of = &self.types[r#type];
        let is_whole = offset == 0 && bytes == of.bytes;
        match of.kind {
            Kind::Float => is_whole.then_some(RegisterKind::Float),
            Kind::Signed => is_whole.then_some(RegisterKind::Signed),
            Kind::Unsigned => is_whole.then_some(RegisterKind::Unsigned),
            Kind::Bool => is_whole.then_some(RegisterKind::Bool),
            Kind::Pointer => is_whole.then_some(RegisterKind::Pointer),
            Kind::Struct(_) | Kind::Array(..) if depth < MAX_DEPTH => {
                let parts = self.parts(r#type);
                let (_, start, part) = parts.into_iter().rfind(|(_, start, part)| {
                    *start <= offset && self.types[*part].bytes > 0 && offset - start < self.types[*part].bytes
                })?;
                self.kind_at(part, offset - start, bytes, depth + 1)
            }
            _ => None,
        }
    }

    /// Whether a type is one of `cuda_std`'s shared memory views.
    ///
    /// # Panics
    /// If there is no such type.
    pub fn is_shared_memory(&self, r#type: usize) -> bool {
        let name = &self.types[r#type].name;
        ["SharedArray<", "SharedArray2d<", "DynamicShared<"].iter().any(|shared| name.starts_with(shared))
    }

    /// A type, by its index.
    ///
    /// # Panics
    /// If there is no such type.
    pub fn type_of(&self, index: usize) -> &Type {
        &self.types[index]
    }
}

impl Type {
    /// Whether it is the Boolean type.
    pub fn is_bool(&self) -> bool {
        self.kind == Kind::Bool
    }
}

impl Variable {
    /// The pieces of its value on a PTX line; None if the compiler has removed it there.
    fn pieces_at(&self, line: u32) -> Option<&[Piece]> {
        self.values.iter().find(|(from, to, _)| (*from..*to).contains(&line)).map(|(.., pieces)| &pieces[..])
    }
}
