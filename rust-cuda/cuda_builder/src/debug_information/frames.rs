//! The inlined calls in each function, and the frame of each instruction.

use std::collections::HashMap;

use super::dies::{Die, Dies};
use crate::source_lines::{Position, Traced};

/// A function in the PTX.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    /// The line with its name.
    pub(super) first_line: u32,
    /// The function itself, followed by inlined calls to functions in the kernels' own crate.
    pub(super) frames: Vec<Frame>,
    /// The lines from which on instructions belong to another frame, with that frame's index.
    pub(super) lines: Vec<(u32, usize)>,
}

/// A function, or an inlined call to one.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) name: String,
    /// The index of its entry.
    pub(super) entry: usize,
    /// The frame that it is called from.
    pub(super) caller: usize,
    /// File, line and column of the call.
    pub(super) call: (String, u32, u32),
}

/// Name of the function that `#[kernel]` creates for a kernel's body. It is inlined into the
/// kernel's entry.
const BODY: &str = "__cuda_std_kernel_body";

/// All functions of a module, in text order.
pub(super) fn functions(dies: &Dies, traced: &Traced) -> Vec<Function> {
    let starts: Vec<(u32, &str)> =
        (1..).zip(traced.text.lines()).filter_map(|(line, text)| Some((line, function_name(text)?))).collect();
    let mut functions = Vec::new();
    for (entry, die) in dies.entries.iter().enumerate() {
        let Some((low, high)) = die.lines.filter(|_| die.tag == gimli::DW_TAG_subprogram) else { continue };
        let Some((first_line, name)) = starts.iter().rfind(|(line, _)| *line <= low) else { continue };
        let frames = vec![Frame { name: (*name).to_owned(), entry, caller: 0, call: Default::default() }];
        let mut function = Function { name: (*name).to_owned(), first_line: *first_line, frames, lines: Vec::new() };
        let mut known = HashMap::new();
        for (line, chain) in traced.chains.iter().filter(|(line, _)| (low..high).contains(line)) {
            let frame = *known.entry(chain).or_insert_with(|| function.frame_of(dies, traced, entry, (*line, chain)));
            if function.lines.last().is_none_or(|(_, last)| *last != frame) {
                function.lines.push((*line, frame));
            }
        }
        functions.push(function);
    }
    functions.sort_by_key(|function| function.first_line);
    functions
}

impl Function {
    /// The frame of an instruction at `line` with this inlined-at chain, in the function `entry`.
    /// Adds missing frames.
    fn frame_of(&mut self, dies: &Dies, traced: &Traced, mut entry: usize, (line, chain): (u32, &[Position])) -> usize {
        let mut frame = 0;
        // The most recent position in a function with a frame, which is where the next one is
        // called.
        let mut call = None;
        for pair in chain.windows(2).rev() {
            let [position, caller] = pair else { unreachable!("windows of two") };
            if caller.is_own {
                call = Some(caller);
            }
            let Some(callee) = callee(dies, traced, entry, caller, line) else { break };
            entry = callee;
            if !position.is_own {
                continue;
            }
            let name = dies.name(&dies.entries[callee]).unwrap_or("?");
            if name == BODY && frame == 0 {
                // Users see it as the kernel.
                self.frames[0].entry = callee;
                continue;
            }
            let known = self.frames.iter().position(|known| known.entry == callee);
            frame = known.unwrap_or_else(|| {
                let call = call.map(|at| (at.file.to_string(), at.line, at.column)).unwrap_or_default();
                self.frames.push(Frame { name: name.to_owned(), entry: callee, caller: frame, call });
                self.frames.len() - 1
            });
        }
        frame
    }
}

/// The inlined call at a position in the function or call `entry`. If there are several, the one
/// with the least code around `line`.
fn callee(dies: &Dies, traced: &Traced, entry: usize, at: &Position, line: u32) -> Option<usize> {
    let mut best = None;
    let mut pending = dies.entries[entry].children.clone();
    while let Some(index) = pending.pop() {
        let die = &dies.entries[index];
        if die.tag == gimli::DW_TAG_lexical_block {
            pending.extend(&die.children);
        } else if die.tag == gimli::DW_TAG_inlined_subroutine && is_called_at(die, traced, at) {
            let lines = die.lines.filter(|(low, high)| (*low..*high).contains(&line));
            let length = lines.map_or(u32::MAX, |(low, high)| high - low);
            if best.is_none_or(|known| (length, index) < known) {
                best = Some((length, index));
            }
        }
    }
    best.map(|(_, index)| index)
}

fn is_called_at(die: &Die, traced: &Traced, at: &Position) -> bool {
    let Some((file, line, column)) = die.call else { return false };
    let file = u32::try_from(file).ok().and_then(|file| traced.files.get(&file));
    line == u64::from(at.line)
        && (column == 0 || column == u64::from(at.column))
        && file.is_some_and(|file| **file == *at.file)
}

/// The name of the function that a PTX line declares or defines.
fn function_name(line: &str) -> Option<&str> {
    let after = [".entry ", ".func "].iter().find_map(|word| Some(line.split_once(word)?.1))?;
    // A function's result is in parentheses in front of its name.
    let after = after.trim_start();
    let after = if after.starts_with('(') { after.split_once(')')?.1.trim_start() } else { after };
    after.split(['(', ' ', '\t']).next().filter(|name| !name.is_empty())
}
