//! Limits on the accesses to memory of a thread between two barriers, and on its time.
//!
//! `#[kernel]` counts the loops of a kernel's own body, and none of functions that it calls. Accesses are therefore counted too, and
//! a watchdog looks once a second at which thread each worker runs, and for how much processor time. A thread that has run for longer
//! than the limit gets a fault at its next access to memory. One that accesses none cannot be unwound: the process then ends as on a
//! stack overflow, by one line that names the thread, and abort.

use std::cell::Cell;
use std::panic::Location;
use std::sync::{Condvar, Mutex, Once, PoisonError};

use super::current::{self, Current};
use super::fault::{self, FaultKind};
use super::launch::Launch;
use super::processor_time::ThreadClock;
use super::worker::{self, TICK, Worker};

/// Raises a fault if the current thread has exceeded its limit.
#[inline(always)]
pub(super) fn check(location: &'static Location<'static>) {
    if worker::any_is_overdue() {
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
    if worker.take_overdue() {
        fault::raise(FaultKind::Overdue { seconds: worker.seconds() }, location);
    }
}

/// Accesses of one kind between two looks at the total of a thread.
const ACCESSES_AT_A_TIME: u64 = 1 << 20;

/// Counts an access to memory at the caller's place. Too many of one thread are a fault.
#[inline(always)]
#[track_caller]
pub(super) fn count_access(counter: impl FnOnce(&Current) -> &Cell<u64>) {
    let accesses = current::with(|current| {
        let counter = counter(current);
        counter.set(counter.get() + 1);
        counter.get()
    });
    if accesses.is_multiple_of(ACCESSES_AT_A_TIME) {
        note_accesses(Location::caller());
    }
}

/// Notes that the current thread has made [`ACCESSES_AT_A_TIME`] accesses of one kind. Some may have been those of the threads
/// before, if it is the first time.
///
/// A thread that has made more than [`Options::thread_accesses`](super::Options::thread_accesses) since it started or was
/// resumed gets a fault.
#[cold]
#[inline(never)]
fn note_accesses(location: &'static Location<'static>) {
    let accesses = current::with(|current| {
        let entered = current.worker.get()?.entered();
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
        _ = std::thread::Builder::new().name("cuda_std watchdog".to_owned()).spawn(keep_watch);
    });
    let mut workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
    let worker = workers.free.pop().unwrap_or_else(|| {
        let worker: &'static Worker = Box::leak(Box::default());
        workers.all.push(worker);
        worker
    });
    worker.set_launch(Some((launch.clone(), ThreadClock::of_this_thread())));
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
        worker.set_launch(None);
        worker.take_overdue();
        WORKERS.lock().unwrap_or_else(PoisonError::into_inner).free.push(worker);
    }
}

/// The watchdog.
fn keep_watch() {
    loop {
        std::thread::sleep(TICK);
        let mut workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
        while workers.free.len() == workers.all.len() {
            workers = STARTED.wait(workers).unwrap_or_else(PoisonError::into_inner);
        }
        workers.all.iter().for_each(|worker| worker.tick());
    }
}
