//! Assignment 3: all-reduce. Every rank has a buffer of the same length, and all ranks receive the
//! element-wise combination of all buffers under an associative and commutative operation.
//!
//! | function | messages of a rank | bytes that all ranks send, for n ranks and buffers of L bytes |
//! |---|---|---|
//! | [`naive_allreduce`] | n − 1 | n (n − 1) L |
//! | [`ring_allreduce`] | 2 (n − 1) | 2 (n − 1) L |
//!
//! `MPI_Allreduce` is [`Communicator::all_reduce`](mpi_driver::Communicator::all_reduce).

mod chain;
mod measured;
mod model;
mod naive;
mod ring;
pub mod simulation;
mod sum;
mod verify;

pub use chain::chain_allreduce;
pub use measured::{FUNCTIONS, Measured, bytes_by_formula, measure};
pub use model::Model;
pub use naive::naive_allreduce;
pub use ring::{Rings, ring_allreduce, ring_allreduce_in_place};
pub use sum::{AllReduce, sum_in_order};
pub use verify::{Mismatch, buffer_of, verify};

/// What a rank has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of messages.
    pub messages: u64,
    /// Number of bytes of their elements.
    pub bytes: u64,
}

impl Sent {
    fn add<T>(&mut self, message: &[T]) {
        self.messages += 1;
        self.bytes += size_of_val(message) as u64;
    }
}

/// Tag of the messages. With several buffers on rings at the same time, the tags start here.
const TAG: u16 = 1;
