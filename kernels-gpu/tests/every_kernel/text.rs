//! The lines of a kernel's PTX, parsed as far as the edits need it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The module with this kernel alone, on its lines: without those of the others, which take longer to parse than most launches.
pub(crate) fn module_of(ptx: &str, kernel: &str) -> String {
    let (mut module, mut is_left_out) = (String::with_capacity(ptx.len() / 16), false);
    for line in ptx.lines() {
        if let Some(rest) = line.strip_prefix(".visible .entry ") {
            is_left_out = rest.split('(').next() != Some(kernel);
        }
        module += if is_left_out { "" } else { line };
        module.push('\n');
        is_left_out &= line != "}";
    }
    module
}

/// An instruction on its own line.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    /// Line number in the module, from 1.
    pub(crate) number: u32,
    pub(crate) text: &'a str,
    pub(crate) guard: Option<&'a str>,
    /// Opcode with all modifiers.
    pub(crate) opcode: &'a str,
    /// Byte ranges of the operands in the text.
    pub(crate) operands: Vec<Range<usize>>,
    /// Index of its basic block in the kernel.
    pub(crate) block: usize,
}

/// A kernel's instructions and labels.
pub(crate) struct Kernel<'a> {
    pub(crate) lines: Vec<Line<'a>>,
    /// For each label, the index in `lines` of the instruction after it.
    pub(crate) labels: BTreeMap<&'a str, usize>,
}

impl<'a> Line<'a> {
    pub(crate) fn is(&self, opcode: &str) -> bool {
        self.opcode.split('.').next() == Some(opcode)
    }

    pub(crate) fn operand(&self, index: usize) -> &'a str {
        self.operands.get(index).map_or("", |range| &self.text[range.clone()])
    }

    /// The source operands: all except the first, or all if the instruction writes no register.
    pub(crate) fn sources(&self) -> &[Range<usize>] {
        if self.writes() { &self.operands[1..] } else { &self.operands }
    }

    fn writes(&self) -> bool {
        !self.operands.is_empty()
            && !["st", "bra", "bar", "barrier", "ret", "trap", "exit"]
                .contains(&self.opcode.split('.').next().unwrap_or(""))
    }

    /// The written registers.
    pub(crate) fn destinations(&self) -> Vec<&'a str> {
        let written = if self.writes() { self.operands.first() } else { None };
        written.map_or(vec![], |range| registers(self.text, range.clone()).map(|at| &self.text[at]).collect())
    }

    /// Byte ranges of the source registers, without the guard.
    pub(crate) fn source_registers(&self) -> Vec<Range<usize>> {
        self.sources().iter().flat_map(|range| registers(self.text, range.clone())).collect()
    }
}

/// Byte ranges of the registers in a part of a line, without special registers.
pub(crate) fn registers(text: &str, within: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = within.end;
    text[within.clone()].match_indices('%').filter_map(move |(start, _)| {
        let start = within.start + start;
        let rest = &text[start + 1..end];
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let digits = rest[letters..].bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0).then_some(start..start + 1 + letters + digits)
    })
}

/// A register's class: `%rd` for `%rd12`.
pub(crate) fn class(register: &str) -> &str {
    register.trim_end_matches(|digit: char| digit.is_ascii_digit())
}

/// The kernel of this name.
pub(crate) fn kernel<'a>(module: &'a str, name: &str) -> Kernel<'a> {
    let entry = format!(".entry {name}(");
    let mut kernel = Kernel { lines: Vec::new(), labels: BTreeMap::new() };
    let mut block = 0;
    let lines = module.lines().enumerate().skip_while(|(_, line)| !line.contains(&entry));
    let body = lines.skip_while(|(_, line)| !line.starts_with('{')).skip(1);
    for (index, text) in body.take_while(|(_, line)| !line.starts_with('}')) {
        let trimmed = text.trim();
        if let Some(label) = trimmed.strip_suffix(':') {
            block += 1;
            kernel.labels.insert(label, kernel.lines.len());
        } else if let Some(line) = instruction(text, index as u32 + 1, block) {
            block += usize::from(line.is("bra"));
            kernel.lines.push(line);
        }
    }
    kernel
}

