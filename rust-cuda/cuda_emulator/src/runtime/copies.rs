//! Copies with a `cudaMemcpyKind`.

use std::ffi::{c_int, c_uint};

use crate::abi::{Extent3, HostAddress, Out, PitchedPointer};
use crate::driver::memory::{Address, Copy, Side, allocate_pitched, copy_rows, fill_2d};
use crate::error::{Error, Result};
use crate::handles::Handle;

use super::{binaries, bind};

/// `cudaMemcpyDeviceToDevice`
pub(crate) const DEVICE_TO_DEVICE: c_int = 3;

/// Size in bytes of the largest access, to which rows are aligned.
pub(crate) const ELEMENT: c_uint = 16;

/// The locations of a copy's addresses (`cudaMemcpyKind`).
///
/// # Errors
/// `INVALID_COPY_KIND`
pub(crate) fn addresses(to: u64, from: u64, kind: c_int) -> Result<(Address, Address)> {
    let of_host = |address: u64| Address::Host(HostAddress(address as usize));
    Ok(match kind {
        0 => (of_host(to), of_host(from)),
        1 => (Address::Device(to), of_host(from)),
        2 => (of_host(to), Address::Device(from)),
        DEVICE_TO_DEVICE => (Address::Device(to), Address::Device(from)),
        4 => (Address::Any(to), Address::Any(from)),
        _ => return Err(Error::INVALID_COPY_KIND),
    })
}

/// `cudaMemcpy`, `cudaMemcpyAsync`
pub(crate) fn copy(to: u64, from: u64, bytes: usize, kind: c_int, stream: Option<Handle>) -> Result {
    copy_2d((to, bytes), (from, bytes), (bytes, 1), kind, stream)
}

/// `cudaMemcpy2D`, `cudaMemcpy2DAsync`: addresses with their pitches, and bytes per row with the
/// number of rows.
pub(crate) fn copy_2d(
    (to, to_pitch): (u64, usize),
    (from, from_pitch): (u64, usize),
    (width, height): (usize, usize),
    kind: c_int,
    stream: Option<Handle>,
) -> Result {
    let (to, from) = addresses(to, from, kind)?;
    if width > to_pitch || width > from_pitch {
        return Err(Error::INVALID_PITCH);
    }
    let side = |address, pitch: usize| Side { address, pitch, plane: pitch.saturating_mul(height) };
    copy_rows(Copy { to: side(to, to_pitch), from: side(from, from_pitch), width, height, depth: 1 }, stream)
}

/// `cudaMemset2D`, `cudaMemset2DAsync`
pub(crate) fn set_2d(
    (address, pitch): (u64, usize),
    value: c_int,
    (width, height): (usize, usize),
    stream: Option<Handle>,
) -> Result {
    if height > 1 && width > pitch {
        return Err(Error::INVALID_PITCH);
    }
    // A byte, as in C's memset.
    fill_2d((address, pitch), value as u32, 1, (width, height), stream)
}

/// The address at which a copy of this size begins in a variable.
///
/// # Errors
/// `INVALID_SYMBOL`; `INVALID_VALUE` if the copy extends past the variable's end.
pub(crate) fn in_symbol(symbol: HostAddress, offset: usize, bytes: usize) -> Result<u64> {
    let (start, size) = binaries::variable(symbol, bind()?)?;
    let end = offset.checked_add(bytes).filter(|end| *end <= size);
    end.map(|_| start + offset as u64).ok_or(Error::INVALID_VALUE)
}

/// Allocates planes of pitched rows, and writes their location.
pub(crate) fn allocate_box(to: Out<PitchedPointer>, Extent3 { width, height, depth }: Extent3) -> Result {
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let (mut pointer, mut pitch) = (0, 0);
    if width != 0 && height != 0 && depth != 0 {
        let rows = height.checked_mul(depth).ok_or(Error::INVALID_VALUE)?;
        allocate_pitched(Out::to(&mut pointer), Out::to(&mut pitch), width, rows, ELEMENT)?;
    }
    to.set(PitchedPointer { pointer, pitch, width, height })
}

/// `cudaMemset3D`, `cudaMemset3DAsync`
pub(crate) fn set_box(to: PitchedPointer, value: c_int, extent: Extent3, stream: Option<Handle>) -> Result {
    let Extent3 { width, height, depth } = extent;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(());
    }
    let PitchedPointer { pointer, pitch, height: rows, .. } = to;
    if width > pitch || height > rows {
        return Err(Error::INVALID_PITCH);
    }
    let plane = pitch.checked_mul(rows).ok_or(Error::INVALID_VALUE)?;
    (0..depth).try_for_each(|z| set_2d((pointer + (z * plane) as u64, pitch), value, (width, height), stream))
}
