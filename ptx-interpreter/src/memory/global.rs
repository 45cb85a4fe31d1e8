//! Global memory: the allocations of a device.

use std::collections::{TryReserveError, VecDeque};
use std::sync::Arc;

use thiserror::Error;

use super::{AccessError, Extent, Region, first_address, unspaced_offset};
use crate::syntax::Space;

/// Every allocation begins at a multiple of so many bytes, as those of cudaMalloc do.
pub const ALLOCATION_ALIGNMENT: u64 = 256;

/// At least so many bytes after an allocation belong to none.
pub const GUARD_BYTES: u64 = 64 << 10;

/// How many freed allocations are remembered, to tell a use after free.
const REMEMBERED: usize = 1024;

/// What is wrong with a request of the host.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// The device has not that much memory left.
    #[error(
        "{asked} bytes of device memory were asked for, and {used} of {limit} are in use; free some, or ask for less"
    )]
    OutOfMemory {
        /// How much was asked for.
        asked: u64,
        /// How much is allocated.
        used: u64,
        /// How much there is.
        limit: u64,
    },
    /// The host has not that much memory left to simulate it with.
    #[error("{asked} bytes of device memory were asked for, and the host has not so many left; ask for less")]
    HostOutOfMemory {
        /// How much was asked for.
        asked: u64,
        /// What the host says.
        source: TryReserveError,
    },
    /// The address freed is not one that was allocated.
    #[error("nothing was allocated at {address:#x}; free the address that was allocated, once")]
    NotAllocated {
        /// The address.
        address: u64,
    },
    /// The address has been freed before.
    #[error("{freed} has been freed already; free it once")]
    FreedTwice {
        /// What was there.
        freed: Extent,
    },
    /// A copy goes outside of the allocations.
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// A live allocation.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// Where it lies.
    pub extent: Extent,
    /// Its bytes.
    pub region: Arc<Region>,
    /// Its number among all allocations of the device, from 0.
    pub number: u64,
}

/// The allocations that a launch sees. It doesn't change while somebody has it.
#[derive(Clone, Debug, Default)]
pub struct GlobalView {
    /// In the order of their addresses.
    live: Vec<Allocation>,
    /// The latest freed ones, in the order in which they were freed.
    freed: VecDeque<Extent>,
}

impl GlobalView {
    /// The live allocations, in the order of their addresses.
    pub fn allocations(&self) -> &[Allocation] {
        &self.live
    }

    /// The place in `allocations` of the one that holds all bytes of an access, and the offset there. Takes
    /// logarithmic time; who accesses the same allocation again asks its `extent` first.
    ///
    /// # Errors
    /// What the access misses, if there is none.
    #[inline]
    pub fn find(&self, address: u64, bytes: usize) -> Result<(usize, usize), AccessError> {
        let after = self.live.partition_point(|allocation| allocation.extent.start <= address);
        if let Some(index) = after.checked_sub(1)
            && let Some(offset) = self.live[index].extent.offset_of(address, bytes)
        {
            return Ok((index, offset));
        }
        Err(self.miss(address, bytes))
    }

    /// Adds the workspace of a cooperative launch, all zeros, and returns its address: a size of 4 bytes, then the word
    /// on which the grid's barrier counts (`grid_workspace` of CUDA's `cooperative_groups/details/driver_abi.h`).
    pub(crate) fn add_grid_workspace(&mut self) -> u64 {
        const BYTES: u64 = 8;
        // Below every allocation, with a guard between.
        let start = first_address(Space::Global) - GUARD_BYTES;
        let extent = Extent { name: "the grid's workspace".into(), space: Space::Global, start, bytes: BYTES };
        let region = Region::from_bytes(&[0; BYTES as usize]);
        region.write(0, &(BYTES as u32).to_le_bytes());
        self.live.insert(0, Allocation { extent, region: Arc::new(region), number: u64::MAX });
        start
    }

    #[cold]
    fn miss(&self, address: u64, bytes: usize) -> AccessError {
        let space = Space::Global;
        if let Some(looks_like) = unspaced_offset(address) {
            return AccessError::WrongSpace { address, bytes, looks_like };
        }
        // An empty allocation has an address of its own too.
        let holds = |freed: &&Extent| (freed.start..freed.end().max(freed.start + 1)).contains(&address);
        if let Some(freed) = self.freed.iter().find(holds) {
            return AccessError::Freed { address, bytes, freed: freed.clone() };
        }
        let extents = self.live.iter().map(|allocation| &allocation.extent);
        match extents.min_by_key(|extent| extent.distance(address, bytes)) {
            Some(nearest) if address >= first_address(Space::Shared) => {
                AccessError::OutOfBounds { address, bytes, nearest: nearest.clone() }
            }
            _ => AccessError::NoAllocation { address, bytes, space },
        }
    }
}

