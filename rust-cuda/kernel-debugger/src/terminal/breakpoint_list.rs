//! The breakpoints set by the user.

use std::collections::BTreeMap;

use crate::names::Scope;
use crate::{Breakpoints, Condition, Stopped};

/// A condition, with its text.
pub(super) type Conditional = Option<(Condition, String)>;

/// The breakpoints by file and line.
#[derive(Debug, Default)]
pub(super) struct BreakpointList {
    files: BTreeMap<String, BTreeMap<u32, Conditional>>,
}

impl BreakpointList {
    /// The breakpoint at a line, if any. The inner `Option` is its condition.
    pub(super) fn at(&self, file: &str, line: u32) -> Option<&Conditional> {
        self.files.get(file)?.get(&line)
    }

    /// Toggles a breakpoint at the first line, at or after `line`, that has instructions. Returns a
    /// message that tells what it did.
    ///
    /// # Errors
    /// If there is no such line, or the condition has no value there or never holds.
    pub(super) fn toggle(
        &mut self,
        stopped: &Stopped<'_>,
        breakpoints: &mut Breakpoints,
        (file, asked): (&str, u32),
        condition: Conditional,
    ) -> Result<String, String> {
        let lines = stopped.lines;
        let (file, line) = lines.nearest(file, asked).map_err(|error| error.to_string())?;
        if let Some((read, _)) = &condition {
            let at = lines.find(file, line).expect("the line has instructions");
            read.check(&Scope::of_line(stopped.launch, lines, at)).map_err(|error| error.to_string())?;
        }
        let of_file = self.files.entry(file.to_owned()).or_default();
        let text = condition.as_ref().map(|(_, text)| format!(" if {text}")).unwrap_or_default();
        let done = if of_file.get(&line) == Some(&condition) || condition.is_none() && of_file.contains_key(&line) {
            of_file.remove(&line);
            format!("no breakpoint at line {line}")
        } else {
            of_file.insert(line, condition);
            let moved =
                if line == asked { String::new() } else { format!(", the first from {asked} on with instructions") };
            format!("breakpoint at line {line}{text}{moved}")
        };
        let wanted = of_file.iter().map(|(line, condition)| (*line, condition.as_ref().map(|(read, _)| read.clone())));
        // Each breakpoint has been checked already.
        breakpoints.set_lines((stopped.launch, lines), file, wanted);
        Ok(done)
    }
}
