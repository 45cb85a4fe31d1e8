//! What a thread knows to have happened in each block: a sparse vector clock.

use super::order::Party;

/// The part of a block's accesses that a release of one of its threads publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Released {
    block: u32,
    /// Accesses that were made before this many releases of the block…
    release: u32,
    /// …and before this barrier…
    barriers: u32,
    /// …or by this thread, or its warp before its latest `bar.warp.sync`; None: or by anybody.
    by: Option<Releaser>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Releaser {
    warp: u32,
    lane: u32,
    warp_syncs: u32,
}

impl Released {
    fn covers(&self, earlier: Party) -> bool {
        let phase = earlier.phase;
        earlier.release <= self.release
            && (phase.barriers < self.barriers
                || self.by.is_none_or(|by| {
                    by.warp == phase.warp && (by.lane == earlier.lane || phase.warp_syncs < by.warp_syncs)
                }))
    }

    /// At least what either covers, of the same block.
    fn join(self, other: Self) -> Self {
        // Barriers and releases only rise, so the later epoch's release covers all that the other does.
        if self.barriers != other.barriers {
            return if self.barriers > other.barriers { self } else { other };
        }
        let latest = if self.release >= other.release { self } else { other };
        let same = matches!((self.by, other.by), (Some(a), Some(b)) if (a.warp, a.lane) == (b.warp, b.lane));
        Self { by: latest.by.filter(|_| same), ..latest }
    }
}

/// What has happened in each block, as far as it was released.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// In the order of the blocks' numbers.
    blocks: Vec<Released>,
}

impl Clock {
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether it tells that an access has happened.
    #[inline]
    pub(super) fn covers(&self, earlier: Party) -> bool {
        match self.blocks.binary_search_by_key(&earlier.phase.block, |released| released.block) {
            Ok(index) => self.blocks[index].covers(earlier),
            Err(_) => false,
        }
    }

    /// Adds all that a thread did up to now, and what was done before it.
    pub(super) fn add_all_before(&mut self, thread: Party) {
        let phase = thread.phase;
        let by = Releaser { warp: phase.warp, lane: thread.lane, warp_syncs: phase.warp_syncs };
        let Party { release, .. } = thread;
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
