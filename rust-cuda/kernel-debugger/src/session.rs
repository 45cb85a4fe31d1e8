//! A session: the launch run forwards and, by replays of parts of it, backwards, with stops in between.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use ptx_interpreter::semantics::LANES;
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Access, Fault, LaunchError, ObservedAccess, Observer, Step, StoppedBlock};

use crate::accesses::LastAccesses;
use crate::condition::Condition;
use crate::launch::{Launch, takes_turns};
use crate::lines::{Line, Lines};
use crate::replay::{Back, Exit, Part};
use crate::timeline::{Progress, SnapshotPolicy, Timeline, Warp};
use crate::writers::Writers;

/// Number of instructions between two questions whether the user interrupts the launch.
const POLL_INTERVAL: u64 = 1 << 16;

/// Where a session stops.
#[derive(Clone, Debug, Default)]
pub struct Breakpoints {
    /// The lines; each with a condition, unless the breakpoint has none.
    lines: HashMap<Line, Option<Condition>>,
    /// At the kernel's first instruction.
    entry: Option<Option<Condition>>,
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
            self.lines.insert(lines.find(file, line)?, condition);
            Some(line)
        };
        wanted.into_iter().map(&mut set).collect()
    }

    /// Sets or removes the breakpoint at the kernel's first instruction, with a condition or without one.
    pub fn set_entry(&mut self, breakpoint: Option<Option<Condition>>) {
        self.entry = breakpoint;
    }

    /// Whether the launch stops at a fault, as it does unless told otherwise, before the fault ends it.
    pub fn set_stops_at_faults(&mut self, stops: bool) {
        self.passes_faults = !stops;
    }

    /// The breakpoints at an instruction, that at the entry and that at the line: the condition of each, if it has one.
    fn at(&self, pc: usize, line: Option<Line>, begins_line: bool) -> [Option<Option<&Condition>>; 2] {
        let entry = self.entry.as_ref().filter(|_| pc == 0);
        let line = line.filter(|_| begins_line).and_then(|line| self.lines.get(&line));
        [entry, line].map(|breakpoint| breakpoint.map(Option::as_ref))
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
}

/// Why a launch has stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum StopReason {
    /// At its first instruction.
    Entry,
    /// At a line with a breakpoint, or at the kernel's entry.
    Breakpoint,
    /// At a breakpoint whose condition has no value, for the reason given.
    BadCondition(String),
    /// After a step, or where a step back leads.
    Step,
    /// After a write to watched memory.
    Write(ObservedAccess),
    /// The user has interrupted it.
    Pause,
    /// At a fault, which ends it.
    Fault(Box<Fault>),
}

/// Where a launch has stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// Why.
    pub reason: StopReason,
    /// The instruction that is executed next; at a fault, the one at fault.
    pub step: Step,
    /// The lane of interest: the first that fulfils the breakpoint's condition, or the one at fault.
    pub lane: usize,
    /// Number of instructions that warps have issued since the launch began.
    pub time: u64,
}

/// A stopped launch.
#[derive(Debug)]
pub struct Stopped<'a> {
    /// Where and why.
    pub stop: &'a Stop,
    /// The block that runs.
    pub block: &'a StoppedBlock<'a>,
    /// The launch.
    pub launch: &'a Launch,
    /// The source lines of the kernel.
    pub lines: &'a Lines,
    /// The last accesses of each warp.
    pub accesses: &'a LastAccesses,
    pub(crate) writers: &'a Writers,
}

/// How to go on after a stop. After a fault there is only the way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// To the next breakpoint, fault or the end.
    Continue,
    /// To the warp's next source line, which may be in a function that is called.
    StepLine,
    /// To the warp's next source line outside of the functions that are called.
    StepOver,
    /// To the warp's next source line in a function that called the current one, or to the end of its block.
    StepOut,
    /// To the warp's next instruction.
    StepInstruction,
    /// To the warp's next barrier.
    ToBarrier,
    /// To the beginning of the warp's current source line, or from there to that of the line before.
    StepBack,
    /// To the previous breakpoint, or to the launch's first instruction.
    ContinueBack,
    /// To the launch's first instruction.
    Restart,
    /// Ends the session.
    Quit,
}

