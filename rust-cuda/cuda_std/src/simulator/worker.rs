//! What the watchdog knows of an operating-system thread that runs simulated ones.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::launch::Launch;
use super::processor_time::ThreadClock;

/// The time between two looks of the watchdog.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// Seconds that a thread may run between the limit and the end of the process.
const GRACE: u32 = 2;

/// The number of overdue workers.
static OVERDUE: AtomicU32 = AtomicU32::new(0);

/// Whether any worker's thread has exceeded its limit.
#[inline(always)]
pub(super) fn any_is_overdue() -> bool {
    OVERDUE.load(Relaxed) != 0
}

/// A worker of a launch, as the watchdog sees it.
#[derive(Default)]
pub(super) struct Worker {
    /// The launch, and the clock of the operating system's thread; None between two.
    launch: Mutex<Option<(Launch, Option<ThreadClock>)>>,
    /// The block's number in the grid, from 1, in the upper half, and the thread's in the block.
    thread: AtomicU64,
    /// The times that the worker has started or resumed a thread.
    entered: AtomicU64,
    is_overdue: AtomicBool,
    /// Of the watchdog, which alone writes them: the last value of `entered`, and the milliseconds for which the worker has run with it;
    /// and the clock's, at the last look.
    seen: AtomicU64,
    ran: AtomicU64,
    clock: AtomicU64,
}

impl Worker {
    /// Notes that the worker starts or resumes a thread. No other thread writes the values.
    #[inline]
    pub(super) fn enter(&self, block: u32, thread: u32) {
        self.thread.store(u64::from(block) << 32 | u64::from(thread), Relaxed);
        self.entered.store(self.entered.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Begins or ends a launch.
    pub(super) fn set_launch(&self, launch: Option<(Launch, Option<ThreadClock>)>) {
        *self.launch.lock().unwrap_or_else(PoisonError::into_inner) = launch;
    }

    /// The times that the worker has started or resumed a thread.
    pub(super) fn entered(&self) -> u64 {
        self.entered.load(Relaxed)
    }

    /// Whether the thread has exceeded its limit since the last call.
    pub(super) fn take_overdue(&self) -> bool {
        let is_overdue = self.is_overdue.swap(false, Relaxed);
        if is_overdue {
            OVERDUE.fetch_sub(1, Relaxed);
        }
        is_overdue
    }

    /// Whole seconds for which the thread has run.
    pub(super) fn seconds(&self) -> u32 {
        u32::try_from(self.ran.load(Relaxed) / 1000).unwrap_or(u32::MAX)
    }

    /// A [`TICK`] has passed.
    pub(super) fn tick(&self) {
        // Held to the end of the tick: a worker that leaves its launch meanwhile is not overdue in its next one.
        let launch = self.launch.lock().unwrap_or_else(PoisonError::into_inner);
        let entered = self.entered.load(Relaxed);
        let (launch, clock) = launch.as_ref().map(|(launch, clock)| (launch, *clock)).unzip();
        let now = clock.flatten().and_then(ThreadClock::read).map(milliseconds);
        let passed = now.map_or(milliseconds(TICK), |now| now.saturating_sub(self.clock.load(Relaxed)));
        self.clock.store(now.unwrap_or_default(), Relaxed);
        let Some(launch) = launch.filter(|_| self.seen.swap(entered, Relaxed) == entered) else {
            self.ran.store(0, Relaxed);
            return;
        };
        self.ran.store(self.ran.load(Relaxed).saturating_add(passed), Relaxed);
        let seconds = self.seconds();
        let limit = launch.options.thread_seconds;
        if seconds < limit {
            return;
        }
        if !self.is_overdue.swap(true, Relaxed) {
            OVERDUE.fetch_add(1, Relaxed);
        } else if seconds >= limit.saturating_add(GRACE) {
            let thread = self.thread.load(Relaxed);
            let block = launch.config.grid.index_of((thread >> 32).saturating_sub(1));
            let thread = launch.config.block.index_of(thread & u64::from(u32::MAX));
            let Launch { kernel, place: (file, line), .. } = *launch;
            let sentence = format!(
                "kernel {kernel}, block {block}, thread {thread}, {file}:{line}: the kernel does not end: the thread has run for \
                 {seconds} s without a barrier or an access to memory. Correct the condition of its loop, or allow more by \
                 simulator::Options::thread_seconds\n"
            );
            // Not `eprintln!`, whose text a test harness keeps until the test ends. Without stderr there is no one to tell.
            _ = std::io::stderr().write_all(sentence.as_bytes());
            std::process::abort();
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
