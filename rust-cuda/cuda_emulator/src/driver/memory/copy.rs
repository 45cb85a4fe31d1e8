//! Copies between host and devices.

use std::sync::Arc;

use ptx_interpreter::memory::Region;

use super::{Place, Timing, Transfer, submit};
use crate::abi::{Copy2D, Copy3D, HostAddress, In, Place2D, Place3D};
use crate::driver::array::ArrayPlace;
use crate::driver::{State, in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::work::Work;
use crate::{host, journal};

/// Maximum number of bytes copied at once.
const CHUNK: usize = 1 << 20;

/// An address of a copy, as the caller specifies it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Address {
    /// On the host.
    Host(HostAddress),
    /// On a device.
    Device(u64),
    /// On either: host and device addresses do not overlap.
    Any(u64),
    /// In an array: the byte offset in its row, the row, and the plane or layer.
    Array(Handle, [usize; 3]),
}

/// The source or destination of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// The first byte.
    pub(crate) address: Address,
    /// Distance between rows in bytes; an array has its own.
    pub(crate) pitch: usize,
    /// Distance between planes in bytes; an array has its own.
    pub(crate) plane: usize,
}

/// A copy of rows and planes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) to: Side,
    pub(crate) from: Side,
    /// Bytes per row.
    pub(crate) width: usize,
    /// Rows per plane.
    pub(crate) height: usize,
    /// Number of planes.
    pub(crate) depth: usize,
}

impl Address {
    fn plus(self, bytes: usize) -> Self {
        match self {
            Self::Host(HostAddress(address)) => Self::Host(HostAddress(address.wrapping_add(bytes))),
            Self::Device(address) => Self::Device(address.wrapping_add(bytes as u64)),
            Self::Any(address) => Self::Any(address.wrapping_add(bytes as u64)),
            Self::Array(array, [x, y, z]) => Self::Array(array, [x.saturating_add(bytes), y, z]),
        }
    }

    /// The address as a number; 0 for an array.
    fn number(self) -> u64 {
        match self {
            Self::Host(HostAddress(address)) => address as u64,
            Self::Device(address) | Self::Any(address) => address,
            Self::Array(..) => 0,
        }
    }

    fn place(self, bytes: usize, state: &State) -> Result<Place> {
        match self {
            Self::Host(address) => state.any_place(address.0 as u64, bytes),
            Self::Device(address) => state.device_place(address, bytes),
            Self::Any(address) => state.any_place(address, bytes),
            Self::Array(array, at) => state.device_place(state.array_place(array, at, [bytes, 1, 1])?.address, bytes),
        }
    }
}

impl Side {
    /// The same side with the array's device address.
    ///
    /// # Errors
    /// `INVALID_HANDLE`; `INVALID_VALUE` if the extent reaches outside the array.
    fn in_memory(self, extent: [usize; 3], state: &State) -> Result<Self> {
        let Address::Array(array, at) = self.address else { return Ok(self) };
        let ArrayPlace { address, pitch, plane } = state.array_place(array, at, extent)?;
        Ok(Self { address: Address::Device(address), pitch, plane })
    }
}

/// An address in the first row of an array.
pub(crate) fn array_part(array: Handle, offset: usize) -> Address {
    Address::Array(array, [offset, 0, 0])
}

/// Copies `bytes`, in a stream if there is one.
pub(crate) fn copy(to: Address, from: Address, bytes: usize, stream: Option<Handle>) -> Result {
    let [to, from] = [to, from].map(|address| Side { address, pitch: bytes, plane: bytes });
    submit(Copy { to, from, width: bytes, height: 1, depth: 1 }, stream)
}

/// Copies rows, in a stream if there is one.
pub(crate) fn copy_rows(rows: Copy, stream: Option<Handle>) -> Result {
    submit(rows, stream)
}

/// Copies between the devices of two contexts. The addresses determine the devices.
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
    let [source, destination] = [source, destination].map(|place| {
        let Place2D { x_bytes, y, memory, host, device, array, pitch } = place;
        let (z, level, reserved) = (0, 0, 0);
        Place3D { x_bytes, y, z, level, memory, host, device, array, reserved, pitch, height: 0 }
    });
    submit(Copy::new(Copy3D { source, destination, width_bytes, height, depth: 1 })?, stream)
}

pub(crate) fn copy_3d(parameters: Copy3D, stream: Option<Handle>) -> Result {
    submit(Copy::new(parameters)?, stream)
}

