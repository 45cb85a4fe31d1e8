use std::ops::Range;

use mpi_driver::{Communicator, Datatype, Error, ReceiveRequest, Scope, SendMutRequest, Source};

use crate::{Sent, TAG};

/// All-reduces on a ring (P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for
/// clusters of workstations", J. Parallel Distrib. Comput. 69, 2009). The buffer is divided into
/// one part per rank. In n − 1 steps, each rank passes a part to its right neighbor, which combines
/// it with its own. Each rank then has one part of the result. In n − 1 further steps, the parts of
/// the result travel around the ring. A message is 1/n of the buffer, so the time hardly depends on
/// n if bandwidth is the bound.
///
/// The result has the same bits on every rank: each part is combined only once, on one rank after
/// another.
///
/// # Errors
/// If the lengths differ, a rank has ended, or MPI fails.
pub fn ring_allreduce<T: Datatype>(
    send: &[T],
    receive: &mut [T],
    communicator: &Communicator,
    operation: impl Fn(T, T) -> T,
) -> Result<Sent, Error> {
    Error::require_equal_lengths("ring_allreduce", send, receive)?;
    receive.copy_from_slice(send);
    ring_allreduce_in_place(receive, communicator, operation)
}

/// Runs [`ring_allreduce`] with one buffer for both input and result.
///
/// # Errors
/// If a rank has ended, or MPI fails.
pub fn ring_allreduce_in_place<T: Datatype>(
    receive: &mut [T],
    communicator: &Communicator,
    operation: impl Fn(T, T) -> T,
) -> Result<Sent, Error> {
    Rings::new().all_reduce_each(&mut [receive], communicator, operation, |_, _| ())
}

/// All-reduces several buffers on rings. Each starts when its buffer is filled. Keeps its memory
/// between calls.
#[derive(Clone, Debug, Default)]
pub struct Rings<T> {
    /// For each buffer, the part being received.
    arrived: Vec<Vec<T>>,
}

impl<T: Datatype> Rings<T> {
    /// Creates rings without memory; it is allocated later.
    pub fn new() -> Self {
        Self { arrived: Vec::new() }
    }

    /// Calls `fill` for each buffer and its index, in order, and combines the buffer with the other
    /// ranks' buffers by [`ring_allreduce`]. Buffers filled earlier are in transit while `fill`
    /// runs, and make progress between two calls.
    ///
    /// # Errors
    /// If a rank has ended, or MPI fails.
    pub fn all_reduce_each(
        &mut self,
        buffers: &mut [&mut [T]],
        communicator: &Communicator,
        operation: impl Fn(T, T) -> T,
        mut fill: impl FnMut(usize, &mut [T]),
    ) -> Result<Sent, Error> {
        self.arrived.resize_with(buffers.len(), Vec::new);
        let mut sent = Sent::default();
        communicator.scope(|scope| -> Result<(), Error> {
            let mut rings: Vec<Ring<'_, '_, '_, T>> = Vec::with_capacity(buffers.len());
            for (index, (buffer, arrived)) in buffers.iter_mut().zip(&mut self.arrived).enumerate() {
                fill(index, buffer);
                rings.push(Ring::start(scope, communicator, index, buffer, arrived, &mut sent)?);
                for ring in &mut rings {
                    ring.advance(&operation, Until::Unavailable, &mut sent)?;
                }
            }
            rings.iter_mut().try_for_each(|ring| ring.advance(&operation, Until::Complete, &mut sent))
        })?;
        Ok(sent)
    }
}

/// How far to advance a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// Until its next message has not arrived yet.
    Unavailable,
    /// Until it is complete.
    Complete,
}

/// Number of tags from [`TAG`] on, for buffers reduced at the same time.
const TAGS: usize = 16_384;

