//! The phases of a block's mbarriers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::Location;

use cuda_launch::{Mbarrier, MbarrierError};

use super::fault::{self, FaultKind};

/// The key of its array, and its index.
pub(super) type MbarrierId = (u64, usize);

/// The current phase of an mbarrier.
pub(super) struct Phase {
    pub(super) mbarrier: Mbarrier,
    /// From 0.
    pub(super) number: u64,
    /// The shadows of the elements that were stored for it.
    pub(super) stores: Vec<usize>,
}

/// The mbarriers of a block.
#[derive(Default)]
pub(super) struct Phases(pub(super) RefCell<HashMap<MbarrierId, Phase>>);

impl Phases {
    /// Raises a fault if there is no such mbarrier.
    pub(super) fn check(&self, id: MbarrierId, location: &'static Location<'static>) {
        if !self.0.borrow().contains_key(&id) {
            raise(MbarrierError::NotInitialised, location);
        }
    }

    /// The fault of a wait for a phase that no thread completes.
    pub(super) fn never_ends(&self, id: MbarrierId) -> FaultKind {
        let missing = self.0.borrow().get(&id).map(|phase| phase.mbarrier.missing());
        let (arrivals, bytes) = missing.unwrap_or_default();
        FaultKind::PhaseNeverEnds { arrivals, bytes }
    }
}

#[cold]
pub(super) fn raise(error: MbarrierError, location: &'static Location<'static>) -> ! {
    fault::raise(FaultKind::Mbarrier(error), location)
}
