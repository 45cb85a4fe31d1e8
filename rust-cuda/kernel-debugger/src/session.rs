//! A session: runs the launch forward, and backward by replaying parts of it, with stops in
//! between.

use kernel_launch::Launch;
use ptx_interpreter::LaunchError;

use crate::breakpoints::Breakpoints;
use crate::front::{End, Front};
use crate::goal::Goal;
use crate::lines::Lines;
use crate::part::Part;
use crate::run::Run;
use crate::timeline::{Progress, SnapshotPolicy, Timeline};

/// A launch under a debugger.
#[derive(Debug)]
pub struct Session<'l> {
    launch: &'l Launch,
    lines: Lines,
    breakpoints: Breakpoints,
    snapshots: SnapshotPolicy,
}

impl<'l> Session<'l> {
    /// Creates a session for `launch`, before its first instruction.
    ///
    /// # Panics
    /// If the launch's kernel does not exist.
    pub fn new(launch: &'l Launch) -> Self {
        let (breakpoints, snapshots) = (Breakpoints::default(), SnapshotPolicy::default());
        Self { launch, lines: Lines::new(launch), breakpoints, snapshots }
    }

    /// Replaces the snapshot policy.
    pub fn with_snapshots(self, snapshots: SnapshotPolicy) -> Self {
        Self { snapshots, ..self }
    }

    /// The source lines of the kernel.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// The breakpoints. They may be set before the session runs and at each stop.
    pub fn breakpoints(&mut self) -> &mut Breakpoints {
        &mut self.breakpoints
    }

    /// Runs the session. It first stops at the launch's first instruction.
    ///
    /// # Errors
    /// If the launch is invalid.
    pub fn run(&mut self, front: &mut dyn Front) -> Result<End, LaunchError> {
        let part = Part::Main(Timeline::new(self.snapshots));
        let progress = Progress::new(self.launch.config());
        let mut run = Run::new(front, self.launch, &self.lines, &mut self.breakpoints, Goal::Entry, progress, part);
        match self.launch.run(&mut run) {
            _ if run.has_quit => Ok(End::Quit),
            Ok(true) => Ok(run.complete()),
            Ok(false) => Ok(End::Quit),
            Err(LaunchError::Fault(fault)) => Ok(End::Fault(fault)),
            Err(error) => Err(error),
        }
    }
}
