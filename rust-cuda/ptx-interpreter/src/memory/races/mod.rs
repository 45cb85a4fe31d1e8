//! Race detection: unordered accesses to the same bytes.
//!
//! Two accesses race if they overlap, at least one writes, neither happens before the other, and
//! they are not morally strong: one is plain, or its scope does not include the other's thread (PTX
//! ISA 8, Memory Consistency Model, Morally Strong Operations). Two volatile stores also race,
//! although PTX makes them strong: no language with volatile accesses makes them atomic. Volatile
//! reads that poll do not race with volatile stores.
//!
//! One access happens before another if it came earlier and
//! - the same thread made both, or
//! - a barrier of their block is between them, or
//! - a `bar.warp.sync` of their warp is between them, or
//! - a barrier of their blocks' cluster is between them, or
//! - the first came before its thread's arrival at an mbarrier, and the second's thread waited for
//!   that phase, or
//! - the first is an asynchronous store for the phase of an mbarrier, or one that its thread had
//!   waited for, or a read that came before it in its thread, and the second's thread waited for
//!   that phase, or
//! - the first was released at an atomic location, and the second's thread acquired it from there,
//!   each with a scope that includes the other's thread,
//!
//! or by transitivity of these (PTX ISA 8, Memory Consistency Model; causality order).
//!
//! Plain writes of the same value that race with each other form a separate class, and so do
//! volatile ones, if they race with no other accesses except plain reads by their own threads.
//! Whichever write comes last, memory holds that value. Silent stores are plain stores of the value
//! already in memory. They may belong to this class too ([`RaceDetector::silent_stores`]), because
//! plain reads by other threads find the same value before and after the store.
//!
//! A releasing thread publishes its own accesses, its warp's accesses before the last
//! `bar.warp.sync`, its block's accesses before the last barrier, and the accesses of other blocks
//! that it has acquired. They happen before the next accesses of the acquiring thread, the accesses
//! of its warp after the next `bar.warp.sync`, and the accesses of its block after the next
//! barrier. This detects a missing fence and a missing barrier around a flag, and accepts grid
//! barriers, reductions by the last block and locks.
//!
//! A sequentially consistent fence also publishes its prior accesses through writes by other
//! threads of the block after a later barrier. It also acquires what those threads have observed
//! before the last barrier. Such fences synchronize with each other in their order (Fence-SC
//! Order), which the observed write implies.
//!
//! Every reported race is real. A race may go unreported if
//! - warps read the same bytes, or access them atomically, with more than 16 unordered
//!   instructions: some accesses are dropped, starting with a warp or block that has other recorded
//!   accesses;
//! - a fence on one side of a barrier of the block is sequentially consistent, another thread
//!   signals or observes on the other side, and the threads of the other block have no such fence;
//! - more than 64 threads of a block release without a barrier in between: together they count as a
//!   release by the block; likewise, more than 64 acquiring threads count as the whole block;
//! - a plain store, or a compare-and-swap that swaps nothing, follows a release at its location: it
//!   counts as continuing the release sequence;
//! - millions of warp phases are between the two accesses.

mod access;
mod clock;
mod flights;
mod happens_before;
mod history;
mod records;
mod sector;

use std::ops::Range;

pub use access::{
    AccessKind, Fence, LaneAccess, Location, Observation, Phase, Publication, Scope, Thread, Threads, WarpAccess,
    Watched,
};
pub use flights::CopyAccess;
pub use happens_before::BarrierOf;

use access::Record;
use flights::{Flights, word_at};
use happens_before::HappensBefore;
use history::{Current, RacingAccess};
use sector::{SECTOR_BYTES, Sector};

/// The earlier of two racing accesses.
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
    /// The reason why the two race.
    pub why: Why,
}

/// The reason why two accesses race.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Why {
    /// Neither happens before the other.
    #[default]
    Unordered,
    /// Both are atomic, but overlap only partially.
    Size,
    /// One is a read-only load, through a cache that may miss the launch's writes, in any order.
    ReadOnly,
    /// The earlier one belongs to an asynchronous copy that its thread has not waited for.
    InFlight,
    /// The later one reads a value written by the earlier one, and an atomic counter operation told
    /// its thread of the write. Only a fence after that operation is missing.
    MissingFence,
}

/// Records the accesses of one launch and detects races between them.
///
/// One host thread executes all blocks of the launch, one after the other or round-robin. The end
/// of a launch orders all its accesses before the next launch, so each launch has its own detector.
#[derive(Debug)]
pub struct RaceDetector {
    happens_before: HappensBefore,
    /// Access history of each sector of each watched region. Empty for a region that is no longer
    /// watched.
    regions: Vec<Vec<Sector>>,
    free: Vec<Watched>,
    flights: Flights,
    silent_stores: bool,
}

