//! The limit on the iterations of a kernel's loops, which `#[kernel]` counts.

use std::cell::Cell;
use std::panic::Location;

use super::current;
use super::fault::{self, FaultKind};

/// The times that a thread may still run the loops of the kernel's body.
#[doc(hidden)]
pub struct LoopBudget(Cell<u64>);

impl LoopBudget {
    /// That of the launch.
    #[allow(clippy::new_without_default)]
    #[inline]
    pub fn new() -> Self {
        Self(Cell::new(current::with(|current| current.loop_iterations.get())))
    }

    /// Counts an iteration of a loop at the caller's place. One too many is a fault.
    #[inline(always)]
    #[track_caller]
    pub fn count(&self) {
        let left = self.0.get();
        if left == 0 {
            exhausted(Location::caller());
        }
        self.0.set(left - 1);
    }
}

#[cold]
fn exhausted(location: &'static Location<'static>) -> ! {
    let iterations = current::with(|current| current.loop_iterations.get());
    fault::raise(FaultKind::Endless { iterations }, location)
}
