//! The stacks of simulated threads: reused from block to block, and limited in number.

use std::cell::RefCell;
use std::io;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

use corosensei::stack::DefaultStack;

use crate::LaunchConfig;

/// Unused stacks, all of one size.
struct Pool {
    bytes: usize,
    stacks: Vec<DefaultStack>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { bytes: 0, stacks: Vec::new() });

/// The stacks of one worker, which it reuses from block to block and returns to the pool when dropped.
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

/// Maximum number of concurrent blocks of `threads` threads whose stacks stay within [`max_stacks`]; at least 1.
pub(super) fn max_concurrent_blocks(threads: u64) -> usize {
    (max_stacks() / threads_of_a_block(threads)).max(1)
}

/// Half of the stacks that the system's limit on memory maps allows. A stack is two maps: itself and its guard page.
fn max_stacks() -> usize {
    static MAX_MAPS: OnceLock<usize> = OnceLock::new();
    let maps = *MAX_MAPS.get_or_init(|| {
        let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count");
        // Linux's default; the limits of other systems differ in kind, and none is lower.
        limit.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(65_530)
    });
    maps / 2 / 2
}

fn threads_of_a_block(threads: u64) -> usize {
    threads.clamp(1, LaunchConfig::MAX_THREADS.into()) as usize
}

/// The number of stacks that the running cooperative launches of the process reserve: at most [`max_stacks`].
static RESERVED: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// The number of stacks reserved for a cooperative launch, until it is dropped.
pub(super) struct Reservation(usize);

/// Waits until the other cooperative launches of the process leave enough stacks for `blocks`, at most
/// [`max_concurrent_blocks`]. Unlike other launches, a cooperative one cannot run with fewer.
pub(super) fn reserve(blocks: usize, threads: u64) -> Reservation {
    // A single block may have more threads than `max_stacks` on a system with a low limit.
    let stacks = (blocks * threads_of_a_block(threads)).min(max_stacks());
    let (reserved, returned) = &RESERVED;
    let reserved = reserved.lock().unwrap_or_else(PoisonError::into_inner);
    let too_many = |reserved: &mut usize| *reserved + stacks > max_stacks();
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
