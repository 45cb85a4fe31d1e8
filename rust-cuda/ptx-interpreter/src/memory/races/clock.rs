//! A sparse vector clock over blocks: the accesses that happen before a point in a thread's execution.

use super::access::ThreadEpoch;

/// The accesses of a block that a release by one of its threads publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Released {
    block: u32,
    /// Accesses before the block's release of this number…
    release: u32,
    /// …and before the block's barrier of this number…
    barriers: u32,
    /// …or by this thread, or by its warp before the warp's latest `bar.warp.sync`; None: or by any thread of the
    /// block.
    by: Option<Releaser>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Releaser {
    warp: u32,
    lane: u32,
    warp_syncs: u32,
}

impl Released {
    fn covers(&self, earlier: ThreadEpoch) -> bool {
        let phase = earlier.phase;
        earlier.release <= self.release
            && (phase.barriers < self.barriers
                || self.by.is_none_or(|by| {
                    by.warp == phase.warp && (by.lane == earlier.lane || phase.warp_syncs < by.warp_syncs)
                }))
    }

    /// An upper bound of both, for the same block: covers at least what either covers.
    fn join(self, other: Self) -> Self {
        // Barriers and releases only increase, so the release after more barriers covers all that the other covers.
        if self.barriers != other.barriers {
            return if self.barriers > other.barriers { self } else { other };
        }
        let latest = if self.release >= other.release { self } else { other };
        let same = matches!((self.by, other.by), (Some(a), Some(b)) if (a.warp, a.lane) == (b.warp, b.lane));
        Self { by: latest.by.filter(|_| same), ..latest }
    }
}

/// For each block, its accesses that have been released.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// By ascending block number.
    blocks: Vec<Released>,
}

impl Clock {
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether an access with this epoch happens before the clock.
    #[inline]
    pub(super) fn covers(&self, earlier: ThreadEpoch) -> bool {
        match self.blocks.binary_search_by_key(&earlier.phase.block, |released| released.block) {
            Ok(index) => self.blocks[index].covers(earlier),
            Err(_) => false,
        }
    }

    /// Adds a thread's accesses up to now, and those of its warp and block ordered before them.
    pub(super) fn add_all_before(&mut self, thread: ThreadEpoch) {
        let phase = thread.phase;
        let by = Releaser { warp: phase.warp, lane: thread.lane, warp_syncs: phase.warp_syncs };
        let ThreadEpoch { release, .. } = thread;
        self.add(Released { block: phase.block, release, barriers: phase.barriers, by: Some(by) });
    }

    pub(super) fn join(&mut self, other: &Self) {
        other.blocks.iter().for_each(|released| self.add(*released));
    }

    fn add(&mut self, released: Released) {
        match self.blocks.binary_search_by_key(&released.block, |known| known.block) {
            Ok(index) => self.blocks[index] = self.blocks[index].join(released),
            Err(index) => self.blocks.insert(index, released),
        }
    }
}
