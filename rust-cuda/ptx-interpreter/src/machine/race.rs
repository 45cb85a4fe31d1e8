//! The race checker of a launch: the detector and its findings.

use super::launch::Launch;
use crate::memory::Region;
use crate::memory::races::{RaceDetector, Watched};

/// The race detector of a launch and the regions that it watches.
#[derive(Debug)]
pub(super) struct RaceChecker {
    pub(super) detector: RaceDetector,
    /// Indexed by allocation. `None` if it has not been accessed yet.
    pub(super) global: Vec<Option<Watched>>,
}

impl RaceChecker {
    pub(super) fn new(launch: &Launch<'_>) -> Self {
        let narrow = launch.kernel.has_narrow_scopes();
        let detector = RaceDetector::with_sizes(launch.config.cluster, narrow, launch.kernel.access_sizes())
            .silent_stores(!launch.options.strict);
        let global = vec![None; launch.view.allocations().len()];
        Self { detector, global }
    }

    /// Watches the shared memory of a block: its static arrays and its dynamic part.
    pub(super) fn start_block(&mut self, shared: &Region, dynamic: &Region) -> [Watched; 2] {
        [self.detector.watch(shared.bytes()), self.detector.watch(dynamic.bytes())]
    }

    /// Ends block `number`; `watched` are the handles of its shared memory.
    pub(super) fn end_block(&mut self, number: u32, watched: Option<[Watched; 2]>) {
        for watched in watched.into_iter().flatten() {
            self.detector.forget(watched);
        }
        self.detector.end_block(number);
    }
}
