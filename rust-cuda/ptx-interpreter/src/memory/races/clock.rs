//! A sparse vector clock over blocks: the accesses that happen before a point in a thread's
//! execution.

use super::access::{FIRST_AGENT, Location, Phase, ThreadEpoch};

/// The accesses of a block that a release by one of its threads publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Released {
    block: u32,
    /// Accesses before the block's release of this number…
    release: u32,
    /// …and before the block's barrier of this number…
    barriers: u32,
    /// …or by one of these threads before its release, or by its warp before the warp's latest
    /// `bar.warp.sync` of all lanes at that time. `None` stands for all threads of the block.
    by: Option<Vec<Releaser>>,
}

/// Maximum number of releasing threads, or groups of a warp's lanes, that are distinguished per
/// block between two barriers. A clock with more counts as a release by all of them.
const MAX_RELEASERS: usize = 64;

/// Lanes of a warp that release together, with their latest release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Releaser {
    warp: u32,
    /// Bit i is lane i.
    lanes: u32,
    warp_syncs: u32,
    /// The number of its release.
    release: u32,
}

impl Released {
    /// The lanes of a warp with covered accesses, assuming that every lane made an access like
    /// `earlier`.
    fn covered_lanes(&self, earlier: ThreadEpoch) -> u32 {
        let phase = earlier.phase;
        if earlier.release > self.release {
            return 0;
        }
        let Some(by) = self.by.as_ref().filter(|_| phase.barriers >= self.barriers) else { return u32::MAX };
        let before = by.iter().filter(|by| by.warp == phase.warp && earlier.release <= by.release);
        before.fold(0, |lanes, by| lanes | if phase.warp_syncs < by.warp_syncs { u32::MAX } else { by.lanes })
    }

    /// Makes this an upper bound of both, for the same block: covers at least the accesses that
    /// either covers.
    fn join(&mut self, other: &Self) {
        // Barriers and releases only increase, so the release after more barriers covers everything
        // that the other covers.
        if self.barriers != other.barriers {
            if other.barriers > self.barriers {
                *self = other.clone();
            }
            return;
        }
        self.release = self.release.max(other.release);
        let (Some(by), Some(others)) = (&mut self.by, &other.by) else {
            self.by = None;
            return;
        };
        for other in others {
            // A later release of a warp covers an earlier one of the same lanes or a subset of
            // them.
            let covers = |one: &Releaser, other: &Releaser| {
                one.warp == other.warp && one.release >= other.release && one.lanes & other.lanes == other.lanes
            };
            if !by.iter().any(|by| covers(by, other)) {
                by.retain(|by| !covers(other, by));
                by.push(*other);
            }
        }
        if by.len() > MAX_RELEASERS {
            self.by = None;
        }
    }
}

/// A released volatile store: its location and thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stored {
    location: Location,
    block: u32,
    thread: u32,
}

/// For each block and agent, its released accesses.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// In ascending order of block number.
    blocks: Vec<Released>,
    /// Like `blocks`, for entries that cover only reads.
    reads: Vec<Released>,
    /// In ascending order, each with the epoch of the thread's latest store there. Accesses that
    /// acquire a released volatile store also come after the store itself, which the preceding
    /// release does not cover.
    stored: Vec<(Stored, u32)>,
}

impl Clock {
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.reads.is_empty() && self.stored.is_empty()
    }

    /// Adds a thread's volatile store.
    pub(super) fn add_store(&mut self, location: Location, thread: ThreadEpoch) {
        self.add_stored(Stored::by(location, thread), thread.number.get());
    }

    /// Whether the clock covers a thread's volatile store.
    pub(super) fn covers_store(&self, location: Location, earlier: ThreadEpoch) -> bool {
        let index = self.stored.binary_search_by_key(&Stored::by(location, earlier), |(stored, _)| *stored);
        index.is_ok_and(|index| earlier.number.get() <= self.stored[index].1)
    }

    fn add_stored(&mut self, stored: Stored, epoch: u32) {
        match self.stored.binary_search_by_key(&stored, |(known, _)| *known) {
            Ok(index) => self.stored[index].1 = self.stored[index].1.max(epoch),
            Err(index) => self.stored.insert(index, (stored, epoch)),
        }
    }

    /// Whether the clock covers an access with this epoch, which reads or writes.
    #[inline]
    pub(super) fn covers<const IS_READ: bool>(&self, earlier: ThreadEpoch) -> bool {
        self.covered_lanes::<IS_READ>(earlier) >> earlier.lane & 1 == 1
    }

    /// The lanes of a warp with accesses covered by the clock, assuming that every lane made an
    /// access like `earlier`, which reads or writes.
    #[inline]
    pub(super) fn covered_lanes<const IS_READ: bool>(&self, earlier: ThreadEpoch) -> u32 {
        let of = |list: &[Released]| match list.binary_search_by_key(&earlier.phase.block, |released| released.block) {
            Ok(index) => list[index].covered_lanes(earlier),
            Err(_) => 0,
        };
        of(&self.blocks) | if IS_READ && !self.reads.is_empty() { of(&self.reads) } else { 0 }
    }

    /// Adds everything that happens before the end of an mbarrier phase for which this agent has
    /// stored. Phases are counted from 1.
    pub(super) fn add_async_stores(&mut self, agent: u32, phases: u32) {
        self.add(&Released { block: agent, release: 0, barriers: phases, by: Some(Vec::new()) });
    }

    /// Adds the part of a thread's clock that is ordered before its asynchronous store: the
    /// thread's reads, and the asynchronous stores that it has waited for. These have been
    /// performed, and the stored value may depend on them. The thread's own writes may become
    /// visible later.
    pub(super) fn join_performed(&mut self, clock: &Self) {
        for released in clock.blocks.iter().chain(&clock.reads) {
            add_to(if released.block >= FIRST_AGENT { &mut self.blocks } else { &mut self.reads }, released);
        }
    }

    /// Adds all accesses so far by lanes of a warp, before the block's release of this number, and
    /// the accesses of their warp and block ordered before them.
    pub(super) fn add_all_before(&mut self, phase: Phase, lanes: u32, release: u32) {
        let by = Releaser { warp: phase.warp, lanes, warp_syncs: phase.warp_syncs, release };
        self.add(&Released { block: phase.block, release, barriers: phase.barriers, by: Some(vec![by]) });
    }

    pub(super) fn join(&mut self, other: &Self) {
        other.blocks.iter().for_each(|released| self.add(released));
        other.reads.iter().for_each(|released| add_to(&mut self.reads, released));
        other.stored.iter().for_each(|(stored, epoch)| self.add_stored(*stored, *epoch));
    }

    fn add(&mut self, released: &Released) {
        add_to(&mut self.blocks, released);
    }
}

fn add_to(list: &mut Vec<Released>, released: &Released) {
    match list.binary_search_by_key(&released.block, |known| known.block) {
        Ok(index) => list[index].join(released),
        Err(index) => list.insert(index, released.clone()),
    }
}

impl Stored {
    fn by(location: Location, thread: ThreadEpoch) -> Self {
        let phase = thread.phase;
        Self { location, block: phase.block, thread: phase.warp * 32 + thread.lane }
    }
}
