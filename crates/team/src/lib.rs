//! Thread teams that work in lockstep and wait for each other by spinning.
//!
//! A fork and join wakes sleeping threads and costs tens of microseconds, as much as a whole
//! training step on a small batch. The members of a team stay awake between barriers. A wait
//! through [`Marks`] costs one to a few hundred nanoseconds while every member has its own core.

#[cfg(not(loom))]
mod cores;
mod marks;
mod sync;
#[cfg(not(loom))]
mod threads;

#[cfg(not(loom))]
pub use cores::idle_cores;
pub use marks::{Broken, Marks, Waited};
#[cfg(not(loom))]
pub use threads::{Member, run};