impl RaceDetector {
    /// Creates a detector without watched regions, for a launch with clusters of this many blocks.
    /// With `has_narrow_scopes`, it distinguishes scopes narrower than the device. A kernel without
    /// any is checked faster if it is not set.
    pub fn new(cluster: u8, has_narrow_scopes: bool) -> Self {
        Self::with_sizes(cluster, has_narrow_scopes, Vec::new())
    }

    /// Like [`new`](Self::new), for instructions with accesses of these sizes in bytes. Atomic
    /// accesses of different sizes race.
    pub fn with_sizes(cluster: u8, has_narrow_scopes: bool, sizes: Vec<u8>) -> Self {
        let happens_before = HappensBefore::new(u32::from(cluster).max(1), has_narrow_scopes, sizes);
        let (regions, free, flights) = (Vec::new(), Vec::new(), Flights::default());
        Self { happens_before, regions, free, flights, silent_stores: false }
    }

    /// Sets whether the detector distinguishes silent stores.
    #[must_use]
    pub fn silent_stores(self, are_known: bool) -> Self {
        Self { silent_stores: are_known, ..self }
    }

    /// Starts watching a region of `bytes` bytes. Uses 40 bytes of history for every 32, and up to
    /// 40 for every 4 that single lanes access.
    pub fn watch(&mut self, bytes: usize) -> Watched {
        let sectors = vec![Sector::default(); bytes.div_ceil(SECTOR_BYTES)];
        if let Some(watched) = self.free.pop() {
            self.regions[watched.0 as usize] = sectors;
            return watched;
        }
        self.regions.push(sectors);
        Watched(self.regions.len() as u32 - 1)
    }

    /// Drops the accesses to bytes of a region because their purpose has ended. The offset must be
    /// a multiple of 32.
    pub fn forget_range(&mut self, Location { region, offset }: Location, bytes: usize) {
        let sectors = &mut self.regions[region.0 as usize];
        let range = offset / SECTOR_BYTES..(offset + bytes).div_ceil(SECTOR_BYTES).min(sectors.len());
        sectors[range].fill(Sector::default());
    }

    /// Stops watching a region, such as the shared memory of a block that has ended.
    pub fn forget(&mut self, watched: Watched) {
        self.regions[watched.0 as usize] = Vec::new();
        self.flights.forget(watched);
        self.happens_before.forget_locations(watched);
        self.free.push(watched);
    }

    /// Drops the synchronization state of a block that has ended. Its accesses stay recorded.
    pub fn end_block(&mut self, block: u32) {
        self.happens_before.end_block(block);
    }

    /// Records an access of a lane. A later conflict with it carries its instruction.
    ///
    /// # Errors
    /// The first earlier access that it races with. The access is recorded nevertheless.
    pub fn record(&mut self, access: LaneAccess) -> Result<(), Conflict> {
        self.record_value(access, |_, _| false).map(|_| ())
    }

    /// Like `record`, for an access with a comparable value. `same_value` tells whether a plain or
    /// volatile write leaves these bytes of the region unchanged. It is called if two such writes
    /// race, and for a silent store. Its argument is false if no other thread has written the bytes
    /// without an order, so memory still has its value from before the instruction.
    ///
    /// Returns the first earlier racing access if all races are benign. That means they are writes
    /// of the same value (both plain or both volatile) or of a value that a read finds in any
    /// order, or they only lack a fence ([`Why::MissingFence`]).
    ///
    /// # Errors
    /// As for `record`. For two plain or two volatile writes, only if they write different values.
    pub fn record_value(
        &mut self,
        access: LaneAccess,
        same_value: impl FnMut(Range<usize>, bool) -> bool,
    ) -> Result<Option<Conflict>, Conflict> {
        self.record_access(access, None, same_value)
    }

    /// Like `record_value`, for a write of the whole words in `data` by an asynchronous copy, which
    /// begins or has been waited for. Another copy in flight to the same word writes the same value
    /// if it has the same data.
    ///
    /// # Errors
    /// As for `record_value`.
    pub fn record_copy(
        &mut self,
        access: LaneAccess,
        data: &[u8],
        same_value: impl FnMut(Range<usize>, bool) -> bool,
    ) -> Result<Option<Conflict>, Conflict> {
        self.record_access(access, Some(data), same_value)
    }

