//! A group of ranks that exchange messages.

use std::cell::RefCell;

use crate::element::{Datatype, Number, Operation};
use crate::error::Error;
use crate::message::{Received, Source};
use crate::mpi::MpiCommunicator;
use crate::sent::Sent;
use crate::threads::ThreadCommunicator;

/// Maximum tag of a message: the lowest upper bound that the standard guarantees.
pub const MAX_TAG: u16 = 32_767;

/// A group of ranks that exchange messages. The ranks are MPI processes or threads of this process.
#[derive(Debug)]
pub struct Communicator {
    pub(crate) backend: Backend,
    sent: RefCell<Sent>,
}

#[derive(Debug)]
pub(crate) enum Backend {
    Mpi(MpiCommunicator),
    Threads(ThreadCommunicator),
}

/// Calls the same function on either backend.
macro_rules! on_backend {
    ($communicator:expr, $backend:ident => $call:expr) => {
        match &$communicator.backend {
            Backend::Mpi($backend) => $call,
            Backend::Threads($backend) => $call,
        }
    };
}

impl Communicator {
    pub(crate) fn new(backend: Backend) -> Self {
        let communicator = Self { backend, sent: RefCell::default() };
        communicator.sent.replace(Sent::nothing(communicator.size()));
        communicator
    }

    /// This rank's index, from 0.
    pub fn rank(&self) -> usize {
        on_backend!(self, backend => backend.rank())
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        on_backend!(self, backend => backend.size())
    }

    /// Whether the ranks are threads of this process.
    pub fn is_threads(&self) -> bool {
        matches!(self.backend, Backend::Threads(_))
    }

    /// What this rank has sent through this communicator since it was created. A communicator from
    /// [`Self::split`] counts its own messages.
    pub fn sent(&self) -> Sent {
        self.sent.borrow().clone()
    }

    /// Waits until every rank has called this.
    ///
    /// # Errors
    /// If a rank has ended, or MPI fails.
    pub fn barrier(&self) -> Result<(), Error> {
        self.count_collective();
        on_backend!(self, backend => backend.barrier())
    }

    /// Copies the buffer of rank `root` to every rank's buffer. All buffers must have the same length.
    ///
    /// # Errors
    /// If `root` is not a rank, the lengths differ, a rank has ended, or MPI fails.
    pub fn broadcast<T: Datatype>(&self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        self.require_rank("MPI_Bcast", root)?;
        self.count_collective();
        on_backend!(self, backend => backend.broadcast(buffer, root))
    }

    /// Combines the ranks' buffers `send` element by element. Every rank receives the result. All
    /// buffers must have the same length. Threads combine in rank order. MPI may choose another
    /// order, which rounds sums differently.
    ///
    /// # Errors
    /// If the lengths differ, a rank has ended, or MPI fails.
    pub fn all_reduce<T: Number>(&self, send: &[T], receive: &mut [T], operation: Operation) -> Result<(), Error> {
        Error::require_equal_lengths("MPI_Allreduce", send, receive)?;
        self.count_collective();
        on_backend!(self, backend => backend.all_reduce(Some(send), receive, operation))
    }

    /// Runs [`Self::all_reduce`] with one buffer for both input and result.
    ///
    /// # Errors
    /// The errors of [`Self::all_reduce`].
    pub fn all_reduce_in_place<T: Number>(&self, buffer: &mut [T], operation: Operation) -> Result<(), Error> {
        self.count_collective();
        on_backend!(self, backend => backend.all_reduce(None, buffer, operation))
    }

    /// Concatenates the ranks' buffers in rank order. All buffers must have the same length. Rank
    /// `root` receives the result, the others receive `None`.
    ///
    /// # Errors
    /// If `root` is not a rank, the lengths differ, a rank has ended, or MPI fails.
    pub fn gather<T: Datatype>(&self, send: &[T], root: usize) -> Result<Option<Vec<T>>, Error> {
        self.require_rank("MPI_Gather", root)?;
        self.count_collective();
        on_backend!(self, backend => backend.gather(send, root))
    }

