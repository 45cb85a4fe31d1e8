//! The ranks of an MPI library.

#![allow(unsafe_code, reason = "calls of the MPI library")]

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::rc::Rc;

use crate::element::{Datatype, Kind, Number, Operation};
use crate::error::Error;
use crate::library::{Handle, Mpi, Status};
use crate::message::{Received, Source};

/// Finalizes MPI when the last communicator is gone.
#[derive(Debug)]
struct Environment {
    mpi: &'static Mpi,
    /// MPI was initialized for calls from one thread.
    of_one_thread: PhantomData<*const ()>,
}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: MPI is initialized, and no communicator is left.
        unsafe {
            if std::thread::panicking() {
                (self.mpi.functions.abort)(self.mpi.constants.world, 101);
            } else {
                (self.mpi.functions.finalize)();
            }
        }
    }
}

/// What a request is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// The element type of a message to receive. `None` for a send: its status contains nothing useful.
    pub(crate) received: Option<Kind>,
    pub(crate) peer: Option<usize>,
}

/// A communicator of MPI.
#[derive(Debug)]
pub(crate) struct MpiCommunicator {
    environment: Rc<Environment>,
    handle: Handle,
    /// Whether dropping it frees it.
    is_owned: bool,
    rank: usize,
    size: usize,
}

impl Drop for MpiCommunicator {
    fn drop(&mut self) {
        if self.is_owned && !std::thread::panicking() {
            // SAFETY: the handle is valid and not used afterwards.
            unsafe { (self.mpi().functions.comm_free)(&raw mut self.handle) };
        }
    }
}

impl MpiCommunicator {
    /// All ranks of `mpi`, which must be initialized. MPI is finalized when this and all
    /// communicators split from it are dropped.
    pub(crate) fn world(mpi: &'static Mpi) -> Result<Self, Error> {
        let environment = Rc::new(Environment { mpi, of_one_thread: PhantomData });
        Self::new(environment, mpi.constants.world, false)
    }

    fn new(environment: Rc<Environment>, handle: Handle, is_owned: bool) -> Result<Self, Error> {
        let mpi = environment.mpi;
        mpi.return_errors(handle)?;
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the handle is valid, and both pointers are valid for writes.
        let codes = unsafe {
            [(mpi.functions.comm_rank)(handle, &raw mut rank), (mpi.functions.comm_size)(handle, &raw mut size)]
        };
        mpi.check(codes[0], "MPI_Comm_rank", None)?;
        mpi.check(codes[1], "MPI_Comm_size", None)?;
        let [rank, size] = [rank, size].map(|value| usize::try_from(value).expect("ranks are not negative"));
        Ok(Self { environment, handle, is_owned, rank, size })
    }

    fn mpi(&self) -> &'static Mpi {
        self.environment.mpi
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn barrier(&self) -> Result<(), Error> {
        // SAFETY: the communicator is valid.
        let code = unsafe { (self.mpi().functions.barrier)(self.handle) };
        self.mpi().check(code, "MPI_Barrier", None)
    }

    pub(crate) fn broadcast<T: Datatype>(&self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        const NAME: &str = "MPI_Bcast";
        let (mpi, count) = (self.mpi(), count_of(buffer, NAME)?);
        let data = data_mut(buffer);
        // SAFETY: the buffer has `count` elements of the type, and any bits are a valid element.
        let code = unsafe { (mpi.functions.bcast)(data, count, self.type_of::<T>(), rank_of(root), self.handle) };
        mpi.check(code, NAME, Some(root))
    }

    /// Works in place if there is no `send`.
    pub(crate) fn all_reduce<T: Number>(
        &self,
        send: Option<&[T]>,
        receive: &mut [T],
        operation: Operation,
    ) -> Result<(), Error> {
        const NAME: &str = "MPI_Allreduce";
        let (mpi, count) = (self.mpi(), count_of(receive, NAME)?);
        let send = match send {
            Some(send) => data(send),
            None => ptr::without_provenance(mpi.constants.in_place),
        };
        let (kind, operation) = (self.type_of::<T>(), mpi.constants.operation(operation));
        let data = data_mut(receive);
        // SAFETY: both buffers have `count` elements of the type, or the first is MPI_IN_PLACE.
        let code = unsafe { (mpi.functions.allreduce)(send, data, count, kind, operation, self.handle) };
        mpi.check(code, NAME, None)
    }

    pub(crate) fn gather<T: Datatype>(&self, send: &[T], root: usize) -> Result<Option<Vec<T>>, Error> {
        const NAME: &str = "MPI_Gather";
        let (mpi, count, kind) = (self.mpi(), count_of(send, NAME)?, self.type_of::<T>());
        let mut all = vec![T::zeroed(); if self.rank == root { send.len() * self.size } else { 0 }];
        let (from, to) = (data(send), data_mut(&mut all));
        // SAFETY: `send` has `count` elements, and the root's buffer has that many for each rank.
        let code = unsafe { (mpi.functions.gather)(from, count, kind, to, count, kind, rank_of(root), self.handle) };
        mpi.check(code, NAME, Some(root))?;
        Ok((self.rank == root).then_some(all))
    }

