//! Warp-wide operations: shuffles, votes and reductions of the 32 lanes of a warp.
//!
//! An operation waits for the lanes that have not exited the kernel; the last warp of a block may have fewer than 32. A lane
//! that goes another way is a [`MissingLanes`](crate::simulator::FaultKind::MissingLanes), and a shuffle from a lane that has
//! exited an [`ExitedLane`](crate::simulator::FaultKind::ExitedLane).

use std::cell::Cell;
use std::panic::Location;

use super::current::{self, Wait};
use super::exchange::LANES;
use super::fault::{self, FaultKind};
use super::synchronization;

include!("../warp_values.rs");
include!("../lanes.rs");

/// The thread's lane: its index in the warp, 0 to 31.
#[inline]
pub fn lane_id() -> u32 {
    current::with(|current| current.thread.get()) % LANES
}

/// The `value` of lane `lane_id() ^ mask`.
#[track_caller]
pub fn shuffle_xor<T: Shuffled>(value: T, mask: u32) -> T {
    shuffle(value, lane_id() ^ mask, Location::caller())
}

/// The `value` of the lane `delta` below; the lowest `delta` lanes keep their own.
#[track_caller]
pub fn shuffle_up<T: Shuffled>(value: T, delta: u32) -> T {
    let lane = lane_id();
    // A delta of 32 or more is an invalid lane for every lane.
    let source = if delta >= LANES { delta } else { lane.checked_sub(delta).unwrap_or(lane) };
    shuffle(value, source, Location::caller())
}

/// The `value` of the lane `delta` above; the highest `delta` lanes keep their own.
#[track_caller]
pub fn shuffle_down<T: Shuffled>(value: T, delta: u32) -> T {
    let lane = lane_id();
    let source = if delta < LANES && lane + delta >= LANES { lane } else { lane.saturating_add(delta) };
    shuffle(value, source, Location::caller())
}

/// The `value` of lane `source` modulo 32.
#[track_caller]
pub fn shuffle_idx<T: Shuffled>(value: T, source: u32) -> T {
    shuffle(value, source % LANES, Location::caller())
}

/// The `value` of lane `source`, one of `lanes`.
#[track_caller]
fn shuffle_within<T: Shuffled>(lanes: u32, value: T, source: u32) -> T {
    shuffle_among(lanes, value, source, Location::caller())
}

/// Those of `lanes` whose `predicate` holds.
#[track_caller]
fn ballot_within(lanes: u32, predicate: bool) -> u32 {
    vote(lanes, predicate, Location::caller()).0
}

/// Waits for `lanes`.
#[track_caller]
fn sync_within(lanes: u32) {
    let warp = current::with(|current| current.thread.get()) / LANES;
    synchronization::leave_for_lanes(current::checked_accessor(), warp, lanes);
    exchange(lanes, 0, Location::caller(), |_| ());
    synchronization::take_from_lanes(current::checked_accessor(), warp, lanes);
}

/// The lanes that execute this together: bit i is lane i. On a GPU they may be fewer than those that take the same way.
#[track_caller]
pub fn activemask() -> u32 {
    if fault::is_unwinding() {
        return 1 << lane_id();
    }
    let thread = current::with(|current| current.thread.get()) as usize;
    current::wait(Wait::Active(Location::caller()));
    let is_active = |lane: &Cell<Option<u32>>| lane.get().is_some();
    current::with_block(|block| bits_of(block.exchange.of_warp(thread), is_active))
}

/// The lanes whose `predicate` holds: bit i is lane i, 0 if it has exited.
#[track_caller]
pub fn ballot(predicate: bool) -> u32 {
    vote(ALL_LANES, predicate, Location::caller()).0
}

/// Whether `predicate` holds for any lane.
#[track_caller]
pub fn any(predicate: bool) -> bool {
    vote(ALL_LANES, predicate, Location::caller()).0 != 0
}

/// Whether `predicate` holds for all lanes that have not exited.
#[track_caller]
pub fn all(predicate: bool) -> bool {
    let (votes, lanes) = vote(ALL_LANES, predicate, Location::caller());
    votes.count_ones() == lanes
}

