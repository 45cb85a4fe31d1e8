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
//! - the first came before its thread's arrival at an mbarrier, and the second's thread waited for that phase, or
//! - the first is an asynchronous store for the phase of an mbarrier, or one that its thread had waited for, or a read that came before it in
//!   its thread, and the second's thread waited for that phase, or
//! - the first was released at an atomic location, and the second's thread acquired it from there, each with a scope that
//!   includes the other's thread,
//!
//! or by transitivity of these (PTX ISA 8, Memory Consistency Model; causality order).
//!
//! Plain writes, or volatile ones, of the same value that race with each other, and with no other access but plain reads by their own
//! threads, are a class of their own: whichever comes last, memory holds that value. Silent stores, plain ones of the value that memory
//! has, may be of this class too ([`RaceDetector::silent_stores`]): also plain reads by other threads then find that value, before the
//! store and after it.
//!
//! A releasing thread publishes its own accesses, those of its warp before the last `bar.warp.sync`, those of its block
//! before the last barrier, and those of other blocks that it has acquired. They happen before what the acquiring
//! thread does next, what its warp does after the next `bar.warp.sync` and what its block does after the next barrier.
//! This detects a missing fence and a missing barrier around a flag, and accepts grid barriers, reductions by the last
//! block and locks.
//!
//! A sequentially consistent fence publishes what happens before it also by what other threads of the block write after a barrier
//! behind it, and acquires what they have observed before the last barrier: such fences synchronise with each other by their order
//! (Fence-SC Order), which the observed write implies.
//!
//! Every reported race is one. A race may go unreported where
//! - warps read the same bytes, or access them atomically, by more than 16 instructions without an order: some accesses are dropped,
//!   first those of a warp or block with other recorded accesses;
//! - a fence on one side of a barrier of the block is sequentially consistent, another thread signals or observes on the other side,
//!   and the threads of the other block have no such fence;
//! - more than 64 threads of a block release without a barrier between: together they count as a release by the block; and those of a
//!   block that acquire count as all of it;
//! - a plain store, or a compare-and-swap that swaps nothing, follows a release at its location: it counts as one that continues it;
//! - millions of warp phases are between the two accesses.

mod access;
mod clock;
mod happens_before;
mod history;
mod records;
mod sector;

use std::collections::hash_map::Entry;
use std::ops::Range;

use rustc_hash::FxHashMap;

pub use access::{AccessKind, Observation, Phase, Publication, Scope, WarpAccess, Watched};

use access::Record;
pub use happens_before::BarrierOf;
use happens_before::HappensBefore;
use history::Current;
use sector::{SECTOR_BYTES, Sector};

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
    /// Why the two race.
    pub why: Why,
}

/// Why two accesses race.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Why {
    /// Neither happens before the other.
    #[default]
    Unordered,
    /// Both are atomic, and overlap in part.
    Size,
    /// One is a read-only load, through a cache that need not have what the launch writes, in whatever order.
    ReadOnly,
    /// The earlier one is of an asynchronous copy that its thread has not waited for.
    InFlight,
    /// The later one reads what the earlier one has written, of which an atomic operation that counts has told its thread: only a fence
    /// behind that operation is missing.
    MissingFence,
}

/// An access of an asynchronous copy in flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    block: u32,
    thread: u32,
    instruction: u32,
    /// What it writes to the word; None if it reads.
    value: Option<u32>,
}

