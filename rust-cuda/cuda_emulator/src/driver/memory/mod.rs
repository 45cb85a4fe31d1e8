//! Device memory: allocations, copies, fills and queries about an address.

mod attributes;
mod batch;
mod copy;
mod fill;
mod pages;
mod pool;
pub(crate) mod shared;

use std::ffi::c_uint;
use std::fmt::Debug;
use std::sync::Arc;

use ptx_interpreter::memory::{Extent, MemoryError, Region};

use crate::abi::{HostAddress, Out};
use crate::driver::pending::{self, Lane, Queue, Until};
use crate::driver::{State, context, in_context, state, stream};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;
use crate::work::Work;

pub(crate) use attributes::{Known, pointer_attribute, pointer_attributes, set_pointer_attribute};
pub(crate) use batch::{Batch, copy_batch, copy_batch_of_thread, copy_with};
pub(crate) use copy::{
    Address, Copy, Side, array_part, copy, copy_2d, copy_3d, copy_node, copy_peer, copy_rows, pending_copy,
};
pub(crate) use fill::{Fill, fill, fill_2d, fill_node};
pub(crate) use pool::{
    Pool, allocate_from, create_pool, default_pool, destroy_pool, pool_access, pool_attribute, pool_exists, pool_of,
    set_pool_access, set_pool_attribute,
};

/// Alignment of rows in a pitched allocation, in bytes.
const PITCH: usize = 512;

/// Location of bytes.
#[derive(Debug)]
pub(crate) enum Place {
    /// In the memory of the host.
    Host(HostAddress),
    /// In an allocation of a device.
    Device {
        /// The allocation's bytes.
        region: Arc<Region>,
        /// Offset of the first byte.
        offset: usize,
    },
}

/// When a transfer accesses host memory, if a stream's call queues it in an asynchronous order.
/// CUDA defines this by the kinds of memory ("API synchronization behavior" in the driver API
/// documentation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timing {
    /// When the transfer runs, after the call has returned.
    Later,
    /// The call reads the bytes before it returns.
    Staged,
    /// The call completes the transfer before it returns.
    AtCall,
    /// Like `AtCall`, after all work on all devices.
    Alone,
}

/// A copy or a fill.
trait Transfer: Debug + Clone + Send + Sync + 'static {
    /// The `CUgraphNodeType`.
    const NODE_TYPE: i32;

    /// When the transfer accesses host memory. `is_async` is true if the call has a stream.
    ///
    /// # Errors
    /// `INVALID_VALUE` if an address is wrong.
    fn timing(&self, state: &State, is_async: bool) -> Result<Timing>;

    /// The transfer as pending work that accesses host memory only when CUDA permits it.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the host's memory cannot be read.
    fn pending(self, state: &State, timing: Timing) -> Result<Arc<dyn Work>>;

    /// Transfers row by row, after checking all rows.
    ///
    /// # Errors
    /// `INVALID_VALUE` if an address is wrong.
    fn run_in(&self, state: &State) -> Result;
}

impl<T: Transfer> Work for T {
    fn run(&self) -> Result {
        self.run_in(&*state()?)
    }

    fn node_type(&self) -> i32 {
        T::NODE_TYPE
    }
}

/// Queues the transfer in a stream. Without a stream, runs it at once.
fn submit(transfer: impl Transfer, stream: Option<Handle>) -> Result {
    match stream {
        _ if pending::is_asynchronous() => submit_later(transfer, stream),
        Some(stream) => stream::submit(stream, Arc::new(transfer)),
        None => in_context(|state, _, _| transfer.run_in(state)),
    }
}

/// Queues the transfer in a stream, or in the default stream, in an asynchronous order.
fn submit_later(transfer: impl Transfer, stream: Option<Handle>) -> Result {
    let (queue, timing) = {
        let mut state = state()?;
        let queue = match stream {
            Some(stream) if state.record(stream, || vec![Arc::new(transfer.clone())])? => return Ok(()),
            Some(stream) => state.queue_of(stream)?,
            None => {
                let context = context::current().ok_or(Error::INVALID_CONTEXT)?;
                Queue { context, lane: Lane::Legacy, is_blocking: true }
            }
        };
        state.usable(queue.context)?;
        (queue, transfer.timing(&state, stream.is_some())?)
    };
    if timing == Timing::Alone {
        pending::wait(Until::Everything)?;
    }
    // Earlier work may write to the memory that is staged.
    if timing == Timing::Staged && (stream.is_none() || state()?.pending.has_work_for_host(queue)) {
        pending::wait(Until::Before(queue))?;
    }
    let number = {
        let mut state = state()?;
        let work = transfer.pending(&state, timing)?;
        state.queue(queue, work, &[])?
    };
    if matches!(timing, Timing::AtCall | Timing::Alone) {
        pending::wait(Until::Item(number))?;
        return state()?.settled(queue.context);
    }
    pending::progress()
}

pub(crate) fn allocate(address: Out<u64>, bytes: usize) -> Result {
    if bytes == 0 || address.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let allocated = in_context(|state, context, ordinal| {
        let allocated = state.memories[ordinal].allocate(bytes as u64).map_err(|error| refusal(&error))?;
        state.contexts.get_mut(context)?.allocations.insert(allocated);
        Ok(allocated)
    });
    address.set(allocated?)
}

/// The driver's error for a failed allocation; logs the reason.
fn refusal(error: &MemoryError) -> Error {
    journal::note(&error.to_string());
    Error::OUT_OF_MEMORY
}

