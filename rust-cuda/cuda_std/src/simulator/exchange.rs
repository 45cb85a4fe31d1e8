//! The values that the lanes of a warp exchange.

use std::cell::Cell;
use std::ops::Range;

/// Lanes of a warp.
pub(super) const LANES: u32 = 32;

/// The values that the threads of a block exchange within their warps.
pub(super) struct Exchange {
    offered: Box<[Cell<u32>]>,
    /// The values offered when all lanes had arrived; None of lanes that had exited. A lane that runs ahead may already have
    /// offered its next value.
    completed: Box<[Cell<Option<u32>>]>,
}

impl Exchange {
    pub(super) fn new(threads: u32) -> Self {
        Self {
            offered: (0..threads).map(|_| Cell::new(0)).collect(),
            completed: (0..threads).map(|_| Cell::new(None)).collect(),
        }
    }

    /// Publishes the values that the lanes of a warp offer, those that `takes_part` tells.
    pub(super) fn complete(&self, lanes: Range<usize>, takes_part: impl Fn(usize) -> bool) {
        for lane in lanes {
            self.completed[lane].set(takes_part(lane).then(|| self.offered[lane].get()));
        }
    }

    /// Sets the value that a thread offers to its warp.
    pub(super) fn offer(&self, thread: usize, bits: u32) {
        self.offered[thread].set(bits);
    }

    /// The published values of a thread's warp.
    pub(super) fn of_warp(&self, thread: usize) -> &[Cell<Option<u32>>] {
        let first = thread - thread % LANES as usize;
        &self.completed[first..self.completed.len().min(first + LANES as usize)]
    }
}
