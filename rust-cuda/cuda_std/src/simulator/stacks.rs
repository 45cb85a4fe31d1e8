//! The stacks of simulated threads: kept for the next block, and limited in number.

use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

use corosensei::stack::DefaultStack;

use crate::LaunchConfig;

/// Stacks that no block uses, all of one size.
struct Pool {
    bytes: usize,
    stacks: Vec<DefaultStack>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { bytes: 0, stacks: Vec::new() });

/// The stacks that one worker uses, block after block; they go back to the pool when it is done.
pub(super) struct Stacks {
    bytes: usize,
    free: Vec<DefaultStack>,
}

impl Stacks {
    pub(super) fn new(bytes: usize) -> Self {
        Self { bytes, free: Vec::new() }
    }

    /// A stack for one coroutine.
    pub(super) fn take(&mut self) -> io::Result<DefaultStack> {
        if let Some(stack) = self.free.pop() {
            return Ok(stack);
        }
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.bytes != self.bytes {
            *pool = Pool { bytes: self.bytes, stacks: Vec::new() };
        }
        match pool.stacks.pop() {
            Some(stack) => Ok(stack),
            None => DefaultStack::new(self.bytes),
        }
    }

    /// Takes back a stack whose coroutine has ended.
    pub(super) fn put(&mut self, stack: DefaultStack) {
        self.free.push(stack);
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.bytes == self.bytes {
            pool.stacks.append(&mut self.free);
        }
    }
}

/// How many blocks may run at once, so that their stacks stay below half of the memory maps that the system allows.
/// A stack is two maps: itself and the page before it that catches an overflow.
pub(super) fn most_concurrent_blocks(threads: u64) -> usize {
    static MOST_MAPS: OnceLock<u64> = OnceLock::new();
    let most = *MOST_MAPS.get_or_init(|| {
        let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count");
        // What Linux has by default; other systems count differently, and none has less.
        limit.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(65_530)
    });
    let threads = threads.clamp(1, LaunchConfig::MAX_THREADS.into());
    usize::try_from(most / 2 / (2 * threads)).unwrap_or(usize::MAX).max(1)
}