fn instruction(text: &str, number: u32, block: usize) -> Option<Line<'_>> {
    let trimmed = text.trim();
    // Skip directives, comments, and lines with several instructions.
    if trimmed.is_empty() || trimmed.starts_with(['.', '/']) || trimmed.matches(';').count() != 1 {
        return None;
    }
    let start = text.len() - text.trim_start().len();
    let end = text.find(';')?;
    let word = |from: usize| text[from..end].find(char::is_whitespace).map_or(end, |length| from + length);
    let (guard, opcode_start) = match text[start..].starts_with('@') {
        true => (Some(&text[start + 1..word(start)]), word(start) + 1),
        false => (None, start),
    };
    let opcode_end = word(opcode_start);
    let mut operands = Vec::new();
    let (mut depth, mut from) = (0, opcode_end);
    for (at, character) in text.char_indices().skip_while(|(at, _)| *at < opcode_end) {
        match character {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' | ';' if depth == 0 => {
                let skipped = text[from..at].len() - text[from..at].trim_start().len();
                if from + skipped < at {
                    operands.push(from + skipped..at);
                }
                from = at + 1;
            }
            _ => {}
        }
        if at == end {
            break;
        }
    }
    Some(Line { number, text, guard, opcode: &text[opcode_start..opcode_end], operands, block })
}

impl<'a> Kernel<'a> {
    /// The registers that affect a result: they are stored, are an address of a store or load, decide a branch that
    /// goes both ways, or are a source of such a register.
    pub(crate) fn observable(&self, executed: impl Fn(u32) -> bool) -> BTreeSet<&'a str> {
        let mut observable = BTreeSet::new();
        loop {
            let before = observable.len();
            for (index, line) in self.lines.iter().enumerate().filter(|(_, line)| executed(line.number)) {
                let guard_is_observable =
                    line.guard.is_some() && (!line.is("bra") || self.goes_both_ways(index, &executed));
                if guard_is_observable {
                    observable.extend(line.guard.map(|guard| guard.trim_start_matches('!')));
                }
                let is_observable =
                    line.is("st") || line.destinations().iter().any(|register| observable.contains(register));
                if is_observable {
                    observable.extend(line.source_registers().into_iter().map(|at| &line.text[at]));
                }
            }
            if observable.len() == before {
                return observable;
            }
        }
    }

    /// Whether both sides of this branch are executed.
    pub(crate) fn goes_both_ways(&self, index: usize, executed: impl Fn(u32) -> bool) -> bool {
        let reached = |index: usize| self.lines.get(index).is_some_and(|line| executed(line.number));
        self.target(index).is_some_and(reached) && reached(index + 1)
    }

    /// Target of a branch, as an index in `lines`.
    pub(crate) fn target(&self, index: usize) -> Option<usize> {
        let line = &self.lines[index];
        if line.is("bra") { self.labels.get(line.operand(0)).copied() } else { None }
    }

    /// Indices of the lines reachable from `from` without continuing past a line of `ends_at`; those lines are
    /// included.
    pub(crate) fn reachable(&self, from: usize, ends_at: impl Fn(usize) -> bool) -> BTreeSet<usize> {
        let (mut reachable, mut ahead) = (BTreeSet::new(), vec![from]);
        while let Some(index) = ahead.pop() {
            if index >= self.lines.len() || !reachable.insert(index) || ends_at(index) {
                continue;
            }
            ahead.extend(self.target(index));
            let line = &self.lines[index];
            let falls_through = line.guard.is_some() || !(line.is("bra") || line.is("ret"));
            ahead.extend(falls_through.then_some(index + 1));
        }
        reachable
    }
}
