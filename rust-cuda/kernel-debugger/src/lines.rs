//! The source lines of a kernel's instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kernel_launch::{
    Launch,
    debug_information::{DebugInformation, RegisterKind},
};
use ptx_interpreter::Place;
use thiserror::Error;

use crate::names::{listed, ranges};
use crate::register_kind::RegisterKinds;

/// A line of a source file, by the file's index.
pub(crate) type Line = (u32, u32);

/// The reason why a line cannot hold a breakpoint.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LineError {
    /// The PTX has no lines.
    #[error("the PTX names no source lines: step by instructions, or build it with lines, as `nvcc -lineinfo` does")]
    NoLines,
    /// The kernel has no instructions from a file.
    #[error("the kernel has no instructions from {path}: its files are {files}")]
    NoFile {
        /// The requested file.
        path: String,
        /// The files in the PTX.
        files: String,
    },
    /// Several files have names with this suffix.
    #[error("{path} is the end of several names: write one of {files}")]
    SeveralFiles {
        /// The requested file.
        path: String,
        /// The files in the PTX with this suffix.
        files: String,
    },
    /// A file has no instructions at or after a line.
    #[error("the kernel has no instructions at line {line} of {file} or after it: its last line there is {last}")]
    NoLine {
        /// The file's name in the PTX.
        file: String,
        /// The requested line.
        line: u32,
        /// The last line that has instructions.
        last: u32,
    },
}

/// The source lines of a kernel's instructions.
#[derive(Clone, Debug)]
pub struct Lines {
    files: Vec<Arc<str>>,
    places: Vec<Place>,
    /// The line of each instruction. If the compiler names none, the previous instruction's line.
    lines: Vec<Option<Line>>,
    /// The frame of each instruction, by its index in the debug information. 0 if the debug
    /// information has none.
    frames: Vec<usize>,
    information: DebugInformation,
    registers: RegisterKinds,
}

impl Lines {
    /// The lines and the frames of a launch's kernel.
    ///
    /// # Panics
    /// If the launch's kernel does not exist.
    pub fn new(launch: &Launch) -> Self {
        let code = launch.machine().code(launch.kernel()).expect("a launch's kernel is in its module");
        let information = launch.debug_information().clone();
        let places: Vec<Place> = (0..code.instructions()).map(|pc| code.place(pc)).collect();
        let named = places.iter().filter_map(|place| place.source.as_ref());
        let files: BTreeSet<Arc<str>> = named.map(|source| Arc::clone(&source.file)).collect();
        let files: Vec<Arc<str>> = files.into_iter().collect();
        let mut line = None;
        let mut line_of = |place: &Place| {
            if let Some(source) = place.source.as_ref().filter(|source| source.line > 0) {
                let file = files.binary_search(&source.file).expect("the files of all places were collected");
                line = Some((file as u32, source.line));
            }
            line
        };
        let lines = places.iter().map(&mut line_of).collect();
        let mut frame = 0;
        let mut frame_of = |place: &Place| {
            // An instruction without a line also belongs to the previous instruction's frame.
            if place.source.as_ref().is_none_or(|source| source.line > 0) {
                frame = information.frame_at(place.line).unwrap_or(0);
            }
            frame
        };
        let frames = places.iter().map(&mut frame_of).collect();
        let registers = RegisterKinds::new(code, &information);
        Self { files, places, lines, frames, information, registers }
    }

    /// Names of the kernel's functions and variables.
    pub fn information(&self) -> &DebugInformation {
        &self.information
    }

    /// How to interpret a register's bits before an instruction. `None` if unknown.
    pub(crate) fn register_kind(&self, register: &str, pc: usize) -> Option<RegisterKind> {
        self.registers.kind_at(register, self.places[pc].line)
    }

    /// The frame of an instruction, by its index in the [`information`](Self::information).
    ///
    /// # Panics
    /// If the kernel has no such instruction.
    pub fn frame(&self, pc: usize) -> usize {
        self.frames[pc]
    }

    /// Number of instructions.
    pub fn instructions(&self) -> usize {
        self.places.len()
    }

