//! The synchronization primitives: std's, or the model checker's.

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::atomic::AtomicUsize,
    sync::{Condvar, Mutex, MutexGuard},
    thread::yield_now,
};
#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::AtomicUsize,
    sync::{Condvar, Mutex, MutexGuard},
    thread::yield_now,
};
