//! Goals of a forward run and of a reverse run.

use crate::lines::{Line, Lines};
use crate::timeline::Warp;

/// The goal of a forward run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Goal {
    Entry,
    Breakpoint,
    /// Another line of this warp, or the end of its block.
    Line {
        warp: Warp,
        from: Option<Line>,
        extent: Extent,
    },
    /// The next instruction of this warp, or the end of its block.
    Instruction(Warp),
    /// The next barrier of this warp, or the end of its block. With `is_first`, the first
    /// instruction does not count.
    Barrier {
        warp: Warp,
        is_first: bool,
    },
    /// The instruction at this time.
    Time(u64),
    /// No stop: the run searches for the last event before a time.
    Before {
        time: u64,
        event: Event,
        latest: Option<u64>,
    },
}

/// The functions with lines where a step may end, by a frame's index in the debug information.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Extent {
    All,
    /// Excludes functions that this frame calls.
    Over(usize),
    /// Excludes this frame and the functions that it calls.
    Outside(usize),
}

/// An event that a reverse run searches for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event {
    /// The beginning of a source line in this warp.
    LineOf(Warp),
    Breakpoint,
}

/// The goal of a reverse run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Back {
    /// To the launch's first instruction.
    Start,
    /// To the last such event before a time, or to the launch's first instruction if there is none.
    Before(u64, Event),
}

impl Extent {
    /// Whether a step may end at an instruction.
    pub(crate) fn contains(self, lines: &Lines, pc: usize) -> bool {
        let is_within = |frame| lines.information().with_callers(lines.frame(pc)).any(|caller| caller == frame);
        match self {
            Self::All => true,
            Self::Over(frame) => lines.frame(pc) == frame || !is_within(frame),
            Self::Outside(frame) => lines.frame(pc) != frame && !is_within(frame),
        }
    }
}
