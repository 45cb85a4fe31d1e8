//! What happens before what.

use std::collections::HashMap;
use std::num::NonZero;

use super::Watched;
use super::clock::Clock;
use super::records::Record;

/// A warp between two points at which it waits for others. The numbers only rise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The number of the block.
    pub block: u32,
    /// The number of the warp in its block.
    pub warp: u32,
    /// The barriers that the block has passed.
    pub barriers: u32,
    /// The `bar.warp.sync`s that the warp has passed.
    pub warp_syncs: u32,
}

/// A thread in a phase, between two releases of its block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Party {
    pub(super) phase: Phase,
    pub(super) lane: u32,
    /// How many releases of the block came before.
    pub(super) release: u32,
    pub(super) number: NonZero<u32>,
}

/// So many phases are remembered at a time, so that a number and a lane fit 32 bits and the table 128 MiB.
const MOST_PHASES: usize = 1 << 22;

/// So many threads of a block are told apart that acquire something between two barriers.
const MOST_ACQUIRERS: usize = 32;

/// What a thread has acquired since its block's last barrier.
#[derive(Debug)]
struct Acquired {
    by: Phase,
    lane: u32,
    clock: Clock,
}

impl Acquired {
    fn is_known_to(&self, phase: Phase, lane: u32) -> bool {
        self.by.barriers < phase.barriers
            || self.by.warp == phase.warp && (self.lane == lane || self.by.warp_syncs < phase.warp_syncs)
    }
}

/// What relaxed accesses and fences of a thread wait for.
#[derive(Debug, Default)]
struct Pending {
    /// What its relaxed loads have seen: acquired by its next fence.
    seen: Clock,
    /// What was before its last fence: released by its relaxed stores.
    fenced: Clock,
}

#[derive(Debug, Default)]
struct Block {
    releases: u32,
    /// What everybody in the block knows.
    known: Clock,
    acquired: Vec<Acquired>,
    pending: HashMap<(u32, u32), Pending>,
}

impl Block {
    /// All that a thread knows, without what its own block does.
    fn knowledge(&self, phase: Phase, lane: u32) -> Clock {
        let mut clock = self.known.clone();
        for acquired in self.acquired.iter().filter(|acquired| acquired.is_known_to(phase, lane)) {
            clock.join(&acquired.clock);
        }
        clock
    }

    fn acquire(&mut self, phase: Phase, lane: u32, clock: &Clock) {
        if clock.is_empty() {
            return;
        }
        let too_many = self.acquired.len() == MOST_ACQUIRERS;
        let known = &mut self.known;
        self.acquired.retain(|acquired| {
            let is_shared = too_many || acquired.by.barriers < phase.barriers;
            if is_shared {
                known.join(&acquired.clock);
            }
            !is_shared
        });
        // What came after a synchronisation of the warp is told apart: the warp doesn't know it yet.
        let same = |acquired: &&mut Acquired| acquired.by == phase && acquired.lane == lane;
        match self.acquired.iter_mut().find(same) {
            Some(acquired) => acquired.clock.join(clock),
            None => self.acquired.push(Acquired { by: phase, lane, clock: clock.clone() }),
        }
    }
}

/// The order of what happened.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Each phase with the releases that came before; a phase is split by each release of its block.
    phases: Vec<(Phase, u32)>,
    /// The phase that was asked for last: its index.
    recent: usize,
    /// The latest phase of each warp: its index.
    latest: HashMap<(u32, u32), usize>,
    blocks: HashMap<u32, Block>,
    locations: HashMap<(Watched, usize), Clock>,
}

impl Order {
    /// Who acts.
    #[inline]
    pub(super) fn party(&mut self, phase: Phase, lane: u32) -> Party {
        let release = if self.blocks.is_empty() { 0 } else { self.releases(phase.block) };
        if self.phases.get(self.recent) != Some(&(phase, release)) {
            self.recent = self.index(phase, release);
        }
        Party { phase, lane, release, number: number(self.recent, lane) }
    }

    fn index(&mut self, phase: Phase, release: u32) -> usize {
        let latest = self.latest.entry((phase.block, phase.warp)).or_insert(usize::MAX);
        if self.phases.get(*latest) != Some(&(phase, release)) {
            self.phases.push((phase, release));
            *latest = self.phases.len() - 1;
        }
        *latest
    }

    /// Who made an access.
    #[inline]
    pub(super) fn party_of(&self, record: Record) -> Party {
        let number = record.party.get();
        let (phase, release) = self.phases[(number >> 5) as usize - 1];
        Party { phase, lane: number & 31, release, number: record.party }
    }

    /// Whether what came earlier happens before what comes now.
    #[inline]
    pub(super) fn is_ordered(&self, earlier: Party, later: Party) -> bool {
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

    fn is_acquired(&self, earlier: Party, later: Party) -> bool {
        let Some(block) = self.blocks.get(&later.phase.block) else { return false };
        let mut acquired = block.acquired.iter().filter(|acquired| acquired.is_known_to(later.phase, later.lane));
        block.known.covers(earlier) || acquired.any(|acquired| acquired.clock.covers(earlier))
    }

    /// Whether no more phases can be told apart, so that all records have to go.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.phases.len() == MOST_PHASES
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

    /// All that happened before now, as the thread sees it. What the block does next is not of it.
    fn release(&mut self, phase: Phase, lane: u32) -> Clock {
        let block = self.blocks.entry(phase.block).or_default();
        let mut clock = block.knowledge(phase, lane);
        let number = number(0, lane);
        clock.add_all_before(Party { phase, lane, release: block.releases, number });
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
