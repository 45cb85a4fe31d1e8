//! Host memory that devices access: page-locked, registered and managed memory.
//!
//! Kernels run in the interpreter's memory. Memory shared with the host is therefore copied there
//! before each launch and back afterwards. Page-locked memory is shared only once a program asks
//! for its device address or passes it as a launch parameter.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use ptx_interpreter::memory::Region;

use super::pages::{Pages, PagesOfDevices};
use crate::abi::{HostAddress, Out};
use crate::driver::pending::{self, Until};
use crate::driver::{State, in_context, state};
use crate::error::{Error, Result};
use crate::{host, journal};

/// `CU_MEMHOSTALLOC_DEVICEMAP`, `CU_MEMHOSTREGISTER_DEVICEMAP`.
const DEVICE_MAP: c_uint = 2;

/// The blocks of shared memory.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    /// By start address.
    blocks: BTreeMap<usize, Block>,
    of_devices: PagesOfDevices,
}

#[derive(Debug)]
struct Block {
    bytes: usize,
    flags: c_uint,
    origin: Origin,
    /// The copy in device memory, once a kernel may use it.
    region: Option<Arc<Region>>,
}

#[derive(Debug)]
enum Origin {
    /// Allocated by the driver.
    Allocated { _pages: Pages },
    /// Allocated by the driver, with one address for host and devices.
    Managed { _pages: Pages },
    /// Allocated from a host memory pool.
    Pool { _pages: Pages },
    /// A managed variable of a module, at its device address.
    Variable,
    /// Registered by the caller, who owns the memory.
    Registered,
}

/// Properties of a block that a program can query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockFacts {
    pub(crate) start: u64,
    pub(crate) bytes: usize,
    pub(crate) flags: c_uint,
    pub(crate) is_managed: bool,
}

impl SharedMemory {
    /// The block that contains all of these bytes.
    pub(crate) fn find(&self, address: u64, bytes: usize) -> Option<BlockFacts> {
        let address = address as usize;
        let (start, block) = self.blocks.range(..=address).next_back()?;
        let offset = address - start;
        let is_inside = offset < block.bytes && bytes <= block.bytes - offset;
        let is_managed = matches!(block.origin, Origin::Managed { .. } | Origin::Variable);
        is_inside.then_some(BlockFacts { start: *start as u64, bytes: block.bytes, flags: block.flags, is_managed })
    }

    pub(crate) fn contains(&self, address: u64, bytes: usize) -> bool {
        self.find(address, bytes).is_some()
    }

    /// Whether an allocation starts here that is freed like device memory: managed memory or memory
    /// of a host pool.
    pub(crate) fn is_freed_by_device(&self, start: u64) -> bool {
        let block = self.blocks.get(&(start as usize));
        block.is_some_and(|block| matches!(block.origin, Origin::Managed { .. } | Origin::Pool { .. }))
    }

    /// Number of bytes of managed memory.
    pub(crate) fn managed_bytes(&self) -> u64 {
        self.bytes_of(|origin| matches!(origin, Origin::Managed { .. }))
    }

    /// Number of bytes in host memory pools.
    pub(crate) fn pool_bytes(&self) -> u64 {
        self.bytes_of(|origin| matches!(origin, Origin::Pool { .. }))
    }

    fn bytes_of(&self, is_counted: impl Fn(&Origin) -> bool) -> u64 {
        self.blocks.values().filter(|block| is_counted(&block.origin)).map(|block| block.bytes as u64).sum()
    }

    fn overlaps(&self, address: usize, bytes: usize) -> bool {
        let end = address.saturating_add(bytes);
        self.blocks.range(..end).next_back().is_some_and(|(start, block)| start + block.bytes > address)
    }
}

/// Allocates page-locked memory.
pub(crate) fn allocate_host(pointer: Out<usize>, bytes: usize, flags: c_uint) -> Result {
    if bytes == 0 || pointer.is_null() || flags > 7 {
        return Err(Error::INVALID_VALUE);
    }
    let pages = Pages::new(bytes)?;
    let address = pages.address();
    in_context(|state, _, _| state.share(address, bytes, flags, Origin::Allocated { _pages: pages }))?;
    pointer.set(address.0)
}

/// Allocates page-locked host memory from a pool. Devices access it at the same address.
pub(crate) fn allocate_of_pool(pointer: Out<u64>, bytes: usize) -> Result {
    if bytes == 0 || pointer.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let pages = Pages::new(bytes)?;
    let address = pages.address();
    in_context(|state, _, _| state.share(address, bytes, DEVICE_MAP, Origin::Pool { _pages: pages }))?;
    pointer.set(address.0 as u64)
}

/// Allocates memory with one address for host and devices.
pub(crate) fn allocate_managed(pointer: Out<u64>, bytes: usize, flags: c_uint) -> Result {
    if bytes == 0 || pointer.is_null() || !(1..=2).contains(&flags) {
        return Err(Error::INVALID_VALUE);
    }
    let pages = Pages::new(bytes)?;
    let address = pages.address();
    in_context(|state, _, _| state.share(address, bytes, DEVICE_MAP, Origin::Managed { _pages: pages }))?;
    pointer.set(address.0 as u64)
}

