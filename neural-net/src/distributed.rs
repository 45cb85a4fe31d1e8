//! Data-parallel training on ranks that exchange messages.

use distributed_functions::{AllReduce, Rings, sum_in_order};
use mpi_driver::{Communicator, Error};

use crate::engine::{EngineError, Fill, Ranks};

/// The ranks of a communicator, for [`ShardEngine`](crate::engine::ShardEngine).
#[derive(Clone, Debug)]
pub struct CommunicatorRanks<'a> {
    communicator: &'a Communicator,
    all_reduce: AllReduce,
    rings: Rings<f32>,
}

impl<'a> CommunicatorRanks<'a> {
    /// The ranks of `communicator`. `all_reduce` sums their buffers.
    pub fn new(communicator: &'a Communicator, all_reduce: AllReduce) -> Self {
        Self { communicator, all_reduce, rings: Rings::new() }
    }
}

/// Converts a failed message to a training error.
fn failed(error: Error) -> EngineError {
    EngineError::Communication { reason: error.to_string() }
}

impl Ranks for CommunicatorRanks<'_> {
    fn rank(&self) -> usize {
        self.communicator.rank()
    }

    fn size(&self) -> usize {
        self.communicator.size()
    }

    fn sum_each(&mut self, buffers: &mut [&mut [f32]], fill: Fill) -> Result<(), EngineError> {
        // After an error, complete the sums anyway: no rank then waits for this one before it ends
        // the run.
        let mut filled = Ok(());
        let mut fill = |index: usize, buffer: &mut [f32]| {
            if filled.is_ok() {
                filled = fill(index, buffer);
            }
        };
        let summed = self.all_reduce.sum_each(&mut self.rings, buffers, self.communicator, &mut fill);
        filled.and(summed.map_err(failed))
    }

    fn sum_in_order(&mut self, parts: &[&[f32]], total: &mut [f32]) -> Result<(), EngineError> {
        sum_in_order(parts, total, self.communicator).map_err(failed)
    }
}
