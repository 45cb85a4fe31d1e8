//! Global memory: the allocations of a device.

use std::collections::VecDeque;
use std::sync::Arc;

use thiserror::Error;

use super::heap::{Blocks, Heap};
use super::region::NoHostMemory;
use super::{AccessError, Extent, Image, ImageObjects, Region, Texture, first_address, unspaced_offset};
use crate::syntax::Space;

/// Minimum alignment of an allocation in bytes, the same that `cudaMalloc` guarantees.
pub const ALLOCATION_ALIGNMENT: u64 = 256;

/// Alignment in bytes of allocations with at least half this size, as in NVIDIA's driver. Some
/// programs rely on it.
pub const LARGE_ALIGNMENT: u64 = 2 << 20;

/// Minimum number of unallocated bytes after each allocation.
pub const GUARD_BYTES: u64 = 64 << 10;

/// Maximum number of freed allocations kept to detect a use after free.
const MAX_FREED: usize = 1024;

/// The reason why a host request failed.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// Not enough free device memory.
    #[error(
        "{asked} bytes of device memory were asked for, and {used} of {limit} are in use; free some, or ask for less"
    )]
    OutOfMemory {
        /// Requested bytes.
        asked: u64,
        /// Allocated bytes.
        used: u64,
        /// Size of the device's memory in bytes.
        limit: u64,
    },
    /// Not enough host memory to simulate the device memory.
    #[error("{asked} bytes of device memory were asked for, which the host cannot allocate; ask for less")]
    HostOutOfMemory {
        /// Requested bytes.
        asked: u64,
        /// The host's error.
        source: NoHostMemory,
    },
    /// The freed address is not the start of an allocation.
    #[error("no allocation begins at {address:#x}; free each allocation once, by its first address")]
    NotAllocated {
        /// The address passed to `free`.
        address: u64,
    },
    /// The allocation has already been freed.
    #[error("{freed} has been freed already; free it once")]
    FreedTwice {
        /// The freed allocation.
        freed: Extent,
    },
    /// The bytes at a chosen address are in use, or outside global memory.
    #[error("{bytes} bytes at {address:#x} are in use or outside of global memory; choose another address")]
    Overlap {
        /// The address.
        address: u64,
        /// The bytes.
        bytes: u64,
    },
    /// A copy is out of bounds.
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// A live allocation.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// Its address range.
    pub extent: Extent,
    /// Its bytes.
    pub region: Arc<Region>,
    /// Sequence number among all allocations of the device, from 0.
    pub number: u64,
}

/// A snapshot of the allocations. A launch keeps it while the host allocates and frees.
#[derive(Clone, Debug, Default)]
pub struct GlobalView {
    /// In ascending order of address.
    live: Vec<Allocation>,
    /// The allocations freed last, in the order they were freed.
    freed: VecDeque<Extent>,
    /// The kernels' heap, if any kernel uses it.
    heap: Option<Arc<Heap>>,
    image_objects: ImageObjects,
}

impl GlobalView {
    /// The live allocations, in ascending order of address.
    pub fn allocations(&self) -> &[Allocation] {
        &self.live
    }

    /// The kernels' heap. `None` unless [`GlobalMemory::make_heap`] has been called.
    pub fn heap(&self) -> Option<&Heap> {
        self.heap.as_deref()
    }

    /// The texture and surface objects available to kernels.
    pub(crate) fn image_objects(&self) -> &ImageObjects {
        &self.image_objects
    }

    /// Whether a texture or surface object has this handle.
    pub fn has_image_object(&self, handle: u64) -> bool {
        self.image_objects.contains(handle)
    }

    /// Index in `allocations` of the allocation that contains all bytes of an access, and the
    /// offset in it. Takes logarithmic time. For repeated accesses to one allocation, check its
    /// `extent` first.
    ///
    /// # Errors
    /// If no allocation contains all bytes. Names the nearest one, or the reason.
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

    /// Adds the workspace of a cooperative launch and returns its address. The workspace holds its
    /// size in 4 bytes, followed by the grid barrier's counter word, initially 0 (`grid_workspace`
    /// of CUDA's `cooperative_groups/details/driver_abi.h`).
    pub(crate) fn add_grid_workspace(&mut self) -> u64 {
        const BYTES: u64 = 8;
        // Below every allocation, with a gap of `GUARD_BYTES`.
        let start = first_address(Space::Global) - GUARD_BYTES;
        let extent =
            Extent { name: "the grid's workspace".into(), space: Space::Global, start, bytes: BYTES, element: None };
        let region = Region::from_bytes(&[0; BYTES as usize]);
        region.write(0, &(BYTES as u32).to_le_bytes());
        self.live.insert(0, Allocation { extent, region: Arc::new(region), number: u64::MAX });
        start
    }

