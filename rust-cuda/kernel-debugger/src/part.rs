//! The part of a launch that a run executes, and how a replay is left.

use crate::goal::Back;
use crate::timeline::Timeline;

/// What part of the launch a run executes.
#[derive(Debug)]
pub(crate) enum Part {
    /// All of it, with race checks and snapshots. While the front goes back, it waits where it is.
    Main(Timeline),
    /// What the main run has executed, from a snapshot on.
    Replay(Replay),
}

/// A replay: the launch runs again, without race checks, while the main run waits.
#[derive(Debug)]
pub(crate) struct Replay {
    /// Time of the last instruction before which the replay can stop. It is not executed here but by the main run,
    /// unless that has executed it already: at the end of the launch.
    pub(crate) end: u64,
    /// How the replay has been left.
    pub(crate) exit: Exit,
}

/// How a replay has been left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Exit {
    /// The front has ended the session.
    Quit,
    /// The front has gone back.
    Back(Back),
    /// Before its last instruction: the main run takes over.
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
