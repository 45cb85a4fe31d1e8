//! Breakpoints: at lines, at the kernel's entry, and at writes to memory.

use std::collections::HashMap;
use std::ops::Range;

use kernel_launch::Launch;
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Access, ObservedAccess};
use thiserror::Error;

use crate::condition::{Condition, ConditionError};
use crate::lines::{Line, LineError, Lines};
use crate::names::Scope;

/// A breakpoint at a line or at the kernel's entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Breakpoint {
    /// Stops only warps in which some lane satisfies the condition. `None` stops every warp.
    pub condition: Option<Condition>,
}

/// The reason why a breakpoint cannot be set.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BreakpointError {
    /// There is no such line.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The condition has no value there, or never holds.
    #[error(transparent)]
    Condition(#[from] ConditionError),
}

/// The places where a session stops.
#[derive(Clone, Debug, Default)]
pub struct Breakpoints {
    lines: HashMap<Line, Vec<Breakpoint>>,
    /// At the kernel's first instruction.
    entry: Option<Breakpoint>,
    watches: Vec<Range<u64>>,
    passes_faults: bool,
}

impl Breakpoints {
    /// Replaces the breakpoints of a file by breakpoints at the `wanted` lines, each with an
    /// optional condition. Each one moves to the next line with instructions. Returns the resulting
    /// lines, or why a breakpoint was not set.
    pub fn set_lines(
        &mut self,
        (launch, lines): (&Launch, &Lines),
        path: &str,
        wanted: impl IntoIterator<Item = (u32, Option<Condition>)>,
    ) -> Vec<Result<u32, BreakpointError>> {
        if let Ok((file, _)) = lines.file(path) {
            self.lines.retain(|(other, _), _| *other != file);
        }
        let mut set = |(line, condition): (u32, Option<Condition>)| {
            let (file, line) = lines.nearest(path, line)?;
            let at = lines.find(file, line).expect("the kernel has this file");
            if let Some(condition) = &condition {
                condition.check(&Scope::of_line(launch, lines, at))?;
            }
            // Two may move to the same line.
            self.lines.entry(at).or_default().push(Breakpoint { condition });
            Ok(line)
        };
        wanted.into_iter().map(&mut set).collect()
    }

    /// Sets or removes the breakpoint at the kernel's first instruction.
    ///
    /// # Errors
    /// If its condition has no value there, or never holds. The breakpoint is then removed.
    pub fn set_entry(
        &mut self,
        (launch, lines): (&Launch, &Lines),
        breakpoint: Option<Breakpoint>,
    ) -> Result<(), ConditionError> {
        self.entry = None;
        if let Some(condition) = breakpoint.as_ref().and_then(|breakpoint| breakpoint.condition.as_ref()) {
            condition.check(&Scope::at(launch, lines, 0))?;
        }
        self.entry = breakpoint;
        Ok(())
    }

    /// Sets whether the launch stops at a fault before the fault ends it. The default is to stop.
    pub fn set_stops_at_faults(&mut self, stops: bool) {
        self.passes_faults = !stops;
    }

    /// Whether a fault ends the launch without a stop.
    pub(crate) fn passes_faults(&self) -> bool {
        self.passes_faults
    }

    /// The breakpoints at an instruction: at the entry and at the line.
    pub(crate) fn at(&self, pc: usize, line: Option<Line>, begins_line: bool) -> impl Iterator<Item = &Breakpoint> {
        let entry = self.entry.as_ref().filter(|_| pc == 0);
        let line = line.filter(|_| begins_line).and_then(|line| self.lines.get(&line));
        entry.into_iter().chain(line.into_iter().flatten())
    }

    /// Whether there are no breakpoints. Watched ranges do not count.
    pub(crate) fn is_empty(&self) -> bool {
        self.entry.is_none() && self.lines.is_empty()
    }

    /// Replaces the watched ranges, given as first address and size in bytes. A write to one of
    /// them stops the launch, in global memory or in any block's shared memory.
    pub fn set_watches(&mut self, watches: &[(u64, u64)]) {
        let range = |(start, bytes): &(u64, u64)| *start..start.saturating_add(*bytes);
        self.watches = watches.iter().map(range).filter(|range| !range.is_empty()).collect();
    }

    /// Whether an access writes to a watched range.
    pub(crate) fn are_hit_by(&self, access: &ObservedAccess) -> bool {
        let is_write = access.access != Access::Read && matches!(access.space, Space::Global | Space::Shared);
        let end = access.address + access.bytes as u64;
        is_write && self.watches.iter().any(|watch| watch.start < end && access.address < watch.end)
    }
}
