//! A recording of one block as an HTML page that replays it: source lines, active lanes, memory,
//! and a time slider.
//!
//! [`record`] runs the launch three times, always in the same order: to find the block and its
//! fault, to find the memory that the block touches, and to record. The page is self-contained and
//! loads nothing.

mod document;
mod html;
mod memories;
mod outline;
mod recorder;
mod sources;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kernel_launch::Launch;
use ptx_interpreter::syntax::printable;
use ptx_interpreter::{Fault, LaunchError};
use thiserror::Error;

use crate::lines::Lines;
use crate::query::{Query, QueryError};
use outline::{Outline, Touched};
use recorder::Recorder;

/// Maximum number of instructions that [`Options::default`] records.
pub const DEFAULT_INSTRUCTIONS: usize = 100_000;

/// Options of a recording.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the PTX file in the page's title.
    pub ptx: String,
    /// Directory in which to look up the source files that the PTX names.
    pub source_root: PathBuf,
    /// Texts of source files by their names in the PTX, for sources without files. They take
    /// precedence over `source_root`.
    pub sources: BTreeMap<String, String>,
    /// Number of the block to record. `None` for the block with the fault, or block 0 if there is
    /// no fault.
    pub block: Option<u32>,
    /// Maximum number of instructions: the last ones before the block's fault, or the first ones
    /// without a fault.
    pub instructions: usize,
    /// Shapes and types of memories that override the launch's, such as `shared0 as f32 32x33`.
    pub shapes: Vec<Query>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ptx: String::new(),
            source_root: PathBuf::from("."),
            sources: BTreeMap::new(),
            block: None,
            instructions: DEFAULT_INSTRUCTIONS,
            shapes: Vec::new(),
        }
    }
}

/// The reason why a launch cannot be recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The launch is invalid.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The grid has no such block.
    #[error("block {block} is not in the grid, which has {blocks} blocks")]
    NoSuchBlock {
        /// Number of the requested block.
        block: u32,
        /// Number of blocks.
        blocks: u64,
    },
    /// A fault ends the launch before the block begins.
    #[error("block {block} never runs, because of a fault before: {fault}")]
    NeverRuns {
        /// Number of the requested block.
        block: u32,
        /// The fault.
        fault: Box<Fault>,
    },
    /// A shape that does not fit its memory.
    #[error(transparent)]
    Shape(#[from] QueryError),
}

/// A recording as a page.
#[derive(Clone, Debug)]
pub struct Page {
    /// The page: one HTML file that loads nothing else.
    pub html: String,
    /// Index of the recorded block in the grid, such as `(0, 0, 0)`.
    pub block: String,
    /// Number of recorded instructions.
    pub recorded: usize,
    /// Total number of instructions that the block issued in the launch.
    pub issued: u64,
    /// Text of the launch's fault.
    pub fault: Option<String>,
    /// Whether the fault belongs to the block, so the recording ends with its last instructions.
    pub ends_at_fault: bool,
}

/// Runs a launch and records one of its blocks.
///
/// # Errors
/// If the launch is invalid, the block does not run, or a shape does not fit.
pub fn record(launch: &Launch, options: &Options) -> Result<Page, RecordError> {
    let grid = launch.config().grid;
    if let Some(block) = options.block.filter(|block| u64::from(*block) >= grid.count()) {
        return Err(RecordError::NoSuchBlock { block, blocks: grid.count() });
    }
    let mut outline = Outline::default();
    let fault = match launch.run(&mut outline) {
        Ok(_) => None,
        Err(LaunchError::Fault(fault)) => Some(fault),
        Err(error) => return Err(error.into()),
    };
    let fault_block = fault.as_ref().map(|fault| fault.block.x + grid.x * (fault.block.y + grid.y * fault.block.z));
    let block = options.block.or(fault_block).unwrap_or(0);
    let issued = match (outline.issued(block), &fault) {
        (0, Some(fault)) if fault_block != Some(block) => {
            return Err(RecordError::NeverRuns { block, fault: fault.clone() });
        }
        (issued, _) => issued,
    };
    let limit = options.instructions.max(1) as u64;
    let own_fault = fault.as_deref().filter(|_| fault_block == Some(block));
    let first = if own_fault.is_some() { issued.saturating_sub(limit) } else { 0 };
    let range = first..issued.min(first + limit);

    let lines = Lines::new(launch);
    let mut touched = Touched::new(block, range.clone());
    // The fault found earlier also ends this run, unless it is a race.
    let _ = launch.replay(None, &mut touched);
    let shapes: Vec<Query> =
        options.shapes.iter().map(|query| query.renamed(launch.name_of_shared(&query.name))).collect();
    let memories = memories::plan(launch, &lines, &touched, own_fault, &shapes)?;
    let faulting = own_fault.map(|fault| (fault, outline.is_last(block, fault)));
    let mut recorder = Recorder::new(launch, &lines, (block, range.clone()), memories, faulting);
    let _ = launch.replay(None, &mut recorder);
    let sources = sources::Sources::new(&lines, options);
    let recorded = recorder.recorded();
    let document = recorder.into_document(&sources, options, fault.as_deref(), (first, issued));
    let html = html::page(&document);
    let ends_at_fault = document.fault.is_some();
    let fault = document.fault.map(|fault| fault.text).or(document.other_fault);
    let block = grid.index_of(block.into()).to_string();
    Ok(Page { html, block, recorded, issued, fault, ends_at_fault })
}

impl Page {
    /// A summary of the recording for the terminal: what it shows, out of how many instructions,
    /// and the fault.
    pub fn describe(&self, output: &Path, kernel: &str) -> String {
        let of = match self.recorded as u64 == self.issued {
            true => format!("all {} instructions", self.issued),
            false => {
                let which = if self.ends_at_fault { "last" } else { "first" };
                format!("the {which} {} of {} instructions; --instructions changes that", self.recorded, self.issued)
            }
        };
        let kilobytes = self.html.len().div_ceil(1000);
        let head = format!("{}: block {} of {kernel}, {of} ({kilobytes} kB)", output.display(), self.block);
        let fault = self.fault.iter().map(|fault| format!("fault: {fault}"));
        let lines: Vec<String> = [head].into_iter().chain(fault).map(|line| printable(&line)).collect();
        lines.join("\n")
    }
}

/// Parses a shape such as `shared0=32x33` or `shared0=f32 32x33` into an expression.
///
/// # Errors
/// If the text has another form.
pub fn parse_shape(text: &str) -> Result<Query, QueryError> {
    let syntax = || QueryError::Syntax(text.to_owned());
    let (name, shape) = text.split_once('=').ok_or_else(syntax)?;
    let query: Query = format!("{name} as {shape}").parse().map_err(|_| syntax())?;
    if query.slices.is_empty() { Ok(query) } else { Err(syntax()) }
}
