//! A session: the launch run forwards and, by running it again, backwards, with stops in between.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use ptx_interpreter::semantics::LANES;
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Access, Fault, LaunchError, ObservedAccess, Observer, Step, StoppedBlock};

use crate::accesses::LastAccesses;
use crate::condition::Condition;
use crate::launch::Launch;
use crate::lines::{Line, Lines};

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
}

/// How to go on after a stop. After a fault there is only the way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// To the next breakpoint, fault or the end.
    Continue,
    /// To the warp's next source line.
    StepLine,
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
}

/// What a run of the launch leads to.
#[derive(Clone, Debug, PartialEq)]
enum Goal {
    Entry,
    Breakpoint,
    /// Another line of this warp, or the end of its block.
    Line {
        warp: Warp,
        from: Option<Line>,
    },
    /// The next instruction of this warp, or the end of its block.
    Instruction(Warp),
    /// The next barrier of this warp, or the end of its block. The first instruction does not count.
    Barrier {
        warp: Warp,
        is_first: bool,
    },
    /// The instruction at this time, for this reason.
    Time(u64, StopReason),
    /// The latest event before a time, of which the run then leads to.
    Before {
        time: u64,
        event: Event,
        latest: Option<u64>,
    },
}

/// An event that a way back looks for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    /// The beginning of a source line in this warp.
    LineOf(Warp),
    Breakpoint,
}

/// A warp, by its block's number and its index in the block.
type Warp = (u32, u32);

impl<'l> Session<'l> {
    /// A session with `launch`, before its first instruction.
    ///
    /// # Panics
    /// If the launch's kernel does not exist.
    pub fn new(launch: &'l Launch) -> Self {
        let code = launch.machine().code(launch.kernel()).expect("a launch's kernel is in its module");
        Self { launch, lines: Lines::new(code), breakpoints: Breakpoints::default() }
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
        let mut goal = Goal::Entry;
        loop {
            let mut run = Run {
                front,
                launch: self.launch,
                lines: &self.lines,
                breakpoints: &mut self.breakpoints,
                goal,
                time: 0,
                last_lines: HashMap::new(),
                last_warp: (0, 0),
                accesses: LastAccesses::new(self.launch.config()),
                written: None,
                reason: Reached::Stop(StopReason::Entry),
                again: None,
            };
            // A run that only looks for where a way back leads has been checked before, and stops nowhere.
            let result = match run.goal {
                Goal::Before { .. } => self.launch.run_without_race_checks(&mut run),
                _ => self.launch.run(&mut run),
            };
            let again = run.again.take().or_else(|| run.found());
            let (time, last_warp) = (run.time, run.last_warp);
            let back = |event| Goal::Before { time, event, latest: None };
            goal = match (result, again) {
                (_, Some(again)) => again,
                (Ok(true), None) => match front.completed() {
                    Resume::StepBack => back(Event::LineOf(last_warp)),
                    Resume::ContinueBack => back(Event::Breakpoint),
                    Resume::Restart => Goal::Entry,
                    _ => return Ok(End::Completed),
                },
                (Ok(false), None) => return Ok(End::Quit),
                (Err(LaunchError::Fault(fault)), None) => return Ok(End::Fault(fault)),
                (Err(error), None) => return Err(error),
            };
        }
    }
}

/// One run of the launch from its beginning.
struct Run<'r> {
    front: &'r mut dyn Front,
    launch: &'r Launch,
    lines: &'r Lines,
    breakpoints: &'r mut Breakpoints,
    goal: Goal,
    /// Number of instructions issued so far.
    time: u64,
    /// The line of each warp's last instruction.
    last_lines: HashMap<Warp, Option<Line>>,
    /// The warp that issued the last instruction.
    last_warp: Warp,
    accesses: LastAccesses,
    /// The first write to watched memory since the last instruction.
    written: Option<ObservedAccess>,
    /// Why the launch is about to stop.
    reason: Reached,
    /// The goal of another run, for which this one is abandoned.
    again: Option<Goal>,
}

/// What a run has come to.
enum Reached {
    /// A stop.
    Stop(StopReason),
    /// A breakpoint with a condition, at the beginning of a source line or not.
    Condition { begins_line: bool },
}