    /// Records the plain accesses or relaxed atomic operations of some lanes, as far as they can be
    /// recorded together. Returns the lanes that still must be [recorded](Self::record_value) one
    /// by one. `offset_of` gives a lane's offset in the region. `silence` compares the values
    /// written by some lanes with memory: true if all are equal, false if none is, `None` if only
    /// some are.
    pub fn record_warp(
        &mut self,
        access: WarpAccess,
        lanes: u32,
        offset_of: impl Fn(u32) -> usize,
        silence: impl Fn(Range<u32>) -> Option<bool>,
    ) -> u32 {
        let WarpAccess { region, bytes, kind, phase, instruction } = access;
        // A relaxed atomic operation must also be observed and published.
        let orders = kind.scope().is_some() && !self.happens_before.has_no_releases();
        let is_one_by_one = orders || !bytes.is_power_of_two() || bytes > SECTOR_BYTES || !self.flights.is_empty();
        if is_one_by_one {
            return lanes;
        }
        let lanes_in_order = (0..32).filter(|lane| lanes >> lane & 1 == 1).map(&offset_of);
        if kind == AccessKind::Write && !lanes_in_order.is_sorted_by(|one, next| one + bytes <= *next) {
            // Some lanes may write to the same bytes, in lane order.
            return lanes;
        }
        self.make_room();
        let all = self.happens_before.thread_epoch(Thread { phase, lane: 0 });
        let (order, may_be_silent) = (&self.happens_before, self.silent_stores);
        let sectors = &mut self.regions[region.0 as usize];
        let elements = (SECTOR_BYTES / bytes) as u32;
        let (mut rest, mut one_by_one) = (lanes, 0);
        while rest != 0 {
            let lane = rest.trailing_zeros();
            let offset = offset_of(lane);
            let epoch = all.of_lane(lane);
            let access = Current { location: region.at(offset), kind, epoch, instruction, bytes, may_be_silent };
            let sector = &mut sectors[offset / SECTOR_BYTES];
            let run = u32::MAX >> (32 - elements) << lane;
            let is_successive = |by: u32| offset_of(lane + by) == offset + by as usize * bytes;
            let silence_of =
                |lanes| if may_be_silent && kind == AccessKind::Write { silence(lanes) } else { Some(false) };
            if offset.is_multiple_of(SECTOR_BYTES)
                && run.count_ones() == elements
                && rest & run == run
                && (1..elements).all(is_successive)
                && sector.record_alike(order, &access, || silence_of(lane..lane + elements))
            {
                rest &= !run;
                continue;
            }
            if kind == AccessKind::Read && bytes.is_multiple_of(4) {
                let others = (lane + 1..32).take_while(|other| rest >> other & 1 == 1 && offset_of(*other) == offset);
                let group = others.fold(1_u32 << lane, |group, other| group | 1 << other);
                if group.count_ones() > 1 && sector.read_by_lanes(order, &access, group) {
                    rest &= !group;
                    continue;
                }
            }
            rest &= !(1 << lane);
            let is_silent = silence_of(lane..lane + 1);
            if !is_silent.is_some_and(|is_silent| sector.record_quiet(order, &access, is_silent)) {
                one_by_one |= 1 << lane;
            }
        }
        one_by_one
    }

    /// Drops all accesses if there are too many phases.
    fn make_room(&mut self) {
        if self.happens_before.is_full() {
            self.regions.iter_mut().for_each(|region| region.fill(Sector::default()));
            self.happens_before.forget_phases();
        }
    }

    fn record_access(
        &mut self,
        access: LaneAccess,
        copied: Option<&[u8]>,
        mut same_value: impl FnMut(Range<usize>, bool) -> bool,
    ) -> Result<Option<Conflict>, Conflict> {
        self.make_room();
        let LaneAccess { location, bytes, kind, thread, instruction } = access;
        let epoch = self.happens_before.thread_epoch(thread);
        let current = Current { location, kind, epoch, instruction, bytes, may_be_silent: self.silent_stores };
        let in_flight = self.flights.conflict(&access, copied);
        let mut found = Ok(None);
        let (Location { region, mut offset }, end) = (location, location.offset + bytes);
        while offset < end {
            let length = (4 - offset % 4).min(end - offset);
            let start = offset / 4 * 4;
            let flights = &self.flights;
            let mut same_value = |range: Range<usize>, after_others: bool| {
                let value = copied.and_then(|data| word_at(data, start.checked_sub(location.offset)?));
                value.is_some_and(|value| flights.all_write(region.at(start), value))
                    || same_value(start + range.start..start + range.end, after_others)
            };
            let sector = &mut self.regions[region.0 as usize][offset / SECTOR_BYTES];
            let word = sector.word(offset % SECTOR_BYTES / 4);
            let range = offset % 4..offset % 4 + length;
            let racing = word.record(&self.happens_before, range, &current, &mut same_value);
            if let (Some((byte, racing)), Ok(same)) = (racing, found) {
                let conflict = self.conflict(racing, start + byte, &current);
                let is_note = racing.same_value || conflict.why == Why::MissingFence;
                found = if is_note { Ok(same.or(Some(conflict))) } else { Err(conflict) };
            }
            offset += length;
        }
        // Copies in flight race with every access, regardless of other races.
        in_flight.map_or(found, Err)
    }

