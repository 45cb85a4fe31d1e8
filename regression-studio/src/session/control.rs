//! State shared by the training thread and its session: snapshots and requests.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::snapshot::Snapshot;

/// A request to the training thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Request {
    /// Train.
    #[default]
    Run,
    /// Train to the end of the epoch, then pause.
    Epoch,
    /// Pause.
    Pause,
    /// End; later requests are ignored.
    Stop,
}

#[derive(Default)]
pub(super) struct Shared {
    snapshot: Mutex<Arc<Snapshot>>,
    wake: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
    request: Mutex<Request>,
    changed: Condvar,
    /// Whether the request is to pause or to stop; the training thread reads this after each step.
    is_interrupted: AtomicBool,
    /// The run that this one is a part of, if any.
    whole: Option<Arc<Shared>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("request", &self.request).finish_non_exhaustive()
    }
}

impl Shared {
    /// That of a run that is part of another: it ends when the other is stopped, is never paused, and has snapshots that
    /// only its own thread sees.
    pub(super) fn part_of(whole: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self { whole: Some(Arc::clone(whole)), ..Self::default() })
    }

    fn is_stopped(&self) -> bool {
        *lock(&self.request) == Request::Stop
    }

    pub(super) fn request(&self, request: Request) {
        let mut current = lock(&self.request);
        if *current != Request::Stop {
            *current = request;
            self.is_interrupted.store(matches!(request, Request::Pause | Request::Stop), Ordering::Relaxed);
        }
        drop(current);
        self.changed.notify_all();
    }

    pub(super) fn is_interrupted(&self) -> bool {
        match &self.whole {
            Some(whole) => whole.is_stopped(),
            None => self.is_interrupted.load(Ordering::Relaxed),
        }
    }

    /// Ends an epoch: a request for one epoch becomes a request to pause.
    pub(super) fn epoch_done(&self) {
        let mut current = lock(&self.request);
        if *current == Request::Epoch {
            *current = Request::Pause;
            self.is_interrupted.store(true, Ordering::Relaxed);
        }
    }

    /// Waits while the request is to pause, after calling `pausing` once; returns false if the request is to stop.
    pub(super) fn wait_while_paused(&self, pausing: impl FnOnce()) -> bool {
        if let Some(whole) = &self.whole {
            return !whole.is_stopped();
        }
        if *lock(&self.request) == Request::Pause {
            pausing();
        }
        let request = lock(&self.request);
        let request = self.changed.wait_while(request, |request| *request == Request::Pause);
        *request.unwrap_or_else(PoisonError::into_inner) != Request::Stop
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&lock(&self.snapshot))
    }

    pub(super) fn publish(&self, snapshot: Snapshot) {
        let snapshot = Arc::new(snapshot);
        // The previous snapshot is dropped after the lock is released.
        let _before = std::mem::replace(&mut *lock(&self.snapshot), snapshot);
        if let Some(wake) = &*lock(&self.wake) {
            wake();
        }
    }

    pub(super) fn set_wake(&self, wake: Box<dyn Fn() + Send + Sync>) {
        *lock(&self.wake) = Some(wake);
    }
}

/// Ignores poisoning: no holder of a lock can panic while the value is inconsistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
