//! Warp-wide operations: shuffles, votes and reductions of the 32 lanes of a warp.
//!
//! A lane that does not reach the operation is a [`MissingLanes`](crate::simulator::FaultKind::MissingLanes), also in
//! the last warp of a block, which may have fewer lanes.

use std::cell::Cell;
use std::ops::Range;
use std::panic::Location;

use super::current::{self, Wait};
use super::fault::{self, FaultKind};

include!("../warp_values.rs");

/// Lanes of a warp.
pub(super) const LANES: u32 = 32;

/// The values that the threads of a block exchange within their warps.
pub(super) struct Exchange {
    offered: Box<[Cell<u32>]>,
    /// The values offered when all lanes had arrived. A lane that runs ahead may already have offered its next value.
    completed: Box<[Cell<u32>]>,
}

impl Exchange {
    pub(super) fn new(threads: u32) -> Self {
        let cells = || (0..threads).map(|_| Cell::new(0)).collect();
        Self { offered: cells(), completed: cells() }
    }

    /// Publishes the values that the lanes of a warp offer.
    pub(super) fn complete(&self, lanes: Range<usize>) {
        self.completed[lanes.clone()].iter().zip(&self.offered[lanes]).for_each(|(to, from)| to.set(from.get()));
    }
}

/// The thread's lane: its index in the warp, 0 to 31.
#[inline]
pub fn lane_id() -> u32 {
    current::with(|current| current.thread.get()) % LANES
}

/// The `value` of lane `lane_id() ^ mask`.
#[track_caller]
pub fn shuffle_xor<T: WarpValue>(value: T, mask: u32) -> T {
    shuffle(value, lane_id() ^ mask, Location::caller())
}

/// The `value` of the lane `delta` below; the lowest `delta` lanes keep their own.
#[track_caller]
pub fn shuffle_up<T: WarpValue>(value: T, delta: u32) -> T {
    let lane = lane_id();
    // A delta of 32 or more is an invalid lane for every lane.
    let source = if delta >= LANES { delta } else { lane.checked_sub(delta).unwrap_or(lane) };
    shuffle(value, source, Location::caller())
}

/// The `value` of the lane `delta` above; the highest `delta` lanes keep their own.
#[track_caller]
pub fn shuffle_down<T: WarpValue>(value: T, delta: u32) -> T {
    let lane = lane_id();
    let source = if delta < LANES && lane + delta >= LANES { lane } else { lane.saturating_add(delta) };
    shuffle(value, source, Location::caller())
}

/// The `value` of lane `source`.
#[track_caller]
pub fn shuffle_idx<T: WarpValue>(value: T, source: u32) -> T {
    shuffle(value, source, Location::caller())
}

/// The lanes whose `predicate` holds: bit i is lane i.
#[track_caller]
pub fn ballot(predicate: bool) -> u32 {
    vote(predicate, Location::caller()).0
}

/// Whether `predicate` holds for any lane.
#[track_caller]
pub fn any(predicate: bool) -> bool {
    vote(predicate, Location::caller()).0 != 0
}

/// Whether `predicate` holds for all lanes.
#[track_caller]
pub fn all(predicate: bool) -> bool {
    let (votes, lanes) = vote(predicate, Location::caller());
    votes.count_ones() == lanes
}

/// Offers `bits`, waits for the other lanes and calls `read` with the values of all lanes.
fn exchange<R>(bits: u32, location: &'static Location<'static>, read: impl FnOnce(&[Cell<u32>]) -> R) -> R {
    let thread = current::with(|current| current.thread.get()) as usize;
    current::with_block(|block| block.exchange.offered[thread].set(bits));
    current::wait(Wait::Warp(location));
    current::with_block(|block| {
        let all = &block.exchange.completed;
        let first = thread - thread % LANES as usize;
        read(&all[first..all.len().min(first + LANES as usize)])
    })
}

fn shuffle<T: WarpValue>(value: T, source: u32, location: &'static Location<'static>) -> T {
    let received = exchange(value.to_bits(), location, |values| match values.get(source as usize) {
        Some(value) => Ok(value.get()),
        None => Err(values.len() as u32),
    });
    match received {
        Ok(bits) => T::from_bits(bits),
        Err(lanes) => fault::raise(FaultKind::NoSuchLane { lane: source, lanes }, location),
    }
}

/// The votes, and the number of lanes.
fn vote(predicate: bool, location: &'static Location<'static>) -> (u32, u32) {
    exchange(predicate.into(), location, |votes| {
        let bits = votes.iter().enumerate().fold(0, |bits, (lane, vote)| bits | vote.get() << lane);
        (bits, votes.len() as u32)
    })
}
