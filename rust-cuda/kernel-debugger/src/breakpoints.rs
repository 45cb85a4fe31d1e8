//! Breakpoints: at lines, at the kernel's entry, and at writes to memory.

use std::collections::HashMap;
use std::ops::Range;

use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Access, ObservedAccess};

use crate::condition::Condition;
use crate::lines::{Line, Lines};

/// A breakpoint at a line or at the kernel's entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Breakpoint {
    /// It stops a warp of which a lane fulfils the condition; without one, each warp.
    pub condition: Option<Condition>,
}

/// Where a session stops.
#[derive(Clone, Debug, Default)]
pub struct Breakpoints {
    lines: HashMap<Line, Breakpoint>,
    /// At the kernel's first instruction.
    entry: Option<Breakpoint>,
    watches: Vec<Range<u64>>,
    passes_faults: bool,
}

impl Breakpoints {
    /// Replaces the breakpoints of a file by those at `wanted` lines, each with a condition or none; each moves to the
    /// next line with instructions. Returns where they are; None for one without such a line.
    pub fn set_lines(
        &mut self,
        lines: &Lines,
        path: &str,
        wanted: impl IntoIterator<Item = (u32, Option<Condition>)>,
    ) -> Vec<Option<u32>> {
        if let Some(file) = lines.nearest(path, 0).and_then(|(file, line)| lines.find(file, line)) {
            self.lines.retain(|(other, _), _| *other != file.0);
        }
        let mut set = |(line, condition)| {
            let (file, line) = lines.nearest(path, line)?;
            self.lines.insert(lines.find(file, line)?, Breakpoint { condition });
            Some(line)
        };
        wanted.into_iter().map(&mut set).collect()
    }

    /// Sets or removes the breakpoint at the kernel's first instruction.
    pub fn set_entry(&mut self, breakpoint: Option<Breakpoint>) {
        self.entry = breakpoint;
    }

    /// Whether the launch stops at a fault, as it does unless told otherwise, before the fault ends it.
    pub fn set_stops_at_faults(&mut self, stops: bool) {
        self.passes_faults = !stops;
    }

    /// Whether a fault ends the launch without a stop.
    pub(crate) fn passes_faults(&self) -> bool {
        self.passes_faults
    }

    /// The breakpoints at an instruction: that at the entry and that at the line.
    pub(crate) fn at(&self, pc: usize, line: Option<Line>, begins_line: bool) -> impl Iterator<Item = &Breakpoint> {
        let entry = self.entry.as_ref().filter(|_| pc == 0);
        let line = line.filter(|_| begins_line).and_then(|line| self.lines.get(&line));
        entry.into_iter().chain(line)
    }

    /// Whether there is no breakpoint, watched ranges aside.
    pub(crate) fn is_empty(&self) -> bool {
        self.entry.is_none() && self.lines.is_empty()
    }

    /// Replaces the watched ranges, each by its first address and its size in bytes: a write to one of them, in global
    /// memory or in any block's shared memory, stops the launch.
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
