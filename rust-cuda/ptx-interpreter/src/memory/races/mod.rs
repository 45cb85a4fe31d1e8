//! Race detection: unordered accesses to the same bytes.
//!
//! Two accesses race if they overlap, at least one writes, at least one is plain, and neither happens before the other.
//! One access happens before another if it came earlier and
//! - the same thread made both, or
//! - a barrier of their block is between them, or
//! - a `bar.warp.sync` of their warp is between them, or
//! - a barrier of their blocks' cluster is between them, or
//! - the first was released at an atomic location, and the second's thread acquired it from there,
//!
//! or by transitivity of these (PTX ISA 8, Memory Consistency Model; causality order).
//!
//! Plain writes of the same value that race with each other, and with no other access, are a class of their own:
//! whichever comes last, memory holds that value.
//!
//! A releasing thread publishes its own accesses, those of its warp before the last `bar.warp.sync`, those of its block
//! before the last barrier, and those of other blocks that it has acquired. They happen before what the acquiring
//! thread does next, what its warp does after the next `bar.warp.sync` and what its block does after the next barrier.
//! This detects a missing fence and a missing barrier around a flag, and accepts grid barriers, reductions by the last
//! block and locks.
//!
//! Every reported race is one. A race may go unreported where
//! - a scope is too narrow: scopes are ignored, and a fence of a block counts as one of the device;
//! - more than 16 threads, or 4 of a warp, read the same bytes, or access them atomically, without an order: some
//!   accesses are dropped, first those of a warp or block with other recorded accesses;
//! - one is between the arrival at a barrier of the cluster and the wait there: it counts as before the barrier if the
//!   other threads have not all arrived, else as after it;
//! - several threads of a block release without a barrier between: together they count as a release by the block;
//! - a store overwrites a released value at a location: an acquire of the new value acquires the old release too;
//! - millions of warp phases are between the two accesses.

mod access;
mod clock;
mod happens_before;
mod history;
mod records;

use std::ops::Range;

pub use access::{AccessKind, Phase, Watched};

use access::Record;
use happens_before::HappensBefore;
use history::Word;

/// The earlier of two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Number of the block that made it.
    pub block: u32,
    /// Number of the thread in its block.
    pub thread: u32,
    /// Its kind.
    pub kind: AccessKind,
    /// The number of its instruction, as passed to [`RaceDetector::record`].
    pub instruction: u32,
    /// Offset of the first byte that both access.
    pub offset: usize,
}

/// Records the accesses of one launch and detects those that race.
///
/// One host thread executes all blocks of the launch, one after the other or round-robin. The end of a launch orders
/// all its accesses before the next launch, so each launch gets its own detector.
#[derive(Debug, Default)]
pub struct RaceDetector {
    happens_before: HappensBefore,
    /// Access history of each word of each watched region; empty for a region that is no longer watched.
    regions: Vec<Vec<Word>>,
    free: Vec<Watched>,
}

impl RaceDetector {
    /// A detector without watched regions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts to watch a region of `bytes` bytes, with 40 bytes of history for every 4.
    pub fn watch(&mut self, bytes: usize) -> Watched {
        let words = vec![Word::default(); bytes.div_ceil(4)];
        if let Some(watched) = self.free.pop() {
            self.regions[watched.0 as usize] = words;
            return watched;
        }
        self.regions.push(words);
        Watched(self.regions.len() as u32 - 1)
    }

    /// Stops watching a region, such as the shared memory of a block that has ended.
    pub fn forget(&mut self, watched: Watched) {
        self.regions[watched.0 as usize] = Vec::new();
        self.happens_before.forget_locations(watched);
        self.free.push(watched);
    }

    /// Drops the synchronisation state of a block that has ended. Its accesses stay recorded.
    pub fn end_block(&mut self, block: u32) {
        self.happens_before.end_block(block);
    }

    /// Records an access of a lane to `bytes` bytes of a region. A later conflict with it carries `instruction`.
    ///
    /// # Errors
    /// The first earlier access with which it races. The access is recorded nevertheless.
    pub fn record(
        &mut self,
        place: (Watched, usize),
        bytes: usize,
        kind: AccessKind,
        thread: (Phase, u32),
        instruction: u32,
    ) -> Result<(), Conflict> {
        self.record_value(place, bytes, kind, thread, instruction, |_| false).map(|_| ())
    }

    /// As `record`, for an access whose value can be compared: `same_value` says whether a plain write leaves these
    /// bytes of the region unchanged. It is called only where two plain writes race. If all racing accesses are plain
    /// writes of the same value, returns the first earlier one.
    ///
    /// # Errors
    /// As `record`; for two plain writes, only if they write different values.
    pub fn record_value(
        &mut self,
        (watched, offset): (Watched, usize),
        bytes: usize,
        kind: AccessKind,
        (phase, lane): (Phase, u32),
        instruction: u32,
        mut same_value: impl FnMut(Range<usize>) -> bool,
    ) -> Result<Option<Conflict>, Conflict> {
        if self.happens_before.is_full() {
            self.regions.iter_mut().for_each(|region| region.fill(Word::default()));
            self.happens_before.forget_phases();
        }
        let epoch = self.happens_before.thread_epoch(phase, lane);
        let mut found = Ok(None);
        let (mut offset, end) = (offset, offset + bytes);
        while offset < end {
            let length = (4 - offset % 4).min(end - offset);
            let start = offset / 4 * 4;
            let mut same_value = |range: Range<usize>| same_value(start + range.start..start + range.end);
            let word = &mut self.regions[watched.0 as usize][offset / 4];
            let range = offset % 4..offset % 4 + length;
            let conflict = word.record(&self.happens_before, range, kind, epoch, instruction, &mut same_value);
            if let (Some((byte, conflict)), Ok(same)) = (conflict, found) {
                let earlier = self.happens_before.epoch_of(conflict.record);
                let (block, thread) = (earlier.phase.block, earlier.phase.warp * 32 + earlier.lane);
                let Record { instruction, .. } = conflict.record;
                let conflict_here = Conflict { block, thread, kind: conflict.kind, instruction, offset: start + byte };
                found = if conflict.same_value { Ok(same.or(Some(conflict_here))) } else { Err(conflict_here) };
            }
            offset += length;
        }
        found
    }

    /// Registers an atomic read, which may observe a release at the location. With acquire semantics the lane acquires
    /// it immediately, otherwise at its next fence.
    pub fn observe(&mut self, location: (Watched, usize), (phase, lane): (Phase, u32), acquires: bool) {
        self.happens_before.observe(location, phase, lane, acquires);
    }

    /// Registers an atomic write. With release semantics it publishes the lane's accesses up to now, otherwise those up
    /// to its last fence. A read-modify-write is an `observe`, then a `publish`.
    pub fn publish(&mut self, location: (Watched, usize), (phase, lane): (Phase, u32), releases: bool) {
        self.happens_before.publish(location, phase, lane, releases);
    }

    /// Registers a barrier of several blocks: all their accesses up to now happen before what any of them does next.
    /// `phases` has for each block the phase of one of its warps after the barrier.
    pub fn synchronise(&mut self, phases: &[Phase]) {
        self.happens_before.synchronise(phases);
    }

    /// Registers a lane's fence (`fence`, `membar`).
    pub fn fence(&mut self, (phase, lane): (Phase, u32)) {
        self.happens_before.fence(phase, lane);
    }
}
