//! Sums gradients over ranks.

use mpi_driver::{Communicator, Error, Operation};

use crate::{Rings, chain_allreduce, naive_allreduce};

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
    /// All values, in declaration order.
    pub const ALL: [Self; 3] = [Self::Naive, Self::Ring, Self::Mpi];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Ring => "ring",
            Self::Mpi => "mpi",
        }
    }

    /// One line of help for the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::Naive => "Each rank sends its buffer to every other",
            Self::Ring => "On a ring, in parts",
            Self::Mpi => "By MPI_Allreduce",
        }
    }

    /// Calls `fill` for each buffer and its index, in order, and adds the ranks' buffers of each
    /// index element by element. They all have the same length, and every rank receives the sums.
    /// Buffers on rings are in transit while the next buffer is filled
    /// ([`Rings::all_reduce_each`]).
    ///
    /// # Errors
    /// If a rank has ended, or MPI fails.
    pub fn sum_each(
        self,
        rings: &mut Rings<f32>,
        buffers: &mut [&mut [f32]],
        communicator: &Communicator,
        fill: &mut dyn FnMut(usize, &mut [f32]),
    ) -> Result<(), Error> {
        if self == Self::Ring {
            return rings.all_reduce_each(buffers, communicator, |a, b| a + b, fill).map(drop);
        }
        for (index, buffer) in buffers.iter_mut().enumerate() {
            fill(index, buffer);
            if self == Self::Mpi {
                communicator.all_reduce_in_place(buffer, Operation::Sum)?;
            } else {
                let send = buffer.to_vec();
                naive_allreduce(&send, buffer, communicator, |a, b| a + b)?;
            }
        }
        Ok(())
    }
}

/// Adds the parts of all ranks one after another with [`chain_allreduce`].
///
/// # Errors
/// The errors of [`chain_allreduce`].
pub fn sum_in_order(parts: &[&[f32]], total: &mut [f32], communicator: &Communicator) -> Result<(), Error> {
    chain_allreduce(parts, total, communicator, |a, b| a + b).map(drop)
}

impl std::fmt::Display for AllReduce {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.name())
    }
}
