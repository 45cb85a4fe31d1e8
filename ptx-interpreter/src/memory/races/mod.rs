//! Races: accesses to the same bytes that nothing orders.
//!
//! Two accesses race if they overlap, at least one writes, at least one is plain, and neither happens before the other.
//! One access happens before another if it came earlier and
//! - the same thread made both, or
//! - a barrier of their block lies between, or
//! - a `bar.warp.sync` of their warp lies between, or
//! - the first was released at an atomic location, and the second's thread acquired it from there,
//!
//! or by several such steps (PTX ISA 8, Memory Consistency Model; causality order).
//!
//! Plain writes of the same value that race with each other, and with nothing else, are a class of their own: whichever
//! comes last, memory holds that value.
//!
//! Who releases publishes what it did itself, what its warp did before the last `bar.warp.sync`, what its block did
//! before the last barrier, and what it knows of other blocks. Who acquires knows it at once, its warp after the next
//! `bar.warp.sync` and its block after the next barrier. This finds a missing fence and a missing barrier around a flag,
//! and accepts barriers of the grid, "the last block adds up" and locks.
//!
//! What is reported is a race, with one exception: scopes are ignored, a fence of a block counts as the device's. What
//! is not reported may be a race where
//! - more than 16 threads, or 4 of a warp, read the same bytes, or use them atomically, with nothing that orders them:
//!   some are forgotten, those first that have companions of their warp or block;
//! - several threads of a block release with no barrier between: together they count as if the block had;
//! - a store overwrites what was released at a location: an acquire of the new value acquires the old release too;
//! - millions of warp phases lie between the two.

mod clock;
mod history;
mod order;
mod records;

use std::ops::Range;

use history::Word;
use order::Order;
pub use order::Phase;
use records::Record;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A plain load.
    Read,
    /// A plain store.
    Write,
    /// A volatile, relaxed or acquire load, which races with plain stores alone.
    AtomicRead,
    /// An atomic operation, or a volatile, relaxed or release store, which races with all plain accesses.
    AtomicWrite,
}

impl AccessKind {
    /// Whether two accesses with nothing that orders them are a race.
    pub fn races_with(self, other: Self) -> bool {
        let writes = |kind| matches!(kind, Self::Write | Self::AtomicWrite);
        let is_plain = |kind| matches!(kind, Self::Read | Self::Write);
        (writes(self) || writes(other)) && (is_plain(self) || is_plain(other))
    }
}

/// The earlier of two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Who made it: the number of the block.
    pub block: u32,
    /// Who made it: the number of the thread in its block.
    pub thread: u32,
    /// What it did.
    pub kind: AccessKind,
    /// The number of its instruction, as it was given.
    pub instruction: u32,
    /// The offset of the first byte that both access.
    pub offset: usize,
}

/// A region whose accesses are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Watched(u32);

/// Remembers the accesses of one launch and finds those that race.
///
/// One thread of the host executes all blocks of the launch, one after the other or in turns. The end of a launch
/// orders everything: each launch gets a detector of its own.
#[derive(Debug, Default)]
pub struct RaceDetector {
    order: Order,
    /// What happened to each word of each watched region; empty for one that is forgotten.
    regions: Vec<Vec<Word>>,
    forgotten: Vec<Watched>,
}

impl RaceDetector {
    /// A detector that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Watches a region of so many bytes. It takes 40 bytes for each 4.
    pub fn watch(&mut self, bytes: usize) -> Watched {
        let words = vec![Word::default(); bytes.div_ceil(4)];
        if let Some(watched) = self.forgotten.pop() {
            self.regions[watched.0 as usize] = words;
            return watched;
        }
        self.regions.push(words);
        Watched(self.regions.len() as u32 - 1)
    }

    /// Forgets a region, such as the shared memory of a block that has ended.
    pub fn forget(&mut self, watched: Watched) {
        self.regions[watched.0 as usize] = Vec::new();
        self.order.forget_locations(watched);
        self.forgotten.push(watched);
    }

    /// Forgets what only a block needs that will do nothing more. What it accessed is kept.
    pub fn end_block(&mut self, block: u32) {
        self.order.end_block(block);
    }

    /// Remembers an access of a lane to `bytes` bytes of a region; the instruction's number is given back with a
    /// conflict.
    ///
    /// # Errors
    /// The first earlier access with which it races. It is remembered all the same.
    pub fn record(
        &mut self,
        place: (Watched, usize),
        bytes: usize,
        kind: AccessKind,
        who: (Phase, u32),
        instruction: u32,
    ) -> Result<(), Conflict> {
        self.record_value(place, bytes, kind, who, instruction, |_| false).map(|_| ())
    }

    /// As `record`, of an access whose value can be compared: `same_value` says whether a plain write leaves these
    /// bytes of the region as they are. It is asked only where two plain writes race. If all that race are of the same
    /// value, the first earlier one is given back.
    ///
    /// # Errors
    /// As `record`; of two plain writes, if they write different values.
    pub fn record_value(
        &mut self,
        (watched, offset): (Watched, usize),
        bytes: usize,
        kind: AccessKind,
        (phase, lane): (Phase, u32),
        instruction: u32,
        mut same_value: impl FnMut(Range<usize>) -> bool,
    ) -> Result<Option<Conflict>, Conflict> {
        if self.order.is_full() {
            self.regions.iter_mut().for_each(|region| region.fill(Word::default()));
            self.order.forget_phases();
        }
        let party = self.order.party(phase, lane);
        let mut found = Ok(None);
        let (mut offset, end) = (offset, offset + bytes);
        while offset < end {
            let part = (4 - offset % 4).min(end - offset);
            let start = offset / 4 * 4;
            let mut same_value = |range: Range<usize>| same_value(start + range.start..start + range.end);
            let word = &mut self.regions[watched.0 as usize][offset / 4];
            let range = offset % 4..offset % 4 + part;
            let conflict = word.record(&self.order, range, kind, party, instruction, &mut same_value);
            if let (Some((byte, conflict)), Ok(same)) = (conflict, found) {
                let earlier = self.order.party_of(conflict.record);
                let (block, thread) = (earlier.phase.block, earlier.phase.warp * 32 + earlier.lane);
                let Record { instruction, .. } = conflict.record;
                let conflict_here = Conflict { block, thread, kind: conflict.kind, instruction, offset: start + byte };
                found = if conflict.same_value { Ok(same.or(Some(conflict_here))) } else { Err(conflict_here) };
            }
            offset += part;
        }
        found
    }

    /// A lane reads atomically what may have been released there. With acquire semantics it knows at once what was
    /// released, and otherwise after its next fence.
    pub fn observe(&mut self, location: (Watched, usize), (phase, lane): (Phase, u32), acquires: bool) {
        self.order.observe(location, phase, lane, acquires);
    }

    /// A lane writes atomically. With release semantics it publishes there what it did up to now, and otherwise what it
    /// did up to its last fence. A read-modify-write is an `observe`, then a `publish`.
    pub fn publish(&mut self, location: (Watched, usize), (phase, lane): (Phase, u32), releases: bool) {
        self.order.publish(location, phase, lane, releases);
    }

    /// A lane executes a fence (`fence`, `membar`).
    pub fn fence(&mut self, (phase, lane): (Phase, u32)) {
        self.order.fence(phase, lane);
    }
}
