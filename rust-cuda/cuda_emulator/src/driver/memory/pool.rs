//! Memory pools, of which each device has one, without a limit or reuse: an allocation is one of the device.

use std::ffi::c_int;

use crate::abi::{In, MemoryLocation, Out, PoolProperties};
use crate::driver::device;
use crate::driver::{driver, in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;

/// `CU_MEM_LOCATION_TYPE_DEVICE`
const ON_DEVICE: c_int = 1;

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`
const RELEASE_THRESHOLD: c_int = 4;

/// The default pool of a device, which is also its current one.
pub(crate) fn default_pool(pool: Out<Handle>, device: c_int) -> Result {
    let (ordinal, _) = device::of(device)?;
    let state = state()?;
    let found = state.pools.iter().find(|(_, of)| **of == ordinal);
    pool.set(found.ok_or(Error::INVALID_DEVICE)?.0)
}

pub(crate) fn create_pool(pool: Out<Handle>, properties: In<PoolProperties>) -> Result {
    let properties = properties.get()?;
    if properties.location.kind != ON_DEVICE {
        journal::unsupported("a memory pool of the host");
        return Err(Error::NOT_SUPPORTED);
    }
    let (ordinal, _) = device::of(properties.location.id)?;
    pool.set(state()?.pools.add(ordinal))
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
    if of_pool != of_context {
        return Err(Error::INVALID_CONTEXT);
    }
    super::allocate(address, bytes)
}

/// An attribute of a pool, as 4 or 8 bytes by what it is.
pub(crate) fn pool_attribute(pool: Handle, attribute: c_int, value: Out<u64>) -> Result {
    let state = state()?;
    let ordinal = *state.pools.get(pool)?;
    match attribute {
        // Reuse: permitted.
        1..=3 => Out::<c_int>::set(value.cast(), 1),
        RELEASE_THRESHOLD => value.set(0),
        5..=8 => value.set(state.memories[ordinal].used()),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Accepts an attribute, which has no effect: nothing is kept for reuse.
pub(crate) fn set_pool_attribute(pool: Handle, attribute: c_int) -> Result {
    pool_exists(pool)?;
    if (1..=8).contains(&attribute) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Whether a device may access a pool: its own may, to read and to write (`CU_MEM_ACCESS_FLAGS_PROT_READWRITE`).
pub(crate) fn pool_access(flags: Out<c_int>, pool: Handle, location: In<MemoryLocation>) -> Result {
    let ordinal = *state()?.pools.get(pool)?;
    let location = location.get()?;
    let is_own = location.kind == ON_DEVICE && usize::try_from(location.id) == Ok(ordinal);
    flags.set(if is_own { 3 } else { 0 })
}
