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

/// The lanes whose `predicate` holds: bit i is lane i, 0 if it has exited.
#[track_caller]
pub fn ballot(predicate: bool) -> u32 {
    vote(predicate, Location::caller()).0
}

/// Whether `predicate` holds for any lane.
#[track_caller]
pub fn any(predicate: bool) -> bool {
    vote(predicate, Location::caller()).0 != 0
}

/// Whether `predicate` holds for all lanes that have not exited.
#[track_caller]
pub fn all(predicate: bool) -> bool {
    let (votes, lanes) = vote(predicate, Location::caller());
    votes.count_ones() == lanes
}

/// Offers `bits`, waits for the other lanes and calls `read` with the values of all lanes.
fn exchange<R>(bits: u32, location: &'static Location<'static>, read: impl FnOnce(&[Cell<Option<u32>>]) -> R) -> R {
    let thread = current::with(|current| current.thread.get()) as usize;
    current::with_block(|block| block.exchange.offer(thread, bits));
    current::wait(Wait::Warp(location));
    current::with_block(|block| read(block.exchange.of_warp(thread)))
}

fn shuffle<T: Shuffled>(value: T, source: u32, location: &'static Location<'static>) -> T {
    value.exchanged(|word| {
        let received = exchange(word, location, |values| match values.get(source as usize) {
            Some(value) => value.get().ok_or(FaultKind::ExitedLane { lane: source }),
            None => Err(FaultKind::NoSuchLane { lane: source, lanes: values.len() as u32 }),
        });
        received.unwrap_or_else(|kind| fault::raise(kind, location))
    })
}

/// The lanes whose value equals this one's: bit i is lane i, 0 if it has exited.
#[track_caller]
pub fn match_any<T: WarpInteger>(value: T) -> u32 {
    let location = Location::caller();
    let mut equal = u32::MAX;
    // Lanes are equal if all words are.
    let _ = value.exchanged(|word| {
        equal &= exchange(word, location, |words| {
            let is_equal = |other: &Cell<Option<u32>>| other.get() == Some(word);
            words.iter().enumerate().fold(0, |lanes, (lane, other)| lanes | u32::from(is_equal(other)) << lane)
        });
        word
    });
    equal
}

/// Waits for the other lanes. Their accesses to memory before it are ordered before this lane's after it.
#[track_caller]
pub fn sync_warp() {
    let warp = current::with(|current| current.thread.get()) / LANES;
    synchronization::leave_for_warp(current::checked_accessor(), warp);
    exchange(0, Location::caller(), |_| ());
    synchronization::take_from_warp(current::checked_accessor(), warp);
}

/// The votes, and the number of lanes.
fn vote(predicate: bool, location: &'static Location<'static>) -> (u32, u32) {
    exchange(predicate.into(), location, |votes| {
        let bits = votes.iter().enumerate().fold(0, |bits, (lane, vote)| bits | vote.get().unwrap_or(0) << lane);
        (bits, votes.iter().filter(|vote| vote.get().is_some()).count() as u32)
    })
}
