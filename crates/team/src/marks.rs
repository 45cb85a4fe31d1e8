//! Progress marks of a team's members. A wait for a mark spins, then yields, then sleeps.

use std::fmt;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::sync::{AtomicUsize, nap, spin_loop, yield_now};

/// Number of polls before a waiting member yields its core between polls: a few tens of microseconds.
const SPINS: u32 = if cfg!(loom) { 0 } else { 1000 };
/// Number of yields before a waiting member sleeps between polls. They take a few hundred
/// microseconds while no other thread wants the core, longer than a sleep. With a shorter time, two
/// members could alternately arrive while the other sleeps, at one barrier after another.
const YIELDS: u32 = if cfg!(loom) { 0 } else { 1000 };

/// Flag in the mark of a member that has left.
const LEFT: usize = 1;
/// The lowest bit of a mark's count.
const ONE: usize = 2;

/// A mark for each of a fixed number of threads. Only the thread itself raises its mark.
///
/// **Protocol.** A member raises its mark with a release store; another member that polls the mark
/// acquires it. Everything a member wrote before [`Marks::raise`] is thus visible to each member
/// that has seen the mark in [`Marks::wait_for`]. At a barrier ([`Marks::meet`]), every member
/// raises its mark and waits for all other marks.
///
/// A mark has one writer, so raising it needs no read-modify-write. That would wait until the cache
/// line has come back from the core that polls it. A poll costs nothing until the mark changes;
/// then the line moves once.
#[derive(Debug)]
pub struct Marks {
    marks: Vec<Mark>,
}

/// A mark's count in multiples of [`ONE`], plus [`LEFT`]. It has its own cache line and the
/// neighboring one, because many processors prefetch the two together.
#[derive(Debug)]
#[repr(align(128))]
struct Mark(AtomicUsize);

/// How a member waited, in order of increasing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waited {
    /// Not at all.
    No,
    /// It polled.
    Spun,
    /// It yielded its core. The wait was longer than expected for members that have a core each.
    Yielded,
    /// It slept.
    Slept,
}

/// A member has left the team or panicked, so the awaited mark will never be raised.
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

    /// The mark of `member`. Only for that member itself: the load is not an acquire.
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
    /// If that member has left with a lower mark.
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
            // Marks wrap around, so compare their difference.
            if (state & !LEFT).wrapping_sub(mark.wrapping_mul(ONE)).cast_signed() >= 0 {
                return Ok(waited);
            }
            if state & LEFT != 0 {
                return Err(Broken);
            }
            attempt = attempt.saturating_add(1);
        }
    }

    /// Raises the mark of `member` and waits until every other mark is as high.
    ///
    /// # Errors
    /// If a member has left with a lower mark.
    pub fn meet(&self, member: usize) -> Result<Waited, Broken> {
        self.raise(member);
        let mark = self.own(member);
        let others = (0..self.marks.len()).filter(|&other| other != member);
        others.map(|other| self.wait_for(other, mark)).try_fold(Waited::No, |longest, waited| Ok(longest.max(waited?)))
    }

    /// Ends all waits, now and later, for marks that `member` has not raised. Only that member may
    /// call it.
    pub fn leave(&self, member: usize) {
        let Mark(mark) = &self.marks[member];
        mark.store(mark.load(Relaxed) | LEFT, Release);
    }
}