    /// A copy of all allocations' bytes.
    ///
    /// # Errors
    /// `HostOutOfMemory`
    pub(crate) fn snapshot(&self) -> Result<GlobalSnapshot, MemoryError> {
        let copy = |allocation: &Allocation| {
            let asked = allocation.extent.bytes;
            let copy = allocation.region.try_clone();
            let copy = copy.map_err(|source| MemoryError::HostOutOfMemory { asked, source })?;
            Ok::<_, MemoryError>((allocation.extent.start, copy))
        };
        let regions = self.live.iter().map(copy).collect::<Result<_, MemoryError>>()?;
        Ok(GlobalSnapshot { regions, heap: self.heap.as_ref().map(|heap| heap.copy()) })
    }

    /// Restores the bytes of all live allocations from the snapshot.
    pub(crate) fn restore(&self, snapshot: &GlobalSnapshot) {
        for (start, region) in &snapshot.regions {
            // A device's addresses are never reused, so the same address means the same allocation.
            if let Ok(index) = self.live.binary_search_by_key(start, |allocation| allocation.extent.start) {
                self.live[index].region.copy_from(region);
            }
        }
        if let (Some(heap), Some(blocks)) = (&self.heap, &snapshot.heap) {
            heap.restore(blocks);
        }
    }

    #[cold]
    fn miss(&self, address: u64, bytes: usize) -> AccessError {
        let space = Space::Global;
        if let Some(looks_like) = unspaced_offset(address) {
            return AccessError::WrongSpace { address, bytes, looks_like };
        }
        // An empty allocation still has a unique address.
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

/// The bytes of all allocations at some time, and which of them were initialized.
#[derive(Debug)]
pub struct GlobalSnapshot {
    /// The first address of each allocation, and a copy of its region.
    regions: Vec<(u64, Region)>,
    heap: Option<Blocks>,
}

impl GlobalSnapshot {
    /// Size on the host, in bytes.
    pub fn host_bytes(&self) -> usize {
        self.regions.iter().map(|(_, region)| region.host_bytes()).sum()
    }
}

/// The global memory of a device. A clone keeps the allocations that were live when it was made,
/// and shares their bytes. A launch uses it while the host allocates and frees.
#[derive(Clone, Debug)]
pub struct GlobalMemory {
    /// Copy-on-write: a launch holds a clone of the pointer, and the first change during the launch copies the view.
    view: Arc<GlobalView>,
    /// Address of the next allocation. Addresses are never reused, so a use after free is always
    /// detected.
    next: u64,
    allocated: u64,
    used: u64,
    limit: u64,
    /// Size of the kernels' heap, in bytes.
    heap_bytes: u64,
}

/// Default size of the kernels' heap, in bytes (CUDA C++ Programming Guide, Heap Memory
/// Allocation).
pub const DEFAULT_HEAP_BYTES: u64 = 8 << 20;

impl GlobalMemory {
    /// Creates a memory of `limit` bytes without allocations.
    pub fn new(limit: u64) -> Self {
        Self::of_device(0, limit)
    }

    /// Creates the memory of one of several devices with disjoint addresses: each has its own range
    /// of 2⁴⁸ bytes.
    pub fn of_device(number: u16, limit: u64) -> Self {
        let next = first_address(Space::Global) + (u64::from(number % 1024) << 48);
        Self { view: Arc::default(), next, allocated: 0, used: 0, limit, heap_bytes: DEFAULT_HEAP_BYTES }
    }

    /// Sets the size of the kernels' heap, unless a module that uses it has been loaded. Returns
    /// whether the size was set.
    pub fn set_heap_bytes(&mut self, bytes: u64) -> bool {
        let is_open = self.view.heap.is_none();
        if is_open {
            self.heap_bytes = bytes;
        }
        is_open
    }

    /// Creates the heap for the kernels' `malloc`, unless it exists.
    ///
    /// # Errors
    /// `OutOfMemory`, `HostOutOfMemory`
    pub fn make_heap(&mut self) -> Result<(), MemoryError> {
        if self.view.heap.is_some() {
            return Ok(());
        }
        let start = self.allocate_named("the heap of kernels", self.heap_bytes)?;
        let (index, _) = self.view.find(start, 0)?;
        let region = Arc::clone(&self.view.live[index].region);
        Arc::make_mut(&mut self.view).heap = Some(Arc::new(Heap::new(start, region)));
        Ok(())
    }

    /// Registers a texture as a texture object with this handle for kernels. Replaces any object
    /// with the handle.
    pub fn add_texture(&mut self, handle: u64, texture: Texture) {
        Arc::make_mut(&mut self.view).image_objects.add_texture(handle, texture);
    }

    /// Registers an image as a surface object with this handle for kernels. Replaces any object
    /// with the handle.
    pub fn add_surface(&mut self, handle: u64, image: Image) {
        Arc::make_mut(&mut self.view).image_objects.add_surface(handle, image);
    }

    /// Removes a texture or surface object. Returns whether there was one.
    pub fn remove_image_object(&mut self, handle: u64) -> bool {
        Arc::make_mut(&mut self.view).image_objects.remove(handle)
    }

    /// Adds the allocations of another device to the memory, for a launch that accesses both.
    #[must_use]
    pub fn with_allocations_of(mut self, other: &Self) -> Self {
        let GlobalView { live, freed, .. } = Arc::make_mut(&mut self.view);
        live.extend(other.view.live.iter().cloned());
        // Memory shared between devices and the host has the same address on all of them.
        live.sort_by_key(|allocation| allocation.extent.start);
        live.dedup_by_key(|allocation| allocation.extent.start);
        freed.extend(other.view.freed.iter().cloned());
        self
    }

    /// Number of allocated bytes.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Size of the memory in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Allocates `bytes` uninitialized bytes, possibly 0, and returns their address, a multiple of
    /// `ALLOCATION_ALIGNMENT` or `LARGE_ALIGNMENT`. Host memory is committed when bytes are
    /// written.
    ///
    /// # Errors
    /// `OutOfMemory`, `HostOutOfMemory`
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        let name = format!("allocation {}", self.allocated);
        self.allocate_named(&name, bytes)
    }

    /// Like `allocate`, with a name for messages. Used for a module's variables.
    ///
    /// # Errors
    /// `OutOfMemory`, `HostOutOfMemory`
    pub fn allocate_named(&mut self, name: &str, bytes: u64) -> Result<u64, MemoryError> {
        self.place_of(bytes)?;
        let Ok(size) = usize::try_from(bytes) else { return Err(self.out_of_memory(bytes)) };
        let region = Region::try_new(size).map_err(|source| MemoryError::HostOutOfMemory { asked: bytes, source })?;
        self.add(name, Arc::new(region))
    }

    /// Adds a region as an allocation and returns its address. Used for bytes that are also
    /// accessed in another way.
    ///
    /// # Errors
    /// `OutOfMemory`
    pub fn add(&mut self, name: &str, region: Arc<Region>) -> Result<u64, MemoryError> {
        let bytes = region.bytes() as u64;
        let (start, next) = self.place_of(bytes)?;
        let extent = Extent { name: name.into(), space: Space::Global, start, bytes, element: None };
        let allocation = Allocation { extent, region, number: self.allocated };
        let live = &mut Arc::make_mut(&mut self.view).live;
        // Addresses ascend, except for addresses chosen by callers.
        match live.last() {
            Some(last) if last.extent.start > start => {
                let index = live.partition_point(|other| other.extent.start < start);
                live.insert(index, allocation);
            }
            _ => live.push(allocation),
        }
        (self.next, self.allocated, self.used) = (next, self.allocated + 1, self.used + bytes);
        Ok(start)
    }

    /// Adds a region as an allocation at an address that the caller chooses, such as memory shared
    /// by host and device. It does not count toward the device's memory.
    ///
    /// # Errors
    /// `Overlap`
    pub fn add_at(&mut self, name: &str, address: u64, region: Arc<Region>) -> Result<(), MemoryError> {
        let bytes = region.bytes() as u64;
        let live = &self.view.live;
        let index = live.partition_point(|allocation| allocation.extent.start < address);
        let is_free = address >= first_address(Space::Shared)
            && address.checked_add(bytes).is_some_and(|end| end < 1 << 62)
            && live.get(index).is_none_or(|next| address + bytes <= next.extent.start && address < next.extent.start)
            && index.checked_sub(1).is_none_or(|before| live[before].extent.end() <= address);
        if !is_free {
            return Err(MemoryError::Overlap { address, bytes });
        }
        let extent = Extent { name: name.into(), space: Space::Global, start: address, bytes, element: None };
        let view = Arc::make_mut(&mut self.view);
        // The address may have belonged to shared memory before.
        view.freed.retain(|freed| freed.start != address);
        view.live.insert(index, Allocation { extent, region, number: self.allocated });
        (self.allocated, self.used, self.limit) = (self.allocated + 1, self.used + bytes, self.limit + bytes);
        Ok(())
    }

    /// Reserves an address for a later allocation of `bytes`. No other allocation will get it.
    ///
    /// # Errors
    /// `OutOfMemory`
    pub fn reserve(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        let (start, next) = self.place_of(bytes)?;
        self.next = next;
        Ok(start)
    }

    /// Allocates uninitialized bytes at an address [reserved](Self::reserve) for them. After it is
    /// freed, it may be allocated again.
    ///
    /// # Errors
    /// `OutOfMemory`, `HostOutOfMemory`, `Overlap`
    pub fn allocate_at(&mut self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        let size = usize::try_from(bytes).ok().filter(|_| bytes <= self.limit - self.used);
        let size = size.ok_or_else(|| self.out_of_memory(bytes))?;
        let region = Region::try_new(size).map_err(|source| MemoryError::HostOutOfMemory { asked: bytes, source })?;
        self.add_at(&format!("allocation {}", self.allocated), address, Arc::new(region))?;
        self.limit -= bytes;
        Ok(())
    }

    /// Frees an allocation made by [`add_at`](Self::add_at).
    ///
    /// # Errors
    /// `NotAllocated`, `FreedTwice`
    pub fn remove_at(&mut self, address: u64) -> Result<(), MemoryError> {
        let before = self.used;
        self.free(address)?;
        self.limit -= before - self.used;
        Ok(())
    }

    /// Address of an allocation of `bytes`, and the address at which the next one may begin, if
    /// there is room.
    fn place_of(&self, bytes: u64) -> Result<(u64, u64), MemoryError> {
        let alignment = if bytes >= LARGE_ALIGNMENT / 2 { LARGE_ALIGNMENT } else { ALLOCATION_ALIGNMENT };
        let start = self.next.checked_next_multiple_of(alignment);
        let place = start.and_then(|start| Some((start, start.checked_add(bytes)?.checked_add(GUARD_BYTES)?)));
        // The windows of the other spaces are above 2⁶².
        let place = place.filter(|(_, next)| *next < 1 << 62 && bytes <= self.limit - self.used);
        place.ok_or_else(|| self.out_of_memory(bytes))
    }

    fn out_of_memory(&self, asked: u64) -> MemoryError {
        MemoryError::OutOfMemory { asked, used: self.used, limit: self.limit }
    }

    /// Frees the allocation at an address. A running launch keeps the bytes until it ends.
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
        if view.freed.len() == MAX_FREED {
            view.freed.pop_front();
        }
        view.freed.push_back(extent);
        Ok(())
    }