/// The copy of a graph node.
///
/// # Errors
/// Same as [`copy_3d`].
pub(crate) fn copy_node(parameters: Copy3D) -> Result<Copy> {
    let copy = Copy::new(parameters)?;
    copy.in_memory(&*state()?)?;
    Ok(copy)
}

impl Copy {
    fn new(parameters: Copy3D) -> Result<Self> {
        let Copy3D { source, destination, width_bytes: width, height, depth } = parameters;
        let [to, from] = [destination, source].map(|place| side(place, [width, height, depth]));
        Ok(Self { to: to?, from: from?, width, height, depth })
    }

    /// The parameters of the copy in the form that [`copy_node`] reads, starting at the addresses.
    pub(crate) fn parameters(&self) -> Copy3D {
        let place = |Side { address, pitch, plane }: Side| {
            let (memory, host, device) = match address {
                Address::Host(HostAddress(host)) => (1, host, 0),
                Address::Device(device) => (2, 0, device),
                Address::Array(..) => (3, 0, 0),
                Address::Any(device) => (4, 0, device),
            };
            let (array, [x_bytes, y, z]) = match address {
                Address::Array(array, at) => (array, at),
                _ => (0, [0; 3]),
            };
            let height = plane.checked_div(pitch).unwrap_or(0).max(self.height);
            Place3D { x_bytes, y, z, level: 0, memory, host, device, array, reserved: 0, pitch, height }
        };
        Copy3D {
            source: place(self.from),
            destination: place(self.to),
            width_bytes: self.width,
            height: self.height,
            depth: self.depth,
        }
    }

    /// Whether it copies one row of at least one byte.
    pub(crate) fn is_one_row(&self) -> bool {
        self.width != 0 && self.height == 1 && self.depth == 1
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// The location of a row on one side.
    fn row(&self, side: Side, plane: usize, row: usize, state: &State) -> Result<Place> {
        let offset = plane.wrapping_mul(side.plane).wrapping_add(row.wrapping_mul(side.pitch));
        side.address.plus(offset).place(self.width, state)
    }

    /// Fails as a whole if any of its rows is out of bounds.
    fn check(&self, state: &State) -> Result {
        [self.to, self.from].into_iter().try_for_each(|side| {
            self.row(side, self.depth - 1, self.height - 1, state)?;
            self.row(side, 0, 0, state).map(drop)
        })
    }

    /// The kind of memory on one side.
    fn memory(&self, side: Side, state: &State) -> Result<Memory> {
        Ok(match self.row(side, 0, 0, state)? {
            Place::Device { .. } => Memory::Device,
            Place::Host(address) => match state.shared.find(address.0 as u64, self.width) {
                Some(block) if block.is_managed => Memory::Managed,
                Some(_) => Memory::PageLocked,
                None => Memory::Pageable,
            },
        })
    }

    /// Whether it copies from one device to another.
    fn is_between_devices(&self, state: &State) -> bool {
        let [to, from] = [self.to, self.from].map(|side| state.extent_of(side.address.number()));
        to.zip(from).is_some_and(|((to, _), (from, _))| to != from)
    }

    /// The side with an address in the device's address space, if the driver knows the memory.
    fn known(&self, side: Side, state: &State) -> Result<Side> {
        let is_known = self.memory(side, state)? != Memory::Pageable;
        let address = if is_known { Address::Device(side.address.number()) } else { side.address };
        Ok(Side { address, ..side })
    }

    /// Reads the host memory of the source into a buffer, which becomes the source.
    fn stage(&mut self, state: &State) -> Result<Vec<u8>> {
        let Self { from, width, height, depth, .. } = *self;
        let rows = height.checked_mul(depth).and_then(|rows| rows.checked_mul(width));
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(rows.ok_or(Error::INVALID_VALUE)?).map_err(|_| Error::OUT_OF_MEMORY)?;
        for plane in 0..depth {
            for number in 0..height {
                let Place::Host(address) = self.row(from, plane, number, state)? else {
                    return Err(Error::INVALID_VALUE);
                };
                let start = bytes.len();
                bytes.resize(start + width, 0);
                host::read(address, &mut bytes[start..])?;
            }
        }
        let address = Address::Host(HostAddress(bytes.as_ptr() as usize));
        self.from = Side { address, pitch: width, plane: width * height };
        Ok(bytes)
    }

    /// The copy with array addresses resolved.
    fn in_memory(self, state: &State) -> Result<Self> {
        let [to, from] = [self.to, self.from].map(|side| side.in_memory([self.width, self.height, self.depth], state));
        Ok(Self { to: to?, from: from?, ..self })
    }
}

/// The side with the address of its first byte.
///
/// # Errors
/// `INVALID_VALUE` if rows or planes overlap, a mipmap level is set, or the kind of memory is
/// unknown.
fn side(place: Place3D, [width, height, depth]: [usize; 3]) -> Result<Side> {
    let Place3D { x_bytes, y, z, level, memory, host, device, array, reserved: _, pitch, height: rows } = place;
    if level != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let address = match memory {
        1 => Address::Host(HostAddress(host)),
        2 => Address::Device(device),
        3 => return Ok(Side { address: Address::Array(array, [x_bytes, y, z]), pitch: 0, plane: 0 }),
        4 => Address::Any(device),
        _ => return Err(Error::INVALID_VALUE),
    };
    let overlaps =
        pitch != 0 && pitch < width.saturating_add(x_bytes) || (depth > 1 || z > 0) && rows < height.saturating_add(y);
    let plane = pitch.checked_mul(rows).filter(|_| !overlaps).ok_or(Error::INVALID_VALUE)?;
    let offset =
        z.checked_mul(plane).and_then(|planes| y.checked_mul(pitch)?.checked_add(planes)?.checked_add(x_bytes));
    Ok(Side { address: address.plus(offset.ok_or(Error::INVALID_VALUE)?), pitch, plane })
}

/// Kinds of memory that copies treat differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Device,
    Managed,
    PageLocked,
    Pageable,
}

