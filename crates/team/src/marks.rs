//! Marks by which the members of a team see how far the others are: a wait spins, then yields, then sleeps.

use std::fmt;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::sync::{AtomicUsize, nap, spin_loop, yield_now};

/// Polls before a waiting member yields its core between them: some tens of microseconds.
const SPINS: u32 = if cfg!(loom) { 0 } else { 1000 };
/// Yields before a waiting member sleeps between its polls: some hundreds of microseconds while no other thread wants the core,
/// longer than a sleep. Were it shorter, two members could each arrive while the other sleeps, meeting after meeting.
const YIELDS: u32 = if cfg!(loom) { 0 } else { 1000 };

/// Set in the mark of a member that has left.
const LEFT: usize = 1;
/// The lowest bit of a mark's count.
const ONE: usize = 2;

/// A mark for each of a fixed number of threads, which only that thread raises.
///
/// **Protocol.** A member raises its mark by a store that releases; another one that polls the mark acquires it. What a
/// member wrote before [`Marks::raise`] is thus visible to those whose [`Marks::wait_for`] has seen the mark. At a meeting
/// ([`Marks::meet`]) every member raises its mark and waits for those of all others.
///
/// A mark has one writer, so that a raise is no read-modify-write, which would wait until the cache line has come back from
/// the core that polls it. A poll costs nothing until the mark changes; then the line moves once.
#[derive(Debug)]
pub struct Marks {
    marks: Vec<Mark>,
}

/// The count of a mark in multiples of [`ONE`], and [`LEFT`]: in a cache line of its own, and its neighbour, which many
/// processors prefetch with it.
#[derive(Debug)]
#[repr(align(128))]
struct Mark(AtomicUsize);

/// How a member waited, from the shortest to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waited {
    /// Not at all.
    No,
    /// It polled.
    Spun,
    /// It yielded its core: the wait took longer than members with a core each differ.
    Yielded,
    /// It slept.
    Slept,
}

/// A member has left the team, or panicked: the mark that was waited for is never raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a member has left the team")
    }
}

impl std::error::Error for Broken {}

impl Marks {
    /// Marks of 0 for `members` threads.
    pub fn new(members: usize) -> Self {
        Self { marks: (0..members).map(|_| Mark(AtomicUsize::new(0))).collect() }
    }

    /// The mark of `member`, for that member itself: it acquires nothing.
    pub fn own(&self, member: usize) -> usize {
        self.marks[member].0.load(Relaxed) / ONE
    }

    /// Raises the mark of `member` by one. Only that member may call it, before it leaves.
    pub fn raise(&self, member: usize) {
        let Mark(mark) = &self.marks[member];
        mark.store(mark.load(Relaxed).wrapping_add(ONE), Release);
    }

    /// Waits until the mark of `member` is `mark` or higher.
    ///
    /// # Errors
    /// If that member has left with a lower one.
    pub fn wait_for(&self, member: usize, mark: usize) -> Result<Waited, Broken> {
        let mut attempt = 0_u32;
        loop {
            let waited = if attempt == 0 {
                Waited::No
            } else if attempt <= SPINS {
                spin_loop();
                Waited::Spun
            } else if attempt - SPINS <= YIELDS {
                yield_now();
                Waited::Yielded
            } else {
                nap();
                Waited::Slept
            };
            let state = self.marks[member].0.load(Acquire);
            // Marks wrap around: their difference is compared.
            if (state & !LEFT).wrapping_sub(mark.wrapping_mul(ONE)).cast_signed() >= 0 {
                return Ok(waited);
            }
            if state & LEFT != 0 {
                return Err(Broken);
            }
            attempt = attempt.saturating_add(1);
        }
    }

    /// Raises the mark of `member`, and waits until every other's is as high.
    ///
    /// # Errors
    /// If a member has left whose mark is lower.
    pub fn meet(&self, member: usize) -> Result<Waited, Broken> {
        self.raise(member);
        let mark = self.own(member);
        let others = (0..self.marks.len()).filter(|&other| other != member);
        others.map(|other| self.wait_for(other, mark)).try_fold(Waited::No, |longest, waited| Ok(longest.max(waited?)))
    }

    /// Ends the waits for marks that `member` has not raised, now and later. Only that member may call it.
    pub fn leave(&self, member: usize) {
        let Mark(mark) = &self.marks[member];
        mark.store(mark.load(Relaxed) | LEFT, Release);
    }
}