    /// The place of an instruction.
    ///
    /// # Panics
    /// If the kernel has no such instruction.
    pub fn place(&self, pc: usize) -> &Place {
        &self.places[pc]
    }

    /// The file and line that an instruction was compiled from. `None` if the PTX has no lines.
    ///
    /// # Panics
    /// If the kernel has no such instruction.
    pub fn source(&self, pc: usize) -> Option<(&str, u32)> {
        self.lines[pc].map(|(file, line)| (&*self.files[file as usize], line))
    }

    pub(crate) fn line(&self, pc: usize) -> Option<Line> {
        self.lines[pc]
    }

    /// Whether an instruction is a barrier of the block or of the cluster.
    ///
    /// # Panics
    /// If the kernel has no such instruction.
    pub fn is_barrier(&self, pc: usize) -> bool {
        let text = &self.places[pc].text;
        let opcode = text.trim_start_matches(|character: char| character != 'b');
        // Guards such as `@%p1` precede the opcode.
        let opcode = if text.starts_with('@') { opcode } else { text };
        ["bar.sync", "bar.red", "barrier.sync", "barrier.cta", "barrier.cluster.wait"]
            .iter()
            .any(|name| opcode.starts_with(name))
    }

    /// The first line of a file, at or after `line`, that has instructions. The file may be given
    /// as a longer path that ends in its name in the PTX, as editors send it, or as a suffix of
    /// that name, as users type it.
    ///
    /// # Errors
    /// If the kernel has no such file, several of them, or no such line.
    pub fn nearest(&self, path: &str, line: u32) -> Result<(&str, u32), LineError> {
        let (file, name) = self.file(path)?;
        let numbers = || self.lines.iter().flatten().filter(|(at, _)| *at == file).map(|(_, number)| *number);
        let no_line = || LineError::NoLine { file: name.to_owned(), line, last: numbers().max().unwrap_or(0) };
        let line = numbers().filter(|number| *number >= line).min().ok_or_else(no_line)?;
        Ok((name, line))
    }

    /// The file for a path: its index and its name in the PTX.
    ///
    /// # Errors
    /// If the kernel has no such file, or several of them.
    pub(crate) fn file(&self, path: &str) -> Result<(u32, &str), LineError> {
        let path = path.replace('\\', "/");
        let ends_in = |whole: &str, end: &str| {
            whole.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let longer = self.files.iter().enumerate().filter(|(_, file)| ends_in(&path, file));
        let shorter: Vec<_> = self.files.iter().enumerate().filter(|(_, file)| ends_in(file, &path)).collect();
        let found = longer.max_by_key(|(_, file)| file.len()).or(match shorter[..] {
            [only] if !path.is_empty() => Some(only),
            _ => None,
        });
        let names = |files: &[Arc<str>]| listed(files.iter().map(|file| file.to_string()));
        match found {
            Some((index, file)) => Ok((index as u32, file)),
            None if self.files.is_empty() => Err(LineError::NoLines),
            None if shorter.len() > 1 && !path.is_empty() => {
                let files: Vec<Arc<str>> = shorter.into_iter().map(|(_, file)| Arc::clone(file)).collect();
                Err(LineError::SeveralFiles { path, files: names(&files) })
            }
            None => Err(LineError::NoFile { path, files: names(&self.files) }),
        }
    }

    /// The source lines of instructions in words, such as `lines 60 to 62, 70 of src/lib.rs`. Empty
    /// if there are none.
    pub(crate) fn describe(&self, pcs: impl Iterator<Item = usize>) -> String {
        let mut of_files: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (file, line) in pcs.filter_map(|pc| self.lines[pc]) {
            of_files.entry(file).or_default().insert(line);
        }
        let describe = |(file, lines): (u32, BTreeSet<u32>)| {
            let plural = if lines.len() == 1 { "" } else { "s" };
            format!("line{plural} {} of {}", listed(ranges(&lines).into_iter()), self.files[file as usize])
        };
        listed(of_files.into_iter().map(describe).collect::<Vec<_>>().into_iter())
    }

    pub(crate) fn find(&self, file: &str, line: u32) -> Option<Line> {
        let index = self.files.iter().position(|known| **known == *file)?;
        Some((index as u32, line))
    }
}
