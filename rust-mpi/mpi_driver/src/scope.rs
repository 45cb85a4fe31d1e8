//! Non-blocking operations. They borrow their buffers for a scope that completes them.

#![allow(unsafe_code, reason = "buffers of operations that run until the scope completes them")]

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use crate::communicator::{Backend, Communicator};
use crate::element::Datatype;
use crate::error::Error;
use crate::library::Handle;
use crate::message::{Received, Source};
use crate::mpi::Expected;
use crate::threads::PostedReceive;

/// A scope of non-blocking operations. See [`Communicator::scope`].
#[derive(Debug)]
pub struct Scope<'scope, 'env> {
    communicator: &'env Communicator,
    /// The requests, in the order in which they were started.
    pending: RefCell<Vec<Pending>>,
    /// Both lifetimes are invariant, as in `std::thread::Scope`: buffers must live at least as long
    /// as the scope.
    scope: PhantomData<Cell<&'scope ()>>,
    env: PhantomData<Cell<&'env ()>>,
}

#[derive(Debug)]
enum Pending {
    /// Completed; its result was taken or is not needed.
    Done,
    /// Completed before it was waited for.
    Completed(Result<Received, Error>),
    MpiSend(Handle),
    MpiReceive(Handle),
    ThreadsReceive(PostedReceive),
}

impl Communicator {
    /// Runs `body`, which can start non-blocking operations on buffers that outlive it. Operations
    /// that `body` did not wait for are completed before `scope` returns: receives are canceled
    /// unless their message has arrived, and sends wait for their receiver.
    ///
    /// # Panics
    /// If `body` panics. With MPI, a panic while sends or receives are pending ends all ranks.
    pub fn scope<'env, R>(&'env self, body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
        /// Completes everything before the buffers' borrows end, even if the body panics.
        struct Complete<'a, 'scope, 'env>(&'a Scope<'scope, 'env>);

        impl Drop for Complete<'_, '_, '_> {
            fn drop(&mut self) {
                self.0.complete();
            }
        }

        let scope =
            Scope { communicator: self, pending: RefCell::new(Vec::new()), scope: PhantomData, env: PhantomData };
        let complete = Complete(&scope);
        let result = body(complete.0);
        drop(complete);
        result
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts to send a message.
    ///
    /// # Errors
    /// The errors of [`Communicator::send`].
    pub fn send<T: Datatype>(
        &'scope self,
        buffer: &'scope [T],
        to: usize,
        tag: u16,
    ) -> Result<SendRequest<'scope>, Error> {
        self.communicator.require_message("MPI_Isend", Some(to), tag)?;
        self.communicator.count(buffer, to);
        let pending = match &self.communicator.backend {
            // SAFETY: the buffer is borrowed for the scope, which completes the request before it ends.
            Backend::Mpi(mpi) => Pending::MpiSend(unsafe { mpi.start_send(buffer, to, tag) }?),
            // The message is copied.
            Backend::Threads(threads) => {
                threads.send(buffer, to, tag)?;
                Pending::Done
            }
        };
        Ok(SendRequest { waiter: self.waiter(pending, Expected { received: None, peer: Some(to) }) })
    }

    /// Starts to send a message from a buffer that belongs to the scope alone until the send is
    /// complete. Then the buffer can be changed.
    ///
    /// # Errors
    /// The errors of [`Communicator::send`].
    pub fn send_mut<T: Datatype>(
        &'scope self,
        buffer: &'scope mut [T],
        to: usize,
        tag: u16,
    ) -> Result<SendMutRequest<'scope, T>, Error> {
        let held = HeldBuffer::new(buffer);
        // SAFETY: the buffer is borrowed for the scope. Only `held` has access to it now, and
        // changes it only after the request is complete. The operation no longer uses this slice
        // then.
        let SendRequest { waiter } =
            self.send(unsafe { std::slice::from_raw_parts(held.data, held.length) }, to, tag)?;
        Ok(SendMutRequest { waiter, held })
    }

    /// Starts to receive a message of at most the buffer's length.
    ///
    /// # Errors
    /// The errors of [`Communicator::receive`] that are known before the message arrives.
    pub fn receive<T: Datatype>(
        &'scope self,
        buffer: &'scope mut [T],
        from: Source,
        tag: u16,
    ) -> Result<ReceiveRequest<'scope, T>, Error> {
        self.communicator.require_message("MPI_Irecv", from.rank(), tag)?;
        let mut held = HeldBuffer::new(buffer);
        // SAFETY: this is the first and only operation.
        let buffer = unsafe { held.for_operation() };
        let pending = match &self.communicator.backend {
            // SAFETY: the buffer is borrowed for the scope, which completes the request before it ends.
            Backend::Mpi(mpi) => Pending::MpiReceive(unsafe { mpi.start_receive(buffer, from, tag) }?),
            Backend::Threads(_) => Pending::ThreadsReceive(PostedReceive::new(buffer, from, tag)),
        };
        let of = Expected { received: Some(T::KIND), peer: from.rank() };
        Ok(ReceiveRequest { waiter: self.waiter(pending, of), held })
    }

    fn waiter(&'scope self, pending: Pending, of: Expected) -> Waiter<'scope> {
        let mut all = self.pending.borrow_mut();
        all.push(pending);
        Waiter { operations: self, index: all.len() - 1, of }
    }
}

