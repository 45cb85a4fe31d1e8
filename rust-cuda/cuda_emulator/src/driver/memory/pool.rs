//! Memory pools, without limits or reuse: they allocate device, managed or host memory. Each device
//! has a default pool, and so do managed memory and the host.

use std::ffi::{c_int, c_uint};

use super::shared;
use crate::abi::{In, MemoryLocation, Out, PoolAccess, PoolProperties};
use crate::driver::device;
use crate::driver::{driver, in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;

/// `CU_MEM_ALLOCATION_TYPE_PINNED` and `CU_MEM_ALLOCATION_TYPE_MANAGED`
const PINNED: c_int = 1;
const MANAGED: c_int = 2;

/// `CU_MEM_LOCATION_TYPE_NONE`, `CU_MEM_LOCATION_TYPE_DEVICE`, `CU_MEM_LOCATION_TYPE_HOST` and, as
/// the last host location, `CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT`
const NOWHERE: c_int = 0;
const ON_DEVICE: c_int = 1;
const ON_HOST: c_int = 2;
const ON_CURRENT_NODE: c_int = 4;

/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`
const READ_WRITE: c_int = 3;

/// `CU_MEM_ATTACH_GLOBAL`
const ATTACH_GLOBAL: c_uint = 1;

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`
const RELEASE_THRESHOLD: c_int = 4;

/// The kind of memory that a pool allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pool {
    /// Memory of the device with this ordinal.
    Device(usize),
    /// Managed memory, with one address for host and devices.
    Managed,
    /// Page-locked host memory.
    Host,
}

impl Pool {
    /// The default pools: one per device in order, then managed memory and the host.
    pub(crate) fn defaults(devices: usize) -> impl Iterator<Item = Self> {
        (0..devices).map(Self::Device).chain([Self::Managed, Self::Host])
    }

    /// # Errors
    /// `INVALID_VALUE` if there is no such location or type; `INVALID_DEVICE`.
    fn of(allocation_type: c_int, location: MemoryLocation) -> Result<Self> {
        match (allocation_type, location.kind) {
            (PINNED, ON_DEVICE) => Ok(Self::Device(device::with_ordinal(location.id)?.0)),
            (PINNED, ON_HOST..=ON_CURRENT_NODE) => Ok(Self::Host),
            // The location is only a preference.
            (MANAGED, ON_DEVICE) => device::with_ordinal(location.id).map(|_| Self::Managed),
            (MANAGED, NOWHERE | ON_HOST..=ON_CURRENT_NODE) => Ok(Self::Managed),
            _ => Err(Error::INVALID_VALUE),
        }
    }

    fn may_access(self, location: MemoryLocation) -> bool {
        match (self, location.kind) {
            (Self::Device(ordinal), ON_DEVICE) => usize::try_from(location.id) == Ok(ordinal),
            (Self::Managed | Self::Host, ON_DEVICE) => device::with_ordinal(location.id).is_ok(),
            (Self::Managed | Self::Host, ON_HOST..=ON_CURRENT_NODE) => true,
            _ => false,
        }
    }
}

/// The default pool of a device, which is also its current pool.
pub(crate) fn default_pool(pool: Out<Handle>, device: c_int) -> Result {
    let (ordinal, _) = device::with_ordinal(device)?;
    let state = state()?;
    let found = state.pools.iter().nth(ordinal);
    pool.set(found.ok_or(Error::INVALID_DEVICE)?.0)
}

/// The default pool of a location, which is also its current pool.
pub(crate) fn pool_of(pool: Out<Handle>, location: In<MemoryLocation>, allocation_type: c_int) -> Result {
    let wanted = Pool::of(allocation_type, location.get()?)?;
    let state = state()?;
    let found = state.pools.iter().find(|(_, known)| **known == wanted);
    pool.set(found.ok_or(Error::INVALID_VALUE)?.0)
}

pub(crate) fn create_pool(pool: Out<Handle>, properties: In<PoolProperties>) -> Result {
    let PoolProperties { allocation_type, location, .. } = properties.get()?;
    let new = Pool::of(allocation_type, location)?;
    if pool.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    pool.set(state()?.pools.add(new))
}

/// Accepts a grant of access that the pool already has.
///
/// # Errors
/// `INVALID_VALUE` for flags other than read and write access; `NOT_SUPPORTED` for another device.
pub(crate) fn set_pool_access(pool: Handle, access: In<PoolAccess>, count: usize) -> Result {
    let pool = *state()?.pools.get(pool)?;
    for PoolAccess { location, flags } in access.all(count)? {
        match flags {
            READ_WRITE if pool.may_access(location) => {}
            READ_WRITE => {
                journal::unsupported("a device's access to another one's memory pool");
                return Err(Error::NOT_SUPPORTED);
            }
            _ => return Err(Error::INVALID_VALUE),
        }
    }
    Ok(())
}

/// Destroys a pool unless it is a default pool. Its allocations remain until they are freed.
pub(crate) fn destroy_pool(pool: Handle) -> Result {
    let mut state = state()?;
    let defaults = Pool::defaults(driver()?.options.devices.len()).count();
    if state.pools.iter().take(defaults).any(|(handle, _)| handle == pool) {
        return Err(Error::INVALID_VALUE);
    }
    state.pools.remove(pool).map(drop)
}

pub(crate) fn pool_exists(pool: Handle) -> Result {
    state()?.pools.get(pool).map(drop)
}

pub(crate) fn allocate_from(address: Out<u64>, bytes: usize, pool: Handle) -> Result {
    let of_pool = *state()?.pools.get(pool)?;
    let of_context = in_context(|_, _, ordinal| Ok(ordinal))?;
    match of_pool {
        Pool::Managed => shared::allocate_managed(address, bytes, ATTACH_GLOBAL),
        Pool::Host => shared::allocate_of_pool(address, bytes),
        Pool::Device(ordinal) if ordinal == of_context => super::allocate(address, bytes),
        Pool::Device(_) => Err(Error::INVALID_CONTEXT),
    }
}

/// An attribute of a pool, with 4 or 8 bytes depending on the attribute.
pub(crate) fn pool_attribute(pool: Handle, attribute: c_int, value: Out<u64>) -> Result {
    let state = state()?;
    let pool = *state.pools.get(pool)?;
    match attribute {
        // Reuse: permitted.
        1..=3 => Out::<c_int>::set(value.cast(), 1),
        RELEASE_THRESHOLD => value.set(0),
        5..=8 => value.set(match pool {
            Pool::Device(ordinal) => state.memories[ordinal].used(),
            Pool::Managed => state.shared.managed_bytes(),
            Pool::Host => state.shared.pool_bytes(),
        }),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Accepts an attribute, without effect: nothing is kept for reuse.
pub(crate) fn set_pool_attribute(pool: Handle, attribute: c_int) -> Result {
    pool_exists(pool)?;
    if (1..=8).contains(&attribute) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Whether a device or the host may read and write a pool's memory. The pool's own device may; all
/// may if the pool is managed or on the host.
pub(crate) fn pool_access(flags: Out<c_int>, pool: Handle, location: In<MemoryLocation>) -> Result {
    let pool = *state()?.pools.get(pool)?;
    let location = location.get()?;
    flags.set(if pool.may_access(location) { READ_WRITE } else { 0 })
}
