use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A first-in, first-out queue of many writers, which has room for a fixed number of items.
///
/// The course's queue connects processes: items go through a pipe, and a lock keeps its writers apart. Threads share memory: items move into
/// a buffer behind a lock.
#[derive(Debug)]
pub struct Queue<T> {
    state: Mutex<State<T>>,
    /// To be signalled when an item was put.
    was_put: Condvar,
    /// To be signalled when an item was taken.
    was_taken: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    is_closed: bool,
}

/// The queue is closed; the item was not put into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl<T> Queue<T> {
    /// Given: an empty queue with room for `capacity` items.
    pub fn new(capacity: NonZeroUsize) -> Self {
        let state = State { items: VecDeque::new(), is_closed: false };
        Self { state: Mutex::new(state), was_put: Condvar::new(), was_taken: Condvar::new(), capacity: capacity.get() }
    }

    /// Adds an item at the end; waits while the queue is full. An error if the queue is closed, before or while this waits.
    ///
    /// `self.lock()` waits for the lock, which is released at the end of its scope. `state = wait(&self.was_taken, state)` releases it
    /// until the condition variable is signalled, and `self.was_put.notify_one()` signals one.
    pub fn put(&self, item: T) -> Result<(), Closed> {
        // write: put
        let mut state = self.lock();
        while state.items.len() == self.capacity && !state.is_closed {
            state = wait(&self.was_taken, state);
        }
        if state.is_closed {
            return Err(Closed);
        }
        state.items.push_back(item);
        self.was_put.notify_one();
        Ok(())
        // end
    }

    /// Takes the first item; waits while there is none. None if the queue is closed and empty.
    pub fn get(&self) -> Option<T> {
        // write: get
        let mut state = self.lock();
        while state.items.is_empty() && !state.is_closed {
            state = wait(&self.was_put, state);
        }
        let item = state.items.pop_front();
        self.was_taken.notify_one();
        item
        // end
    }

    /// Number of items that were put and not taken yet.
    pub fn length(&self) -> usize {
        // write: length
        self.lock().items.len()
        // end
    }

    /// Given: accepts no more items. Those in the queue can still be taken.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.was_put.notify_all();
        self.was_taken.notify_all();
    }

    /// Given: waits for the lock.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Given: releases the lock, waits for a signal, and takes the lock again. A wait may also end without a signal: look again at what you wait for.
fn wait<'a, T>(condition: &Condvar, state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
    condition.wait(state).unwrap_or_else(PoisonError::into_inner)
}
