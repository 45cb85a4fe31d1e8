use mpi_driver::{Communicator, Datatype, Error, Source};

use crate::{Sent, TAG};

/// All-reduces by sending each rank's whole buffer to every other rank. Each rank combines all
/// buffers itself, in rank order, so the result has the same bits on every rank.
///
/// # Errors
/// If the lengths differ, a rank has ended, or MPI fails.
pub fn naive_allreduce<T: Datatype>(
    send: &[T],
    receive: &mut [T],
    communicator: &Communicator,
    operation: impl Fn(T, T) -> T,
) -> Result<Sent, Error> {
    Error::require_equal_lengths("naive_allreduce", send, receive)?;
    let (rank, size) = (communicator.rank(), communicator.size());
    let mut sent = Sent::default();
    let mut buffer = send.to_vec();
    communicator.scope(|scope| {
        let mut requests = Vec::with_capacity(size);
        // Each rank starts with its neighbor, so they do not all send to rank 0 first.
        for to in (1..size).map(|step| (rank + step) % size) {
            requests.push(scope.send(send, to, TAG)?);
            sent.add(send);
        }
        for from in 0..size {
            let other = match from == rank {
                true => send,
                false => {
                    communicator.receive(&mut buffer, Source::Rank(from), TAG)?;
                    &buffer[..]
                }
            };
            match from {
                0 => receive.copy_from_slice(other),
                _ => receive.iter_mut().zip(other).for_each(|(total, &x)| *total = operation(*total, x)),
            }
        }
        requests.into_iter().try_for_each(|request| request.wait())
    })?;
    Ok(sent)
}
