//! Limits on the accesses to memory of a thread between two barriers, and on its time.
//!
//! `#[kernel]` counts the loops of a kernel's own body, and none of functions that it calls. Accesses are therefore counted too, and
//! a watchdog looks once a second at which thread each worker runs, and for how much processor time. A thread that has run for longer
//! than the limit gets a fault at its next access to memory. One that accesses none cannot be unwound: the process then ends as on a
//! stack overflow, by one line that names the thread, and abort.

use std::io::Write as _;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, Once, PoisonError};
use std::time::Duration;

use super::current;
use super::fault::{self, FaultKind};
use super::launch::Launch;
use super::processor_time::ThreadClock;

/// The time between two looks of the watchdog.
const TICK: Duration = Duration::from_secs(1);
/// Seconds that a thread may run between the limit and the end of the process.
const GRACE: u32 = 2;

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

    /// Whole seconds for which the thread has run.
    fn seconds(&self) -> u32 {
        u32::try_from(self.ran.load(Relaxed) / 1000).unwrap_or(u32::MAX)
    }

    /// A [`TICK`] has passed.
    fn tick(&self) {
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

/// The number of overdue workers.
static OVERDUE: AtomicU32 = AtomicU32::new(0);

/// Raises a fault if the current thread has exceeded its limit.
#[inline(always)]
pub(super) fn check(location: &'static Location<'static>) {
    if OVERDUE.load(Relaxed) != 0 {
        check_own(location);
    }
}

#[cold]
fn check_own(location: &'static Location<'static>) {
    let Some(worker) = current::with(|current| current.worker.get()) else { return };
    // The watchdog ends the process then.
    if fault::is_unwinding() {
        return;
    }
    if worker.is_overdue.swap(false, Relaxed) {
        OVERDUE.fetch_sub(1, Relaxed);
        fault::raise(FaultKind::Overdue { seconds: worker.seconds() }, location);
    }
}

/// Accesses of one kind between two looks at the total of a thread.
pub(super) const ACCESSES_AT_A_TIME: u64 = 1 << 20;

/// Notes that the current thread has made [`ACCESSES_AT_A_TIME`] accesses of one kind. Some may have been those of the threads
/// before, if it is the first time.
///
/// A thread that has made more than [`Options::thread_accesses`](super::Options::thread_accesses) since it started or was
/// resumed gets a fault.
#[cold]
#[inline(never)]
pub(super) fn note_accesses(location: &'static Location<'static>) {
    let accesses = current::with(|current| {
        let entered = current.worker.get()?.entered.load(Relaxed);
        let (last, before) = current.accesses.get();
        let accesses = if last == entered { before + ACCESSES_AT_A_TIME } else { 0 };
        current.accesses.set((entered, accesses));
        Some(accesses)
    });
    if let Some(accesses) = accesses
        && accesses >= current::with_block(|block| block.launch.options.thread_accesses)
    {
        fault::raise_first(FaultKind::EndlessAccesses { accesses }, location);
    }
}

/// The workers that there have been at once, and those that are in no launch.
struct Workers {
    all: Vec<&'static Worker>,
    free: Vec<&'static Worker>,
}

static WORKERS: Mutex<Workers> = Mutex::new(Workers { all: Vec::new(), free: Vec::new() });
static STARTED: Condvar = Condvar::new();

/// Watches this operating-system thread as a worker of `launch`, until the guard is dropped.
pub(super) fn watch(launch: &Launch) -> Watch {
    static WATCHDOG: Once = Once::new();
    WATCHDOG.call_once(|| {
        // Where the system gives no thread, loops have no limit of time.
        _ = std::thread::Builder::new().name("cuda_std watchdog".to_owned()).spawn(run);
    });
    let mut workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
    let worker = workers.free.pop().unwrap_or_else(|| {
        let worker: &'static Worker = Box::leak(Box::default());
        workers.all.push(worker);
        worker
    });
    *worker.launch.lock().unwrap_or_else(PoisonError::into_inner) =
        Some((launch.clone(), ThreadClock::of_this_thread()));
    worker.enter(0, 0);
    STARTED.notify_one();
    drop(workers);
    current::with(|current| current.worker.set(Some(worker)));
    Watch(worker)
}

/// Ends the watch when dropped.
pub(super) struct Watch(&'static Worker);

impl Drop for Watch {
    fn drop(&mut self) {
        let Self(worker) = *self;
        current::with(|current| current.worker.set(None));
        *worker.launch.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if worker.is_overdue.swap(false, Relaxed) {
            OVERDUE.fetch_sub(1, Relaxed);
        }
        WORKERS.lock().unwrap_or_else(PoisonError::into_inner).free.push(worker);
    }
}

/// The watchdog.
fn run() {
    loop {
        std::thread::sleep(TICK);
        let mut workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
        while workers.free.len() == workers.all.len() {
            workers = STARTED.wait(workers).unwrap_or_else(PoisonError::into_inner);
        }
        workers.all.iter().for_each(|worker| worker.tick());
    }
}