    /// Sends a message. It may or may not return before the message is received.
    ///
    /// # Errors
    /// If `to` is not a rank, `tag` is above [`MAX_TAG`], or MPI fails.
    pub fn send<T: Datatype>(&self, buffer: &[T], to: usize, tag: u16) -> Result<(), Error> {
        self.require_message("MPI_Send", Some(to), tag)?;
        self.count(buffer, to);
        on_backend!(self, backend => backend.send(buffer, to, tag))
    }

    /// Receives a message of at most the buffer's length into its start.
    ///
    /// # Errors
    /// If the source is not a rank, `tag` is above [`MAX_TAG`], the message is longer than the buffer or of another
    /// type, the source has ended, or MPI fails.
    pub fn receive<T: Datatype>(&self, buffer: &mut [T], from: Source, tag: u16) -> Result<Received, Error> {
        self.require_message("MPI_Recv", from.rank(), tag)?;
        on_backend!(self, backend => backend.receive(buffer, from, tag))
    }

    /// Sends to one rank and receives from one at the same time. They may be the same rank.
    ///
    /// # Errors
    /// The errors of [`Self::send`] and [`Self::receive`].
    pub fn send_receive<T: Datatype>(
        &self,
        (send, to): (&[T], usize),
        (receive, from): (&mut [T], Source),
        tag: u16,
    ) -> Result<Received, Error> {
        self.require_message("MPI_Sendrecv", Some(to), tag)?;
        self.require_message("MPI_Sendrecv", from.rank(), tag)?;
        self.count(send, to);
        on_backend!(self, backend => backend.send_receive((send, to), (receive, from), tag))
    }

    /// Returns the message that [`Self::receive`] would receive, if one has arrived. `T` is its
    /// element type.
    ///
    /// # Errors
    /// If the source is not a rank, `tag` is above [`MAX_TAG`], or MPI fails.
    pub fn probe<T: Datatype>(&self, from: Source, tag: u16) -> Result<Option<Received>, Error> {
        self.require_message("MPI_Iprobe", from.rank(), tag)?;
        on_backend!(self, backend => backend.probe::<T>(from, tag))
    }

    /// Creates a communicator for the ranks with the same `color`, ordered by `key` and, for equal
    /// keys, by rank. Every rank must call this.
    ///
    /// # Errors
    /// If `color` or `key` is above 2³¹ − 1, a rank has ended, or MPI fails.
    pub fn split(&self, color: u32, key: usize) -> Result<Self, Error> {
        let too_large = || Error {
            operation: "MPI_Comm_split",
            peer: None,
            reason: format!("color {color} or key {key} is above {}", i32::MAX),
        };
        let color = i32::try_from(color).map_err(|_| too_large())?;
        let key = i32::try_from(key).map_err(|_| too_large())?;
        self.count_collective();
        Ok(Self::new(match &self.backend {
            Backend::Mpi(backend) => Backend::Mpi(backend.split(color, key)?),
            Backend::Threads(backend) => Backend::Threads(backend.split(color, key)?),
        }))
    }

    /// Seconds since some point in the past, which may differ between ranks.
    pub fn wall_time(&self) -> f64 {
        on_backend!(self, backend => backend.wall_time())
    }

    /// Ends all ranks. Processes exit with `code`, if the launcher passes it on. With threads, the
    /// calling one panics, and the others' operations fail.
    ///
    /// # Panics
    /// Always, if the ranks are threads.
    pub fn abort(&self, code: u8) -> ! {
        on_backend!(self, backend => backend.abort(code))
    }

    /// Counts a message that is about to be sent.
    pub(crate) fn count<T>(&self, message: &[T], to: usize) {
        self.sent.borrow_mut().add(message, to);
    }

    fn count_collective(&self) {
        self.sent.borrow_mut().collectives += 1;
    }

    pub(crate) fn require_message(&self, operation: &'static str, peer: Option<usize>, tag: u16) -> Result<(), Error> {
        if tag > MAX_TAG {
            return Err(Error { operation, peer, reason: format!("tag {tag} is above {MAX_TAG}") });
        }
        peer.map_or(Ok(()), |peer| self.require_rank(operation, peer))
    }

    fn require_rank(&self, operation: &'static str, rank: usize) -> Result<(), Error> {
        let size = self.size();
        match rank < size {
            true => Ok(()),
            false => Err(Error { operation, peer: None, reason: format!("rank {rank} is not below the size {size}") }),
        }
    }
}
