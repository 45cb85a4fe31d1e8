//! The asynchronous copies in flight of a block.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::panic::Location;

/// The copies in flight of a block's threads.
#[derive(Default)]
pub(super) struct Copies(pub(super) RefCell<InFlight>);

#[derive(Default)]
pub(super) struct InFlight {
    pub(super) of_threads: HashMap<u32, ThreadCopies>,
    /// By the address of the target's shadow: the copying thread, and where it began the copy.
    pub(super) targets: HashMap<usize, (u32, &'static Location<'static>)>,
}

/// The copies in flight of a thread.
#[derive(Default)]
pub(super) struct ThreadCopies {
    pub(super) groups: VecDeque<Vec<PendingCopy>>,
    /// Those that no group has yet.
    pub(super) open: Vec<PendingCopy>,
}

pub(super) struct PendingCopy {
    /// The address of the target's shadow, if there are shadows.
    pub(super) target: Option<usize>,
    /// Writes to the target.
    pub(super) write: Box<dyn FnOnce()>,
}

impl Copies {
    /// The copying thread, and where it began the copy, if a copy to the element with this shadow is in flight.
    pub(super) fn to(&self, target: usize) -> Option<(u32, &'static Location<'static>)> {
        self.0.borrow().targets.get(&target).copied()
    }
}
