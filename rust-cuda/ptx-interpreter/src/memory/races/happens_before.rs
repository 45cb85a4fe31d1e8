//! The happens-before relation of a launch's accesses.

use std::collections::HashMap;
use std::num::NonZero;

use super::access::{Phase, Record, ThreadEpoch, Watched};
use super::clock::Clock;

/// Maximum number of phases kept at a time: a phase number and a lane fit 32 bits, and the table 128 MiB.
const MAX_PHASES: usize = 1 << 22;

/// Maximum number of a block's acquiring threads that are distinguished between two barriers.
const MAX_ACQUIRERS: usize = 32;

/// The clock that a thread has acquired since its block's last barrier.
#[derive(Debug)]
struct Acquired {
    by: Phase,
    lane: u32,
    clock: Clock,
}

impl Acquired {
    fn is_visible_to(&self, phase: Phase, lane: u32) -> bool {
        self.by.barriers < phase.barriers
            || self.by.warp == phase.warp && (self.lane == lane || self.by.warp_syncs < phase.warp_syncs)
    }
}

/// Clocks of a thread's relaxed accesses that a fence turns into an acquire or a release.
#[derive(Debug, Default)]
struct Pending {
    /// Observed by its relaxed loads: acquired at its next fence.
    seen: Clock,
    /// The state at its last fence: released by its relaxed stores.
    fenced: Clock,
}

#[derive(Debug, Default)]
struct BlockSync {
    releases: u32,
    /// Acquired by all threads of the block.
    shared: Clock,
    acquired: Vec<Acquired>,
    pending: HashMap<(u32, u32), Pending>,
}

impl BlockSync {
    /// All that a thread has acquired, without the accesses of its own block.
    fn acquired_by(&self, phase: Phase, lane: u32) -> Clock {
        let mut clock = self.shared.clone();
        for acquired in self.acquired.iter().filter(|acquired| acquired.is_visible_to(phase, lane)) {
            clock.join(&acquired.clock);
        }
        clock
    }

    fn acquire(&mut self, phase: Phase, lane: u32, clock: &Clock) {
        if clock.is_empty() {
            return;
        }
        let too_many = self.acquired.len() == MAX_ACQUIRERS;
        let shared = &mut self.shared;
        self.acquired.retain(|acquired| {
            let move_to_shared = too_many || acquired.by.barriers < phase.barriers;
            if move_to_shared {
                shared.join(&acquired.clock);
            }
            !move_to_shared
        });
        // One entry per phase: what is acquired after a warp synchronisation is not yet visible to the warp.
        let same = |acquired: &&mut Acquired| acquired.by == phase && acquired.lane == lane;
        match self.acquired.iter_mut().find(same) {
            Some(acquired) => acquired.clock.join(clock),
            None => self.acquired.push(Acquired { by: phase, lane, clock: clock.clone() }),
        }
    }
}

/// The happens-before relation: phases, and what each block has acquired and released.
#[derive(Debug, Default)]
pub(super) struct HappensBefore {
    /// Each phase with the number of earlier releases of its block; each release splits the block's phases.
    phases: Vec<(Phase, u32)>,
    /// Index of the phase requested last.
    recent: usize,
    /// Index of the latest phase of each warp.
    latest: HashMap<(u32, u32), usize>,
    blocks: HashMap<u32, BlockSync>,
    locations: HashMap<(Watched, usize), Clock>,
}

impl HappensBefore {
    /// The current epoch of a thread.
    #[inline]
    pub(super) fn thread_epoch(&mut self, phase: Phase, lane: u32) -> ThreadEpoch {
        let release = if self.blocks.is_empty() { 0 } else { self.releases(phase.block) };
        if self.phases.get(self.recent) != Some(&(phase, release)) {
            self.recent = self.index(phase, release);
        }
        ThreadEpoch { phase, lane, release, number: number(self.recent, lane) }
    }

    fn index(&mut self, phase: Phase, release: u32) -> usize {
        let latest = self.latest.entry((phase.block, phase.warp)).or_insert(usize::MAX);
        if self.phases.get(*latest) != Some(&(phase, release)) {
            self.phases.push((phase, release));
            *latest = self.phases.len() - 1;
        }
        *latest
    }

