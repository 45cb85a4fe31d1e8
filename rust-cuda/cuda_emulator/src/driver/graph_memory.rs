//! Graph memory: nodes that allocate and free, at the same address in each launch.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::{AllocateNode, MemoryLocation, Out, PoolProperties};
use crate::driver::graph::Operation;
use crate::driver::graph_nodes::{Dependencies, add};
use crate::driver::memory::Pool;
use crate::driver::{State, device, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;
use crate::work::Work;

/// `CU_MEM_ALLOCATION_TYPE_PINNED`, `CU_MEM_LOCATION_TYPE_DEVICE`
const PINNED: c_int = 1;
const ON_DEVICE: c_int = 1;

/// The allocations of all graphs.
#[derive(Debug, Default)]
pub(crate) struct GraphMemory {
    /// By address.
    allocations: BTreeMap<u64, Allocation>,
    /// The peak number of bytes that graphs used on each device, by ordinal.
    high: BTreeMap<usize, u64>,
}

/// A graph's allocation. It exists from the moment its node runs until it is freed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    address: u64,
    bytes: u64,
    context: Handle,
    ordinal: usize,
    graph: Handle,
    /// The graph that contains a node which frees it.
    freed_by: Option<Handle>,
}

/// Frees a graph's allocation at an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Free(pub(crate) u64);

impl Work for Allocation {
    fn run(&self) -> Result {
        let mut state = state()?;
        let state = &mut *state;
        let ordinal = state.usable(self.context)?;
        state.memories[ordinal].allocate_at(self.address, self.bytes).map_err(|error| {
            journal::note(&error.to_string());
            Error::OUT_OF_MEMORY
        })?;
        state.contexts.get_mut(self.context)?.allocations.insert(self.address);
        let used = state.used_by_graphs(ordinal);
        let high = state.graph_memory.high.entry(ordinal).or_default();
        *high = used.max(*high);
        Ok(())
    }

    fn node_type(&self) -> i32 {
        10
    }

    fn has_memory(&self) -> bool {
        true
    }
}

impl Work for Free {
    fn run(&self) -> Result {
        state()?.free_of_graph(self.0)
    }

    fn node_type(&self) -> i32 {
        11
    }

    fn has_memory(&self) -> bool {
        true
    }
}

impl Allocation {
    /// The parameters of the allocation's node.
    pub(crate) fn node(&self) -> AllocateNode {
        let pool = PoolProperties {
            allocation_type: PINNED,
            handle_types: 0,
            location: MemoryLocation { kind: ON_DEVICE, id: self.ordinal as c_int },
            security_attributes: 0,
            max_bytes: 0,
            usage: 0,
            reserved: [0; 54],
        };
        AllocateNode { pool, access: 0, access_count: 0, bytes: self.bytes as usize, address: self.address }
    }
}

/// Adds an allocation node and writes the allocation's address.
///
/// # Errors
/// `INVALID_VALUE` if the size is 0; `NOT_SUPPORTED` for memory that is not on a device or that
/// other devices should access.
pub(crate) fn add_allocation(
    node: Out<Handle>,
    graph: Handle,
    after: Dependencies,
    parameters: Out<AllocateNode>,
) -> Result {
    let asked = parameters.get()?;
    if asked.bytes == 0 || asked.pool.handle_types != 0 {
        return Err(Error::INVALID_VALUE);
    }
    if asked.pool.allocation_type != PINNED || asked.pool.location.kind != ON_DEVICE || asked.access_count != 0 {
        journal::unsupported("an allocation in a graph that is not of one device alone");
        return Err(Error::NOT_SUPPORTED);
    }
    let (ordinal, _) = device::with_ordinal(asked.pool.location.id)?;
    let mut state = state()?;
    let context = state.graphs.get(graph)?.context;
    let allocation = state.reserve(graph, context, ordinal, asked.bytes)?;
    add(&mut state, node, graph, after, Arc::new(allocation))?;
    state.graph_memory.allocations.insert(allocation.address, allocation);
    parameters.set(AllocateNode { address: allocation.address, ..asked })
}

/// Adds a node that frees a graph's allocation.
///
/// # Errors
/// `INVALID_VALUE` if there is no allocation at the address, or a node of this graph or of the
/// allocating graph already frees it.
pub(crate) fn add_free(node: Out<Handle>, graph: Handle, after: Dependencies, address: u64) -> Result {
    let mut state = state()?;
    state.check_free(graph, address)?;
    add(&mut state, node, graph, after, Arc::new(Free(address)))?;
    state.freed(graph, address);
    Ok(())
}

/// Allocates in a stream. If the stream is being captured, this adds an allocation node, which uses
/// a pool's memory or the stream's device. In any other stream it calls `otherwise`.
pub(crate) fn allocate_in_stream(
    address: Out<u64>,
    bytes: usize,
    pool: Option<Handle>,
    stream: Handle,
    otherwise: impl FnOnce() -> Result,
) -> Result {
    let mut state = state()?;
    let Some(graph) = state.capture_of(stream).map(|capture| capture.graph) else {
        drop(state);
        return otherwise();
    };
    let context = state.context_of(stream)?;
    let ordinal = match pool.map(|pool| state.pools.get(pool)).transpose()? {
        None => state.usable(context)?,
        Some(Pool::Device(ordinal)) => *ordinal,
        Some(_) => {
            journal::unsupported("an allocation in a graph that is not of one device alone");
            return Err(Error::NOT_SUPPORTED);
        }
    };
    if bytes == 0 || address.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let allocation = state.reserve(graph, context, ordinal, bytes)?;
    state.record(stream, || vec![Arc::new(allocation)])?;
    state.graph_memory.allocations.insert(allocation.address, allocation);
    address.set(allocation.address)
}

