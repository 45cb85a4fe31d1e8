//! Parameters of a graph's nodes, which the runtime states in other terms than the driver.

use std::ffi::c_int;

use crate::abi::{Copy3D, HostAddress, KernelShape, Place3D, RuntimeCopy3D, RuntimePlace};
use crate::driver::graph_update;
use crate::driver::memory::Copy;
use crate::error::{Error, Result};
use crate::handles::Handle;

use super::{binaries, bind, copies};

/// The launch of a kernel at an address of the program, as the driver has it.
///
/// # Errors
/// As [`binaries::function`].
pub(crate) fn of_driver(parameters: KernelShape) -> Result<KernelShape> {
    let function = binaries::function(HostAddress(parameters.function), bind()?)?;
    Ok(KernelShape { function, ..parameters })
}

/// Parameters of a launch's node, with the address of the kernel in the program.
pub(crate) fn kernel_node(node: Handle) -> Result<KernelShape> {
    let shape = graph_update::kernel_node(node)?.shape;
    let address = binaries::address_of(shape.function)?;
    Ok(KernelShape { function: address.map_or(shape.function, |address| address.0), ..shape })
}

/// A copy of bytes as a node's work.
///
/// # Errors
/// `INVALID_COPY_KIND`
pub(crate) fn copy_of_bytes(to: u64, from: u64, bytes: usize, kind: c_int) -> Result<Copy> {
    let (to, from) = copies::addresses(to, from, kind)?;
    Ok(Copy { to, from, to_pitch: bytes, from_pitch: bytes, width: bytes, height: 1 })
}

/// A copy of a box, as the driver has it.
///
/// # Errors
/// `INVALID_COPY_KIND`; `NOT_SUPPORTED` for arrays.
pub(crate) fn copy_of_box(copy: RuntimeCopy3D) -> Result<Copy3D> {
    let RuntimeCopy3D { source, destination, extent: [width_bytes, height, depth], kind } = copy;
    let (of_destination, of_source) = match kind {
        0 => (1, 1),
        1 => (2, 1),
        2 => (1, 2),
        3 => (2, 2),
        4 => (4, 4),
        _ => return Err(Error::INVALID_COPY_KIND),
    };
    let place = |RuntimePlace { array, position: [x_bytes, y, z], pointer, pitch, height, .. }: RuntimePlace,
                 memory| {
        let (host, device) = if memory == 1 { (pointer as usize, 0) } else { (0, pointer) };
        Place3D { x_bytes, y, z, level: 0, memory, host, device, array, reserved: 0, pitch, height }
    };
    if source.array != 0 || destination.array != 0 {
        crate::journal::unsupported("a copy to or from an array");
        return Err(Error::NOT_SUPPORTED);
    }
    let (source, destination) = (place(source, of_source), place(destination, of_destination));
    Ok(Copy3D { source, destination, width_bytes, height, depth })
}

/// A copy of the driver's node, as the runtime states it.
pub(crate) fn box_of(copy: Copy3D) -> RuntimeCopy3D {
    let is_of_host = |place: &Place3D| place.memory == 1;
    let kind = match (is_of_host(&copy.destination), is_of_host(&copy.source), copy.source.memory) {
        (true, true, _) => 0,
        (_, _, 4) => 4,
        (false, true, _) => 1,
        (true, false, _) => 2,
        (false, false, _) => 3,
    };
    let place = |place: Place3D| RuntimePlace {
        array: place.array,
        position: [place.x_bytes, place.y, place.z],
        pointer: if is_of_host(&place) { place.host as u64 } else { place.device },
        pitch: place.pitch,
        width: copy.width_bytes,
        height: place.height,
    };
    let (source, destination) = (place(copy.source), place(copy.destination));
    RuntimeCopy3D { source, destination, extent: [copy.width_bytes, copy.height, copy.depth], kind }
}