pub(crate) fn allocate_pitched(
    address: Out<u64>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
    element: c_uint,
) -> Result {
    if !matches!(element, 4 | 8 | 16) || width == 0 || pitch.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let padded = width.checked_next_multiple_of(PITCH).ok_or(Error::INVALID_VALUE)?;
    allocate(address, padded.checked_mul(height).ok_or(Error::INVALID_VALUE)?)?;
    pitch.set(padded)
}

/// Frees a device or managed allocation after all work. Freeing null has no effect.
pub(crate) fn free(address: u64) -> Result {
    if address != 0 {
        pending::wait(Until::Everything)?;
    }
    in_context(|state, _, _| if address == 0 { Ok(()) } else { state.free_allocation(address) })
}

/// Frees an allocation in stream order: other streams may still use it.
pub(crate) fn free_async(address: u64, stream: Handle) -> Result {
    let work = Arc::new(Free(address));
    {
        let mut state = state()?;
        let queue = state.queue_of(stream)?;
        state.usable(queue.context)?;
        if address == 0 || !pending::is_asynchronous() {
            drop(state);
            return free(address);
        }
        let is_freed = state.pending.works().any(|work| work.as_a::<Free>().is_some_and(|free| free.0 == address));
        if is_freed || !state.shared.is_freed_by_device(address) && state.owner_of(address).is_none() {
            return Err(Error::INVALID_VALUE);
        }
        state.queue(queue, work, &[])?;
    }
    pending::progress()
}

/// Frees an allocation in stream order.
#[derive(Debug)]
struct Free(u64);

impl Work for Free {
    fn run(&self) -> Result {
        state()?.free_allocation(self.0)
    }

    /// `CU_GRAPH_NODE_TYPE_MEM_FREE`
    fn node_type(&self) -> i32 {
        11
    }
}

pub(crate) fn info(free: Out<usize>, total: Out<usize>) -> Result {
    in_context(|state, _, ordinal| {
        let memory = &state.memories[ordinal];
        free.set((memory.limit() - memory.used()) as usize)?;
        total.set(memory.limit() as usize)
    })
}

/// Start and size of the allocation or host memory block that contains an address.
pub(crate) fn address_range(base: Out<u64>, bytes: Out<usize>, address: u64) -> Result {
    in_context(|state, _, _| {
        let of_device = state.extent_of(address).map(|(_, extent)| (extent.start, extent.bytes as usize));
        let of_host = || state.shared.find(address, 1).map(|block| (block.start, block.bytes));
        let (start, size) = of_device.or_else(of_host).ok_or(Error::NOT_FOUND)?;
        base.set_if_wanted(start);
        bytes.set_if_wanted(size);
        Ok(())
    })
}

/// Accepts a hint about managed memory, without effect.
pub(crate) fn hint(address: u64, bytes: usize) -> Result {
    in_context(|state, _, _| state.shared.contains(address, bytes).then_some(()).ok_or(Error::INVALID_VALUE))
}

/// Allocates in a stream, immediately. In a captured stream, graph nodes allocate instead
/// ([`crate::driver::graph_memory`]).
pub(crate) fn in_stream(stream: Handle, work: impl FnOnce() -> Result) -> Result {
    {
        let state = state()?;
        let context = state.context_of(stream)?;
        state.usable(context)?;
    }
    work()
}

impl State {
    /// The context with an allocation that begins at an address.
    fn owner_of(&self, address: u64) -> Option<Handle> {
        let owner = self.contexts.iter().find(|(_, context)| context.allocations.contains(&address));
        owner.map(|(handle, _)| handle)
    }

    /// Frees a device or managed allocation.
    fn free_allocation(&mut self, address: u64) -> Result {
        if self.shared.is_freed_by_device(address) {
            return self.free_shared(HostAddress(address as usize));
        }
        let owner = self.owner_of(address).ok_or(Error::INVALID_VALUE)?;
        let context = self.contexts.get_mut(owner)?;
        context.allocations.remove(&address);
        let ordinal = context.ordinal;
        self.memories[ordinal].free(address).map_err(|_| Error::INVALID_VALUE)
    }

    /// The allocation that contains an address and the ordinal of its device. None for memory that
    /// host and devices share.
    pub(crate) fn extent_of(&self, address: u64) -> Option<(usize, Extent)> {
        if self.shared.contains(address, 1) {
            return None;
        }
        self.memories.iter().enumerate().find_map(|(ordinal, memory)| {
            let view = memory.view();
            let (index, _) = view.find(address, 1).ok()?;
            Some((ordinal, view.allocations()[index].extent.clone()))
        })
    }

    /// The location of the bytes at a device address: in an allocation, or in memory that host and
    /// devices share.
    ///
    /// # Errors
    /// `INVALID_VALUE` if no single allocation contains all of them.
    pub(crate) fn device_place(&self, address: u64, bytes: usize) -> Result<Place> {
        self.find_place(address, bytes).ok_or(Error::INVALID_VALUE)
    }

    /// The location of the bytes at a device or host address.
    ///
    /// # Errors
    /// `INVALID_VALUE` if they begin in memory that the driver knows and extend past its end.
    pub(crate) fn any_place(&self, address: u64, bytes: usize) -> Result<Place> {
        match self.find_place(address, bytes) {
            Some(place) => Ok(place),
            None if self.find_place(address, 1).is_some() => Err(Error::INVALID_VALUE),
            None => Ok(Place::Host(HostAddress(address as usize))),
        }
    }

    fn find_place(&self, address: u64, bytes: usize) -> Option<Place> {
        if self.shared.contains(address, bytes) {
            return Some(Place::Host(HostAddress(address as usize)));
        }
        self.memories.iter().find_map(|memory| {
            let view = memory.view();
            let (index, offset) = view.find(address, bytes).ok()?;
            Some(Place::Device { region: Arc::clone(&view.allocations()[index].region), offset })
        })
    }
}