/// Frees in a stream. If the stream is being captured, this adds a free node. In any other stream
/// it calls `otherwise`.
pub(crate) fn free_in_stream(address: u64, stream: Handle, otherwise: impl FnOnce() -> Result) -> Result {
    let mut state = state()?;
    let Some(graph) = state.capture_of(stream).map(|capture| capture.graph) else {
        drop(state);
        return otherwise();
    };
    state.check_free(graph, address)?;
    state.record(stream, || vec![Arc::new(Free(address))])?;
    state.freed(graph, address);
    Ok(())
}

/// Bytes that graphs use on a device, now or at the peak. Reserved and used bytes are the same.
pub(crate) fn attribute(device: c_int, attribute: c_int, value: Out<u64>) -> Result {
    let (ordinal, _) = device::with_ordinal(device)?;
    let state = state()?;
    value.set(match attribute {
        0 | 2 => state.used_by_graphs(ordinal),
        1 | 3 => state.graph_memory.high.get(&ordinal).copied().unwrap_or(0),
        _ => return Err(Error::INVALID_VALUE),
    })
}

/// Resets the peak. The value must be 0.
pub(crate) fn set_attribute(device: c_int, attribute: c_int, value: u64) -> Result {
    let (ordinal, _) = device::with_ordinal(device)?;
    if !matches!(attribute, 1 | 3) || value != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let mut state = state()?;
    let used = state.used_by_graphs(ordinal);
    state.graph_memory.high.insert(ordinal, used);
    Ok(())
}

/// Releases unused graph memory. There is never any.
pub(crate) fn trim(device: c_int) -> Result {
    device::with_ordinal(device).map(drop)
}

impl State {
    /// Reserves an address for a graph's allocation. It belongs to `context` if that is on the
    /// device, otherwise to the primary context.
    fn reserve(&mut self, graph: Handle, context: Handle, ordinal: usize, bytes: usize) -> Result<Allocation> {
        let own = Some(context).filter(|context| self.usable(*context) == Ok(ordinal));
        let context = own.or_else(|| self.primaries[ordinal].handle()).ok_or(Error::INVALID_CONTEXT)?;
        let bytes = bytes as u64;
        let address = self.memories[ordinal].reserve(bytes).map_err(|error| {
            journal::note(&error.to_string());
            Error::OUT_OF_MEMORY
        })?;
        Ok(Allocation { address, bytes, context, ordinal, graph, freed_by: None })
    }

    /// Checks that a node of the graph may free the allocation at an address.
    fn check_free(&self, graph: Handle, address: u64) -> Result {
        let known = self.graph_memory.allocations.get(&address).ok_or(Error::INVALID_VALUE)?;
        let is_free = known.freed_by.is_none_or(|by| by != graph && by != known.graph && graph != known.graph);
        is_free.then_some(()).ok_or(Error::INVALID_VALUE)
    }

    fn freed(&mut self, graph: Handle, address: u64) {
        if let Some(known) = self.graph_memory.allocations.get_mut(&address) {
            known.freed_by = Some(graph);
        }
    }

    fn has_allocation(&self, allocation: &Allocation) -> bool {
        self.contexts.get(allocation.context).is_ok_and(|context| context.allocations.contains(&allocation.address))
    }

    /// Bytes on a device that graphs have allocated and not freed.
    fn used_by_graphs(&self, ordinal: usize) -> u64 {
        let of_device = self.graph_memory.allocations.values().filter(|allocation| allocation.ordinal == ordinal);
        of_device.filter(|allocation| self.has_allocation(allocation)).map(|allocation| allocation.bytes).sum()
    }

    fn free_of_graph(&mut self, address: u64) -> Result {
        let allocation = *self.graph_memory.allocations.get(&address).ok_or(Error::INVALID_VALUE)?;
        if !self.contexts.get_mut(allocation.context)?.allocations.remove(&address) {
            return Err(Error::INVALID_VALUE);
        }
        self.memories[allocation.ordinal].free(address).map_err(|_| Error::INVALID_VALUE)
    }

    /// Prepares the launch of a graph. The allocations of its previous launch must have been freed,
    /// unless `frees` is set: then this frees them.
    ///
    /// # Errors
    /// `INVALID_VALUE`
    pub(super) fn check_allocations(&mut self, operations: &[Operation], frees: bool) -> Result {
        for operation in operations {
            if let Some(allocation) = operation.work.as_a::<Allocation>()
                && self.has_allocation(allocation)
            {
                if !frees {
                    return Err(Error::INVALID_VALUE);
                }
                self.free_of_graph(allocation.address)?;
            }
        }
        Ok(())
    }
}
