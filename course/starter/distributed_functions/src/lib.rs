//! Assignment 3: all-reduce, and networks whose gradients several ranks compute.
//!
//! A `Communicator` of `mpi_driver` has `rank()`, this rank, and `size()`, the number of ranks. A message has elements
//! and a tag; a receive takes the next one from its source with its tag.

mod asynchronous;
mod check;
mod drive;
mod naive;
mod part;
mod ring;
mod synchronous;

pub use asynchronous::{run_master, run_worker};
pub use check::{verify, verify_step};
pub use drive::{
    Sent, Trained, all_reduced, asynchronous, asynchronous_towards, asynchronous_with_slow_worker, synchronous,
};
pub use naive::naive_allreduce;
pub use part::part;
pub use ring::ring_allreduce;
pub use synchronous::synchronous_step;

/// Tag of an all-reduce's messages.
pub(crate) const TAG: u16 = 1;
/// Tag of a gradient, from a worker to a master.
pub(crate) const GRADIENT: u16 = 2;
/// Tag of parameters, from a master to a worker.
pub(crate) const PARAMETERS: u16 = 3;
