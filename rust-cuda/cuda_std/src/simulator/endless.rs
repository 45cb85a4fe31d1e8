//! The limit on the iterations of a kernel's loops, which `#[kernel]` counts.

use std::cell::{Cell, RefCell};
use std::panic::Location;

use super::current;
use super::fault::{self, FaultKind};

/// Maximum number of iterations beyond the limit, which distinguish the loop that does not end from those within it.
const OBSERVED: u64 = 1 << 24;

/// The times that a thread may still run the loops of the kernel's body.
#[doc(hidden)]
pub struct LoopBudget {
    left: Cell<u64>,
    observed: RefCell<Observed>,
}

/// The loops that run beyond the limit.
#[derive(Default)]
struct Observed {
    iterations: u64,
    /// Each loop's place, and the times that it has run.
    loops: Vec<(&'static Location<'static>, u64)>,
}

impl LoopBudget {
    /// That of the launch.
    #[allow(clippy::new_without_default)]
    #[inline]
    pub fn new() -> Self {
        let left = Cell::new(current::with(|current| current.loop_iterations.get()));
        Self { left, observed: RefCell::default() }
    }

    /// Counts an iteration of a loop at the caller's place. Too many are a fault.
    #[inline(always)]
    #[track_caller]
    pub fn count(&self) {
        let left = self.left.get();
        if left == 0 {
            return self.observe(Location::caller());
        }
        self.left.set(left - 1);
    }

    /// Notes an iteration beyond the limit. The fault is that of the outermost loop that still runs, which is the first in the source:
    /// an inner loop ends, and is entered again.
    #[cold]
    fn observe(&self, location: &'static Location<'static>) {
        let iterations = current::with(|current| current.loop_iterations.get());
        let mut observed = self.observed.borrow_mut();
        observed.iterations += 1;
        match observed.loops.iter_mut().find(|(of, _)| *of == location) {
            Some((_, count)) => *count += 1,
            None => observed.loops.push((location, 1)),
        }
        if observed.iterations < OBSERVED.min(iterations) {
            return;
        }
        // One that has run once may have been the last time of a loop around the endless one.
        let repeated = observed.loops.iter().filter(|(_, count)| *count > 1).map(|(of, _)| *of);
        let first = repeated.min_by_key(|of| (of.line(), of.column())).unwrap_or(location);
        drop(observed);
        fault::raise(FaultKind::Endless { iterations }, first)
    }
}