/// The global memory of a device.
#[derive(Debug)]
pub struct GlobalMemory {
    /// A launch holds a copy of the pointer; the first change while it does so copies the view.
    view: Arc<GlobalView>,
    /// Where the next allocation begins. Addresses are never used again, so that a use after free is always found.
    next: u64,
    allocated: u64,
    used: u64,
    limit: u64,
}

impl GlobalMemory {
    /// A memory of so many bytes.
    pub fn new(limit: u64) -> Self {
        Self { view: Arc::default(), next: first_address(Space::Global), allocated: 0, used: 0, limit }
    }

    /// The bytes that are allocated.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The bytes that there are.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Allocates uninitialised bytes, maybe none, and returns their address, a multiple of `ALLOCATION_ALIGNMENT`.
    ///
    /// # Errors
    /// `OutOfMemory`, `HostOutOfMemory`
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        let name = format!("allocation {}", self.allocated);
        self.allocate_named(&name, bytes)
    }

    /// As `allocate`, for a variable: messages call the allocation `name`.
    ///
    /// # Errors
    /// `OutOfMemory`, `HostOutOfMemory`
    pub fn allocate_named(&mut self, name: &str, bytes: u64) -> Result<u64, MemoryError> {
        let out_of_memory = MemoryError::OutOfMemory { asked: bytes, used: self.used, limit: self.limit };
        if bytes > self.limit - self.used {
            return Err(out_of_memory);
        }
        let start = self.next;
        let next = start.checked_add(bytes).and_then(|end| end.checked_add(GUARD_BYTES));
        let next = next.and_then(|end| end.checked_next_multiple_of(ALLOCATION_ALIGNMENT));
        // The windows of the other spaces lie above.
        let Some(next) = next.filter(|next| *next < 1 << 62) else { return Err(out_of_memory) };
        let Ok(size) = usize::try_from(bytes) else { return Err(out_of_memory) };
        let region = Region::try_new(size).map_err(|source| MemoryError::HostOutOfMemory { asked: bytes, source })?;
        let extent = Extent { name: name.into(), space: Space::Global, start, bytes };
        let allocation = Allocation { extent, region: Arc::new(region), number: self.allocated };
        // Addresses rise, so the order of addresses is kept.
        Arc::make_mut(&mut self.view).live.push(allocation);
        (self.next, self.allocated, self.used) = (next, self.allocated + 1, self.used + bytes);
        Ok(start)
    }

    /// Frees what was allocated at an address. A launch that runs keeps its bytes until it ends.
    ///
    /// # Errors
    /// `NotAllocated`, `FreedTwice`
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let Ok(index) = self.view.live.binary_search_by_key(&address, |allocation| allocation.extent.start) else {
            return Err(match self.view.freed.iter().find(|freed| freed.start == address) {
                Some(freed) => MemoryError::FreedTwice { freed: freed.clone() },
                None => MemoryError::NotAllocated { address },
            });
        };
        let view = Arc::make_mut(&mut self.view);
        let Allocation { extent, .. } = view.live.remove(index);
        self.used -= extent.bytes;
        if view.freed.len() == REMEMBERED {
            view.freed.pop_front();
        }
        view.freed.push_back(extent);
        Ok(())
    }

    /// The allocations as they are now, for a launch. Costs nothing while nothing is allocated or freed.
    pub fn view(&self) -> Arc<GlobalView> {
        Arc::clone(&self.view)
    }

    /// Writes bytes at an address.
    ///
    /// # Errors
    /// `Access`, if they are not within one allocation.
    pub fn write(&self, address: u64, source: &[u8]) -> Result<(), MemoryError> {
        let (region, offset) = self.region(address, source.len())?;
        region.write(offset, source);
        Ok(())
    }

    /// Reads bytes at an address, initialised or not.
    ///
    /// # Errors
    /// `Access`, if they are not within one allocation.
    pub fn read(&self, address: u64, destination: &mut [u8]) -> Result<(), MemoryError> {
        let (region, offset) = self.region(address, destination.len())?;
        region.read(offset, destination);
        Ok(())
    }

    /// Writes zeros at an address.
    ///
    /// # Errors
    /// `Access`, if they are not within one allocation.
    pub fn fill_zero(&self, address: u64, bytes: usize) -> Result<(), MemoryError> {
        let (region, offset) = self.region(address, bytes)?;
        region.fill_zero(offset, bytes);
        Ok(())
    }

    fn region(&self, address: u64, bytes: usize) -> Result<(&Region, usize), MemoryError> {
        let (index, offset) = self.view.find(address, bytes)?;
        Ok((&self.view.live[index].region, offset))
    }
}