/// The all-reduce of one buffer.
struct Ring<'a, 'scope, 'env, T> {
    scope: &'scope Scope<'scope, 'env>,
    communicator: &'a Communicator,
    tag: u16,
    /// The parts of the buffer that no operation has borrowed at the moment.
    parts: Vec<Option<&'scope mut [T]>>,
    /// A buffer for one part, unless an operation has borrowed it.
    arrived: Option<&'scope mut [T]>,
    /// Number of steps started.
    steps: usize,
    /// The pending operations of the last step, unless their parts are empty.
    sending: Option<(usize, SendMutRequest<'scope, T>)>,
    receiving: Option<(usize, ReceiveRequest<'scope, T>)>,
}

impl<'a, 'scope, 'env, T: Datatype> Ring<'a, 'scope, 'env, T> {
    fn start(
        scope: &'scope Scope<'scope, 'env>,
        communicator: &'a Communicator,
        index: usize,
        buffer: &'scope mut [T],
        arrived: &'scope mut Vec<T>,
        sent: &mut Sent,
    ) -> Result<Self, Error> {
        let (size, length) = (communicator.size(), buffer.len());
        arrived.resize(length.div_ceil(size), T::zeroed());
        let mut parts = Vec::with_capacity(size);
        let mut rest = buffer;
        for index in 0..size {
            let (first, others) = rest.split_at_mut(part(length, index, size).len());
            parts.push(Some(first));
            rest = others;
        }
        let tag = TAG + u16::try_from(index % TAGS).expect("it is below the number of tags");
        let arrived = Some(&mut arrived[..]);
        let mut ring = Self { scope, communicator, tag, parts, arrived, steps: 0, sending: None, receiving: None };
        ring.begin(sent)?;
        Ok(ring)
    }

    /// Number of steps in each half: reduce-scatter, and all-gather.
    fn half(&self) -> usize {
        self.communicator.size() - 1
    }

    /// Starts the next step, if there is one.
    ///
    /// In reduce-scatter, a rank passes on the part that it has just combined; in the first step,
    /// its own part. In all-gather, a rank passes on the part of the result that it received last.
    fn begin(&mut self, sent: &mut Sent) -> Result<(), Error> {
        let (rank, size, half, step) = (self.communicator.rank(), self.parts.len(), self.half(), self.steps);
        if step == 2 * half {
            return Ok(());
        }
        let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
        // In step `half`, part rank + 1 was combined last, so the indices simply continue.
        let (to_send, to_receive) = ((rank + 2 * size - step) % size, (rank + 2 * size - step - 1) % size);
        let take = |part: &mut Option<&'scope mut [T]>| part.take().expect("no operation has the part");
        // If there are fewer elements than ranks, empty parts are not sent. Both ends know this.
        if !is_empty(&self.parts[to_receive]) {
            let buffer = take(if step < half { &mut self.arrived } else { &mut self.parts[to_receive] });
            self.receiving = Some((to_receive, self.scope.receive(buffer, Source::Rank(left), self.tag)?));
        }
        if !is_empty(&self.parts[to_send]) {
            let buffer = take(&mut self.parts[to_send]);
            sent.add(buffer);
            self.sending = Some((to_send, self.scope.send_mut(buffer, right, self.tag)?));
        }
        self.steps += 1;
        Ok(())
    }

    /// Advances the all-reduce step by step.
    fn advance(&mut self, operation: impl Fn(T, T) -> T, until: Until, sent: &mut Sent) -> Result<(), Error> {
        while self.sending.is_some() || self.receiving.is_some() || self.steps < 2 * self.half() {
            let has_arrived = self.receiving.as_ref().is_none_or(|(_, receiving)| receiving.is_complete());
            let is_sent = self.sending.as_ref().is_none_or(|(_, sending)| sending.is_complete());
            if until == Until::Unavailable && !(has_arrived && is_sent) {
                return Ok(());
            }
            if let Some((index, receiving)) = self.receiving.take() {
                let (message, buffer) = receiving.wait()?;
                match &mut self.parts[index] {
                    Some(own) => {
                        let arrived = &buffer[..message.count];
                        own.iter_mut().zip(arrived).for_each(|(total, &x)| *total = operation(*total, x));
                        self.arrived = Some(buffer);
                    }
                    own => *own = Some(buffer),
                }
            }
            if let Some((index, sending)) = self.sending.take() {
                self.parts[index] = Some(sending.wait()?);
            }
            self.begin(sent)?;
        }
        Ok(())
    }
}

fn is_empty<T>(part: &Option<&mut [T]>) -> bool {
    part.as_ref().is_none_or(|part| part.is_empty())
}

/// The range of part `index` if `length` elements are split into `parts` parts with lengths that
/// differ by at most 1.
pub(crate) fn part(length: usize, index: usize, parts: usize) -> Range<usize> {
    // The products do not overflow: a buffer is no larger than the address space.
    let start = |index: usize| (length as u128 * index as u128 / parts as u128) as usize;
    start(index)..start(index + 1)
}
