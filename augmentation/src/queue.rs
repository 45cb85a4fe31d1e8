//! A bounded queue with many writers, and workers with results that one reader takes in order.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A first-in, first-out queue with many writers and room for a fixed number of items.
///
/// The assignment's queue connects processes: its items go through a pipe as bytes, and a lock
/// keeps the writers apart. Threads share memory, so here items only move into a buffer behind a
/// lock. Waiting writers and readers sleep on condition variables. Several readers are possible
/// too; each item goes to one of them.
///
/// ```
/// let queue = augmentation::Queue::new(std::num::NonZeroUsize::MIN);
/// std::thread::scope(|scope| {
///     scope.spawn(|| queue.put("first"));
///     assert_eq!(queue.get(), Some("first"));
/// });
/// assert_eq!(queue.length(), 0);
/// ```
#[derive(Debug)]
pub struct Queue<T> {
    state: Mutex<State<T>>,
    /// Signaled for readers when an item was put, and when the queue was closed.
    was_put: Condvar,
    /// Signaled for writers when an item was taken, and when the queue was closed.
    was_taken: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    is_closed: bool,
}

/// The error for a closed queue. The item was not put into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl<T> Queue<T> {
    /// An empty queue with room for `capacity` items.
    pub fn new(capacity: NonZeroUsize) -> Self {
        let state = State { items: VecDeque::new(), is_closed: false };
        Self { state: Mutex::new(state), was_put: Condvar::new(), was_taken: Condvar::new(), capacity: capacity.get() }
    }

    /// Adds an item at the end. Waits while the queue is full.
    ///
    /// # Errors
    /// If the queue is closed.
    pub fn put(&self, item: T) -> Result<(), Closed> {
        let mut state = self.lock();
        while state.items.len() == self.capacity && !state.is_closed {
            state = self.was_taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closed {
            return Err(Closed);
        }
        state.items.push_back(item);
        self.was_put.notify_one();
        Ok(())
    }

    /// Takes the first item. Waits while there is none. `None` if the queue is closed and empty.
    pub fn get(&self) -> Option<T> {
        let mut state = self.lock();
        while state.items.is_empty() && !state.is_closed {
            state = self.was_put.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let item = state.items.pop_front();
        self.was_taken.notify_one();
        item
    }

    /// Number of items that have been put and not yet taken. Other threads may change it at any time.
    pub fn length(&self) -> usize {
        self.lock().items.len()
    }

    /// Stops accepting items. Items in the queue can still be taken.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.was_put.notify_all();
        self.was_taken.notify_all();
    }

    /// No method panics while it holds the lock, so the state is valid even if a thread has panicked.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes queues when dropped, so no thread waits for one that has panicked.
struct Closing<'a, T>(&'a [Queue<T>]);

impl<T> Drop for Closing<'_, T> {
    fn drop(&mut self) {
        self.0.iter().for_each(Queue::close);
    }
}

/// Passes `make(0)`, `make(1)` … `make(count − 1)` to `read` in this order, until `read` breaks.
/// `workers` threads make them ahead of time; each is at most two items ahead of `read`. Without
/// workers, each is made when it is needed.
///
/// # Panics
/// If `make` or `read` panics.
pub fn in_order<T: Send, B>(
    count: usize,
    workers: usize,
    make: impl Fn(usize) -> T + Sync,
    mut read: impl FnMut(usize, T) -> ControlFlow<B>,
) -> ControlFlow<B> {
    if workers == 0 {
        return (0..count).try_for_each(|index| read(index, make(index)));
    }
    // One queue per worker. A worker makes every `workers`-th item, so none runs ahead of a slow one.
    let queues: Vec<Queue<T>> = (0..workers).map(|_| Queue::new(NonZeroUsize::MIN)).collect();
    std::thread::scope(|scope| {
        for (worker, queue) in queues.iter().enumerate() {
            let make = &make;
            scope.spawn(move || {
                let _closing = Closing(std::slice::from_ref(queue));
                // The reader closes the queue if it stops early.
                (worker..count).step_by(workers).try_for_each(|index| queue.put(make(index)))
            });
        }
        let _closing = Closing(&queues);
        for index in 0..count {
            // A worker that has closed its queue has panicked. The scope propagates the panic.
            let Some(made) = queues[index % workers].get() else { break };
            read(index, made)?;
        }
        ControlFlow::Continue(())
    })
}
