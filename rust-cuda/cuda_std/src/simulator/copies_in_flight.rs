//! The asynchronous copies of a block, and stores to it, that are in flight.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::panic::Location;

use super::shadow::Accessor;

/// The copies in flight of a block's threads, and the asynchronous stores to it.
#[derive(Default)]
pub(super) struct Copies(pub(super) RefCell<InFlight>);

#[derive(Default)]
pub(super) struct InFlight {
    pub(super) of_threads: HashMap<u32, ThreadCopies>,
    /// By the address of the target's shadow: the thread that copies or stores, and where it began to.
    pub(super) targets: HashMap<usize, (Accessor, &'static Location<'static>)>,
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
    /// The thread, and where it began, if a copy or an asynchronous store to the element with this shadow is in flight.
    pub(super) fn to(&self, target: usize) -> Option<(Accessor, &'static Location<'static>)> {
        self.0.borrow().targets.get(&target).copied()
    }
}
