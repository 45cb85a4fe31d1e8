use mpi_driver::{Communicator, Datatype, Error, Source};

use crate::{Sent, TAG};

/// Elements of a message: while a rank combines one, the rank before it combines the next.
const SEGMENT: usize = 8192;

/// All-reduce of several buffers from each rank, `parts`, into `total`: rank 0's are combined first, each rank's in
/// their order. The result is ((p₀ ∘ p₁) ∘ p₂) … over all parts: it has the same bits however the parts are distributed
/// to how many ranks, if their order stays the same. A rank may have none.
///
/// The ranks are a chain: each adds its parts to what the ranks before it have sent, and passes it on; the last one
/// sends the result to all. That takes longer than [`ring_allreduce`](crate::ring_allreduce), where all ranks work at
/// the same time.
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
    // Whether there is a sum yet is known from the lengths: without parts, a rank sends an empty message.
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