/// The operations of a scope, without the lifetime of its environment.
trait Operations {
    fn wait(&self, index: usize, of: Expected) -> Result<Received, Error>;

    /// Whether [`Self::wait`] would return immediately.
    fn is_complete(&self, index: usize, of: Expected) -> bool;
}

impl Operations for Scope<'_, '_> {
    fn wait(&self, index: usize, of: Expected) -> Result<Received, Error> {
        let mut all = self.pending.borrow_mut();
        match (&self.communicator.backend, std::mem::replace(&mut all[index], Pending::Done)) {
            (_, Pending::Completed(result)) => result,
            (Backend::Mpi(mpi), Pending::MpiSend(request) | Pending::MpiReceive(request)) => mpi.wait(request, of),
            (Backend::Threads(threads), Pending::ThreadsReceive(posted)) => {
                // Messages match receives in the order in which the receives were started.
                for earlier in &mut all[..index] {
                    if let Pending::ThreadsReceive(earlier_posted) = earlier
                        && earlier_posted.may_match(&posted)
                    {
                        // SAFETY: its buffer is borrowed until the scope ends.
                        *earlier = Pending::Completed(unsafe { threads.complete(earlier_posted) });
                    }
                }
                // SAFETY: as above.
                unsafe { threads.complete(&posted) }
            }
            _ => Ok(Received { source: self.communicator.rank(), count: 0 }),
        }
    }

    fn is_complete(&self, index: usize, of: Expected) -> bool {
        let mut all = self.pending.borrow_mut();
        match (&self.communicator.backend, &mut all[index]) {
            (Backend::Mpi(mpi), Pending::MpiSend(request) | Pending::MpiReceive(request)) => {
                let Some(result) = mpi.test(request, of) else { return false };
                all[index] = Pending::Completed(result);
            }
            (Backend::Threads(threads), Pending::ThreadsReceive(_)) => {
                let (earlier, rest) = all.split_at(index);
                let Pending::ThreadsReceive(posted) = &rest[0] else { return true };
                // A message matches the receive that was started first, so wait for that one first.
                let is_first = earlier
                    .iter()
                    .all(|earlier| !matches!(earlier, Pending::ThreadsReceive(other) if other.may_match(posted)));
                return is_first && threads.is_there(posted);
            }
            _ => {}
        }
        true
    }
}

impl Scope<'_, '_> {
    /// Completes or cancels every operation that was not waited for.
    fn complete(&self) {
        let Backend::Mpi(mpi) = &self.communicator.backend else { return };
        for pending in self.pending.take() {
            match pending {
                Pending::MpiSend(_) | Pending::MpiReceive(_) if std::thread::panicking() => {
                    // The other rank might never receive or send.
                    mpi.abort(101);
                }
                // An error also ends the request.
                Pending::MpiSend(request) => drop(mpi.wait(request, Expected { received: None, peer: None })),
                Pending::MpiReceive(request) => mpi.cancel(request),
                Pending::Done | Pending::Completed(_) | Pending::ThreadsReceive(_) => {}
            }
        }
    }
}