    /// The epoch in which an access was made.
    #[inline]
    pub(super) fn epoch_of(&self, record: Record) -> ThreadEpoch {
        let number = record.epoch.get();
        let (phase, release) = self.phases[(number >> 5) as usize - 1];
        ThreadEpoch { phase, lane: number & 31, release, number: record.epoch }
    }

    /// Whether an earlier access happens before the current one.
    #[inline]
    pub(super) fn is_ordered(&self, earlier: ThreadEpoch, later: ThreadEpoch) -> bool {
        let (before, now) = (earlier.phase, later.phase);
        if before.block == now.block {
            let same_warp = before.warp == now.warp;
            if before.barriers < now.barriers
                || same_warp && (earlier.lane == later.lane || before.warp_syncs < now.warp_syncs)
            {
                return true;
            }
        }
        !self.blocks.is_empty() && self.is_acquired(earlier, later)
    }

    fn is_acquired(&self, earlier: ThreadEpoch, later: ThreadEpoch) -> bool {
        let Some(block) = self.blocks.get(&later.phase.block) else { return false };
        let mut acquired = block.acquired.iter().filter(|acquired| acquired.is_visible_to(later.phase, later.lane));
        block.shared.covers(earlier) || acquired.any(|acquired| acquired.clock.covers(earlier))
    }

    /// Whether the table of phases is full, so that all records have to be dropped.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.phases.len() == MAX_PHASES
    }

    pub(super) fn forget_phases(&mut self) {
        self.phases.clear();
        self.latest.clear();
    }

    pub(super) fn forget_locations(&mut self, watched: Watched) {
        self.locations.retain(|location, _| location.0 != watched);
    }

    pub(super) fn end_block(&mut self, block: u32) {
        self.blocks.remove(&block);
        self.latest.retain(|warp, _| warp.0 != block);
    }

    pub(super) fn observe(&mut self, location: (Watched, usize), phase: Phase, lane: u32, acquires: bool) {
        let Some(clock) = self.locations.get(&location) else { return };
        let block = self.blocks.entry(phase.block).or_default();
        if acquires {
            block.acquire(phase, lane, clock);
        } else {
            block.pending.entry((phase.warp, lane)).or_default().seen.join(clock);
        }
    }

    pub(super) fn publish(&mut self, location: (Watched, usize), phase: Phase, lane: u32, releases: bool) {
        if releases {
            let clock = self.release(phase, lane);
            self.locations.entry(location).or_default().join(&clock);
            return;
        }
        let pending = self.blocks.get(&phase.block).and_then(|block| block.pending.get(&(phase.warp, lane)));
        if let Some(Pending { fenced, .. }) = pending.filter(|pending| !pending.fenced.is_empty()) {
            self.locations.entry(location).or_default().join(fenced);
        }
    }

    pub(super) fn fence(&mut self, phase: Phase, lane: u32) {
        let block = self.blocks.entry(phase.block).or_default();
        let seen = block.pending.get_mut(&(phase.warp, lane)).map(|pending| std::mem::take(&mut pending.seen));
        if let Some(seen) = seen {
            block.acquire(phase, lane, &seen);
        }
        let fenced = self.release(phase, lane);
        let block = self.blocks.entry(phase.block).or_default();
        block.pending.entry((phase.warp, lane)).or_default().fenced = fenced;
    }

    /// All accesses of these blocks up to now happen before what any of them does next. Each phase is the block's next
    /// one.
    pub(super) fn synchronise(&mut self, phases: &[Phase]) {
        let mut all = Clock::default();
        for phase in phases {
            all.join(&self.release(*phase, 0));
        }
        for phase in phases {
            self.blocks.entry(phase.block).or_default().shared.join(&all);
        }
    }

    /// The clock of all accesses that happen before now in this thread. Excludes the block's next accesses.
    fn release(&mut self, phase: Phase, lane: u32) -> Clock {
        let block = self.blocks.entry(phase.block).or_default();
        let mut clock = block.acquired_by(phase, lane);
        let number = number(0, lane);
        clock.add_all_before(ThreadEpoch { phase, lane, release: block.releases, number });
        block.releases += 1;
        clock
    }

    fn releases(&self, block: u32) -> u32 {
        self.blocks.get(&block).map_or(0, |block| block.releases)
    }
}

fn number(phase: usize, lane: u32) -> NonZero<u32> {
    NonZero::new((phase as u32 + 1) << 5 | lane & 31).unwrap_or(NonZero::<u32>::MIN)
}