    pub(crate) fn send<T: Datatype>(&self, buffer: &[T], to: usize, tag: u16) -> Result<(), Error> {
        const NAME: &str = "MPI_Send";
        let (mpi, count, kind) = (self.mpi(), count_of(buffer, NAME)?, self.type_of::<T>());
        let data = data(buffer);
        // SAFETY: the buffer has `count` elements of the type.
        let code = unsafe { (mpi.functions.send)(data, count, kind, rank_of(to), tag.into(), self.handle) };
        mpi.check(code, NAME, Some(to))
    }

    pub(crate) fn receive<T: Datatype>(&self, buffer: &mut [T], from: Source, tag: u16) -> Result<Received, Error> {
        const NAME: &str = "MPI_Recv";
        let (mpi, count, kind) = (self.mpi(), count_of(buffer, NAME)?, self.type_of::<T>());
        let (mut status, source) = (Status::default(), self.source(from));
        let data = data_mut(buffer);
        // SAFETY: the buffer has `count` elements of the type, and any bits are a valid element. A
        // longer message is an error.
        let code = unsafe { (mpi.functions.recv)(data, count, kind, source, tag.into(), self.handle, &raw mut status) };
        mpi.check(code, NAME, from.rank())?;
        self.received(&status, kind)
    }

    pub(crate) fn send_receive<T: Datatype>(
        &self,
        (send, to): (&[T], usize),
        (receive, from): (&mut [T], Source),
        tag: u16,
    ) -> Result<Received, Error> {
        const NAME: &str = "MPI_Sendrecv";
        let (mpi, kind) = (self.mpi(), self.type_of::<T>());
        let (sent, room) = (count_of(send, NAME)?, count_of(receive, NAME)?);
        let (mut status, source, tag) = (Status::default(), self.source(from), c_int::from(tag));
        let (from_data, to_data) = (data(send), data_mut(receive));
        // SAFETY: both buffers have the stated number of elements of the type, and they do not overlap.
        let code = unsafe {
            (mpi.functions.sendrecv)(
                from_data,
                sent,
                kind,
                rank_of(to),
                tag,
                to_data,
                room,
                kind,
                source,
                tag,
                self.handle,
                &raw mut status,
            )
        };
        mpi.check(code, NAME, Some(to))?;
        self.received(&status, kind)
    }

    pub(crate) fn probe<T: Datatype>(&self, from: Source, tag: u16) -> Result<Option<Received>, Error> {
        let mpi = self.mpi();
        let (mut status, mut is_there, source) = (Status::default(), 0, self.source(from));
        // SAFETY: the pointers are valid for writes.
        let code =
            unsafe { (mpi.functions.iprobe)(source, tag.into(), self.handle, &raw mut is_there, &raw mut status) };
        mpi.check(code, "MPI_Iprobe", from.rank())?;
        (is_there != 0).then(|| self.received(&status, self.type_of::<T>())).transpose()
    }

    pub(crate) fn split(&self, color: i32, key: i32) -> Result<Self, Error> {
        let mut handle = 0;
        // SAFETY: the pointer is valid for writes.
        let code = unsafe { (self.mpi().functions.comm_split)(self.handle, color, key, &raw mut handle) };
        self.mpi().check(code, "MPI_Comm_split", None)?;
        Self::new(Rc::clone(&self.environment), handle, true)
    }

    pub(crate) fn wall_time(&self) -> f64 {
        // SAFETY: the function has no preconditions.
        unsafe { (self.mpi().functions.wtime)() }
    }

    pub(crate) fn abort(&self, code: u8) -> ! {
        // SAFETY: MPI is initialized.
        unsafe { (self.mpi().functions.abort)(self.mpi().constants.world, code.into()) };
        std::process::exit(code.into())
    }

    /// Starts a send.
    ///
    /// # Safety
    /// The buffer must stay valid and unchanged until [`Self::wait`] or [`Self::cancel`] returns for the request.
    pub(crate) unsafe fn start_send<T: Datatype>(&self, buffer: &[T], to: usize, tag: u16) -> Result<Handle, Error> {
        const NAME: &str = "MPI_Isend";
        let (mpi, count, kind) = (self.mpi(), count_of(buffer, NAME)?, self.type_of::<T>());
        let (mut request, data) = (0, data(buffer));
        // SAFETY: the buffer has `count` elements, for as long as the caller guarantees.
        let code =
            unsafe { (mpi.functions.isend)(data, count, kind, rank_of(to), tag.into(), self.handle, &raw mut request) };
        mpi.check(code, NAME, Some(to)).map(|()| request)
    }

