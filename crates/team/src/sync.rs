//! The synchronization primitives, from std or from the model checker.

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::atomic::AtomicUsize,
    thread::{yield_now, yield_now as nap},
};
#[cfg(not(loom))]
pub(crate) use std::{hint::spin_loop, sync::atomic::AtomicUsize, thread::yield_now};

/// Sleeps for the shortest useful time: the operating system adds about as much.
#[cfg(not(loom))]
pub(crate) fn nap() {
    std::thread::sleep(std::time::Duration::from_micros(50));
}
