use mpi_driver::{Communicator, Error, Source};

use crate::{TAG, part};

/// All-reduce as [`naive_allreduce`](crate::naive_allreduce), on a ring: each rank sends to its right neighbour alone,
/// rank + 1, and receives from its left one. The buffer is cut into a part for each rank, `part(length, index, size)`.
///
/// 1. Reduce-scatter, size − 1 steps: a rank sends a part to the right, in the first step that of its own index, then
///    always the one that it has just combined; and combines the part that arrives from the left with its own elements
///    there. Afterwards it has one part of the result.
/// 2. All-gather, size − 1 steps: a rank sends the part of the result that it has got last, and copies the one that
///    arrives.
///
/// A rank sends 2 (size − 1) messages of a part each, however many ranks there are about twice the buffer.
///
/// In each step all ranks send at once. `communicator.send` may wait until its message is received (MPI does, with long
/// ones), and then no rank receives. `communicator.send_receive((to_send, right), (&mut arrived, Source::Rank(left)), TAG)?`
/// does both at the same time.
///
/// # Errors
/// If the lengths differ, a rank has ended, or MPI fails.
pub fn ring_allreduce(
    send: &[f32],
    receive: &mut [f32],
    communicator: &Communicator,
    operation: impl Fn(f32, f32) -> f32,
) -> Result<(), Error> {
    Error::require_equal_lengths("ring_allreduce", send, receive)?;
    // write: ring_allreduce
    let (rank, size, length) = (communicator.rank(), communicator.size(), send.len());
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    receive.copy_from_slice(send);
    let mut buffer = vec![0.0; length.div_ceil(size)];
    for step in 0..2 * (size - 1) {
        let index = (rank + 2 * size - step) % size;
        let (to_send, to_receive) = (part(length, index, size), part(length, (index + size - 1) % size, size));
        let arrived = &mut buffer[..to_receive.len()];
        communicator.send_receive((&receive[to_send], right), (arrived, Source::Rank(left)), TAG)?;
        for (own, &x) in receive[to_receive].iter_mut().zip(&*arrived) {
            *own = if step < size - 1 { operation(*own, x) } else { x };
        }
    }
    Ok(())
    // end
}
