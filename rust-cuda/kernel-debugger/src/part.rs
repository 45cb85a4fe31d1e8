//! The part of a launch that a run executes, and how a replay ends.

use crate::goal::Back;
use crate::timeline::Timeline;

/// The part of the launch that a run executes.
#[derive(Debug)]
pub(crate) enum Part {
    /// All of it, with race checks and snapshots. The main run waits while the front end goes back.
    Main(Timeline),
    /// A part that the main run has already executed, from a snapshot on.
    Replay(Replay),
}

/// A replay: runs part of the launch again, without race checks, while the main run waits.
#[derive(Debug)]
pub(crate) struct Replay {
    /// Time of the last instruction before which the replay can stop. The main run executes this
    /// instruction, unless it already has: at the end of the launch.
    pub(crate) end: u64,
    /// How the replay ended.
    pub(crate) exit: Exit,
}

/// How a replay ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Exit {
    /// The front has ended the session.
    Quit,
    /// The front has gone back.
    Back(Back),
    /// Before its last instruction, where the main run takes over.
    Forward,
}

impl Part {
    /// The snapshots of the main run.
    pub(crate) fn timeline(&self) -> &Timeline {
        match self {
            Self::Main(timeline) => timeline,
            Self::Replay(_) => unreachable!("a replay ends where the front goes back"),
        }
    }
}
