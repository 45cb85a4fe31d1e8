use mpi_driver::{Communicator, Datatype, Error, Source};

use crate::{Sent, TAG};

/// Elements per message. While a rank combines one message, the previous rank combines the next one.
const SEGMENT: usize = 8192;

/// All-reduces the buffers `parts` of all ranks into `total`. Rank 0's parts are combined first,
/// and each rank's in order. The result is ((p₀ ∘ p₁) ∘ p₂) … over all parts. As long as their
/// order is the same, it has the same bits for any number of ranks and any distribution of the
/// parts. A rank may have no parts.
///
/// The ranks form a chain. Each one adds its parts to what it received from the previous rank and
/// passes the sum on. The last rank sends the result to all. This takes longer than
/// [`ring_allreduce`](crate::ring_allreduce), where all ranks work at the same time.
///
/// # Errors
/// If the lengths of a part and `total` differ, no rank has a part, a rank has ended, or MPI fails.
pub fn chain_allreduce<T: Datatype>(
    parts: &[&[T]],
    total: &mut [T],
    communicator: &Communicator,
    operation: impl Fn(T, T) -> T,
) -> Result<Sent, Error> {
    parts.iter().try_for_each(|part| Error::require_equal_lengths("chain_allreduce", part, total))?;
    let (rank, size) = (communicator.rank(), communicator.size());
    let mut sent = Sent::default();
    // The lengths show whether there is a sum yet: a rank without parts, and without a sum so far,
    // sends an empty message.
    let mut is_begun = false;
    for start in (0..total.len()).step_by(SEGMENT) {
        let end = total.len().min(start + SEGMENT);
        let segment = &mut total[start..end];
        is_begun = match rank {
            0 => false,
            _ => communicator.receive(segment, Source::Rank(rank - 1), TAG)?.count > 0,
        };
        for part in parts {
            let part = &part[start..end];
            match is_begun {
                true => segment.iter_mut().zip(part).for_each(|(total, &x)| *total = operation(*total, x)),
                false => segment.copy_from_slice(part),
            }
            is_begun = true;
        }
        if rank + 1 < size {
            let message = if is_begun { &*segment } else { &[] };
            sent.add(message);
            communicator.send(message, rank + 1, TAG)?;
        }
    }
    if rank + 1 == size && !is_begun && !total.is_empty() {
        let reason = "no rank has a part".to_owned();
        return Err(Error { operation: "chain_allreduce", peer: None, reason });
    }
    communicator.broadcast(total, size - 1)?;
    Ok(sent)
}