impl Transfer for Copy {
    const NODE_TYPE: i32 = 1;

    fn timing(&self, state: &State, is_async: bool) -> Result<Timing> {
        use Memory::{Device, Managed, PageLocked, Pageable};
        if self.is_empty() {
            return Ok(Timing::Later);
        }
        let copy = self.in_memory(state)?;
        copy.check(state)?;
        Ok(match (copy.memory(copy.from, state)?, copy.memory(copy.to, state)?) {
            // A copy between devices is ordered with the work of both.
            (Device, Device) if !is_async && copy.is_between_devices(state) => Timing::Alone,
            (Device, Device) => Timing::Later,
            (Pageable, Device | Managed) => Timing::Staged,
            (_, Pageable) | (Pageable | PageLocked, PageLocked) => Timing::AtCall,
            (Device | Managed | PageLocked, Device | Managed) | (Device | Managed, PageLocked) => {
                if is_async {
                    Timing::Later
                } else {
                    Timing::AtCall
                }
            }
        })
    }

    fn pending(self, state: &State, timing: Timing) -> Result<Arc<dyn Work>> {
        if self.is_empty() {
            return Ok(Arc::new(self));
        }
        let mut copy = self.in_memory(state)?;
        let is_for_host = copy.memory(copy.to, state)? != Memory::Device;
        let [to, from] = [copy.to, copy.from].map(|side| copy.known(side, state));
        (copy.to, copy.from) = (to?, from?);
        let staged = if timing == Timing::Staged { copy.stage(state)? } else { Vec::new() };
        Ok(Arc::new(Pending { copy, is_for_host, _staged: staged }))
    }

    fn run_in(&self, state: &State) -> Result {
        if self.is_empty() {
            return Ok(());
        }
        let copy = self.in_memory(state)?;
        copy.check(state)?;
        for plane in 0..self.depth {
            for number in 0..self.height {
                let [to, from] = [copy.to, copy.from].map(|side| copy.row(side, plane, number, state));
                copy_row(&to?, &from?, self.width)?;
            }
        }
        Ok(())
    }
}

/// A copy in a stream, after its call has returned. Memory that the driver knows is accessed in the
/// device's address space, so the copy fails once that memory is freed.
#[derive(Debug)]
struct Pending {
    copy: Copy,
    is_for_host: bool,
    /// The bytes of a source in pageable memory.
    _staged: Vec<u8>,
}

impl Work for Pending {
    fn run(&self) -> Result {
        self.copy.run_in(&*state()?)
    }

    fn node_type(&self) -> i32 {
        Copy::NODE_TYPE
    }

    fn is_for_host(&self) -> bool {
        self.is_for_host
    }
}

/// A graph node's copy as pending work.
pub(crate) fn pending_copy(copy: Copy, state: &State) -> Result<Arc<dyn Work>> {
    copy.timing(state, true)?;
    copy.pending(state, Timing::Later)
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

/// The starts of the chunks, ordered so overlapping bytes are read before they are overwritten.
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

/// Each run of uninitialized bytes: its first byte, counted from `offset`, and its length.
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
