//! What a training's thread and its watchers share.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Snapshot;

/// What the user wants the training to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wish {
    /// Train.
    #[default]
    Run,
    /// Train to the end of the epoch, then wait.
    Epoch,
    /// Wait.
    Pause,
    /// End. No other wish follows.
    Stop,
}

#[derive(Default)]
pub(super) struct Shared {
    snapshot: Mutex<Arc<Snapshot>>,
    wake: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
    wish: Mutex<Wish>,
    changed: Condvar,
    /// Whether the wish is to pause or to stop: what the training looks at after each step.
    is_interrupted: AtomicBool,
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("wish", &self.wish).finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn wish(&self, wish: Wish) {
        let mut current = lock(&self.wish);
        if *current != Wish::Stop {
            *current = wish;
            self.is_interrupted.store(matches!(wish, Wish::Pause | Wish::Stop), Ordering::Relaxed);
        }
        drop(current);
        self.changed.notify_all();
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed)
    }

    /// The end of an epoch: who wished for one epoch now wishes for a pause.
    pub(super) fn epoch_done(&self) {
        let mut current = lock(&self.wish);
        if *current == Wish::Epoch {
            *current = Wish::Pause;
            self.is_interrupted.store(true, Ordering::Relaxed);
        }
    }

    /// Waits while the wish is to pause; `pausing` is called once if there is something to wait for. Whether to go on.
    pub(super) fn may_go_on(&self, pausing: impl FnOnce()) -> bool {
        if *lock(&self.wish) == Wish::Pause {
            pausing();
        }
        let wish = lock(&self.wish);
        let wish = self.changed.wait_while(wish, |wish| *wish == Wish::Pause);
        *wish.unwrap_or_else(PoisonError::into_inner) != Wish::Stop
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&lock(&self.snapshot))
    }

    pub(super) fn publish(&self, snapshot: Snapshot) {
        let snapshot = Arc::new(snapshot);
        // What was there before is freed after the lock.
        let _before = std::mem::replace(&mut *lock(&self.snapshot), snapshot);
        if let Some(wake) = &*lock(&self.wake) {
            wake();
        }
    }

    pub(super) fn set_wake(&self, wake: Box<dyn Fn() + Send + Sync>) {
        *lock(&self.wake) = Some(wake);
    }
}

/// No lock is held while anything that may panic changes the value.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
