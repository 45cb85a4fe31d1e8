//! Data-parallel training by ranks that exchange messages.

use distributed_functions::AllReduce;
use mpi_driver::Communicator;

use crate::engine::Ranks;

/// The ranks of a communicator, for [`ShardEngine`](crate::engine::ShardEngine).
#[derive(Clone, Copy, Debug)]
pub struct CommunicatorRanks<'a> {
    communicator: &'a Communicator,
    all_reduce: AllReduce,
}

impl<'a> CommunicatorRanks<'a> {
    /// The ranks of `communicator`, whose buffers are summed by `all_reduce`.
    pub fn new(communicator: &'a Communicator, all_reduce: AllReduce) -> Self {
        Self { communicator, all_reduce }
    }
}

impl Ranks for CommunicatorRanks<'_> {
    fn rank(&self) -> usize {
        self.communicator.rank()
    }

    fn size(&self) -> usize {
        self.communicator.size()
    }

    fn sum(&mut self, buffer: &mut [f32]) -> Result<(), String> {
        self.all_reduce.sum(buffer, self.communicator).map_err(|error| error.to_string())
    }
}
