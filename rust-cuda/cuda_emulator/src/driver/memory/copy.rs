//! Copies between host and devices.

use std::sync::Arc;

use ptx_interpreter::memory::Region;

use super::{Place, Transfer, submit};
use crate::abi::{Copy2D, Copy3D, HostAddress, In, Place2D, Place3D};
use crate::driver::{State, in_context};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::{host, journal};

/// Bytes that are copied at once.
const CHUNK: usize = 1 << 20;

/// An address of a copy, as its caller names it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Address {
    /// Of the host.
    Host(HostAddress),
    /// Of a device.
    Device(u64),
    /// Of either: addresses of host and devices differ.
    Any(u64),
}

/// A copy of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) to_pitch: usize,
    pub(crate) from_pitch: usize,
    /// Bytes of a row.
    pub(crate) width: usize,
    /// Number of rows.
    pub(crate) height: usize,
}

impl Address {
    fn plus(self, bytes: usize) -> Self {
        match self {
            Self::Host(HostAddress(address)) => Self::Host(HostAddress(address.wrapping_add(bytes))),
            Self::Device(address) => Self::Device(address.wrapping_add(bytes as u64)),
            Self::Any(address) => Self::Any(address.wrapping_add(bytes as u64)),
        }
    }

    fn place(self, bytes: usize, state: &State) -> Result<Place> {
        match self {
            Self::Host(address) => state.any_place(address.0 as u64, bytes),
            Self::Device(address) => state.device_place(address, bytes),
            Self::Any(address) => state.any_place(address, bytes),
        }
    }
}

/// Copies `bytes`, in a stream if there is one.
pub(crate) fn copy(to: Address, from: Address, bytes: usize, stream: Option<Handle>) -> Result {
    submit(Copy { to, from, to_pitch: bytes, from_pitch: bytes, width: bytes, height: 1 }, stream)
}

/// Copies rows, in a stream if there is one.
pub(crate) fn copy_rows(rows: Copy, stream: Option<Handle>) -> Result {
    submit(rows, stream)
}

/// Copies between the devices of two contexts, whose addresses say which they are.
pub(crate) fn copy_peer(
    to: u64,
    to_context: Handle,
    from: u64,
    from_context: Handle,
    bytes: usize,
    stream: Option<Handle>,
) -> Result {
    in_context(|state, _, _| {
        state.usable(to_context)?;
        state.usable(from_context)
    })?;
    copy(Address::Device(to), Address::Device(from), bytes, stream)
}

pub(crate) fn copy_2d(parameters: In<Copy2D>, stream: Option<Handle>) -> Result {
    let Copy2D { source, destination, width_bytes, height } = parameters.get()?;
    let [to, from] = [destination, source].map(|place| start(place, width_bytes));
    let copy = Copy {
        to: to?,
        from: from?,
        to_pitch: destination.pitch,
        from_pitch: source.pitch,
        width: width_bytes,
        height,
    };
    submit(copy, stream)
}

pub(crate) fn copy_3d(parameters: In<Copy3D>, stream: Option<Handle>) -> Result {
    submit(copy_node(parameters)?, stream)
}

/// A copy as a graph's node: of a rectangle, or of bytes.
///
/// # Errors
/// `NOT_SUPPORTED` if it has several planes.
pub(crate) fn copy_node(parameters: In<Copy3D>) -> Result<Copy> {
    let Copy3D { source, destination, width_bytes, height, depth } = parameters.get()?;
    if depth > 1 || source.z != 0 || destination.z != 0 {
        journal::unsupported("a copy of several planes");
        return Err(Error::NOT_SUPPORTED);
    }
    let plane = |place: Place3D| {
        let Place3D { x_bytes, y, memory, host, device, array, pitch, .. } = place;
        start(Place2D { x_bytes, y, memory, host, device, array, pitch }, width_bytes)
    };
    Ok(Copy {
        to: plane(destination)?,
        from: plane(source)?,
        to_pitch: destination.pitch,
        from_pitch: source.pitch,
        width: width_bytes,
        height: height * depth,
    })
}

impl Copy {
    /// The copy as [`copy_node`] reads it, whose first bytes are at the addresses.
    pub(crate) fn parameters(&self) -> Copy3D {
        let place = |address, pitch| {
            let (memory, host, device) = match address {
                Address::Host(HostAddress(host)) => (1, host, 0),
                Address::Device(device) => (2, 0, device),
                Address::Any(device) => (4, 0, device),
            };
            let (x_bytes, y, z, level, array, reserved) = (0, 0, 0, 0, 0, 0);
            Place3D { x_bytes, y, z, level, memory, host, device, array, reserved, pitch, height: self.height }
        };
        Copy3D {
            source: place(self.from, self.from_pitch),
            destination: place(self.to, self.to_pitch),
            width_bytes: self.width,
            height: self.height,
            depth: 1,
        }
    }

