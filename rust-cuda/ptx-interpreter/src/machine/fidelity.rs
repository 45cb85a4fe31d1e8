//! What of a launch a GPU may do in another way.

use std::collections::BTreeMap;
use std::fmt;

use super::report::LaunchReport;
use crate::program::image::ImageAccess;
use crate::program::instruction::{Action, Wgmma, Wmma};
use crate::semantics;

/// How an instruction's results relate to those of a GPU, for the same inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fidelity {
    /// They are the same bits.
    Exact,
    /// A GPU's may differ by rounding: approximate functions, filters of textures, and sums of matrix products, whose order is not
    /// specified.
    Approximate,
    /// They depend on time or order, and are the same in each run here: clocks, and atomic operations on floats.
    Deterministic,
    /// It has no effect here: prefetches, pauses and hints.
    Skipped,
}

/// An instruction that is not exact, by its name, and how often threads have executed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexact {
    /// How it differs.
    pub fidelity: Fidelity,
    /// Its name with modifiers; of a read of a clock all of it.
    pub instruction: String,
    /// Executions by threads.
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
    /// The instructions that were executed and are not exact, by kind and name.
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
    /// As it is displayed, but for the count.
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