/// Looks at a stopped launch and says how to go on: a protocol's server, a terminal or a test.
pub trait Front {
    /// Called at each stop.
    fn stopped(&mut self, stopped: &Stopped<'_>, breakpoints: &mut Breakpoints) -> Resume;

    /// Called at the end of the kernel. `StepBack`, `ContinueBack` and `Restart` go back; all else ends the session.
    fn completed(&mut self) -> Resume;

    /// Index in the block of the warp that a step is for, asked after a stop; None for the warp that has stopped.
    fn warp(&self) -> Option<u32> {
        None
    }

    /// Whether the launch is to stop as soon as possible. Asked after some ten thousand instructions.
    fn is_interrupted(&mut self) -> bool;
}

/// How a session has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The kernel has run to its end.
    Completed,
    /// A fault has ended the kernel.
    Fault(Box<Fault>),
    /// The front has ended the session.
    Quit,
}

/// A launch under a debugger.
#[derive(Debug)]
pub struct Session<'l> {
    launch: &'l Launch,
    lines: Lines,
    breakpoints: Breakpoints,
    snapshots: SnapshotPolicy,
}

/// What a run of the launch leads to.
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
    /// The next barrier of this warp, or the end of its block. The first instruction does not count if `is_first`.
    Barrier {
        warp: Warp,
        is_first: bool,
    },
    /// The instruction at this time.
    Time(u64),
    /// No stop: the run looks for the latest event before a time.
    Before {
        time: u64,
        event: Event,
        latest: Option<u64>,
    },
}

/// The functions at whose lines a step ends, by a frame's index in the debug information.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Extent {
    All,
    /// Not those that this frame calls.
    Over(usize),
    /// Neither this frame nor those that it calls.
    Outside(usize),
}

/// An event that a way back looks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event {
    /// The beginning of a source line in this warp.
    LineOf(Warp),
    Breakpoint,
}

impl<'l> Session<'l> {
    /// A session with `launch`, before its first instruction.
    ///
    /// # Panics
    /// If the launch's kernel does not exist.
    pub fn new(launch: &'l Launch) -> Self {
        let (breakpoints, snapshots) = (Breakpoints::default(), SnapshotPolicy::default());
        Self { launch, lines: Lines::new(launch), breakpoints, snapshots }
    }

    /// The session with snapshots by another policy.
    pub fn with_snapshots(self, snapshots: SnapshotPolicy) -> Self {
        Self { snapshots, ..self }
    }

    /// The source lines of the kernel.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// The breakpoints, which may be set before the session runs and at each stop.
    pub fn breakpoints(&mut self) -> &mut Breakpoints {
        &mut self.breakpoints
    }

    /// Runs the session. It first stops at the launch's first instruction.
    ///
    /// # Errors
    /// If the launch is invalid.
    pub fn run(&mut self, front: &mut dyn Front) -> Result<End, LaunchError> {
        let part = Part::Main(Timeline::new(self.snapshots));
        let start = (Goal::Entry, Progress::new(self.launch.config()), part);
        let mut run = Run::new(front, self.launch, &self.lines, &mut self.breakpoints, start);
        match self.launch.run(&mut run) {
            _ if run.has_quit => Ok(End::Quit),
            Ok(true) => Ok(run.complete()),
            Ok(false) => Ok(End::Quit),
            Err(LaunchError::Fault(fault)) => Ok(End::Fault(fault)),
            Err(error) => Err(error),
        }
    }
}

/// One run of the launch or of a part of it.
pub(crate) struct Run<'r> {
    pub(crate) front: &'r mut dyn Front,
    pub(crate) launch: &'r Launch,
    pub(crate) lines: &'r Lines,
    pub(crate) breakpoints: &'r mut Breakpoints,
    pub(crate) goal: Goal,
    pub(crate) progress: Progress,
    pub(crate) part: Part,
    /// The progress before the next instruction, of which a snapshot is to be taken.
    due: Option<Progress>,
    /// The first write to watched memory since the last instruction.
    written: Option<ObservedAccess>,
    /// Why the launch is about to stop; None if only for a snapshot or at the end of a replay.
    reached: Option<Reached>,
    /// Whether the front has ended the session on a way back from a fault.
    has_quit: bool,
}

/// What a run has come to.
enum Reached {
    /// A stop.
    Stop(StopReason),
    /// A breakpoint with a condition, at the beginning of a source line or not.
    Condition { begins_line: bool },
}

/// What a front chooses at a stop.
enum Choice {
    Forward,
    Back(Back),
    Quit,
}

impl<'r> Run<'r> {
    pub(crate) fn new(
        front: &'r mut dyn Front,
        launch: &'r Launch,
        lines: &'r Lines,
        breakpoints: &'r mut Breakpoints,
        (goal, progress, part): (Goal, Progress, Part),
    ) -> Self {
        let (due, written, reached, has_quit) = (None, None, None, false);
        Self { front, launch, lines, breakpoints, goal, progress, part, due, written, reached, has_quit }
    }
}

