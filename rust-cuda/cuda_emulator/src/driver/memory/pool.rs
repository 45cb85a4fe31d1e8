//! Memory pools, without a limit or reuse: an allocation is one of the device, or of managed memory. Each device has a default pool.

use std::ffi::{c_int, c_uint};

use super::shared;
use crate::abi::{In, MemoryLocation, Out, PoolProperties};
use crate::driver::device;
use crate::driver::{driver, in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;

/// `CU_MEM_ALLOCATION_TYPE_PINNED` and `CU_MEM_ALLOCATION_TYPE_MANAGED`
const PINNED: c_int = 1;
const MANAGED: c_int = 2;

/// `CU_MEM_LOCATION_TYPE_NONE`, `CU_MEM_LOCATION_TYPE_DEVICE`, `CU_MEM_LOCATION_TYPE_HOST` and, as the last of the host's,
/// `CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT`
const NOWHERE: c_int = 0;
const ON_DEVICE: c_int = 1;
const ON_HOST: c_int = 2;
const ON_CURRENT_NODE: c_int = 4;

/// `CU_MEM_ATTACH_GLOBAL`
const ATTACH_GLOBAL: c_uint = 1;

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`
const RELEASE_THRESHOLD: c_int = 4;

/// The memory of a pool's allocations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pool {
    /// That of the device with this ordinal.
    Device(usize),
    /// Managed memory, with one address for host and devices.
    Managed,
}

/// The default pool of a device, which is also its current one.
pub(crate) fn default_pool(pool: Out<Handle>, device: c_int) -> Result {
    let (ordinal, _) = device::of(device)?;
    let state = state()?;
    let found = state.pools.iter().nth(ordinal);
    pool.set(found.ok_or(Error::INVALID_DEVICE)?.0)
}

pub(crate) fn create_pool(pool: Out<Handle>, properties: In<PoolProperties>) -> Result {
    let PoolProperties { allocation_type, location, .. } = properties.get()?;
    let of_device = match location.kind {
        ON_DEVICE => Some(Pool::Device(device::of(location.id)?.0)),
        NOWHERE..=ON_CURRENT_NODE => None,
        _ => return Err(Error::INVALID_VALUE),
    };
    let new = match (allocation_type, of_device) {
        (PINNED, Some(of_device)) => of_device,
        // Its location is a preference.
        (MANAGED, _) => Pool::Managed,
        (PINNED, None) if location.kind != NOWHERE => {
            journal::unsupported("a memory pool of the host");
            return Err(Error::NOT_SUPPORTED);
        }
        _ => return Err(Error::INVALID_VALUE),
    };
    if pool.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    pool.set(state()?.pools.add(new))
}

/// Destroys a pool that is no default one. Its allocations remain until they are freed.
pub(crate) fn destroy_pool(pool: Handle) -> Result {
    let mut state = state()?;
    let defaults = driver()?.options.devices.len();
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
        Pool::Device(ordinal) if ordinal == of_context => super::allocate(address, bytes),
        Pool::Device(_) => Err(Error::INVALID_CONTEXT),
    }
}

/// An attribute of a pool, as 4 or 8 bytes by what it is.
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
        }),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Accepts an attribute, which has no effect: nothing is kept for reuse.
pub(crate) fn set_pool_attribute(pool: Handle, attribute: c_int) -> Result {
    pool_exists(pool)?;
    if (1..=8).contains(&attribute) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Whether a device or the host may access a pool, to read and to write (`CU_MEM_ACCESS_FLAGS_PROT_READWRITE`): its own device, and all of
/// them if it is managed.
pub(crate) fn pool_access(flags: Out<c_int>, pool: Handle, location: In<MemoryLocation>) -> Result {
    let pool = *state()?.pools.get(pool)?;
    let location = location.get()?;
    let may_access = match (pool, location.kind) {
        (Pool::Device(ordinal), ON_DEVICE) => usize::try_from(location.id) == Ok(ordinal),
        (Pool::Managed, ON_DEVICE) => device::of(location.id).is_ok(),
        (Pool::Managed, ON_HOST..=ON_CURRENT_NODE) => true,
        _ => false,
    };
    flags.set(if may_access { 3 } else { 0 })
}
