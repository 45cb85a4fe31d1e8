//! The result as text, one line per printed text, fault and note. The format matches compilers'
//! messages, so editors find the lines.

use std::fmt::Write as _;

use ptx_interpreter::Fault;
use ptx_interpreter::syntax::printable;

use crate::check::{Accesses, Counts, Outcome};

/// The result as lines. With `fidelity`, includes the instructions that are not exact.
pub fn describe(outcome: &Outcome, fidelity: bool) -> String {
    let mut lines: Vec<String> = outcome.printed.iter().map(ToString::to_string).collect();
    for fault in &outcome.faults {
        let location = outcome.locations.line_to_mark(&fault.place);
        lines.push(format!("{location}: error: {fault} [{}]", fault.kind.id()));
    }
    for note in &outcome.notes {
        let location = outcome.locations.line_to_mark(&note.place);
        lines.push(format!("{location}: note: {note} [{}]", note.kind.id()));
    }
    let mut places = outcome.faults.iter().chain(&outcome.notes).map(|fault| &fault.place);
    if places.any(|place| place.source.is_none()) {
        lines.push(format!("hint: {}", ptx_interpreter::HOW_TO_GET_LINES));
    }
    if let Some(clean) = &outcome.clean {
        lines.extend(count_lines(&clean.counts));
        if fidelity {
            let inexact: u64 = clean.inexact.iter().map(|inexact| inexact.count).sum();
            let all = clean.counts.thread_instructions;
            lines.push(format!("exact: {} of {all} instructions of threads", all - inexact));
            lines.extend(clean.inexact.iter().map(ToString::to_string));
        }
        lines.push(format!("no fault in {}", cuda_launch::counted(clean.orders as usize, "order")));
    }
    match &outcome.faults[..] {
        [] => {}
        [fault] => lines.push(format!("fault: {}; replay it with {}", fault.kind.id(), replay(fault))),
        [first, ..] => lines.push(format!("{} faults; replay them with {}", outcome.faults.len(), replay(first))),
    }
    lines.iter().map(|line| printable(line) + "\n").collect()
}

/// The option that runs a launch under a fault's schedule.
pub fn replay(fault: &Fault) -> String {
    format!("--order {}", fault.schedule)
}

fn count_lines(counts: &Counts) -> Vec<String> {
    let mut lines =
        vec![format!("instructions: {} of threads, {} of warps", counts.thread_instructions, counts.warp_instructions)];
    let memories =
        [("global", counts.global), ("shared", counts.shared), ("local", counts.local), ("generic", counts.generic)];
    for (name, accesses) in memories.into_iter().filter(|(_, accesses)| *accesses != Accesses::default()) {
        let Accesses { loads, stores, atomics } = accesses;
        let mut line = format!("{name} memory: {loads} loads, {stores} stores, {atomics} atomics of threads");
        if name == "shared" {
            let _ = write!(line, "; {}", cuda_launch::counted(counts.bank_conflicts as usize, "bank conflict"));
        }
        lines.push(line);
    }
    lines.push(format!("branches: {} of warps, {} divergent", counts.branches, counts.divergent_branches));
    lines
}