impl Run<'_> {
    /// Why the launch stops before `step`, the first of a source line in its warp if `begins_line`.
    fn reason(&mut self, time: u64, step: Step, begins_line: bool, at_breakpoint: bool) -> Option<StopReason> {
        let warp = (step.block, step.warp);
        let line = self.lines.line(step.pc);
        let written = self.written.take();
        match &mut self.goal {
            Goal::Entry => return Some(StopReason::Entry),
            Goal::Time(goal, reason) => return (*goal == time).then(|| reason.clone()),
            Goal::Before { time: end, event, latest } => {
                if time == *end {
                    return Some(StopReason::Step);
                }
                let happens = match event {
                    Event::LineOf(of) => *of == warp && begins_line,
                    Event::Breakpoint => at_breakpoint,
                };
                if happens {
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
        // Blocks of a cluster and of a cooperative launch run in turns; all others run one after the other.
        let config = self.launch.config();
        let takes_turns = config.cooperative || config.cluster > 1;
        let has_ended = |of: &Warp| step.block != of.0 && !takes_turns;
        let reached = match &mut self.goal {
            Goal::Line { warp: of, from } => *of == warp && line.is_some() && line != *from || has_ended(of),
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

    /// Where a way back leads, once the run has come to its start: to the latest event before it, or without one to the
    /// beginning. None for other goals.
    fn found(&self) -> Option<Goal> {
        let Goal::Before { latest, .. } = self.goal else { return None };
        Some(latest.map_or(Goal::Entry, |latest| Goal::Time(latest, StopReason::Step)))
    }

    /// Shows a stop to the front and sets the goal that it chooses.
    fn show(&mut self, stop: &Stop, block: &StoppedBlock<'_>) -> ControlFlow<()> {
        let stopped = Stopped { stop, block, launch: self.launch, lines: self.lines, accesses: &self.accesses };
        let resume = self.front.stopped(&stopped, self.breakpoints);
        let (warp, time) = ((stop.step.block, stop.step.warp), stop.time);
        let has_ended = matches!(stop.reason, StopReason::Fault(_));
        let back = |event| Goal::Before { time, event, latest: None };
        self.again = match resume {
            Resume::StepBack => Some(back(Event::LineOf(warp))),
            Resume::ContinueBack => Some(back(Event::Breakpoint)),
            Resume::Restart => Some(Goal::Entry),
            Resume::Quit => return ControlFlow::Break(()),
            _ if has_ended => None,
            _ => {
                self.goal = match resume {
                    Resume::StepLine => Goal::Line { warp, from: self.lines.line(stop.step.pc) },
                    Resume::StepInstruction => Goal::Instruction(warp),
                    Resume::ToBarrier => Goal::Barrier { warp, is_first: true },
                    _ => Goal::Breakpoint,
                };
                None
            }
        };
        if self.again.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The first lane that executes an instruction, or that is there where the instruction's guard excludes all lanes.
fn first_lane(step: Step, block: &StoppedBlock<'_>) -> usize {
    let warp = block.warps().find(|warp| warp.number() == step.warp);
    let path = || warp?.paths().find(|path| path.pc == step.pc).map(|path| path.lanes);
    let lanes = if step.lanes == 0 { path() } else { Some(step.lanes) };
    lanes.map_or(0, |lanes| lanes.trailing_zeros() as usize % LANES)
}

impl Observer for Run<'_> {
    fn stops_before(&mut self, step: Step) -> bool {
        let time = self.time;
        self.time += 1;
        self.accesses.begin_instruction(step.block);
        let line = self.lines.line(step.pc);
        self.last_warp = (step.block, step.warp);
        let last = self.last_lines.insert(self.last_warp, line);
        let begins_line = last != Some(line);
        let breakpoints = self.breakpoints.at(step.pc, line, begins_line);
        let at_breakpoint = breakpoints.contains(&Some(None));
        if !at_breakpoint && breakpoints.iter().any(Option::is_some) {
            self.reason = Reached::Condition { begins_line };
            return true;
        }
        let Some(reason) = self.reason(time, step, begins_line, at_breakpoint) else { return false };
        self.reason = Reached::Stop(reason);
        true
    }

    fn stop(&mut self, step: Step, block: &StoppedBlock<'_>) -> ControlFlow<()> {
        let time = self.time - 1;
        let first = first_lane(step, block);
        let mut stop = Stop { reason: StopReason::Breakpoint, step, lane: first, time };
        match std::mem::replace(&mut self.reason, Reached::Stop(StopReason::Entry)) {
            Reached::Stop(reason) => stop.reason = reason,
            Reached::Condition { begins_line } => {
                let breakpoints = self.breakpoints.at(step.pc, self.lines.line(step.pc), begins_line);
                let accesses = &self.accesses;
                let stopped = Stopped { stop: &stop, block, launch: self.launch, lines: self.lines, accesses };
                let mut lane = Ok(None);
                for condition in breakpoints.into_iter().flatten().flatten() {
                    lane = condition.lane(&stopped);
                    if !matches!(lane, Ok(None)) {
                        break;
                    }
                }
                let reason = self.reason(time, step, begins_line, !matches!(lane, Ok(None)));
                let Some(reason) = reason else { return ControlFlow::Continue(()) };
                stop.reason = match (&lane, reason) {
                    (Err(error), StopReason::Breakpoint) => StopReason::BadCondition(error.to_string()),
                    (_, reason) => reason,
                };
                stop.lane = lane.ok().flatten().unwrap_or(first);
            }
        }
        self.again = self.found();
        if self.again.is_some() {
            return ControlFlow::Break(());
        }
        self.show(&stop, block)
    }

    fn fault(&mut self, fault: &Fault, block: &StoppedBlock<'_>) {
        self.again = self.found();
        if self.again.is_some() || self.breakpoints.passes_faults {
            return;
        }
        let size = block.config().block;
        let thread = fault.thread.x + size.x * (fault.thread.y + size.y * fault.thread.z);
        let (warp, lane) = (thread / LANES as u32, thread as usize % LANES);
        let step = Step { block: block.number(), warp, pc: fault.pc, lanes: 1 << lane };
        let stop = Stop { reason: StopReason::Fault(Box::new(fault.clone())), step, lane, time: self.time };
        let _ = self.show(&stop, block);
    }

    fn access(&mut self, access: ObservedAccess) {
        if !matches!(self.goal, Goal::Before { .. }) {
            self.accesses.record(access);
        }
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