/// All lanes of the warp.
const ALL_LANES: u32 = u32::MAX;

/// Offers `bits`, waits for `lanes` and calls `read` with their values.
fn exchange<R>(
    lanes: u32,
    bits: u32,
    location: &'static Location<'static>,
    read: impl FnOnce(&[Cell<Option<u32>>]) -> R,
) -> R {
    if fault::is_unwinding() {
        // As if all lanes offered the same.
        return read(&[(); LANES as usize].map(|()| Cell::new(Some(bits))));
    }
    let thread = current::with(|current| current.thread.get()) as usize;
    if lanes & 1 << lane_id() == 0 {
        fault::raise(FaultKind::MissingLanes { expected: lanes, missing: lanes }, location);
    }
    current::with_block(|block| block.exchange.offer(thread, bits));
    current::wait(Wait::Warp(location, lanes));
    current::with_block(|block| read(block.exchange.of_warp(thread)))
}

/// The words of all lanes of a whole warp, for an operation that takes many of them.
#[track_caller]
pub(crate) fn words_of_all(word: u32) -> [u32; LANES as usize] {
    let location = Location::caller();
    let words = exchange(ALL_LANES, word, location, |values| {
        let mut words = [0; LANES as usize];
        for (lane, word) in (0..).zip(&mut words) {
            let lanes = values.len() as u32;
            let value = values.get(lane as usize).ok_or(FaultKind::NoSuchLane { lane, lanes })?;
            *word = value.get().ok_or(FaultKind::ExitedLane { lane })?;
        }
        Ok(words)
    });
    words.unwrap_or_else(|kind| fault::raise(kind, location))
}

fn shuffle<T: Shuffled>(value: T, source: u32, location: &'static Location<'static>) -> T {
    shuffle_among(ALL_LANES, value, source, location)
}

fn shuffle_among<T: Shuffled>(lanes: u32, value: T, source: u32, location: &'static Location<'static>) -> T {
    value.exchanged(|word| {
        let received = exchange(lanes, word, location, |values| match values.get(source as usize) {
            Some(value) => value.get().ok_or(FaultKind::ExitedLane { lane: source }),
            None => Err(FaultKind::NoSuchLane { lane: source, lanes: values.len() as u32 }),
        });
        received.unwrap_or_else(|kind| {
            fault::raise_first(kind, location);
            word
        })
    })
}

/// The lanes whose value equals this one's: bit i is lane i, 0 if it has exited.
#[track_caller]
pub fn match_any<T: WarpInteger>(value: T) -> u32 {
    match_among(ALL_LANES, value, Location::caller())
}

/// Those of `lanes` whose value equals this one's.
#[track_caller]
fn match_within<T: WarpInteger>(lanes: u32, value: T) -> u32 {
    match_among(lanes, value, Location::caller())
}

fn match_among<T: WarpInteger>(lanes: u32, value: T, location: &'static Location<'static>) -> u32 {
    let mut equal = lanes;
    // Lanes are equal if all words are.
    let _ = value.exchanged(|word| {
        equal &= exchange(lanes, word, location, |words| bits_of(words, |other| other.get() == Some(word)));
        word
    });
    equal
}

/// Waits for the other lanes. Their accesses to memory before it are ordered before this lane's after it.
#[track_caller]
pub fn sync_warp() {
    sync_within(ALL_LANES);
}

/// The votes, and the number of lanes.
fn vote(lanes: u32, predicate: bool, location: &'static Location<'static>) -> (u32, u32) {
    exchange(lanes, predicate.into(), location, |votes| {
        let bits = bits_of(votes, |vote| vote.get() == Some(1));
        (bits, votes.iter().filter(|vote| vote.get().is_some()).count() as u32)
    })
}

/// The lanes for whose values `is_set` holds: bit i is lane i.
fn bits_of(values: &[Cell<Option<u32>>], is_set: impl Fn(&Cell<Option<u32>>) -> bool) -> u32 {
    values.iter().enumerate().fold(0, |bits, (lane, value)| bits | u32::from(is_set(value)) << lane)
}
