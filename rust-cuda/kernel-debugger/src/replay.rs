//! Going back: replays what the launch has executed, from the nearest earlier snapshot.

use std::ops::ControlFlow;

use crate::front::{End, Resume};
use crate::goal::{Back, Event, Goal};
use crate::part::{Exit, Part, Replay};
use crate::run::Run;
use crate::timeline::Progress;

impl Run<'_> {
    /// Asks the front end how to resume, each time the session reaches the kernel's end.
    pub(crate) fn complete(&mut self) -> End {
        loop {
            let (time, warp) = (self.progress.time, self.progress.last_warp);
            let back = match self.front.completed() {
                Resume::StepBack => Back::Before(time, Event::LineOf(warp)),
                Resume::ContinueBack => Back::Before(time, Event::Breakpoint),
                Resume::Restart => Back::Start,
                _ => return End::Completed,
            };
            // Each thread executes at least one instruction.
            if self.go_back(back, time - 1).is_break() {
                return End::Quit;
            }
        }
    }

    /// Goes back from the main run's position and then follows the front end's choices. Returns
    /// `Continue` once the front end has come forward to the instruction at time `end`, with the
    /// goal it then has. Returns `Break` if the front end has ended the session.
    pub(crate) fn go_back(&mut self, mut back: Back, end: u64) -> ControlFlow<()> {
        let memory = self.launch.machine().memory();
        let frontier =
            memory.snapshot().expect("the host has memory for a copy of the launch's buffers, whose size is limited");
        loop {
            let goal = match back {
                Back::Start => Goal::Entry,
                Back::Before(time, event) => self.last_before(time, event, end).map_or(Goal::Entry, Goal::Time),
            };
            let (exit, goal) = self.replay(goal, end);
            match exit {
                Exit::Back(next) => back = next,
                Exit::Quit => return ControlFlow::Break(()),
                Exit::Forward => {
                    memory.restore(&frontier);
                    self.goal = goal;
                    return ControlFlow::Continue(());
                }
            }
        }
    }

    /// Time of the last such event before a time. Searches the interval after each snapshot,
    /// starting with the last one.
    fn last_before(&mut self, time: u64, event: Event, end: u64) -> Option<u64> {
        if event == Event::Breakpoint && self.breakpoints.is_empty() {
            return None;
        }
        let mut before = time;
        loop {
            let (_, goal) = self.replay(Goal::Before { time: before, event, latest: None }, end.min(before));
            if let Goal::Before { latest: Some(latest), .. } = goal {
                return Some(latest);
            }
            let from = self.part.timeline().before(before)?;
            if matches!(event, Event::LineOf(warp) if !from.progress.last_lines.has_begun(warp)) {
                return None;
            }
            before = from.progress.time;
        }
    }

    /// Runs the launch again, from the last snapshot before a goal. Returns how the replay ended,
    /// and its goal at that point.
    fn replay(&mut self, goal: Goal, end: u64) -> (Exit, Goal) {
        let from = match goal {
            Goal::Before { time, .. } => self.part.timeline().before(time),
            Goal::Time(time) => self.part.timeline().before(time + 1),
            _ => None,
        };
        let launch = self.launch;
        let progress = from.map_or_else(|| Progress::new(launch.config()), |moment| moment.progress.clone());
        let part = Part::Replay(Replay { end, exit: Exit::Quit });
        let mut replay = Run::new(&mut *self.front, launch, self.lines, &mut *self.breakpoints, goal, progress, part);
        let result = launch.replay(from.map(|moment| &moment.snapshot), &mut replay);
        assert!(matches!(result, Ok(false)), "a replay executes what the launch has executed before: {result:?}");
        let Part::Replay(Replay { exit, .. }) = replay.part else { unreachable!("it was made with this part") };
        (exit, replay.goal)
    }
}
