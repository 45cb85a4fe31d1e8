//! Mutations ("edits") of a kernel's PTX, each of which changes the kernel's behaviour.
//!
//! Some mutations of a text are equivalent: no result depends on them. These rules exclude them. The rules depend on
//! the text and on the executed lines, never on whether an edit was caught:
//! 1. A line that no thread executes in any boundary case is not edited.
//! 2. An immediate or a register that is only used by a branch of which one side is never executed, such as a bounds
//!    check that always holds, is not edited. The check itself is: negated, it must fail.
//! 3. A comparison that chooses between a 64-bit and a 32-bit division is not negated: both give the same result.
//! 4. A branch is not redirected to a label that is reachable from its old target. Such a shortcut may skip only a
//!    bounds check, or cells that the code in between would skip too. Nor is it redirected to a label from which
//!    control can reach the old target without storing a result, such as the condition of a loop that has ended: that
//!    may repeat work without effect.
//! 5. A register is not replaced by one that a `mov` of the same block makes its copy, nor in a `mov` itself.
//! 6. Of a comparison only the operator is edited, and a `min` or `max` with an immediate not at all: another bound that
//!    separates the occurring values in the same way is equivalent. For the same reason an instruction is not edited if
//!    its result is only used by ordering comparisons and by such a `min` or `max`, directly or through further
//!    additions.
//! 7. In an `or` with an immediate no register is replaced: another register may have the immediate's bits too.
//! 8. An integer of 2²⁹ or more is not edited: it is the bits of a float, of which the edit would change the last one.
//!    Nor is one of a `selp`, whose predicate may choose the other source for every value that occurs.
//! 9. The wait of a cluster's barrier before the kernel's end is not removed. `cuda_builder` adds it for memory that others may still
//!    access, and a block that has received all that the others send needs none.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::text::{Kernel, Line, class, kernel, registers};

/// The edited part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Register,
    Barrier,
    Offset,
    Comparison,
    Target,
    Immediate,
}

/// A line of a module, and its replacement.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) kind: Kind,
    pub(crate) line: u32,
    pub(crate) before: String,
    pub(crate) after: String,
}

impl Edit {
    /// The edited module.
    pub(crate) fn apply(&self, module: &str) -> String {
        let lines = module
            .lines()
            .enumerate()
            .map(|(index, line)| if index as u32 + 1 == self.line { &self.after } else { line });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// All edits of a kernel. `executed` says whether some thread executes a line of the module in a boundary case.
pub(crate) fn edits(module: &str, name: &str, executed: impl Fn(u32) -> bool) -> Vec<Edit> {
    let kernel = kernel(module, name);
    let observable = kernel.observable(&executed);
    let bounds = bounds(&kernel, &executed);
    let mut edits = Vec::new();
    for (index, line) in kernel.lines.iter().enumerate().filter(|(_, line)| executed(line.number)) {
        let mut edit = |kind, after: String| {
            edits.push(Edit { kind, line: line.number, before: line.text.to_owned(), after });
        };
        let is_last = kernel.lines.get(index + 1).is_some_and(|next| next.is("ret"));
        if line.is("bar") || line.is("barrier") && !is_last {
            edit(Kind::Barrier, String::new());
        }
        if let Some(negated) = negated(line)
            && !chooses_a_division(&kernel, line)
        {
            edit(Kind::Comparison, negated);
        }
        if line.is("bra") {
            targets(&kernel, index, &executed).into_iter().for_each(|after| edit(Kind::Target, after));
        }
        let is_observable = line.is("st") || line.destinations().iter().any(|register| observable.contains(register));
        let is_bound = line.destinations().iter().any(|register| bounds.contains(register));
        if is_observable && !is_bound {
            offset(line).into_iter().for_each(|after| edit(Kind::Offset, after));
            immediates(line).into_iter().for_each(|after| edit(Kind::Immediate, after));
            other_registers(&kernel, line).into_iter().for_each(|after| edit(Kind::Register, after));
        }
    }
    edits
}

fn replaced(text: &str, at: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..at.start], &text[at.end..])
}

/// The line with the opposite comparison.
fn negated(line: &Line<'_>) -> Option<String> {
    const OPPOSITES: [(&str, &str); 6] =
        [("lt", "ge"), ("ge", "lt"), ("le", "gt"), ("gt", "le"), ("eq", "ne"), ("ne", "eq")];
    let comparison = line.opcode.strip_prefix("setp.")?.split('.').next()?;
    let (_, opposite) = OPPOSITES.iter().find(|(name, _)| *name == comparison)?;
    Some(line.text.replacen(&format!("setp.{comparison}"), &format!("setp.{opposite}"), 1))
}

/// Whether a comparison chooses between a 64-bit and a 32-bit division.
fn chooses_a_division(kernel: &Kernel<'_>, comparison: &Line<'_>) -> bool {
    let predicate = comparison.operand(0);
    let divides = |index: usize| {
        let block = kernel.lines.get(index).map(|line| line.block);
        let mut lines = kernel.lines.iter().filter(|line| Some(line.block) == block);
        lines.any(|line| ["div.u64", "div.s64", "rem.u64", "rem.s64"].contains(&line.opcode))
    };
    let mut branches = (0..kernel.lines.len()).filter(|index| {
        let line = &kernel.lines[*index];
        line.is("bra") && line.guard.is_some_and(|guard| guard.trim_start_matches('!') == predicate)
    });
    branches.any(|index| divides(index + 1) || kernel.target(index).is_some_and(divides))
}