    /// Starts a receive.
    ///
    /// # Safety
    /// The buffer must stay valid and unused until [`Self::wait`] or [`Self::cancel`] returns for the request.
    pub(crate) unsafe fn start_receive<T: Datatype>(
        &self,
        buffer: &mut [T],
        from: Source,
        tag: u16,
    ) -> Result<Handle, Error> {
        const NAME: &str = "MPI_Irecv";
        let (mpi, count, kind) = (self.mpi(), count_of(buffer, NAME)?, self.type_of::<T>());
        let (mut request, data) = (0, data_mut(buffer));
        // SAFETY: the buffer has `count` elements, for as long as the caller guarantees.
        let code = unsafe {
            (mpi.functions.irecv)(data, count, kind, self.source(from), tag.into(), self.handle, &raw mut request)
        };
        mpi.check(code, NAME, from.rank()).map(|()| request)
    }

    /// Waits for a request to complete.
    pub(crate) fn wait(&self, mut request: Handle, of: Expected) -> Result<Received, Error> {
        let mut status = Status::default();
        // SAFETY: the request was started and is waited for once.
        let code = unsafe { (self.mpi().functions.wait)(&raw mut request, &raw mut status) };
        self.mpi().check(code, "MPI_Wait", of.peer)?;
        self.completed(&status, of)
    }

    /// Returns a request's result if it is complete. The request must then not be waited for.
    pub(crate) fn test(&self, request: &mut Handle, of: Expected) -> Option<Result<Received, Error>> {
        let (mut status, mut is_complete) = (Status::default(), 0);
        // SAFETY: the request was started and is not complete.
        let code = unsafe { (self.mpi().functions.test)(request, &raw mut is_complete, &raw mut status) };
        if let Err(error) = self.mpi().check(code, "MPI_Test", of.peer) {
            return Some(Err(error));
        }
        (is_complete != 0).then(|| self.completed(&status, of))
    }

    fn completed(&self, status: &Status, of: Expected) -> Result<Received, Error> {
        match of.received {
            Some(kind) => self.received(status, self.mpi().constants.type_of(kind)),
            None => Ok(Received { source: self.rank, count: 0 }),
        }
    }

    /// Cancels a receive. Waits until it is canceled or, if its message had already arrived, completed.
    pub(crate) fn cancel(&self, mut request: Handle) {
        let mut status = Status::default();
        // SAFETY: the request belongs to a receive and is waited for once.
        unsafe {
            (self.mpi().functions.cancel)(&raw mut request);
            (self.mpi().functions.wait)(&raw mut request, &raw mut status);
        }
    }

    fn type_of<T: Datatype>(&self) -> Handle {
        self.mpi().constants.type_of(T::KIND)
    }

    fn source(&self, from: Source) -> c_int {
        from.rank().map_or(self.mpi().constants.any_source, rank_of)
    }

    fn received(&self, status: &Status, kind: Handle) -> Result<Received, Error> {
        let mut count = 0;
        // SAFETY: the status belongs to a message, and the pointer is valid for writes.
        let code = unsafe { (self.mpi().functions.get_count)(status, kind, &raw mut count) };
        let source = status.source(&self.mpi().constants);
        self.mpi().check(code, "MPI_Get_count", Some(source))?;
        let count = usize::try_from(count).map_err(|_| Error {
            operation: "MPI_Get_count",
            peer: Some(source),
            reason: "the message is not a whole number of elements: is it of another type?".to_owned(),
        })?;
        Ok(Received { source, count })
    }
}

/// Converts a rank below a communicator's size, which is a `c_int`.
fn rank_of(rank: usize) -> c_int {
    c_int::try_from(rank).expect("a rank was compared with the size")
}

/// The address of a buffer. For an empty slice, this could be any address, such as 1, which most
/// libraries use for MPI_IN_PLACE.
fn data<T>(buffer: &[T]) -> *const c_void {
    static EMPTY: u64 = 0;
    if buffer.is_empty() { (&raw const EMPTY).cast() } else { buffer.as_ptr().cast() }
}

/// Returns [`data`] for writing. Nothing is written to an empty buffer.
fn data_mut<T>(buffer: &mut [T]) -> *mut c_void {
    if buffer.is_empty() { data(buffer).cast_mut() } else { buffer.as_mut_ptr().cast() }
}

fn count_of<T>(buffer: &[T], operation: &'static str) -> Result<c_int, Error> {
    c_int::try_from(buffer.len()).map_err(|_| Error {
        operation,
        peer: None,
        reason: format!("{} elements are more than {}, the maximum of a message", buffer.len(), c_int::MAX),
    })
}