/// The word at an offset of some bytes.
fn word_at(data: &[u8], offset: usize) -> Option<u32> {
    data.get(offset..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Whether copies in flight write to their word, all of them this value.
fn has_value(flights: &[Flight], value: Option<u32>) -> bool {
    let mut values = flights.iter().filter_map(|flight| flight.value).peekable();
    value.is_some() && values.peek().is_some() && values.all(|of_flight| Some(of_flight) == value)
}

/// Records the accesses of one launch and detects those that race.
///
/// One host thread executes all blocks of the launch, one after the other or round-robin. The end of a launch orders
/// all its accesses before the next launch, so each launch gets its own detector.
#[derive(Debug)]
pub struct RaceDetector {
    happens_before: HappensBefore,
    /// Access history of each sector of each watched region; empty for a region that is no longer watched.
    regions: Vec<Vec<Sector>>,
    free: Vec<Watched>,
    /// Of each word, the asynchronous copies in flight.
    flights: FxHashMap<(Watched, usize), Vec<Flight>>,
    silent_stores: bool,
}

impl RaceDetector {
    /// A detector without watched regions, for a launch with clusters of this many blocks. Scopes other than the device's are
    /// distinguished if `has_narrow_scopes` is set; a kernel without any is checked faster without.
    pub fn new(cluster: u8, has_narrow_scopes: bool) -> Self {
        Self::with_sizes(cluster, has_narrow_scopes, Vec::new())
    }

    /// The same for instructions whose accesses have these sizes in bytes: atomic accesses of different sizes race.
    pub fn with_sizes(cluster: u8, has_narrow_scopes: bool, sizes: Vec<u8>) -> Self {
        let happens_before = HappensBefore::new(u32::from(cluster).max(1), has_narrow_scopes, sizes);
        let (regions, free, flights) = (Vec::new(), Vec::new(), FxHashMap::default());
        Self { happens_before, regions, free, flights, silent_stores: false }
    }

    /// The same, which distinguishes silent stores if `are_known` is set.
    #[must_use]
    pub fn silent_stores(self, are_known: bool) -> Self {
        Self { silent_stores: are_known, ..self }
    }

    /// Starts to watch a region of `bytes` bytes, with 40 bytes of history for every 32, and up to 40 for every 4 that single lanes access.
    pub fn watch(&mut self, bytes: usize) -> Watched {
        let sectors = vec![Sector::default(); bytes.div_ceil(SECTOR_BYTES)];
        if let Some(watched) = self.free.pop() {
            self.regions[watched.0 as usize] = sectors;
            return watched;
        }
        self.regions.push(sectors);
        Watched(self.regions.len() as u32 - 1)
    }

    /// Forgets the accesses to bytes of a region, at an offset that is a multiple of 32: what they are for is over.
    pub fn forget_range(&mut self, (watched, offset): (Watched, usize), bytes: usize) {
        let sectors = &mut self.regions[watched.0 as usize];
        let range = offset / SECTOR_BYTES..(offset + bytes).div_ceil(SECTOR_BYTES).min(sectors.len());
        sectors[range].fill(Sector::default());
    }

    /// Stops watching a region, such as the shared memory of a block that has ended.
    pub fn forget(&mut self, watched: Watched) {
        self.regions[watched.0 as usize] = Vec::new();
        self.flights.retain(|(of, _), _| *of != watched);
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
        self.record_value(place, bytes, kind, thread, instruction, |_, _| false).map(|_| ())
    }

    /// As `record`, for an access whose value can be compared: `same_value` says whether a plain or volatile write leaves these
    /// bytes of the region unchanged. It is called where two such writes race, and for a silent store: with false if no other thread has
    /// written the bytes without an order, so that memory has what it had before the instruction. If all racing accesses are
    /// writes of the same value, both plain or both volatile, or of a value that a read finds in any order, or lack
    /// nothing but a fence ([`Why::MissingFence`]), returns the first earlier one.
    ///
    /// # Errors
    /// As `record`; for two plain or two volatile writes, only if they write different values.
    pub fn record_value(
        &mut self,
        place: (Watched, usize),
        bytes: usize,
        kind: AccessKind,
        thread: (Phase, u32),
        instruction: u32,
        same_value: impl FnMut(Range<usize>, bool) -> bool,
    ) -> Result<Option<Conflict>, Conflict> {
        self.record_access((place, bytes), kind, thread, instruction, (None, same_value))
    }

    /// As `record_value`, for the write of whole words by an asynchronous copy, which begins or has been waited for. Another copy in flight
    /// to the same word writes the same value if it has the same `data`.
    ///
    /// # Errors
    /// As `record_value`.
    pub fn record_copy(
        &mut self,
        place: (Watched, usize),
        data: &[u8],
        thread: (Phase, u32),
        instruction: u32,
        same_value: impl FnMut(Range<usize>, bool) -> bool,
    ) -> Result<Option<Conflict>, Conflict> {
        let same_value = (Some(data), same_value);
        self.record_access((place, data.len()), AccessKind::Write, thread, instruction, same_value)
    }

    /// Records the plain accesses or relaxed atomic operations of some lanes as far as they can be recorded together, and returns the lanes
    /// that still have to be [recorded](Self::record_value) one by one. `offset_of` gives a lane's offset in the region. `silence` compares
    /// what some lanes write with what memory has: true if all of it is equal, false if none of it is, None if a part is.
    pub fn record_warp(
        &mut self,
        access: WarpAccess,
        lanes: u32,
        offset_of: impl Fn(u32) -> usize,
        silence: impl Fn(Range<u32>) -> Option<bool>,
    ) -> u32 {
        let WarpAccess { region, bytes, kind, phase, instruction } = access;
        // A relaxed atomic operation is to be observed and published too.
        let orders = kind.scope().is_some() && !self.happens_before.has_no_releases();
        let is_one_by_one = orders || !bytes.is_power_of_two() || bytes > SECTOR_BYTES || !self.flights.is_empty();
        if is_one_by_one {
            return lanes;
        }
        let lanes_in_order = (0..32).filter(|lane| lanes >> lane & 1 == 1).map(&offset_of);
        if kind == AccessKind::Write && !lanes_in_order.is_sorted_by(|one, next| one + bytes <= *next) {
            // Some lanes may write to the same bytes, in the order of the lanes.
            return lanes;
        }
        self.make_room();
        let all = self.happens_before.thread_epoch(phase, 0);
        let (order, may_be_silent) = (&self.happens_before, self.silent_stores);
        let sectors = &mut self.regions[region.0 as usize];
        let elements = (SECTOR_BYTES / bytes) as u32;
        let (mut rest, mut one_by_one) = (lanes, 0);
        while rest != 0 {
            let lane = rest.trailing_zeros();
            let offset = offset_of(lane);
            let epoch = all.of_lane(lane);
            let access = Current { location: (region, offset), kind, epoch, instruction, bytes, may_be_silent };
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

    /// Forgets all accesses if there are too many phases.
    fn make_room(&mut self) {
        if self.happens_before.is_full() {
            self.regions.iter_mut().for_each(|region| region.fill(Sector::default()));
            self.happens_before.forget_phases();
        }
    }

    fn record_access(
        &mut self,
        ((watched, offset), bytes): ((Watched, usize), usize),
        kind: AccessKind,
        (phase, lane): (Phase, u32),
        instruction: u32,
        (copied, mut same_value): (Option<&[u8]>, impl FnMut(Range<usize>, bool) -> bool),
    ) -> Result<Option<Conflict>, Conflict> {
        self.make_room();
        let epoch = self.happens_before.thread_epoch(phase, lane);
        let may_be_silent = self.silent_stores;
        let access = Current { location: (watched, offset), kind, epoch, instruction, bytes, may_be_silent };
        let in_flight = self.in_flight((watched, offset), bytes, kind, copied);
        let mut found = Ok(None);
        let (begin, end, mut offset) = (offset, offset + bytes, offset);
        while offset < end {
            let length = (4 - offset % 4).min(end - offset);
            let start = offset / 4 * 4;
            let flights = &self.flights;
            let mut same_value = |range: Range<usize>, after_others: bool| {
                let value = copied.and_then(|data| word_at(data, start.checked_sub(begin)?));
                let copies = || flights.get(&(watched, start / 4)).filter(|flights| has_value(flights, value));
                value.is_some() && copies().is_some()
                    || same_value(start + range.start..start + range.end, after_others)
            };
            let sector = &mut self.regions[watched.0 as usize][offset / SECTOR_BYTES];
            let word = sector.word(offset % SECTOR_BYTES / 4);
            let range = offset % 4..offset % 4 + length;
            let conflict = word.record(&self.happens_before, range, &access, &mut same_value);
            if let (Some((byte, conflict)), Ok(same)) = (conflict, found) {
                let earlier = self.happens_before.epoch_of(conflict.record);
                let (block, thread) =
                    (self.happens_before.block_of(earlier.phase), earlier.phase.warp * 32 + earlier.lane);
                let instruction = conflict.record.instruction();
                let (of_earlier, offset, mut why) = (conflict.kind, start + byte, conflict.why);
                let is_read_of_write = !kind.writes() && of_earlier == AccessKind::Write;
                let is_race = why == Why::Unordered && !conflict.same_value;
                if is_race && is_read_of_write && self.happens_before.lacks_a_fence(earlier, epoch) {
                    why = Why::MissingFence;
                }
                let conflict_here = Conflict { block, thread, kind: of_earlier, instruction, offset, why };
                let is_note = conflict.same_value || why == Why::MissingFence;
                found = if is_note { Ok(same.or(Some(conflict_here))) } else { Err(conflict_here) };
            }
            offset += length;
        }
        // What is in flight races with everything, whatever else does.
        in_flight.map_or(found, Err)
    }

    /// The first copy in flight with which an access races, whichever thread makes it, except copies of the same value.
    #[inline]
    fn in_flight(
        &self,
        (watched, offset): (Watched, usize),
        bytes: usize,
        kind: AccessKind,
        copied: Option<&[u8]>,
    ) -> Option<Conflict> {
        if self.flights.is_empty() {
            return None;
        }
        (offset / 4..(offset + bytes).div_ceil(4)).find_map(|word| {
            let value = copied.and_then(|data| word_at(data, (4 * word).checked_sub(offset)?));
            let mut flights = self.flights.get(&(watched, word))?.iter();
            let races = |flight: &&Flight| match flight.value {
                Some(of_flight) => value != Some(of_flight),
                None => kind.writes(),
            };
            let Flight { block, thread, instruction, value } = *flights.find(races)?;
            let kind = if value.is_some() { AccessKind::Write } else { AccessKind::Read };
            Some(Conflict { block, thread, kind, instruction, offset: offset.max(4 * word), why: Why::InFlight })
        })
    }

    /// Registers that an asynchronous copy reads whole words, or writes `data` to them, from now on until [`land`](Self::land). The access
    /// itself is to be recorded too, here and, for a write, where the copy's thread has waited for it.
    pub fn take_off(
        &mut self,
        (watched, offset): (Watched, usize),
        bytes: usize,
        data: Option<&[u8]>,
        (phase, lane): (Phase, u32),
        instruction: u32,
    ) {
        for word in offset / 4..(offset + bytes) / 4 {
            let value = data.and_then(|data| word_at(data, 4 * word - offset));
            let flight = Flight { block: phase.block, thread: phase.warp * 32 + lane, instruction, value };
            self.flights.entry((watched, word)).or_default().push(flight);
        }
    }

    /// Registers that a thread's copy has ended.
    pub fn land(
        &mut self,
        (watched, offset): (Watched, usize),
        bytes: usize,
        writes: bool,
        (phase, lane): (Phase, u32),
    ) {
        for word in offset / 4..(offset + bytes) / 4 {
            let Entry::Occupied(mut flights) = self.flights.entry((watched, word)) else { continue };
            let thread = (phase.block, phase.warp * 32 + lane, writes);
            let is_it = |flight: &Flight| (flight.block, flight.thread, flight.value.is_some()) == thread;
            if let Some(index) = flights.get().iter().position(is_it) {
                flights.get_mut().swap_remove(index);
            }
            if flights.get().is_empty() {
                flights.remove();
            }
        }
    }

    /// Registers that a write of whole words, which a thread has just made, is an asynchronous store for the current phase of an mbarrier:
    /// no thread, not even this one, comes after it that has not waited for that phase.
    pub fn store_async(
        &mut self,
        barrier: BarrierOf,
        (watched, offset): (Watched, usize),
        bytes: usize,
        (phase, lane): (Phase, u32),
        instruction: u32,
    ) {
        let epoch = self.happens_before.store_async(barrier, phase, lane);
        let record = Record::new(epoch, AccessKind::Write, instruction);
        let sectors = &mut self.regions[watched.0 as usize];
        for word in offset / 4..(offset + bytes) / 4 {
            let sector = &mut sectors[4 * word / SECTOR_BYTES];
            sector.word(4 * word % SECTOR_BYTES / 4).hand_over(record);
        }
    }

    /// Registers that a lane's asynchronous store completes bytes of the current phase of an mbarrier: those that wait for it come after
    /// what the lane has read so far, and after the asynchronous stores that it has waited for, but not after its writes.
    pub fn arrive_async(&mut self, barrier: BarrierOf, (phase, lane): (Phase, u32)) {
        self.happens_before.arrive_async(barrier, phase, lane);
    }

    /// Registers a strong read of a scope, which may observe a release at the location. With acquire semantics the lane acquires
    /// it immediately, otherwise at its next fence.
    pub fn observe(&mut self, location: (Watched, usize), (phase, lane): (Phase, u32), observation: Observation) {
        self.happens_before.observe(location, phase, lane, observation);
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

    /// Registers a lane's fence of a scope (`fence`, `membar`), with whether it is sequentially consistent.
    pub fn fence(&mut self, (phase, lane): (Phase, u32), scope: (Scope, bool)) {
        self.happens_before.fence(phase, lane, scope);
    }

    /// Registers a `bar.warp.sync` of some lanes of a warp. That of all is another phase.
    pub fn synchronise_lanes(&mut self, phase: Phase, lanes: u32) {
        self.happens_before.synchronise_lanes(phase, lanes);
    }

    /// Registers that lanes of a warp arrive at a barrier which not all threads of a block pass at once: one of some warps, or at which
    /// some arrive and do not wait, or wait later.
    pub fn arrive(&mut self, barrier: BarrierOf, (phase, lanes): (Phase, u32)) {
        self.happens_before.arrive(barrier, phase, lanes);
    }

    /// Registers that all threads have arrived at such a barrier.
    pub fn complete(&mut self, barrier: BarrierOf) {
        self.happens_before.complete(barrier);
    }

    /// Registers that lanes of a warp pass such a barrier: what happens before the arrivals happens before what they do next.
    pub fn pass(&mut self, barrier: BarrierOf, (phase, lanes): (Phase, u32)) {
        self.happens_before.pass(barrier, phase, lanes);
    }
}
