//! The values that the lanes of a warp exchange.

use std::cell::Cell;
use std::ops::Range;

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

    /// Sets the value that a thread offers to its warp.
    pub(super) fn offer(&self, thread: usize, bits: u32) {
        self.offered[thread].set(bits);
    }

    /// The published values of a thread's warp.
    pub(super) fn of_warp(&self, thread: usize) -> &[Cell<u32>] {
        let first = thread - thread % LANES as usize;
        &self.completed[first..self.completed.len().min(first + LANES as usize)]
    }
}
