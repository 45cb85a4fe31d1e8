//! MPI, loaded at run time. A program with it builds, links and starts even if no MPI is installed.
//!
//! [`Universe::initialize`] opens the machine's MPI library: one with MPI 5's standard ABI, MPICH,
//! or Open MPI. [`threads`] runs the same code on threads of one process, where each thread is a
//! rank. It serves machines without MPI, and is the reference in tests. A [`Communicator`] behaves
//! the same on both, except for its speed.
//!
//! ```
//! use mpi_driver::{Operation, threads};
//!
//! let sums = threads(3, |world| {
//!     let mut value = [world.rank() as f64];
//!     world.all_reduce_in_place(&mut value, Operation::Sum)?;
//!     Ok::<f64, mpi_driver::Error>(value[0])
//! });
//! assert!(sums.into_iter().all(|sum| sum == Ok(3.0)));
//! ```
//!
//! # Errors
//!
//! Operations return errors as values, with the operation and the other rank ([`Error`]). After an
//! error in MPI, the behavior of other ranks is undefined: call [`Communicator::abort`]. A panic on
//! one rank ends all ranks.
//!
//! # Safety
//!
//! Buffers are slices, so no message is written beyond one. Non-blocking operations borrow their
//! buffers for a [scope](Communicator::scope) that completes them. The ranks of a collective
//! operation must agree on its arguments. Threads check this. An MPI library reports most
//! differences as errors, but is not required to.

mod communicator;
mod element;
mod error;
mod launcher;
mod library;
mod message;
mod mpi;
mod scope;
mod sent;
mod signals;
mod start;
mod threads;
mod universe;

pub use communicator::{Communicator, MAX_TAG};
pub use element::{Datatype, Number, Operation};
pub use error::{Error, INSTALL, Unavailable};
pub use launcher::{Launcher, launcher, mpiexec};
pub use message::{Received, Source};
pub use scope::{ReceiveRequest, Scope, SendMutRequest, SendRequest};
pub use sent::Sent;
pub use signals::{Interruption, set_when_interrupted};
pub use start::{Ranks, ranks_by, run_again_as_ranks, threads};
pub use universe::Universe;
