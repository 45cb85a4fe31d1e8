//! The sum of gradients.

use mpi_driver::{Communicator, Error, Operation};

use crate::{naive_allreduce, ring_allreduce_in_place};

/// A way to sum buffers over the ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllReduce {
    /// [`naive_allreduce`].
    Naive,
    /// [`ring_allreduce`](crate::ring_allreduce).
    #[default]
    Ring,
    /// `MPI_Allreduce`.
    Mpi,
}

impl AllReduce {
    /// All values, in the order of their declaration.
    pub const ALL: [Self; 3] = [Self::Naive, Self::Ring, Self::Mpi];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Ring => "ring",
            Self::Mpi => "mpi",
        }
    }

    /// One line of help on the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::Naive => "Each rank sends its buffer to every other",
            Self::Ring => "On a ring, in parts",
            Self::Mpi => "By MPI_Allreduce",
        }
    }

    /// Adds the ranks' buffers, all of the same length, element by element; every rank receives the sum.
    ///
    /// # Errors
    /// If a rank has ended, or MPI fails.
    pub fn sum(self, buffer: &mut [f32], communicator: &Communicator) -> Result<(), Error> {
        match self {
            Self::Naive => {
                let send = buffer.to_vec();
                naive_allreduce(&send, buffer, communicator, |a, b| a + b).map(drop)
            }
            Self::Ring => ring_allreduce_in_place(buffer, communicator, |a, b| a + b).map(drop),
            Self::Mpi => communicator.all_reduce_in_place(buffer, Operation::Sum),
        }
    }
}

impl std::fmt::Display for AllReduce {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.name())
    }
}