/// One request of a scope.
#[derive(Clone, Copy)]
struct Waiter<'scope> {
    operations: &'scope dyn Operations,
    index: usize,
    of: Expected,
}

impl Waiter<'_> {
    fn wait(self) -> Result<Received, Error> {
        self.operations.wait(self.index, self.of)
    }

    fn is_complete(self) -> bool {
        self.operations.is_complete(self.index, self.of)
    }
}

/// A buffer that an operation has borrowed until it is complete. The operation's slice is derived
/// from the pointer here. A separate borrow of the buffer would make the pointer invalid.
struct HeldBuffer<'scope, T> {
    data: *mut T,
    length: usize,
    buffer: PhantomData<&'scope mut [T]>,
}

impl<'scope, T> HeldBuffer<'scope, T> {
    /// Borrows the buffer for 'scope. Its owner cannot use it during that time.
    fn new(buffer: &'scope mut [T]) -> Self {
        Self { length: buffer.len(), data: buffer.as_mut_ptr(), buffer: PhantomData }
    }

    /// Returns the buffer for its operation. The operation may keep a pointer derived from it until
    /// it is complete.
    ///
    /// # Safety
    /// No operation may have been started with it before.
    unsafe fn for_operation(&mut self) -> &mut [T] {
        // SAFETY: it is borrowed for 'scope, and the caller guarantees that nothing else has a
        // pointer to it.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.length) }
    }

    /// Returns the buffer.
    ///
    /// # Safety
    /// It must be borrowed for 'scope, and its operation must be complete.
    unsafe fn into_slice(self) -> &'scope mut [T] {
        // SAFETY: the caller guarantees that it is borrowed, and that the operation no longer uses
        // its slice of it.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.length) }
    }
}

/// A send that was started.
#[must_use = "the scope waits for a send that is dropped"]
pub struct SendRequest<'scope> {
    waiter: Waiter<'scope>,
}

impl SendRequest<'_> {
    /// Waits until the buffer has been read.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn wait(self) -> Result<(), Error> {
        self.waiter.wait().map(drop)
    }
}

/// A send that was started and returns its buffer.
#[must_use = "the scope waits for a send that is dropped"]
pub struct SendMutRequest<'scope, T> {
    waiter: Waiter<'scope>,
    held: HeldBuffer<'scope, T>,
}

impl<'scope, T: Datatype> SendMutRequest<'scope, T> {
    /// Waits until the buffer has been read, and returns it.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn wait(self) -> Result<&'scope mut [T], Error> {
        self.waiter.wait()?;
        // SAFETY: the request has borrowed the buffer for 'scope and is complete.
        Ok(unsafe { self.held.into_slice() })
    }

    /// Whether [`Self::wait`] would return immediately. MPI makes progress during such calls.
    pub fn is_complete(&self) -> bool {
        self.waiter.is_complete()
    }
}

/// A receive that was started.
#[must_use = "the scope cancels a receive that is dropped"]
pub struct ReceiveRequest<'scope, T> {
    waiter: Waiter<'scope>,
    held: HeldBuffer<'scope, T>,
}

impl<'scope, T: Datatype> ReceiveRequest<'scope, T> {
    /// Waits until the message has arrived. Also returns the buffer.
    ///
    /// # Errors
    /// The errors of [`Communicator::receive`].
    pub fn wait(self) -> Result<(Received, &'scope mut [T]), Error> {
        let received = self.waiter.wait()?;
        // SAFETY: the request has borrowed the buffer for 'scope and is complete.
        Ok((received, unsafe { self.held.into_slice() }))
    }

    /// Whether [`Self::wait`] would return immediately. MPI makes progress during such calls. With
    /// threads, this is false while a receive that was started earlier may take the message.
    pub fn is_complete(&self) -> bool {
        self.waiter.is_complete()
    }
}
