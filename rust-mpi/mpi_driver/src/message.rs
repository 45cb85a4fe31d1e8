//! Messages from the receiver's point of view.

/// The sender to receive a message from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This rank.
    Rank(usize),
    /// Any rank.
    Any,
}

impl Source {
    pub(crate) fn rank(self) -> Option<usize> {
        match self {
            Self::Rank(rank) => Some(rank),
            Self::Any => None,
        }
    }
}

/// A message that was received or can be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its sender.
    pub source: usize,
    /// Number of its elements.
    pub count: usize,
}
