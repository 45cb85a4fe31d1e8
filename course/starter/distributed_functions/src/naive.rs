use mpi_driver::{Communicator, Error, Source};

use crate::TAG;

/// All-reduce: every rank has a buffer `send`, all of the same length, and afterwards every rank's `receive` has at each
/// index the combination of all buffers' elements there, by `operation`, such as a sum.
///
/// Each rank sends its whole buffer to every other rank, and combines all buffers by itself, in the order of the ranks,
/// its own in its place: then the results have the same bits on all ranks, though sums of floats depend on their order.
///
/// `communicator.send(buffer, to, TAG)?` may wait until the message is received: among threads it does not, MPI does with
/// long messages. If all ranks send first, then, each waits for the others. `communicator.scope(|scope| …)` starts sends
/// without waiting, each by `scope.send(send, to, TAG)?`, and completes them at its end; between,
/// `communicator.receive(&mut buffer, Source::Rank(from), TAG)?` waits for one message.
///
/// # Errors
/// If the lengths differ, a rank has ended, or MPI fails.
pub fn naive_allreduce(
    send: &[f32],
    receive: &mut [f32],
    communicator: &Communicator,
    operation: impl Fn(f32, f32) -> f32,
) -> Result<(), Error> {
    Error::require_equal_lengths("naive_allreduce", send, receive)?;
    // write: naive_allreduce
    let (rank, size) = (communicator.rank(), communicator.size());
    let mut buffer = send.to_vec();
    communicator.scope(|scope| {
        for to in (0..size).filter(|&to| to != rank) {
            let _completed_by_the_scope = scope.send(send, to, TAG)?;
        }
        for from in 0..size {
            if from == rank {
                buffer.copy_from_slice(send);
            } else {
                communicator.receive(&mut buffer, Source::Rank(from), TAG)?;
            }
            for (total, &x) in receive.iter_mut().zip(&buffer) {
                *total = if from == 0 { x } else { operation(*total, x) };
            }
        }
        Ok(())
    })
    // end
}
