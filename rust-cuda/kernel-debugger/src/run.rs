//! One run of the launch, or of a part of it, in a session: the observer that stops it.

use std::ops::ControlFlow;

use kernel_launch::{Launch, takes_turns};
use ptx_interpreter::semantics::LANES;
use ptx_interpreter::{Fault, ObservedAccess, Observer, Step, StoppedBlock};

use crate::breakpoints::Breakpoints;
use crate::front::{Front, Resume};
use crate::goal::{Back, Event, Extent, Goal};
use crate::lines::Lines;
use crate::part::{Exit, Part};
use crate::stopped::{Stop, StopReason, Stopped};
use crate::timeline::{Progress, Warp};

/// Number of instructions between two checks for an interruption by the user.
const POLL_INTERVAL: u64 = 1 << 16;

/// One run of the launch or of a part of it.
pub(crate) struct Run<'r> {
    pub(crate) front: &'r mut dyn Front,
    pub(crate) launch: &'r Launch,
    pub(crate) lines: &'r Lines,
    pub(crate) breakpoints: &'r mut Breakpoints,
    pub(crate) goal: Goal,
    pub(crate) progress: Progress,
    pub(crate) part: Part,
    /// The progress before the next instruction, if a snapshot of it is due.
    due: Option<Progress>,
    /// The first write to watched memory since the last instruction.
    written: Option<ObservedAccess>,
    /// The reason for the upcoming stop. `None` if it is only for a snapshot or the end of a
    /// replay.
    reached: Option<Reached>,
    /// Whether the front end has ended the session while going back from a fault.
    pub(crate) has_quit: bool,
}

/// An event that a run has reached.
enum Reached {
    /// A stop.
    Stop(StopReason),
    /// A breakpoint with a condition. `begins_line` tells whether a source line begins there.
    Condition { begins_line: bool },
}

/// The front end's choice at a stop.
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
        goal: Goal,
        progress: Progress,
        part: Part,
    ) -> Self {
        let (due, written, reached, has_quit) = (None, None, None, false);
        Self { front, launch, lines, breakpoints, goal, progress, part, due, written, reached, has_quit }
    }
}

impl Run<'_> {
    /// The reason to stop before `step`. `begins_line` tells whether the step is the first of a
    /// source line in its warp.
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

    /// Shows a stop to the front end and sets the goal that it chooses.
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
        let begins_line = self.progress.last_lines.advance(self.progress.last_warp, line);
        let breakpoints = || self.breakpoints.at(step.pc, line, begins_line);
        let at_breakpoint = breakpoints().any(|breakpoint| breakpoint.condition.is_none());
        self.reached = if !at_breakpoint && breakpoints().next().is_some() {
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
        // If the guard excludes all lanes, takes the first lane of the path.
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
                for condition in breakpoints.filter_map(|breakpoint| breakpoint.condition.as_ref()) {
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
        let stop =
            Stop { reason: StopReason::Fault(self.launch.with_names(fault)), step, lane, time: self.progress.time };
        // A front end that goes back and then forward reaches the fault again, unless it has turned
        // off stops at faults.
        while !self.breakpoints.passes_faults()
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
        if self.breakpoints.are_hit_by(&access) {
            self.written.get_or_insert(access);
        }
    }
}
