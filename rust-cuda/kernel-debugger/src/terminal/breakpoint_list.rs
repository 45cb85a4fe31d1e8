//! The breakpoints that the user has set.

use std::collections::BTreeMap;

use crate::{Breakpoints, Condition, Lines};

/// A condition, with its text.
pub(super) type Conditional = Option<(Condition, String)>;

/// The breakpoints by file and line.
#[derive(Debug, Default)]
pub(super) struct BreakpointList {
    files: BTreeMap<String, BTreeMap<u32, Conditional>>,
}

impl BreakpointList {
    /// The breakpoint at a line, if there is one: its condition, unless it has none.
    pub(super) fn at(&self, file: &str, line: u32) -> Option<&Conditional> {
        self.files.get(file)?.get(&line)
    }

    /// Sets a breakpoint at the first line from `line` on that has instructions, or removes the same one. Returns what
    /// it has done.
    ///
    /// # Errors
    /// If there is no such line.
    pub(super) fn toggle(
        &mut self,
        (lines, breakpoints): (&Lines, &mut Breakpoints),
        (file, line): (&str, u32),
        condition: Conditional,
    ) -> Result<String, String> {
        let no_line = || format!("the kernel has no instructions at line {line} of {file} or after it");
        let (file, line) = lines.nearest(file, line).ok_or_else(no_line)?;
        let of_file = self.files.entry(file.to_owned()).or_default();
        let text = condition.as_ref().map(|(_, text)| format!(" if {text}")).unwrap_or_default();
        let done = if of_file.get(&line) == Some(&condition) || condition.is_none() && of_file.contains_key(&line) {
            of_file.remove(&line);
            format!("no breakpoint at line {line}")
        } else {
            of_file.insert(line, condition);
            format!("breakpoint at line {line}{text}")
        };
        let wanted = of_file.iter().map(|(line, condition)| (*line, condition.as_ref().map(|(read, _)| read.clone())));
        breakpoints.set_lines(lines, file, wanted);
        Ok(done)
    }
}