impl Run<'_> {
    /// Why the launch stops before `step`, the first of a source line in its warp if `begins_line`.
    fn reason(&mut self, time: u64, step: Step, begins_line: bool, at_breakpoint: bool) -> Option<StopReason> {
        let warp = (step.block, step.warp);
        let line = self.lines.line(step.pc);
        let written = self.written.take();
        match &mut self.goal {
            Goal::Entry => return Some(StopReason::Entry),
            Goal::Time(goal) => return (*goal == time).then_some(StopReason::Step),
            Goal::Before { time: end, event, latest } => {
                let happens = match event {
                    Event::LineOf(of) => *of == warp && begins_line,
                    Event::Breakpoint => at_breakpoint,
                };
                if happens && time < *end {
                    *latest = Some(time);
                }
                return None;
            }
            _ => {}
        }
        if let Some(written) = written {
            return Some(StopReason::Write(written));
        }
        if at_breakpoint {
            return Some(StopReason::Breakpoint);
        }
        let takes_turns = takes_turns(self.launch.config());
        let has_ended = |of: &Warp| step.block != of.0 && !takes_turns;
        let reached = match &mut self.goal {
            Goal::Line { warp: of, from, extent } => {
                let is_other_line = || line.is_some() && line != *from;
                *of == warp && is_other_line() && extent.contains(self.lines, step.pc) || has_ended(of)
            }
            Goal::Instruction(of) => *of == warp || has_ended(of),
            Goal::Barrier { warp: of, is_first } => {
                let skips = *of == warp && std::mem::take(is_first);
                *of == warp && !skips && self.lines.is_barrier(step.pc) || has_ended(of)
            }
            _ => false,
        };
        if reached {
            return Some(StopReason::Step);
        }
        (time.is_multiple_of(POLL_INTERVAL) && self.front.is_interrupted()).then_some(StopReason::Pause)
    }

    /// Shows a stop to the front and sets the goal that it chooses.
    fn show(&mut self, stop: &Stop, block: &StoppedBlock<'_>) -> Choice {
        let (accesses, writers) = (&self.progress.accesses, &self.progress.writers);
        let stopped = Stopped { stop, block, launch: self.launch, lines: self.lines, accesses, writers };
        let resume = self.front.stopped(&stopped, self.breakpoints);
        let chosen = self.front.warp().filter(|chosen| *chosen != stop.step.warp);
        let warp = (stop.step.block, chosen.unwrap_or(stop.step.warp));
        let path = || stopped.path(&block.warps().find(|warp| Some(warp.number()) == chosen)?);
        let pc = path().map_or(stop.step.pc, |path| path.pc);
        let (from, frame) = (self.lines.line(pc), self.lines.frame(pc));
        let to_line = |extent| Goal::Line { warp, from, extent };
        self.goal = match resume {
            Resume::StepLine => to_line(Extent::All),
            Resume::StepOver => to_line(Extent::Over(frame)),
            Resume::StepOut => to_line(Extent::Outside(frame)),
            Resume::StepInstruction => Goal::Instruction(warp),
            Resume::ToBarrier => Goal::Barrier { warp, is_first: chosen.is_none() },
            Resume::Continue => Goal::Breakpoint,
            Resume::StepBack => return Choice::Back(Back::Before(stop.time, Event::LineOf(warp))),
            Resume::ContinueBack => return Choice::Back(Back::Before(stop.time, Event::Breakpoint)),
            Resume::Restart => return Choice::Back(Back::Start),
            Resume::Quit => return Choice::Quit,
        };
        Choice::Forward
    }
}

impl Extent {
    fn contains(self, lines: &Lines, pc: usize) -> bool {
        let is_within = |frame| lines.information().with_callers(lines.frame(pc)).any(|caller| caller == frame);
        match self {
            Self::All => true,
            Self::Over(frame) => lines.frame(pc) == frame || !is_within(frame),
            Self::Outside(frame) => lines.frame(pc) != frame && !is_within(frame),
        }
    }
}

