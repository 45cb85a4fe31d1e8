//! The runtime's queries for devices and pointers.

use std::ffi::{c_int, c_uint};

use crate::abi::{Out, PointerAttributes};
use crate::driver::memory::Known;
use crate::driver::{context, device, state};
use crate::error::{Error, Result};

use super::{bind, current_device, primary};

/// `cudaMemoryTypeHost`, `cudaMemoryTypeDevice`, `cudaMemoryTypeManaged`; 0 is memory unknown to
/// CUDA.
const HOST: c_int = 1;
const DEVICE: c_int = 2;
const MANAGED: c_int = 3;

/// No device (`cudaInvalidDeviceId`).
const NO_DEVICE: c_int = -2;

/// `cudaPointerGetAttributes`
pub(crate) fn pointer_attributes(attributes: Out<PointerAttributes>, address: u64) -> Result {
    bind()?;
    let known = state()?.known(address);
    let (kind, device, on_device, on_host) = match known {
        None => (0, NO_DEVICE, 0, address),
        Some(Known { is_managed: true, ordinal, .. }) => (MANAGED, ordinal as c_int, address, address),
        Some(known) if known.is_of_host() => (HOST, known.ordinal as c_int, address, address),
        Some(Known { ordinal, .. }) => (DEVICE, ordinal as c_int, address, 0),
    };
    attributes.set(PointerAttributes { kind, device, on_device, on_host })
}

/// Lets the thread's device access another device's memory.
pub(crate) fn enable_peer(peer: c_int, flags: c_uint) -> Result {
    bind()?;
    if current_device()? as c_int == peer {
        return Err(Error::INVALID_DEVICE);
    }
    context::enable_peer(primary(peer)?, flags)
}

/// Revokes the access that [`enable_peer`] gave.
pub(crate) fn disable_peer(peer: c_int) -> Result {
    bind()?;
    context::disable_peer(primary(peer)?)
}

/// The flags of the thread's device.
pub(crate) fn flags(flags: Out<c_uint>) -> Result {
    bind()?;
    context::flags(flags)
}

/// Sets the flags of the thread's device.
pub(crate) fn set_flags(flags: c_uint) -> Result {
    let ordinal = current_device()?;
    context::set_primary_flags(ordinal as c_int, flags)
}

/// Creates a device's primary context (`cudaInitDevice`), with its flags if `has_flags` is not 0.
pub(crate) fn prepare(ordinal: c_int, flags: c_uint, has_flags: c_uint) -> Result {
    super::initialise()?;
    device::with_ordinal(ordinal)?;
    if has_flags != 0 {
        context::set_primary_flags(ordinal, flags)?;
    }
    primary(ordinal).map(drop)
}
