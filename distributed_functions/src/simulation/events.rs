//! Events ordered by time, and the interfaces of a network.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::{Add, AddAssign, Sub};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::Network;

/// A time in picoseconds, at most 213 days. As an integer, it has a total order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Time(u64);

impl Time {
    pub(super) fn of_seconds(seconds: f64) -> Self {
        Self((seconds * 1e12).round() as u64)
    }

    pub(super) fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }
}

impl Add for Time {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

/// Pending events. Events with the same time occur in the order in which they were added.
#[derive(Debug)]
pub(super) struct Events<E> {
    heap: BinaryHeap<Reverse<(Time, u64, E)>>,
    added: u64,
}

impl<E: Ord> Events<E> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), added: 0 }
    }

    pub(super) fn add(&mut self, time: Time, event: E) {
        self.added += 1;
        self.heap.push(Reverse((time, self.added, event)));
    }

    /// Removes the next event.
    pub(super) fn next(&mut self) -> Option<(Time, E)> {
        self.heap.pop().map(|Reverse((time, _, event))| (time, event))
    }
}

/// The interfaces of all ranks.
#[derive(Debug)]
pub(super) struct Interfaces {
    network: Network,
    /// When each interface will have sent, and received, everything so far.
    sent: Vec<Time>,
    received: Vec<Time>,
}

impl Interfaces {
    pub(super) fn new(network: Network, ranks: usize) -> Self {
        Self { network, sent: vec![Time::default(); ranks], received: vec![Time::default(); ranks] }
    }

    /// Sends a message at a given time. Returns the time of its arrival.
    pub(super) fn send(&mut self, now: Time, from: usize, to: usize, bytes: u64) -> Time {
        let on_the_wire = Time::of_seconds(bytes as f64 / self.network.bandwidth);
        let start = now.max(self.sent[from]);
        self.sent[from] = start + on_the_wire;
        let first_byte = start + Time::of_seconds(self.network.latency);
        self.received[to] = first_byte.max(self.received[to]) + on_the_wire;
        self.received[to]
    }
}

/// Random delays of computations.
#[derive(Debug)]
pub(super) struct Delays {
    rng: ChaCha8Rng,
    jitter: f64,
}

impl Delays {
    pub(super) fn new(jitter: f64, seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), jitter }
    }

    /// The time of a computation that would take `seconds` without a delay.
    pub(super) fn delayed(&mut self, seconds: f64) -> f64 {
        let uniform: f64 = self.rng.random();
        // 1 − u is greater than 0.
        seconds * (1.0 - self.jitter * (1.0 - uniform).ln())
    }
}
