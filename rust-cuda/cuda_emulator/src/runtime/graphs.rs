//! Parameters of graph nodes, converted between the runtime's form and the driver's.

use std::ffi::c_int;

use crate::abi::{Copy3D, HostAddress, KernelShape, Place3D, RuntimeCopy3D, RuntimePlace};
use crate::driver::graph_update;
use crate::driver::memory::{Copy, Side};
use crate::error::{Error, Result};
use crate::handles::Handle;

use super::{arrays, binaries, bind, copies};

/// Converts the launch of a kernel, given by its address in the program, to the driver's form.
///
/// # Errors
/// Same as [`binaries::function`].
pub(crate) fn of_driver(parameters: KernelShape) -> Result<KernelShape> {
    let function = binaries::function(HostAddress(parameters.function), bind()?)?;
    Ok(KernelShape { function, ..parameters })
}

/// Parameters of a kernel node, with the kernel's address in the program.
pub(crate) fn kernel_node(node: Handle) -> Result<KernelShape> {
    let shape = graph_update::kernel_node(node)?.shape;
    let address = binaries::address_of(shape.function)?;
    Ok(KernelShape { function: address.map_or(shape.function, |address| address.0), ..shape })
}

/// The work of a node that copies bytes.
///
/// # Errors
/// `INVALID_COPY_KIND`
pub(crate) fn copy_of_bytes(to: u64, from: u64, bytes: usize, kind: c_int) -> Result<Copy> {
    let (to, from) = copies::addresses(to, from, kind)?;
    let [to, from] = [to, from].map(|address| Side { address, pitch: bytes, plane: bytes });
    Ok(Copy { to, from, width: bytes, height: 1, depth: 1 })
}

/// The driver's memory type for an array (`CU_MEMORYTYPE_ARRAY`).
const ARRAY: c_int = 3;

/// Converts a 3D copy to the driver's form, which counts bytes instead of an array's elements.
///
/// # Errors
/// `INVALID_COPY_KIND`; `INVALID_HANDLE` if an array does not exist; `INVALID_VALUE` if the arrays'
/// elements differ in size.
pub(crate) fn copy_of_box(copy: RuntimeCopy3D) -> Result<Copy3D> {
    let RuntimeCopy3D { source, destination, extent: [width, height, depth], kind } = copy;
    let (of_destination, of_source) = match kind {
        0 => (1, 1),
        1 => (2, 1),
        2 => (1, 2),
        3 => (2, 2),
        4 => (4, 4),
        _ => return Err(Error::INVALID_COPY_KIND),
    };
    let element =
        |array: Handle| if array == 0 { Ok(None) } else { arrays::row(array).map(|(element, _)| Some(element)) };
    let [from, to] = [element(source.array)?, element(destination.array)?];
    if from.zip(to).is_some_and(|(from, to)| from != to) {
        return Err(Error::INVALID_VALUE);
    }
    let bytes = from.or(to).unwrap_or(1);
    let place = |place: RuntimePlace, memory, element: Option<usize>| {
        let RuntimePlace { array, position: [x, y, z], pointer, pitch, height, .. } = place;
        let memory = if element.is_some() { ARRAY } else { memory };
        let (host, device) = if memory == 1 { (pointer as usize, 0) } else { (0, pointer) };
        let x_bytes = x.saturating_mul(element.unwrap_or(1));
        Place3D { x_bytes, y, z, level: 0, memory, host, device, array, reserved: 0, pitch, height }
    };
    let (source, destination) = (place(source, of_source, from), place(destination, of_destination, to));
    let width_bytes = width.checked_mul(bytes).ok_or(Error::INVALID_VALUE)?;
    Ok(Copy3D { source, destination, width_bytes, height, depth })
}

/// Converts a copy node of the driver to the runtime's form.
///
/// # Errors
/// `INVALID_HANDLE` if an array no longer exists.
pub(crate) fn box_of(copy: Copy3D) -> Result<RuntimeCopy3D> {
    let is_of_host = |place: &Place3D| place.memory == 1;
    let kind = match (is_of_host(&copy.destination), is_of_host(&copy.source), copy.source.memory) {
        (true, true, _) => 0,
        (_, _, 4) => 4,
        (false, true, _) => 1,
        (true, false, _) => 2,
        (false, false, _) => 3,
    };
    let element = |place: &Place3D| match place.memory {
        ARRAY => arrays::row(place.array).map(|(element, _)| element),
        _ => Ok(1),
    };
    let [from, to] = [element(&copy.source)?, element(&copy.destination)?];
    let place = |place: Place3D, element: usize| RuntimePlace {
        array: place.array,
        position: [place.x_bytes / element, place.y, place.z],
        pointer: if is_of_host(&place) { place.host as u64 } else { place.device },
        pitch: place.pitch,
        width: copy.width_bytes,
        height: place.height,
    };
    let (source, destination) = (place(copy.source, from), place(copy.destination, to));
    Ok(RuntimeCopy3D { source, destination, extent: [copy.width_bytes / from.max(to), copy.height, copy.depth], kind })
}