    /// A snapshot of the allocations, for a launch. It copies nothing until the host allocates or
    /// frees.
    pub fn view(&self) -> Arc<GlobalView> {
        Arc::clone(&self.view)
    }

    /// Writes bytes at an address.
    ///
    /// # Errors
    /// `Access`, if the bytes are not all in one allocation.
    pub fn write(&self, address: u64, source: &[u8]) -> Result<(), MemoryError> {
        let (region, offset) = self.region(address, source.len())?;
        region.write(offset, source);
        Ok(())
    }

    /// Reads bytes at an address, initialized or not.
    ///
    /// # Errors
    /// `Access`, if the bytes are not all in one allocation.
    pub fn read(&self, address: u64, destination: &mut [u8]) -> Result<(), MemoryError> {
        let (region, offset) = self.region(address, destination.len())?;
        region.read(offset, destination);
        Ok(())
    }

    /// Index of the first uninitialized byte. `None` if all are initialized.
    ///
    /// # Errors
    /// `Access`, if the bytes are not all in one allocation.
    pub fn first_uninitialised(&self, address: u64, bytes: usize) -> Result<Option<usize>, MemoryError> {
        let (region, offset) = self.region(address, bytes)?;
        Ok(region.first_uninitialised(offset, bytes).map(|found| found.saturating_sub(offset)))
    }

    /// Writes zeros at an address.
    ///
    /// # Errors
    /// `Access`, if the bytes are not all in one allocation.
    pub fn fill_zero(&self, address: u64, bytes: usize) -> Result<(), MemoryError> {
        let (region, offset) = self.region(address, bytes)?;
        region.fill_zero(offset, bytes);
        Ok(())
    }

    /// A copy of all allocations' bytes.
    ///
    /// # Errors
    /// `HostOutOfMemory`
    pub fn snapshot(&self) -> Result<GlobalSnapshot, MemoryError> {
        self.view.snapshot()
    }

    /// Restores the bytes of all allocations that are still live from the snapshot.
    pub fn restore(&self, snapshot: &GlobalSnapshot) {
        self.view.restore(snapshot);
    }

    fn region(&self, address: u64, bytes: usize) -> Result<(&Region, usize), MemoryError> {
        let (index, offset) = self.view.find(address, bytes)?;
        Ok((&self.view.live[index].region, offset))
    }
}
