use std::ops::Range;

use mpi_driver::{Communicator, Element, Error, Source};

use crate::{Sent, TAG};

/// All-reduce on a ring (P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
/// workstations", J. Parallel Distrib. Comput. 69, 2009). The buffer has a part for each rank. In n − 1 steps, each
/// rank passes a part on to its right neighbour, which combines it with its own; then each rank has one part of the
/// result. In n − 1 further steps, the parts of the result go round. Messages have 1/n of the buffer, so that the time
/// hardly depends on n where the bandwidth is the bound.
///
/// The result has the same bits on every rank: a part is combined on one rank after the other, once.
///
/// # Errors
/// If the lengths differ, a rank has ended, or MPI fails.
pub fn ring_allreduce<T: Element>(
    send: &[T],
    receive: &mut [T],
    communicator: &Communicator,
    operation: impl Fn(T, T) -> T,
) -> Result<Sent, Error> {
    Error::require_equal_lengths("ring_allreduce", send, receive)?;
    receive.copy_from_slice(send);
    ring_allreduce_in_place(receive, communicator, operation)
}

/// [`ring_allreduce`] with one buffer for both.
///
/// # Errors
/// If a rank has ended, or MPI fails.
pub fn ring_allreduce_in_place<T: Element>(
    receive: &mut [T],
    communicator: &Communicator,
    operation: impl Fn(T, T) -> T,
) -> Result<Sent, Error> {
    let length = receive.len();
    let (rank, size) = (communicator.rank(), communicator.size());
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut sent = Sent::default();
    // Empty parts, if there are fewer elements than ranks, are not sent.
    let mut buffer = vec![T::zeroed(); length.div_ceil(size)];

    // Reduce-scatter: in each step a rank passes on the part that it has just combined, the first step its own.
    for step in 0..size - 1 {
        let to_send = part(length, (rank + size - step) % size, size);
        let to_combine = part(length, (rank + 2 * size - step - 1) % size, size);
        let arrived = &mut buffer[..to_combine.len()];
        exchange(communicator, (&receive[to_send], right), (arrived, left), &mut sent)?;
        let own = receive[to_combine].iter_mut().zip(arrived.iter());
        own.for_each(|(total, &x)| *total = operation(*total, x));
    }
    // All-gather: in each step a rank passes on the part of the result that it has got last.
    for step in 0..size - 1 {
        let to_send = part(length, (rank + 1 + size - step) % size, size);
        let to_store = part(length, (rank + size - step) % size, size);
        let parts = receive.get_disjoint_mut([to_send, to_store]);
        let [to_send, to_store] = parts.expect("different parts do not overlap");
        exchange(communicator, (to_send, right), (to_store, left), &mut sent)?;
    }
    Ok(sent)
}

/// Part `index` of `length` elements in `parts`, whose lengths differ by 1 at most.
fn part(length: usize, index: usize, parts: usize) -> Range<usize> {
    // The products fit: a buffer is not larger than the address space.
    let start = |index: usize| (length as u128 * index as u128 / parts as u128) as usize;
    start(index)..start(index + 1)
}

/// Sends to the right and receives from the left, of messages that are not empty; both ends know their lengths.
fn exchange<T: Element>(
    communicator: &Communicator,
    (send, right): (&[T], usize),
    (receive, left): (&mut [T], usize),
    sent: &mut Sent,
) -> Result<(), Error> {
    if !send.is_empty() {
        sent.add(send);
    }
    match (send.is_empty(), receive.is_empty()) {
        (true, true) => Ok(()),
        (false, true) => communicator.send(send, right, TAG),
        (true, false) => communicator.receive(receive, Source::Rank(left), TAG).map(drop),
        (false, false) => communicator.send_receive((send, right), (receive, Source::Rank(left)), TAG).map(drop),
    }
}
