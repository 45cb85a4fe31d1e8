//! Names at a place in a kernel, and messages about unknown names.

use std::collections::BTreeSet;

use kernel_launch::debug_information::Variable;
use kernel_launch::{Argument, Launch};

use crate::lines::{Line, Lines};
use crate::query::QueryError;

/// Maximum number of names, and of ranges of lines, that a message lists.
const MAX_LISTED: usize = 24;

/// Instructions at which to look up a name: the next one of a stopped warp, or all that a source
/// line was compiled to.
#[derive(Clone, Debug)]
pub(crate) struct Scope<'s> {
    launch: &'s Launch,
    lines: &'s Lines,
    pcs: Vec<usize>,
    /// The frame to search for variables first. `None` for the innermost frame of each instruction.
    frame: Option<usize>,
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning<'s> {
    /// A Rust variable.
    Variable(&'s Variable),
    Register,
    Argument(&'s Argument),
    /// A variable in shared memory.
    Shared,
}

impl<'s> Scope<'s> {
    /// The scope of one instruction.
    pub(crate) fn at(launch: &'s Launch, lines: &'s Lines, pc: usize) -> Self {
        Self { launch, lines, pcs: vec![pc], frame: None }
    }

    /// The scope of all instructions of a source line.
    pub(crate) fn of_line(launch: &'s Launch, lines: &'s Lines, line: Line) -> Self {
        let pcs = (0..lines.instructions()).filter(|pc| lines.line(*pc) == Some(line)).collect();
        Self { launch, lines, pcs, frame: None }
    }

    /// The scope with the variables of another frame and its callers.
    pub(crate) fn in_frame(self, frame: Option<usize>) -> Self {
        Self { frame, ..self }
    }

    /// The launch.
    pub(crate) fn launch(&self) -> &'s Launch {
        self.launch
    }

    /// The source lines of the kernel.
    pub(crate) fn lines(&self) -> &'s Lines {
        self.lines
    }

    /// The variables that are visible at an instruction, the innermost first.
    fn variables(&self, pc: usize) -> Vec<&'s Variable> {
        let information = self.lines.information();
        let line = self.lines.place(pc).line;
        let frames = information.with_callers(self.frame.unwrap_or_else(|| self.lines.frame(pc)));
        frames.flat_map(|frame| information.variables(frame, line)).collect()
    }

    /// The meaning of a name that has a value at one or more of the instructions. For `x.rows`, the
    /// name is `x`.
    ///
    /// # Errors
    /// If the name is unknown, or the compiler has removed the variable at all of the instructions.
    pub(crate) fn find(&self, name: &str) -> Result<Meaning<'s>, QueryError> {
        let arguments = self.launch.arguments().iter();
        let argument = arguments.clone().find(|argument| argument.name() == name);
        if let Some(buffer @ Argument::Buffer { .. }) = argument {
            return Ok(Meaning::Argument(buffer));
        }
        if self.is_shared(name) {
            return Ok(Meaning::Shared);
        }
        let first = name.split('.').next().unwrap_or_default();
        let information = self.lines.information();
        let mut removed = false;
        for pc in &self.pcs {
            if let Some(variable) = self.variables(*pc).into_iter().find(|variable| variable.name == first) {
                if information.has_value(variable, self.lines.place(*pc).line) {
                    return Ok(Meaning::Variable(variable));
                }
                removed = true;
            }
        }
        if removed {
            return Err(self.removed(first));
        }
        if registers(self.launch).any(|register| is_register(register, name)) {
            return Ok(Meaning::Register);
        }
        argument.map(Meaning::Argument).ok_or_else(|| self.unknown(name))
    }

    fn is_shared(&self, name: &str) -> bool {
        let name = self.launch.name_of_shared(name);
        self.launch.shared().iter().any(|variable| variable.name == name)
    }

    /// The error for a name without a meaning: it is out of scope or unknown.
    pub(crate) fn unknown(&self, name: &str) -> QueryError {
        let first = name.split('.').next().unwrap_or_default();
        let elsewhere = self.lines_with_value(first);
        if !elsewhere.is_empty() {
            return QueryError::OutOfScope { name: first.to_owned(), place: self.place(), lines: elsewhere };
        }
        QueryError::Unknown { name: name.to_owned(), known: listed(self.names().into_iter()) }
    }

    /// The error for a variable that the compiler has removed here.
    pub(crate) fn removed(&self, name: &str) -> QueryError {
        let lines = self.lines_with_value(name);
        let way_out = match lines.is_empty() {
            true => "the compiler keeps its value nowhere: look at the registers, or run the kernel in the simulator"
                .to_owned(),
            false => format!("it has a value at {lines}"),
        };
        QueryError::Removed { name: name.to_owned(), place: self.place(), way_out }
    }

    /// The names that have a meaning here: arguments, variables, arrays in shared memory, and
    /// ranges of registers.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let arguments = self.launch.arguments().iter().map(|argument| argument.name());
        let shared = self.launch.shared().iter().map(|variable| variable.name.as_str());
        let variables = self.pcs.iter().flat_map(|pc| self.variables(*pc)).map(|variable| variable.name.as_str());
        for name in arguments.chain(shared).chain(variables) {
            if names.iter().all(|known| known != name) {
                names.push(name.to_owned());
            }
        }
        names.extend(register_ranges(self.launch));
        names
    }

    /// The place in words: a source line or, if there is none, a line of the PTX.
    fn place(&self) -> String {
        let Some(pc) = self.pcs.first() else { return "here".to_owned() };
        match self.lines.source(*pc) {
            Some((file, line)) => format!("at {file}:{line}"),
            None => format!("at PTX line {}", self.lines.place(*pc).line),
        }
    }

    /// The source lines at which a variable of this name has a value, in words. Empty if there are
    /// none.
    fn lines_with_value(&self, name: &str) -> String {
        let information = self.lines.information();
        let has_value = |pc: &usize| {
            let line = self.lines.place(*pc).line;
            let frames = information.with_callers(self.lines.frame(*pc));
            let mut variables = frames.flat_map(|frame| information.variables(frame, line));
            variables.any(|variable| variable.name == name && information.has_value(variable, line))
        };
        self.lines.describe((0..self.lines.instructions()).filter(has_value))
    }
}