pub(crate) fn register(address: HostAddress, bytes: usize, flags: c_uint) -> Result {
    if bytes == 0 || address.0 == 0 || flags > 15 {
        return Err(Error::INVALID_VALUE);
    }
    // A pointer to invalid memory is reported here, not in a later launch.
    host::read(address, &mut [0])?;
    host::read(HostAddress(address.0.checked_add(bytes - 1).ok_or(Error::INVALID_VALUE)?), &mut [0])?;
    in_context(|state, _, _| {
        if state.shared.overlaps(address.0, bytes) {
            return Err(Error::HOST_MEMORY_ALREADY_REGISTERED);
        }
        state.share(address, bytes, flags, Origin::Registered)
    })
}

pub(crate) fn unregister(address: HostAddress) -> Result {
    pending::wait(Until::Everything)?;
    let mut state = state()?;
    match state.shared.blocks.get(&address.0).map(|block| &block.origin) {
        Some(Origin::Registered) => state.free_shared(address),
        _ => Err(Error::HOST_MEMORY_NOT_REGISTERED),
    }
}

/// Frees page-locked memory.
pub(crate) fn free_host(address: HostAddress) -> Result {
    pending::wait(Until::Everything)?;
    let mut state = state()?;
    match state.shared.blocks.get(&address.0).map(|block| &block.origin) {
        Some(Origin::Allocated { .. }) => state.free_shared(address),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// The address at which devices access page-locked memory, the same as on the host.
pub(crate) fn device_pointer(device: Out<u64>, address: HostAddress, flags: c_uint) -> Result {
    if flags != 0 {
        return Err(Error::INVALID_VALUE);
    }
    in_context(|state, _, _| {
        let block = state.shared.find(address.0 as u64, 1).ok_or(Error::INVALID_VALUE)?;
        state.map(block.start)?;
        device.set(address.0 as u64)
    })
}

pub(crate) fn flags(flags: Out<c_uint>, address: HostAddress) -> Result {
    in_context(|state, _, _| {
        let block = state.shared.find(address.0 as u64, 1).filter(|block| !block.is_managed);
        flags.set(block.ok_or(Error::INVALID_VALUE)?.flags)
    })
}

/// Attributes of a range of managed memory. The emulator keeps none.
pub(crate) fn range_attribute(value: Out<c_int>, bytes: usize, attribute: c_int, address: u64, count: usize) -> Result {
    super::hint(address, count)?;
    if bytes != 4 {
        return Err(Error::INVALID_VALUE);
    }
    match attribute {
        // Read mostly; preferred location and last prefetch location: none (`CU_DEVICE_INVALID`).
        1 => value.set(0),
        2 | 4 => value.set(-2),
        _ => {
            journal::unsupported("cuMemRangeGetAttribute of this attribute");
            Err(Error::NOT_SUPPORTED)
        }
    }
}

impl State {
    /// Adds a block. Fails if kernels should access it but cannot.
    fn share(&mut self, address: HostAddress, bytes: usize, flags: c_uint, origin: Origin) -> Result {
        self.shared.blocks.insert(address.0, Block { bytes, flags, origin, region: None });
        let mapped = if flags & DEVICE_MAP != 0 { self.map(address.0 as u64) } else { Ok(()) };
        if mapped.is_err() {
            self.shared.blocks.remove(&address.0);
        }
        mapped
    }

    /// Stops sharing a block, and frees it if the driver allocated it.
    pub(crate) fn free_shared(&mut self, address: HostAddress) -> Result {
        let block = self.shared.blocks.remove(&address.0).ok_or(Error::INVALID_VALUE)?;
        if block.region.is_some() {
            for memory in &mut self.memories {
                memory.remove_at(address.0 as u64).map_err(|_| Error::UNKNOWN)?;
            }
        }
        Ok(())
    }

    /// Gives the host access to a managed variable of a device, at its device address.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`, or `NOT_SUPPORTED` if the system cannot map such pages.
    pub(crate) fn share_variable(&mut self, ordinal: usize, start: u64, bytes: usize) -> Result {
        let region = {
            let view = self.memories[ordinal].view();
            let (index, _) = view.find(start, bytes).map_err(|_| Error::UNKNOWN)?;
            Arc::clone(&view.allocations()[index].region)
        };
        self.shared.of_devices.map(start as usize, bytes)?;
        let mut image = vec![0; region.bytes()];
        region.read(0, &mut image);
        host::write(HostAddress(start as usize), &image)?;
        let block = Block { bytes, flags: DEVICE_MAP, origin: Origin::Variable, region: Some(region) };
        self.shared.blocks.insert(start as usize, block);
        Ok(())
    }

    /// Stops sharing a variable of an unloaded module.
    pub(crate) fn forget_variable(&mut self, start: u64) {
        if self.shared.blocks.get(&(start as usize)).is_some_and(|block| matches!(block.origin, Origin::Variable)) {
            self.shared.blocks.remove(&(start as usize));
        }
    }

    /// Makes a block accessible to kernels of all devices at its host address. On an error, no
    /// device has access.
    fn map(&mut self, start: u64) -> Result {
        let Some(block) = self.shared.blocks.get_mut(&(start as usize)) else { return Err(Error::INVALID_VALUE) };
        if block.region.is_some() {
            return Ok(());
        }
        let region = Arc::new(Region::try_new(block.bytes).map_err(|_| Error::OUT_OF_MEMORY)?);
        for ordinal in 0..self.memories.len() {
            if let Err(error) = self.memories[ordinal].add_at("memory of the host", start, Arc::clone(&region)) {
                for memory in &mut self.memories[..ordinal] {
                    memory.remove_at(start).map_err(|_| Error::UNKNOWN)?;
                }
                return Err(super::refusal(&error));
            }
        }
        block.region = Some(region);
        Ok(())
    }

    /// Makes the blocks that a launch's parameters point into accessible to kernels.
    pub(crate) fn map_parameters(&mut self, parameters: &[Vec<u8>]) -> Result {
        if self.shared.blocks.is_empty() {
            return Ok(());
        }
        for words in parameters.iter().map(|parameter| parameter.as_chunks::<8>().0) {
            for word in words {
                if let Some(block) = self.shared.find(u64::from_le_bytes(*word), 1) {
                    self.map(block.start)?;
                }
            }
        }
        Ok(())
    }

    /// Copies shared memory to the kernels.
    ///
    /// # Errors
    /// `INVALID_VALUE` if a caller freed memory while it was registered.
    pub(crate) fn copy_to_kernels(&self) -> Result {
        self.each_mapped(|address, region| {
            let mut bytes = vec![0; region.bytes()];
            host::read(address, &mut bytes)?;
            region.write(0, &bytes);
            Ok(())
        })
    }

    /// Copies shared memory back to the host.
    ///
    /// # Errors
    /// Same as [`copy_to_kernels`](Self::copy_to_kernels).
    pub(crate) fn copy_from_kernels(&self) -> Result {
        self.each_mapped(|address, region| {
            let mut bytes = vec![0; region.bytes()];
            region.read(0, &mut bytes);
            host::write(address, &bytes)
        })
    }

    fn each_mapped(&self, mut copy: impl FnMut(HostAddress, &Region) -> Result) -> Result {
        let mapped = self.shared.blocks.iter().filter_map(|(start, block)| Some((*start, block.region.as_ref()?)));
        mapped.into_iter().try_for_each(|(start, region)| copy(HostAddress(start), region))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Driver;
    use crate::options::Options;

    /// A driver with two devices that ignores the environment.
    fn driver() -> Driver {
        let mut options = Options::from_environment().unwrap();
        options.devices = vec![options.devices[0]; 2];
        Driver::new(options)
    }

    #[test]
    fn a_block_that_kernels_cannot_access_is_not_allocated() {
        let driver = driver();
        let mut state = driver.state.lock().unwrap();
        let used = |state: &State| state.memories.iter().map(|memory| memory.used()).collect::<Vec<_>>();
        let mut caller = vec![0_u8; 8192];
        let of_caller = HostAddress(caller.as_mut_ptr().addr());
        for is_managed in [true, false] {
            let pages = Pages::new(8192).unwrap();
            let (address, origin) = match is_managed {
                true => (pages.address(), Origin::Managed { _pages: pages }),
                false => (of_caller, Origin::Registered),
            };
            // Memory of the second device blocks the address.
            let start = address.0 as u64 + 4096;
            state.memories[1].add_at("obstacle", start, Arc::new(Region::new(16))).unwrap();
            let before = used(&state);
            assert_eq!(state.share(address, 8192, DEVICE_MAP, origin), Err(Error::OUT_OF_MEMORY));
            assert_eq!(used(&state), before);
            assert_eq!((state.shared.blocks.len(), state.shared.managed_bytes()), (0, 0));
            state.memories[1].remove_at(start).unwrap();
        }
        state.share(of_caller, 8192, DEVICE_MAP, Origin::Registered).unwrap();
        assert!(state.shared.contains(of_caller.0 as u64, 8192));
        state.free_shared(of_caller).unwrap();
    }

    #[test]
    fn page_locked_memory_that_is_refused_to_kernels_can_be_mapped_later() {
        let driver = driver();
        let mut state = driver.state.lock().unwrap();
        let pages = Pages::new(64).unwrap();
        let address = pages.address();
        let start = address.0 as u64;
        state.share(address, 64, 0, Origin::Allocated { _pages: pages }).unwrap();
        state.memories[1].add_at("obstacle", start, Arc::new(Region::new(16))).unwrap();
        assert_eq!(state.map(start), Err(Error::OUT_OF_MEMORY));
        state.memories[1].remove_at(start).unwrap();
        state.map(start).unwrap();
        state.free_shared(address).unwrap();
        assert!(state.memories.iter().all(|memory| memory.used() == 0));
    }
}
