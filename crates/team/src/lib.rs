//! Threads that work in lockstep and meet at a spinning barrier.
//!
//! A fork and join wakes sleeping threads and costs tens of microseconds, as much as a whole training step on a small
//! batch. The members of a team stay awake between two meetings: a [`Barrier`] costs a few hundred nanoseconds while
//! every member has a core of its own.

mod barrier;
#[cfg(not(loom))]
mod cores;
mod sync;
#[cfg(not(loom))]
mod threads;

pub use barrier::{Barrier, Broken, Waited};
#[cfg(not(loom))]
pub use cores::idle_cores;
#[cfg(not(loom))]
pub use threads::{Member, run};
