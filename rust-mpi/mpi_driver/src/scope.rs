//! Non-blocking operations, which borrow their buffers for a scope that completes them.

#![allow(unsafe_code, reason = "buffers of operations that run until the scope completes them")]

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use crate::communicator::{Backend, Communicator, Received, Source};
use crate::element::Element;
use crate::error::Error;
use crate::library::Handle;
use crate::threads::PostedReceive;

/// A scope of non-blocking operations; see [`Communicator::scope`].
#[derive(Debug)]
pub struct Scope<'scope, 'env> {
    communicator: &'env Communicator,
    /// In the order in which they were started.
    pending: RefCell<Vec<Pending>>,
    /// Both lifetimes are invariant, as those of `std::thread::Scope`: buffers must not live shorter than the scope.
    scope: PhantomData<Cell<&'scope ()>>,
    env: PhantomData<Cell<&'env ()>>,
}

#[derive(Debug)]
enum Pending {
    /// Completed, and its result taken or not needed.
    Done,
    /// Completed before its own wait.
    Completed(Result<Received, Error>),
    MpiSend(Handle),
    MpiReceive(Handle),
    ThreadsReceive(PostedReceive),
}

/// Runs `body` with a scope, and completes what it started.
pub(crate) fn run<'env, R>(
    communicator: &'env Communicator,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
) -> R {
    /// Completes everything, also if the body panics, before the buffers' borrows end.
    struct Complete<'a, 'scope, 'env>(&'a Scope<'scope, 'env>);

    impl Drop for Complete<'_, '_, '_> {
        fn drop(&mut self) {
            self.0.complete();
        }
    }

    let scope = Scope { communicator, pending: RefCell::new(Vec::new()), scope: PhantomData, env: PhantomData };
    let complete = Complete(&scope);
    let result = body(complete.0);
    drop(complete);
    result
}

impl<'scope> Scope<'scope, '_> {
    /// Starts to send a message.
    ///
    /// # Errors
    /// Those of [`Communicator::send`].
    pub fn send<T: Element>(
        &'scope self,
        buffer: &'scope [T],
        to: usize,
        tag: u16,
    ) -> Result<SendRequest<'scope>, Error> {
        self.communicator.require_message("MPI_Isend", Some(to), tag)?;
        let pending = match &self.communicator.backend {
            // SAFETY: the buffer is borrowed for the scope, which completes the request before it ends.
            Backend::Mpi(mpi) => Pending::MpiSend(unsafe { mpi.start_send(buffer, to, tag) }?),
            // The message is copied.
            Backend::Threads(threads) => {
                threads.send(buffer, to, tag)?;
                Pending::Done
            }
        };
        Ok(SendRequest { wait: self.waiter::<u8>(pending, Some(to)) })
    }

    /// Starts to receive a message of at most the buffer's length.
    ///
    /// # Errors
    /// Those of [`Communicator::receive`] that are known before the message arrives.
    pub fn receive<T: Element>(
        &'scope self,
        buffer: &'scope mut [T],
        from: Source,
        tag: u16,
    ) -> Result<ReceiveRequest<'scope, T>, Error> {
        self.communicator.require_message("MPI_Irecv", from.rank(), tag)?;
        let (data, length) = (buffer.as_mut_ptr(), buffer.len());
        let pending = match &self.communicator.backend {
            // SAFETY: the buffer is borrowed for the scope, which completes the request before it ends.
            Backend::Mpi(mpi) => Pending::MpiReceive(unsafe { mpi.start_receive(buffer, from, tag) }?),
            Backend::Threads(_) => Pending::ThreadsReceive(PostedReceive::new(buffer, from, tag)),
        };
        Ok(ReceiveRequest { wait: self.waiter::<T>(pending, from.rank()), data, length, buffer: PhantomData })
    }

    fn waiter<T: Element>(&'scope self, pending: Pending, peer: Option<usize>) -> Waiter<'scope> {
        let mut all = self.pending.borrow_mut();
        all.push(pending);
        let index = all.len() - 1;
        Waiter { wait: Box::new(move || self.wait::<T>(index, peer)) }
    }

    fn wait<T: Element>(&self, index: usize, peer: Option<usize>) -> Result<Received, Error> {
        let mut all = self.pending.borrow_mut();
        match (&self.communicator.backend, std::mem::replace(&mut all[index], Pending::Done)) {
            (_, Pending::Completed(result)) => result,
            (Backend::Mpi(mpi), Pending::MpiSend(request)) => mpi.wait::<T>(request, peer, false),
            (Backend::Mpi(mpi), Pending::MpiReceive(request)) => mpi.wait::<T>(request, peer, true),
            (Backend::Threads(threads), Pending::ThreadsReceive(posted)) => {
                // Messages go to receives in the order in which these were started.
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

    /// Completes or cancels everything that was not waited for.
    fn complete(&self) {
        let Backend::Mpi(mpi) = &self.communicator.backend else { return };
        for pending in self.pending.take() {
            match pending {
                Pending::MpiSend(_) | Pending::MpiReceive(_) if std::thread::panicking() => {
                    // The other rank might never receive or send.
                    mpi.abort(101);
                }
                // An error ends the request, too.
                Pending::MpiSend(request) => drop(mpi.wait::<u8>(request, None, false)),
                Pending::MpiReceive(request) => mpi.cancel(request),
                Pending::Done | Pending::Completed(_) | Pending::ThreadsReceive(_) => {}
            }
        }
    }
}

/// Waits for one request of a scope.
struct Waiter<'scope> {
    wait: Box<dyn FnOnce() -> Result<Received, Error> + 'scope>,
}

/// A send that was started.
#[must_use = "the scope waits for a send that is dropped"]
pub struct SendRequest<'scope> {
    wait: Waiter<'scope>,
}

impl SendRequest<'_> {
    /// Waits until the buffer was read.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn wait(self) -> Result<(), Error> {
        (self.wait.wait)().map(drop)
    }
}

/// A receive that was started.
#[must_use = "the scope cancels a receive that is dropped"]
pub struct ReceiveRequest<'scope, T> {
    wait: Waiter<'scope>,
    data: *mut T,
    length: usize,
    buffer: PhantomData<&'scope mut [T]>,
}

impl<'scope, T: Element> ReceiveRequest<'scope, T> {
    /// Waits until the message has arrived; returns the buffer, too.
    ///
    /// # Errors
    /// Those of [`Communicator::receive`].
    pub fn wait(self) -> Result<(Received, &'scope mut [T]), Error> {
        let received = (self.wait.wait)()?;
        // SAFETY: the request has borrowed the buffer for 'scope, and is completed.
        Ok((received, unsafe { std::slice::from_raw_parts_mut(self.data, self.length) }))
    }
}