    /// Whether it copies one row of at least one byte.
    pub(crate) fn is_one_row(&self) -> bool {
        self.width != 0 && self.height == 1
    }
}

/// The address of the first byte of a rectangle.
fn start(place: Place2D, width: usize) -> Result<Address> {
    let Place2D { x_bytes, y, memory, host, device, array: _, pitch } = place;
    if pitch != 0 && pitch < width.saturating_add(x_bytes) {
        return Err(Error::INVALID_VALUE);
    }
    let offset = y.checked_mul(pitch).and_then(|rows| rows.checked_add(x_bytes)).ok_or(Error::INVALID_VALUE)?;
    let address = match memory {
        1 => Address::Host(HostAddress(host)),
        2 => Address::Device(device),
        4 => Address::Any(device),
        3 => {
            journal::unsupported("a copy to or from an array");
            return Err(Error::NOT_SUPPORTED);
        }
        _ => return Err(Error::INVALID_VALUE),
    };
    Ok(address.plus(offset))
}

impl Transfer for Copy {
    const NODE_TYPE: i32 = 1;

    fn run_in(&self, state: &State) -> Result {
        if self.width == 0 || self.height == 0 {
            return Ok(());
        }
        let row = |row: usize| -> Result<(Place, Place)> {
            let [to, from] = [(self.to, self.to_pitch), (self.from, self.from_pitch)]
                .map(|(address, pitch)| address.plus(row.wrapping_mul(pitch)).place(self.width, state));
            Ok((to?, from?))
        };
        // A copy of many rows that ends outside fails as a whole.
        row(self.height - 1)?;
        for number in 0..self.height {
            let (to, from) = row(number)?;
            copy_row(&to, &from, self.width)?;
        }
        Ok(())
    }
}

fn copy_row(to: &Place, from: &Place, bytes: usize) -> Result {
    if let Place::Device { region, offset } = from
        && matches!(to, Place::Host(_))
        && let Some(first) = region.first_uninitialised(*offset, bytes)
    {
        journal::uninitialised_copy(first - offset, bytes);
    }
    let mut buffer = vec![0; bytes.min(CHUNK)];
    for start in chunks(to, from, bytes) {
        let chunk = &mut buffer[..CHUNK.min(bytes - start)];
        match from {
            Place::Host(HostAddress(address)) => host::read(HostAddress(address + start), chunk)?,
            Place::Device { region, offset } => region.read(offset + start, chunk),
        }
        match (to, from) {
            (Place::Host(HostAddress(address)), _) => host::write(HostAddress(address + start), chunk)?,
            (Place::Device { region: target, offset: at }, Place::Device { region, offset }) => {
                let missing = missing_bytes(region, offset + start, chunk.len());
                target.write(at + start, chunk);
                for (first, count) in missing {
                    target.mark_uninitialised(at + start + first, count);
                }
            }
            (Place::Device { region, offset }, Place::Host(_)) => region.write(offset + start, chunk),
        }
    }
    Ok(())
}

/// The starts of the chunks, in the order in which overlapping bytes are read before they are written.
fn chunks(to: &Place, from: &Place, bytes: usize) -> Vec<usize> {
    let mut starts: Vec<usize> = (0..bytes).step_by(CHUNK).collect();
    let overlaps_upwards = match (to, from) {
        (Place::Device { region: target, offset: at }, Place::Device { region, offset }) => {
            Arc::ptr_eq(target, region) && at > offset
        }
        (Place::Host(to), Place::Host(from)) => to > from,
        _ => false,
    };
    if overlaps_upwards {
        starts.reverse();
    }
    starts
}

/// First byte, counted from `offset`, and number of each run of bytes that are uninitialised.
fn missing_bytes(region: &Region, offset: usize, bytes: usize) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut next = offset;
    while let Some(first) = region.first_uninitialised(next, offset + bytes - next) {
        match runs.last_mut().filter(|(start, count)| start + count == first - offset) {
            Some((_, count)) => *count += 1,
            None => runs.push((first - offset, 1)),
        }
        next = first + 1;
    }
    runs
}
