//! Race detection: unordered accesses to the same bytes.
//!
//! Two accesses race if they overlap, at least one writes, neither happens before the other, and they are not morally strong: one
//! is plain, or its scope does not include the other's thread (PTX ISA 8, Memory Consistency Model, Morally Strong Operations).
//! Two volatile stores race too, although PTX makes them strong: no language that has volatile accesses makes them atomic. Volatile
//! reads that poll do not race with volatile stores.
//! One access happens before another if it came earlier and
//! - the same thread made both, or
//! - a barrier of their block is between them, or
//! - a `bar.warp.sync` of their warp is between them, or
//! - a barrier of their blocks' cluster is between them, or
//! - the first was released at an atomic location, and the second's thread acquired it from there, each with a scope that
//!   includes the other's thread,
//!
//! or by transitivity of these (PTX ISA 8, Memory Consistency Model; causality order).
//!
//! Plain writes, or volatile ones, of the same value that race with each other, and with no other access but plain reads by their own
//! threads, are a class of their own: whichever comes last, memory holds that value.
//!
//! A releasing thread publishes its own accesses, those of its warp before the last `bar.warp.sync`, those of its block
//! before the last barrier, and those of other blocks that it has acquired. They happen before what the acquiring
//! thread does next, what its warp does after the next `bar.warp.sync` and what its block does after the next barrier.
//! This detects a missing fence and a missing barrier around a flag, and accepts grid barriers, reductions by the last
//! block and locks.
//!
//! Every reported race is one, except of accesses that only `fence.sc` on both sides orders, of which one is before a barrier of the
//! block and another thread signals after it. A race may go unreported where
//! - warps read the same bytes, or access them atomically, by more than 16 instructions without an order: some accesses are dropped,
//!   first those of a warp or block with other recorded accesses;
//! - one is between the arrival at a barrier of the cluster and the wait there: it counts as before the barrier if the
//!   other threads have not all arrived, else as after it;
//! - threads pass a barrier of some warps of the block or of some lanes of the warp, or arrive at a barrier without a wait: it counts
//!   as a barrier of the whole block or warp;
//! - one is of an asynchronous copy, which counts as a read where it begins and as a write where its thread waits for it;
//! - both are atomic and overlap in part, or one is a read-only load (`ld.global.nc`), which counts as a plain one;
//! - more than 64 threads of a block release without a barrier between: together they count as a release by the block;
//! - a plain store, or a compare-and-swap that swaps nothing, follows a release at its location: it counts as one that continues it;
//! - millions of warp phases are between the two accesses.

mod access;
mod clock;
mod happens_before;
mod history;
mod records;

use std::ops::Range;

pub use access::{AccessKind, Phase, Publication, Scope, Watched};

use happens_before::HappensBefore;
use history::{Current, Word};

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
#[derive(Debug)]
pub struct RaceDetector {
    happens_before: HappensBefore,
    /// Access history of each word of each watched region; empty for a region that is no longer watched.
    regions: Vec<Vec<Word>>,
    free: Vec<Watched>,
}

impl RaceDetector {
    /// A detector without watched regions, for a launch with clusters of this many blocks. Scopes other than the device's are
    /// distinguished if `has_narrow_scopes` is set; a kernel without any is checked faster without.
    pub fn new(cluster: u8, has_narrow_scopes: bool) -> Self {
        let happens_before = HappensBefore::new(u32::from(cluster).max(1), has_narrow_scopes);
        Self { happens_before, regions: Vec::new(), free: Vec::new() }
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

    /// As `record`, for an access whose value can be compared: `same_value` says whether a plain or volatile write leaves these
    /// bytes of the region unchanged. It is called only where two such writes race. If all racing accesses are
    /// writes of the same value, both plain or both volatile, or writes of the value that the reading thread has written too, returns
    /// the first earlier one.
    ///
    /// # Errors
    /// As `record`; for two plain or two volatile writes, only if they write different values.
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
        let access = Current { location: (watched, offset), kind, epoch, instruction };
        let mut found = Ok(None);
        let (mut offset, end) = (offset, offset + bytes);
        while offset < end {
            let length = (4 - offset % 4).min(end - offset);
            let start = offset / 4 * 4;
            let mut same_value = |range: Range<usize>| same_value(start + range.start..start + range.end);
            let word = &mut self.regions[watched.0 as usize][offset / 4];
            let range = offset % 4..offset % 4 + length;
            let conflict = word.record(&self.happens_before, range, &access, &mut same_value);
            if let (Some((byte, conflict)), Ok(same)) = (conflict, found) {
                let earlier = self.happens_before.epoch_of(conflict.record);
                let (block, thread) = (earlier.phase.block, earlier.phase.warp * 32 + earlier.lane);
                let instruction = conflict.record.instruction();
                let conflict_here = Conflict { block, thread, kind: conflict.kind, instruction, offset: start + byte };
                found = if conflict.same_value { Ok(same.or(Some(conflict_here))) } else { Err(conflict_here) };
            }
            offset += length;
        }
        found
    }

    /// Registers a strong read of a scope, which may observe a release at the location. With acquire semantics the lane acquires
    /// it immediately, otherwise at its next fence.
    pub fn observe(
        &mut self,
        location: (Watched, usize),
        (phase, lane): (Phase, u32),
        (scope, acquires): (Scope, bool),
    ) {
        self.happens_before.observe(location, phase, lane, (scope, acquires));
    }

    /// Registers a strong write. A read-modify-write is an `observe`, then a `publish`.
    pub fn publish(&mut self, location: (Watched, usize), (phase, lane): (Phase, u32), publication: Publication) {
        self.happens_before.publish(location, phase, lane, publication);
    }

    /// Registers a barrier of several blocks: all their accesses up to now happen before what any of them does next.
    /// `phases` has for each block the phase of one of its warps after the barrier.
    pub fn synchronise(&mut self, phases: &[Phase]) {
        self.happens_before.synchronise(phases);
    }

    /// Registers a lane's fence of a scope (`fence`, `membar`).
    pub fn fence(&mut self, (phase, lane): (Phase, u32), scope: Scope) {
        self.happens_before.fence(phase, lane, scope);
    }
}