/// The line with each label to which the branch may be redirected.
fn targets(kernel: &Kernel<'_>, index: usize, executed: impl Fn(u32) -> bool) -> Vec<String> {
    let line = &kernel.lines[index];
    let reached = |index: usize| kernel.lines.get(index).is_some_and(|line| executed(line.number));
    let Some(target) = kernel.target(index).filter(|target| reached(*target)) else { return vec![] };
    let shortcuts = kernel.reachable(target, |passed| passed == index);
    let stores = |passed: usize| kernel.lines[passed].opcode.starts_with("st.global");
    let is_detour = |other: usize| kernel.reachable(other, stores).contains(&target);
    let new = |other: usize| other != index + 1 && reached(other) && !shortcuts.contains(&other) && !is_detour(other);
    let others = kernel.labels.iter().filter(|(_, other)| new(**other));
    others.map(|(label, _)| replaced(line.text, line.operands[0].clone(), label)).collect()
}

fn offset(line: &Line<'_>) -> Vec<String> {
    let Some(address) = line.operands.iter().find(|range| line.text[(*range).clone()].starts_with("[%")) else {
        return vec![];
    };
    let inner = address.start + 1..address.end - 1;
    let text = &line.text[inner.clone()];
    let (base, offset) =
        text.split_once('+').map_or((text, 0), |(base, offset)| (base, offset.parse::<i64>().unwrap_or(0)));
    let bytes = if line.opcode.ends_with("64") { 8 } else { 4 } * if line.opcode.contains(".v4") { 4 } else { 1 };
    [-bytes, bytes].map(|by| replaced(line.text, inner.clone(), &format!("{base}+{}", offset + by))).to_vec()
}

fn immediates(line: &Line<'_>) -> Vec<String> {
    if line.is("setp") || line.is("selp") || is_clamp(line) {
        return vec![];
    }
    let sources = line.sources().iter();
    let immediates = sources.filter_map(|range| Some((range, line.text[range.clone()].parse::<i64>().ok()?)));
    let immediates = immediates.filter(|(_, value)| value.unsigned_abs() < 1 << 29);
    immediates.map(|(range, value)| replaced(line.text, range.clone(), &another(line, value).to_string())).collect()
}

/// Another value of an immediate: the next one. The distance of a butterfly becomes another power of two: with the
/// smaller distances, d + 1 reaches the same lanes as d.
fn another(line: &Line<'_>, value: i64) -> i64 {
    match value {
        1..=8 if line.opcode.starts_with("shfl.sync.bfly") => 2 * value,
        16 if line.opcode.starts_with("shfl.sync.bfly") => 8,
        _ => value + 1,
    }
}

/// The registers that are only used by ordering comparisons, by clamps, or by additions whose result is such a
/// register.
fn bounds<'a>(kernel: &Kernel<'a>, executed: impl Fn(u32) -> bool) -> BTreeSet<&'a str> {
    let lines = || kernel.lines.iter().filter(|line| executed(line.number));
    let mut bounds: BTreeSet<&str> = lines().flat_map(Line::destinations).collect();
    loop {
        let before = bounds.len();
        for line in lines() {
            let orders =
                ["setp.lt", "setp.le", "setp.gt", "setp.ge"].iter().any(|start| line.opcode.starts_with(start));
            let adds = ["add", "sub", "mov", "or"].iter().any(|opcode| line.is(opcode));
            let passes_on = adds && line.destinations().iter().all(|register| bounds.contains(register));
            if !(orders || is_clamp(line) || passes_on) {
                line.source_registers().into_iter().for_each(|at| {
                    bounds.remove(&line.text[at]);
                });
            }
        }
        if bounds.len() == before {
            return bounds;
        }
    }
}

/// Whether the line is a `min` or `max` with an immediate.
fn is_clamp(line: &Line<'_>) -> bool {
    (line.is("min") || line.is("max")) && has_immediate(line)
}

fn has_immediate(line: &Line<'_>) -> bool {
    line.sources().iter().any(|range| line.text[range.clone()].parse::<i64>().is_ok())
}

/// The line with one source register replaced by another one of the same type that occurs nearby.
fn other_registers(kernel: &Kernel<'_>, line: &Line<'_>) -> Vec<String> {
    if is_clamp(line) || line.is("setp") || line.is("mov") || line.is("or") && has_immediate(line) {
        return vec![];
    }
    let copies = |a: &str, b: &str| {
        let moves = kernel.lines.iter().filter(|other| other.block == line.block && other.is("mov"));
        moves.map(|other| (other.operand(0), other.operand(1))).any(|pair| pair == (a, b) || pair == (b, a))
    };
    let near = kernel.lines.iter().filter(|other| other.block == line.block && other.number.abs_diff(line.number) <= 3);
    let near: BTreeSet<&str> =
        near.flat_map(|other| registers(other.text, 0..other.text.len()).map(|at| &other.text[at])).collect();
    let mut edited = Vec::new();
    for at in line.source_registers() {
        let register = &line.text[at.clone()];
        let others = near
            .iter()
            .filter(|other| **other != register && class(other) == class(register) && !copies(other, register));
        edited.extend(others.map(|other| replaced(line.text, at.clone(), other)));
    }
    edited
}
