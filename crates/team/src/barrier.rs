//! A barrier that spins, then yields, then sleeps.

use std::fmt;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, spin_loop, yield_now};

/// Polls before a waiting member yields: about the time that sleeping and waking cost, some tens of microseconds. A
/// member that spins as long as that wastes at most as much again as an immediate sleep.
const SPINS: u32 = if cfg!(loom) { 0 } else { 1000 };
/// Yields before a waiting member sleeps.
const YIELDS: u32 = if cfg!(loom) { 0 } else { 8 };

/// Set in the state while a member sleeps or is about to.
const SLEEPERS: usize = 1;
/// Set in the state once the barrier is broken.
const BROKEN: usize = 2;
/// The lowest bit of the generation in the state.
const GENERATION: usize = 4;

/// A meeting point for a fixed number of threads.
///
/// **Protocol.** Every member increments `arrived`. The last one resets it and increments the generation in `state`, for
/// which the others poll. What a member wrote before [`Barrier::wait`] is visible to every member after it: the increments
/// of `arrived` are one release sequence that the last member acquires, and it releases the new generation.
///
/// A member that has polled without success locks `lock`, sets the bit `SLEEPERS` with a compare-and-swap that fails if the
/// generation has changed, and sleeps. The last member reads that bit in the same read-modify-write that changes the
/// generation, so it misses no sleeper, and locks `lock` only if there is one.
#[derive(Debug)]
pub struct Barrier {
    members: usize,
    arrived: Line,
    state: Line,
    lock: Mutex<()>,
    wake: Condvar,
}

/// An atomic in a cache line of its own, and its neighbour, which many processors prefetch with it.
#[derive(Debug)]
#[repr(align(128))]
struct Line(AtomicUsize);

/// How a member waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// It was the last to arrive.
    Last,
    /// It polled.
    Spun,
    /// It yielded its core: the wait took longer than members with a core each differ.
    Yielded,
    /// It slept.
    Slept,
}

/// A member has left the team, or panicked: no further meeting takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a member has left the team")
    }
}

impl std::error::Error for Broken {}

impl Barrier {
    /// A barrier for `members` threads.
    ///
    /// # Panics
    /// If `members` is 0.
    pub fn new(members: usize) -> Self {
        assert!(members > 0, "a barrier needs a member");
        let line = || Line(AtomicUsize::new(0));
        Self { members, arrived: line(), state: line(), lock: Mutex::new(()), wake: Condvar::new() }
    }

    /// Waits until every member has called it. The meeting takes place even if the barrier is broken after the last
    /// arrival.
    ///
    /// # Errors
    /// If the barrier is broken.
    pub fn wait(&self) -> Result<Waited, Broken> {
        // The generation cannot change before this member arrives.
        let before = self.state.0.load(Acquire);
        if before & BROKEN != 0 {
            return Err(Broken);
        }
        if self.arrived.0.fetch_add(1, AcqRel) + 1 == self.members {
            self.arrived.0.store(0, Relaxed);
            if self.state.0.fetch_add(GENERATION, AcqRel) & SLEEPERS != 0 {
                self.wake_sleepers();
            }
            return Ok(Waited::Last);
        }
        let state = || self.state.0.load(Acquire);
        let met = |now: usize| match () {
            () if now / GENERATION != before / GENERATION => Some(Ok(())),
            () if now & BROKEN != 0 => Some(Err(Broken)),
            () => None,
        };
        for _ in 0..SPINS {
            if let Some(result) = met(state()) {
                return result.map(|()| Waited::Spun);
            }
            spin_loop();
        }
        for _ in 0..YIELDS {
            if let Some(result) = met(state()) {
                return result.map(|()| Waited::Yielded);
            }
            yield_now();
        }
        let mut guard = self.locked();
        loop {
            let now = state();
            if let Some(result) = met(now) {
                return result.map(|()| Waited::Slept);
            }
            if self.state.0.compare_exchange(now, now | SLEEPERS, AcqRel, Relaxed).is_ok() {
                guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Breaks the barrier: current and later calls of [`Barrier::wait`] fail, except in a meeting at which every member
    /// has arrived.
    pub fn break_up(&self) {
        self.state.0.fetch_or(BROKEN, AcqRel);
        self.wake_sleepers();
    }

    /// Wakes every member that sleeps. One that has set the bit holds the lock until it sleeps.
    fn wake_sleepers(&self) {
        let _guard = self.locked();
        self.state.0.fetch_and(!SLEEPERS, AcqRel);
        self.wake.notify_all();
    }

    /// The lock guards no data, so that a panic of its holder does no harm.
    fn locked(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
