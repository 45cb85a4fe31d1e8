//! The devices and the properties that programs can query.

use std::ffi::{c_char, c_int};

use crate::abi::{DeviceProperties, Out, Text, Uuid};
use crate::architecture::Architecture;
use crate::driver::driver;
use crate::error::{Error, Result};

/// Size of a device's memory in bytes: half of the host's memory, which backs it, and at most 64
/// GiB.
pub(crate) fn memory_bytes() -> u64 {
    (host_bytes().unwrap_or(8 << 30) / 2).min(64 << 30)
}

/// Size of the host's memory in bytes, if the system reports it.
#[cfg(unix)]
#[allow(unsafe_code, reason = "a call of the C library")]
fn host_bytes() -> Option<u64> {
    // SAFETY: the function accepts any number, and does not access the caller's memory.
    let [pages, bytes] = [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    u64::try_from(pages).ok()?.checked_mul(u64::try_from(bytes).ok()?)
}

#[cfg(not(unix))]
fn host_bytes() -> Option<u64> {
    None
}

/// The device with this ordinal.
///
/// # Errors
/// `INVALID_DEVICE`
pub(crate) fn with_ordinal(ordinal: c_int) -> Result<(usize, Architecture)> {
    let index = usize::try_from(ordinal).map_err(|_| Error::INVALID_DEVICE)?;
    let architecture = driver()?.options.devices.get(index).ok_or(Error::INVALID_DEVICE)?;
    Ok((index, *architecture))
}

pub(crate) fn count(count: Out<c_int>) -> Result {
    count.set(driver()?.options.devices.len() as c_int)
}

pub(crate) fn get(device: Out<c_int>, ordinal: c_int) -> Result {
    with_ordinal(ordinal)?;
    device.set(ordinal)
}

pub(crate) fn name(name: Out<c_char>, length: c_int, device: c_int) -> Result {
    name.set_text(length, &with_ordinal(device)?.1.device_name())
}

pub(crate) fn uuid(uuid: Out<Uuid>, device: c_int) -> Result {
    uuid.set(Uuid { bytes: with_ordinal(device)?.1.uuid() })
}

pub(crate) fn total_memory(bytes: Out<usize>, device: c_int) -> Result {
    with_ordinal(device)?;
    bytes.set(memory_bytes() as usize)
}

pub(crate) fn attribute(value: Out<c_int>, attribute: c_int, device: c_int) -> Result {
    let (_, architecture) = with_ordinal(device)?;
    let known = architecture.attribute(attribute, architecture.number).ok_or(Error::INVALID_VALUE)?;
    value.set(known as c_int)
}

/// The properties that programs for early CUDA versions ask for.
pub(crate) fn properties(properties: Out<DeviceProperties>, device: c_int) -> Result {
    let (_, architecture) = with_ordinal(device)?;
    let value = |attribute| architecture.attribute(attribute, architecture.number).map_or(0, |value| value as c_int);
    properties.set(DeviceProperties {
        block_threads: value(1),
        block: [2, 3, 4].map(value),
        grid: [5, 6, 7].map(value),
        shared_bytes: value(8),
        constant_bytes: value(9),
        warp: value(10),
        pitch: value(11),
        registers: value(12),
        clock_rate: value(13),
        texture_alignment: value(14),
    })
}

/// No context can be limited to a subset of the multiprocessors.
pub(crate) fn affinity_support(support: Out<c_int>, affinity: c_int, device: c_int) -> Result {
    with_ordinal(device)?;
    // `CU_EXEC_AFFINITY_TYPE_SM_COUNT`
    if affinity != 0 {
        return Err(Error::INVALID_VALUE);
    }
    support.set(0)
}

pub(crate) fn compute_capability(major: Out<c_int>, minor: Out<c_int>, device: c_int) -> Result {
    let (_, architecture) = with_ordinal(device)?;
    major.set(architecture.major as c_int)?;
    minor.set(architecture.minor as c_int)
}

/// The device's bus address. The bus does not exist.
pub(crate) fn bus_id(id: Out<c_char>, length: c_int, device: c_int) -> Result {
    id.set_text(length, &bus_address(with_ordinal(device)?.1))
}

pub(crate) fn by_bus_id(device: Out<c_int>, id: Text) -> Result {
    let id = id.get()?;
    let devices = &driver()?.options.devices;
    let found = devices.iter().position(|device| bus_address(*device).eq_ignore_ascii_case(id.trim()));
    device.set(found.ok_or(Error::INVALID_DEVICE)? as c_int)
}

fn bus_address(device: Architecture) -> String {
    format!("0000:{:02X}:00.0", device.number)
}

/// Every device can access every other device's memory.
pub(crate) fn can_access_peer(can: Out<c_int>, device: c_int, peer: c_int) -> Result {
    let ((device, _), (peer, _)) = (with_ordinal(device)?, with_ordinal(peer)?);
    can.set(c_int::from(device != peer))
}

/// An attribute of a pair of devices: whether they can access each other's memory (2), also with
/// atomics (3).
pub(crate) fn peer_attribute(value: Out<c_int>, attribute: c_int, device: c_int, peer: c_int) -> Result {
    if device == peer || !(1..=5).contains(&attribute) {
        return Err(Error::INVALID_VALUE);
    }
    with_ordinal(device)?;
    with_ordinal(peer)?;
    value.set(c_int::from(matches!(attribute, 2 | 3)))
}