    /// The conflict of an access with an earlier one, at the byte with this offset.
    fn conflict(&mut self, earlier: RacingAccess, offset: usize, access: &Current) -> Conflict {
        let RacingAccess { kind, record, same_value, why } = earlier;
        let epoch = self.happens_before.epoch_of(record);
        let is_read_of_write = !access.kind.writes() && kind == AccessKind::Write;
        let is_race = why == Why::Unordered && !same_value;
        let lacks_a_fence = is_race && is_read_of_write && self.happens_before.lacks_a_fence(epoch, access.epoch);
        Conflict {
            block: self.happens_before.block_of(epoch.phase),
            thread: epoch.phase.warp * 32 + epoch.lane,
            kind,
            instruction: record.instruction(),
            offset,
            why: if lacks_a_fence { Why::MissingFence } else { why },
        }
    }

    /// Registers that an asynchronous copy reads or writes words from now on, until its
    /// [end](Self::end_copy). Record the access itself separately: here and, for a write, again
    /// where the copy's thread has waited for it.
    pub fn begin_copy(&mut self, copy: CopyAccess<'_>, instruction: u32) {
        self.flights.begin(copy, instruction);
    }

    /// Registers that a thread's copy has ended.
    pub fn end_copy(&mut self, copy: CopyAccess<'_>) {
        self.flights.end(copy);
    }

    /// Registers a thread's preceding write as an asynchronous store for the current phase of an
    /// mbarrier. Only threads that have waited for that phase come after it; not even this thread
    /// does otherwise. Until the phase is complete, every access to the words is a race.
    pub fn store_async(&mut self, barrier: BarrierOf, store: CopyAccess<'_>, instruction: u32) {
        let CopyAccess { location: Location { region, offset }, bytes, thread, .. } = store;
        let epoch = self.happens_before.store_async(barrier, thread);
        let record = Record::new(epoch, AccessKind::Write, instruction);
        let sectors = &mut self.regions[region.0 as usize];
        for word in offset / 4..(offset + bytes) / 4 {
            let sector = &mut sectors[4 * word / SECTOR_BYTES];
            sector.word(4 * word % SECTOR_BYTES / 4).hand_over(record);
        }
        self.flights.begin_store(barrier, store, instruction);
    }

    /// Registers that a lane's asynchronous store completes bytes of the current phase of an
    /// mbarrier. Threads that wait for the phase come after the lane's reads so far and after the
    /// asynchronous stores that it has waited for, but not after its writes.
    pub fn arrive_async(&mut self, barrier: BarrierOf, thread: Thread) {
        self.happens_before.arrive_async(barrier, thread);
    }

    /// Registers a strong read with a scope, which may observe a release at the location. With
    /// acquire semantics the lane acquires it immediately, otherwise at its next fence.
    pub fn observe(&mut self, location: Location, thread: Thread, observation: Observation) {
        self.happens_before.observe(location, thread, observation);
    }

    /// Registers a strong write. Register a read-modify-write as `observe` followed by `publish`.
    pub fn publish(&mut self, location: Location, thread: Thread, publication: Publication) {
        self.happens_before.publish(location, thread, publication);
    }

    /// Registers a barrier of several blocks: all their accesses so far happen before the next
    /// accesses of each of them. `phases` contains, for each block, the phase of one of its warps
    /// after the barrier.
    pub fn synchronise(&mut self, phases: &[Phase]) {
        self.happens_before.synchronise(phases);
    }

    /// Registers a lane's fence.
    pub fn fence(&mut self, thread: Thread, fence: Fence) {
        self.happens_before.fence(thread, fence);
    }

    /// Registers a `bar.warp.sync` of some lanes of a warp. A `bar.warp.sync` of all lanes starts a
    /// new phase instead.
    pub fn synchronise_lanes(&mut self, threads: Threads) {
        self.happens_before.synchronise_lanes(threads);
    }

    /// Registers that lanes of a warp arrive at a barrier that the threads of a block do not all
    /// pass at once: a barrier of some warps, or one where some threads arrive without waiting, or
    /// wait later.
    pub fn arrive(&mut self, barrier: BarrierOf, threads: Threads) {
        self.happens_before.arrive(barrier, threads);
    }

    /// Registers that all threads have arrived at such a barrier. Ends the asynchronous stores for
    /// the phase of an mbarrier.
    pub fn complete(&mut self, barrier: BarrierOf) {
        self.happens_before.complete(barrier);
        self.flights.complete(barrier);
    }

    /// Registers that lanes of a warp pass such a barrier. Accesses before the arrivals happen
    /// before their next accesses.
    pub fn pass(&mut self, barrier: BarrierOf, threads: Threads) {
        self.happens_before.pass(barrier, threads);
    }
}
