//! The stacks of simulated threads: kept for the next block, and limited in number.

use std::cell::RefCell;
use std::io;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

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
    free: RefCell<Vec<DefaultStack>>,
}

impl Stacks {
    pub(super) fn new(bytes: usize) -> Self {
        Self { bytes, free: RefCell::default() }
    }

    /// A stack for one coroutine.
    pub(super) fn take(&self) -> io::Result<DefaultStack> {
        if let Some(stack) = self.free.borrow_mut().pop() {
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
    pub(super) fn put(&self, stack: DefaultStack) {
        self.free.borrow_mut().push(stack);
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.bytes == self.bytes {
            pool.stacks.append(self.free.get_mut());
        }
    }
}

/// How many blocks of so many threads may run at once, so that their stacks stay below half of what the system allows.
pub(super) fn most_concurrent_blocks(threads: u64) -> usize {
    (most_stacks() / threads_of_a_block(threads)).max(1)
}

/// Half of the stacks for which the system allows enough memory maps. A stack is two maps: itself and the page before it
/// that catches an overflow.
fn most_stacks() -> usize {
    static MOST_MAPS: OnceLock<usize> = OnceLock::new();
    let most = *MOST_MAPS.get_or_init(|| {
        let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count");
        // What Linux has by default; other systems count differently, and none has less.
        limit.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(65_530)
    });
    most / 2 / 2
}

fn threads_of_a_block(threads: u64) -> usize {
    threads.clamp(1, LaunchConfig::MAX_THREADS.into()) as usize
}

/// Stacks that the cooperative launches of the process may take now: together not more than one alone.
static RESERVED: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Stacks that a cooperative launch may take, until it is dropped.
pub(super) struct Reservation(usize);

/// Waits until the other cooperative launches of the process leave enough stacks for `blocks`, which are not more than
/// [`most_concurrent_blocks`]. Unlike other launches, these cannot do with fewer.
pub(super) fn reserve(blocks: usize, threads: u64) -> Reservation {
    // A single block may have more threads than a system with few maps has stacks.
    let stacks = (blocks * threads_of_a_block(threads)).min(most_stacks());
    let (reserved, returned) = &RESERVED;
    let reserved = reserved.lock().unwrap_or_else(PoisonError::into_inner);
    let too_many = |reserved: &mut usize| *reserved + stacks > most_stacks();
    let mut reserved = returned.wait_while(reserved, too_many).unwrap_or_else(PoisonError::into_inner);
    *reserved += stacks;
    Reservation(stacks)
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let (reserved, returned) = &RESERVED;
        *reserved.lock().unwrap_or_else(PoisonError::into_inner) -= self.0;
        returned.notify_all();
    }
}
