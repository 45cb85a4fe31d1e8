//! The parts of a launch that a GPU may execute differently.

use std::collections::BTreeMap;
use std::fmt;

use super::report::LaunchReport;
use crate::program::image::ImageAccess;
use crate::program::instruction::{Action, Wgmma, Wmma};
use crate::semantics;

/// How an instruction's results compare to a GPU's results for the same inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fidelity {
    /// Bit-identical results.
    Exact,
    /// A GPU's results may differ by rounding: approximate functions, texture filtering, and sums
    /// in matrix products, which have an unspecified order.
    Approximate,
    /// Results depend on time or order, but are the same in each run here: clocks, and atomic
    /// operations on floats.
    Deterministic,
    /// No effect here: prefetches, pauses and hints.
    Skipped,
}

/// An inexact instruction, by its name, and the number of times that threads have executed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexact {
    /// Kind of difference.
    pub fidelity: Fidelity,
    /// Its name with modifiers. For a read of a clock, the whole instruction.
    pub instruction: String,
    /// Number of executions by threads.
    pub count: u64,
}

impl Fidelity {
    pub(super) fn of(action: &Action, text: &str) -> Self {
        let mut modifiers = name_of(text).split('.').skip(1);
        match action {
            Action::Nothing => Self::Skipped,
            Action::ReadClock { .. } => Self::Deterministic,
            Action::Atomic(_) if modifiers.any(|name| name.starts_with('f') || name.starts_with("bf")) => {
                Self::Deterministic
            }
            Action::Matrix(_) | Action::Wmma(Wmma::Product(_)) | Action::Wgmma(Wgmma::Product(_)) => Self::Approximate,
            Action::Image(ImageAccess::Fetch(fetch)) if fetch.is_float => Self::Approximate,
            Action::Compute { .. } if modifiers.any(|name| matches!(name, "approx" | "full")) => Self::Approximate,
            _ => Self::Exact,
        }
    }
}

impl LaunchReport {
    /// The executed inexact instructions, by kind and name.
    pub fn inexact(&self) -> Vec<Inexact> {
        let mut counts = BTreeMap::new();
        let executed = self.instructions.iter().filter(|instruction| instruction.counts.lanes > 0);
        for instruction in executed.filter(|instruction| instruction.fidelity != Fidelity::Exact) {
            let text = &*instruction.place.text;
            let is_clock =
                instruction.fidelity == Fidelity::Deterministic && text.contains('%') && text.contains("clock");
            let name = if is_clock { without_guard(text) } else { name_of(text) };
            *counts.entry((instruction.fidelity, name)).or_default() += instruction.counts.lanes;
        }
        let inexact = |((fidelity, name), count): ((Fidelity, &str), u64)| Inexact {
            fidelity,
            instruction: name.to_owned(),
            count,
        };
        counts.into_iter().map(inexact).collect()
    }
}

impl Inexact {
    /// The displayed text without the count.
    pub fn without_count(&self) -> String {
        let Self { fidelity, instruction, .. } = self;
        let what = match fidelity {
            Fidelity::Exact => "exact",
            Fidelity::Approximate => "approximate",
            Fidelity::Deterministic => "made deterministic",
            Fidelity::Skipped => "skipped",
        };
        let mut names = instruction.split('.');
        let opcode = names.next().unwrap_or_default();
        let bound = semantics::approximation_error(opcode, &names.collect::<Vec<_>>());
        match bound.ok().flatten() {
            Some(bound) => format!("{what}: {instruction}, of which a GPU's result {bound}"),
            None => format!("{what}: {instruction}"),
        }
    }
}

impl fmt::Display for Inexact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {} of threads", self.without_count(), self.count)
    }
}

fn without_guard(text: &str) -> &str {
    match text.split_once(' ') {
        Some((guard, rest)) if guard.starts_with('@') => rest.trim_start(),
        _ => text,
    }
}

/// The name of an instruction, with its modifiers.
fn name_of(text: &str) -> &str {
    without_guard(text).split_whitespace().next().unwrap_or_default().trim_end_matches(';')
}