impl Observer for Run<'_> {
    fn stops_before(&mut self, step: Step) -> bool {
        let time = self.progress.time;
        let stops_anyway = match &self.part {
            Part::Main(timeline) => timeline.is_due(time),
            Part::Replay(replay) => time == replay.end,
        };
        if stops_anyway && matches!(self.part, Part::Main(_)) {
            self.due = Some(self.progress.clone());
            self.progress.writers.begin_snapshot();
        }
        self.progress.time += 1;
        self.progress.accesses.begin_instruction(step.block);
        let line = self.lines.line(step.pc);
        self.progress.last_warp = (step.block, step.warp);
        let last = self.progress.last_lines.insert(self.progress.last_warp, line);
        let begins_line = last != Some(line);
        let breakpoints = self.breakpoints.at(step.pc, line, begins_line);
        let at_breakpoint = breakpoints.contains(&Some(None));
        self.reached = if !at_breakpoint && breakpoints.iter().any(Option::is_some) {
            Some(Reached::Condition { begins_line })
        } else {
            self.reason(time, step, begins_line, at_breakpoint).map(Reached::Stop)
        };
        stops_anyway || self.reached.is_some()
    }

    fn stop(&mut self, step: Step, block: &StoppedBlock<'_>) -> ControlFlow<()> {
        let time = self.progress.time - 1;
        if let (Part::Main(timeline), Some(progress)) = (&mut self.part, self.due.take()) {
            timeline.add(progress, block);
        }
        // Where the guard excludes all lanes, one that is there.
        let first = if step.lanes == 0 { step.path } else { step.lanes }.trailing_zeros() as usize % LANES;
        let mut stop = Stop { reason: StopReason::Breakpoint, step, lane: first, time };
        let reason = match self.reached.take() {
            None => None,
            Some(Reached::Stop(reason)) => Some(reason),
            Some(Reached::Condition { begins_line }) => {
                let breakpoints = self.breakpoints.at(step.pc, self.lines.line(step.pc), begins_line);
                let (accesses, writers) = (&self.progress.accesses, &self.progress.writers);
                let stopped = Stopped { stop: &stop, block, launch: self.launch, lines: self.lines, accesses, writers };
                let mut lane = Ok(None);
                for condition in breakpoints.into_iter().flatten().flatten() {
                    lane = condition.lane(&stopped);
                    if !matches!(lane, Ok(None)) {
                        break;
                    }
                }
                let reason = self.reason(time, step, begins_line, !matches!(lane, Ok(None)));
                let reason = reason.map(|reason| match (&lane, reason) {
                    (Err(error), StopReason::Breakpoint) => StopReason::BadCondition(error.to_string()),
                    (_, reason) => reason,
                });
                stop.lane = lane.ok().flatten().unwrap_or(first);
                reason
            }
        };
        let choice = match reason {
            None => Choice::Forward,
            Some(reason) => {
                stop.reason = reason;
                self.show(&stop, block)
            }
        };
        let exit = match (choice, &mut self.part) {
            (Choice::Back(back), Part::Main(_)) => return self.go_back(back, time),
            (Choice::Quit, Part::Main(_)) => return ControlFlow::Break(()),
            (Choice::Back(back), Part::Replay(_)) => Exit::Back(back),
            (Choice::Quit, Part::Replay(_)) => Exit::Quit,
            (Choice::Forward, Part::Replay(replay)) if replay.end == time => Exit::Forward,
            (Choice::Forward, _) => return ControlFlow::Continue(()),
        };
        if let Part::Replay(replay) = &mut self.part {
            replay.exit = exit;
        }
        ControlFlow::Break(())
    }

    fn fault(&mut self, fault: &Fault, block: &StoppedBlock<'_>) {
        let size = block.config().block;
        let thread = fault.thread.x + size.x * (fault.thread.y + size.y * fault.thread.z);
        let (warp, lane) = (thread / LANES as u32, thread as usize % LANES);
        let step = Step { block: block.number(), warp, pc: fault.pc, lanes: 1 << lane, path: 1 << lane };
        let stop = Stop { reason: StopReason::Fault(Box::new(fault.clone())), step, lane, time: self.progress.time };
        // A front that goes back and then forward comes to the fault again, unless it passes faults by then.
        while !self.breakpoints.passes_faults
            && let Choice::Back(back) = self.show(&stop, block)
        {
            if self.go_back(back, stop.time - 1).is_break() {
                self.has_quit = true;
                return;
            }
        }
    }

    fn access(&mut self, access: ObservedAccess) {
        self.progress.accesses.record(access);
        self.progress.writers.record(&access);
        let watches = || {
            let end = access.address + access.bytes as u64;
            self.breakpoints.watches.iter().any(|watch| watch.start < end && access.address < watch.end)
        };
        let is_memory = matches!(access.space, Space::Global | Space::Shared);
        if access.access != Access::Read && is_memory && watches() {
            self.written.get_or_insert(access);
        }
    }
}
