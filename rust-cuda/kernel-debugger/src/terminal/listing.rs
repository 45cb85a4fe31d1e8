//! The contents of the source pane: a source file, or the kernel's instructions if the file cannot
//! be read.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use kernel_launch::{Launch, named_file};

use crate::{Stopped, sources};

/// Maximum size of a source file in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The sources of a kernel, read on first use.
pub(super) struct Sources {
    root: PathBuf,
    /// The lines of each file, or the error on reading it.
    files: HashMap<String, io::Result<Vec<String>>>,
    /// Text of each instruction.
    instructions: Vec<String>,
}

/// The listed text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listing<'s> {
    /// The source file by its name in the PTX, if the PTX names one.
    pub(super) file: Option<&'s str>,
    /// The reason why the file is not listed, if the PTX names one.
    pub(super) error: Option<&'s io::Error>,
    /// Whether `lines` come from the source file. Otherwise they are the instructions.
    pub(super) is_source: bool,
    pub(super) lines: &'s [String],
    pub(super) root: &'s Path,
}

impl Sources {
    pub(super) fn new(root: &Path, launch: &Launch) -> Self {
        let code = launch.machine().code(launch.kernel());
        let instructions =
            code.map(|code| (0..code.instructions()).map(|pc| code.place(pc).text.to_string()).collect());
        Self { root: root.to_owned(), files: HashMap::new(), instructions: instructions.unwrap_or_default() }
    }

    /// The listing that contains an instruction.
    pub(super) fn listing<'s>(&'s mut self, stopped: &'s Stopped<'_>, pc: usize) -> Listing<'s> {
        let instructions =
            Listing { file: None, error: None, is_source: false, lines: &self.instructions, root: &self.root };
        let Some((file, _)) = stopped.lines.source(pc) else { return instructions };
        let root = &self.root;
        let read = || {
            let bytes = named_file::read(&sources::find(root, file), MAX_BYTES)?;
            let text = String::from_utf8_lossy(&bytes);
            Ok(text.lines().map(|line| line.replace('\t', "    ")).collect())
        };
        match self.files.entry(file.to_owned()).or_insert_with(read) {
            Ok(lines) => Listing { file: Some(file), is_source: true, lines, ..instructions },
            Err(error) => Listing { file: Some(file), error: Some(error), ..instructions },
        }
    }
}

impl Listing<'_> {
    /// The line of an instruction in the listing, from 1. `None` if the listing does not contain
    /// it.
    pub(super) fn line(&self, stopped: &Stopped<'_>, pc: usize) -> Option<usize> {
        if !self.is_source {
            return Some(pc + 1);
        }
        let (file, line) = stopped.lines.source(pc)?;
        (Some(file) == self.file).then_some(line as usize)
    }
}
