//! Tensor maps, read by copies of boxes of tensors (`cp.async.bulk.tensor`).

use std::ffi::{c_int, c_uint};

use ptx_interpreter::memory::{
    InvalidTensor, MAX_TENSOR_RANK, Swizzle, TENSOR_MAP_BYTES, Tensor, TensorElement, TensorMap,
};

use crate::abi::{In, Out};
use crate::driver::driver;
use crate::error::{Error, Result};
use crate::journal;

/// A `CUtensorMap`.
pub(crate) type RawTensorMap = [u8; TENSOR_MAP_BYTES];

/// Alignment of a `CUtensorMap` in bytes.
const ALIGNMENT: usize = 64;

/// Number of values in `CUtensorMapDataType`, `CUtensorMapSwizzle`, `CUtensorMapInterleave` and
/// `CUtensorMapL2promotion`.
const TYPES: usize = 16;
const SWIZZLES: usize = 7;
const INTERLEAVES: c_int = 3;
const PROMOTIONS: c_int = 4;

/// `cuTensorMapEncodeTiled`
pub(crate) fn encode(
    map: Out<RawTensorMap>,
    (element, rank, address): (c_int, c_uint, usize),
    (sizes, strides): (In<u64>, In<u64>),
    (box_sizes, element_strides): (In<u32>, In<u32>),
    [interleave, swizzle, promotion, fill]: [c_int; 4],
) -> Result {
    driver()?;
    let rank = rank as usize;
    let is_known = (0..INTERLEAVES).contains(&interleave) && (0..PROMOTIONS).contains(&promotion);
    if !map.is_aligned(ALIGNMENT) {
        journal::note("cuTensorMapEncodeTiled: a CUtensorMap has to begin at a multiple of 64 bytes");
        return Err(Error::INVALID_VALUE);
    }
    if !(1..=MAX_TENSOR_RANK).contains(&rank) || !is_known || !(0..=1).contains(&fill) {
        return Err(Error::INVALID_VALUE);
    }
    if interleave != 0 {
        journal::note_once("cuTensorMapEncodeTiled: interleaved layouts are not supported");
        return Err(Error::NOT_SUPPORTED);
    }
    let tensor = Tensor {
        element: one_of(&TensorElement::ALL, TYPES, element, "elements of 4 and 6 bits")?,
        address: address as u64,
        sizes: sizes.all(rank)?,
        strides: strides.all(rank - 1)?,
        box_sizes: box_sizes.all(rank)?,
        element_strides: element_strides.all(rank)?,
        swizzle: one_of(&Swizzle::ALL, SWIZZLES, swizzle, "swizzles of chunks other than of 16 bytes")?,
        fills_with_nan: fill == 1,
    };
    map.set(TensorMap::new(tensor).map_err(invalid)?.to_bytes())
}

/// `cuTensorMapReplaceAddress`
pub(crate) fn replace_address(map: Out<RawTensorMap>, address: usize) -> Result {
    driver()?;
    let known = TensorMap::from_bytes(&map.get()?).ok_or_else(|| {
        journal::note("cuTensorMapReplaceAddress: the bytes are no tensor map of cuTensorMapEncodeTiled");
        Error::INVALID_VALUE
    })?;
    map.set(known.at(address as u64).map_err(invalid)?.to_bytes())
}

/// The value for a number of an enumeration. The enumeration's last values are not supported.
fn one_of<T: Copy>(values: &[T], count: usize, number: c_int, others: &str) -> Result<T> {
    let number = usize::try_from(number).ok().filter(|number| *number < count).ok_or(Error::INVALID_VALUE)?;
    values.get(number).copied().ok_or_else(|| {
        journal::note_once(&format!("cuTensorMapEncodeTiled: {others} are not supported"));
        Error::NOT_SUPPORTED
    })
}

fn invalid(error: InvalidTensor) -> Error {
    journal::note(&format!("a tensor map: {error}"));
    Error::INVALID_VALUE
}