/// A list of names. A long list ends with the number of names left out.
pub(crate) fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MAX_LISTED);
    let mut listed: Vec<String> = names.take(MAX_LISTED).collect();
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    listed.join(", ")
}

/// Ascending numbers as ranges: `3, 5 to 7`.
pub(crate) fn ranges(numbers: &BTreeSet<u32>) -> Vec<String> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let shown = |(first, last)| if first == last { format!("{first}") } else { format!("{first} to {last}") };
    ranges.into_iter().map(shown).collect()
}

/// Whether a name in an expression names the register: `r5` also means `%r5`.
pub(crate) fn is_register(register: &str, name: &str) -> bool {
    register.trim_start_matches('%') == name.trim_start_matches('%')
}

/// The names of the kernel's registers.
fn registers(launch: &Launch) -> impl Iterator<Item = &str> {
    let code = launch.machine().code(launch.kernel()).expect("a launch's kernel is in its module");
    code.registers().map(|(name, _)| name)
}

/// The registers in words, such as `%r1 to %r12`.
fn register_ranges(launch: &Launch) -> Vec<String> {
    let mut ranges: Vec<(&str, String, String)> = Vec::new();
    for name in registers(launch) {
        let class = name.trim_end_matches(|character: char| character.is_ascii_digit());
        match ranges.iter_mut().find(|(known, ..)| *known == class) {
            Some((.., last)) => name.clone_into(last),
            None => ranges.push((class, name.to_owned(), name.to_owned())),
        }
    }
    let shown = |(_, first, last)| if first == last { first } else { format!("{first} to {last}") };
    ranges.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_ranges() {
        let shown = |numbers: &[u32]| ranges(&numbers.iter().copied().collect()).join(", ");
        assert_eq!(shown(&[]), "");
        assert_eq!(shown(&[7]), "7");
        assert_eq!(shown(&[9, 1, 2, 3, u32::MAX, 5]), format!("1 to 3, 5, 9, {}", u32::MAX));
    }

    #[test]
    fn long_lists_are_counted() {
        let names = |count: usize| listed((0..count).map(|number| number.to_string()));
        assert!(names(MAX_LISTED).ends_with(", 23"));
        assert!(names(MAX_LISTED + 2).ends_with(", 23, 2 more"));
    }
}
