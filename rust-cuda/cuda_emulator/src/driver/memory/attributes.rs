//! Queries for the attributes of an address.

use std::ffi::{c_int, c_uint};

use crate::abi::{In, Out};
use crate::driver::{State, in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;

/// `CU_MEMORYTYPE_HOST` and `CU_MEMORYTYPE_DEVICE`.
const HOST: u64 = 1;
const DEVICE: u64 = 2;

/// An attribute's value, in the attribute's size.
#[derive(Clone, Copy, Debug)]
enum Value {
    One(u8),
    Four(u32),
    Eight(u64),
}

impl Value {
    fn write(self, out: Out<u64>) -> Result {
        match self {
            Self::One(value) => Out::<u8>::set(out.cast(), value),
            Self::Four(value) => Out::<u32>::set(out.cast(), value),
            Self::Eight(value) => out.set(value),
        }
    }

    /// 0, or the number that means "none", in the same size.
    fn none(self) -> Self {
        match self {
            Self::One(_) => Self::One(0),
            Self::Four(_) => Self::Four(0),
            Self::Eight(_) => Self::Eight(0),
        }
    }
}

/// What is known about an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    memory: u64,
    context: Handle,
    pub(crate) ordinal: usize,
    start: u64,
    bytes: u64,
    pub(crate) is_managed: bool,
}

impl Known {
    pub(crate) fn is_of_host(&self) -> bool {
        self.memory == HOST
    }
}

/// `cuPointerGetAttribute`
pub(crate) fn pointer_attribute(data: Out<u64>, attribute: c_int, address: u64) -> Result {
    in_context(|state, _, _| {
        let known = state.known(address).ok_or(Error::INVALID_VALUE)?;
        value(attribute, address, known).ok_or(Error::INVALID_VALUE)?.write(data)
    })
}

/// `cuPointerGetAttributes`, which returns values for an unknown address too.
pub(crate) fn pointer_attributes(count: c_uint, attributes: In<c_int>, data: In<Out<u64>>, address: u64) -> Result {
    let state = state()?;
    let known = state.known(address);
    let unknown = Known { memory: 0, context: 0, ordinal: 0, start: 0, bytes: 0, is_managed: false };
    for index in 0..count as usize {
        let attribute = attributes.nth(index)?;
        let of_unknown = value(attribute, 0, unknown).map(|value| match attribute {
            // The ordinal of no device.
            9 => Value::Four(-2_i32 as u32),
            _ => value.none(),
        });
        let found = match known {
            Some(known) => value(attribute, address, known).or(of_unknown),
            None => of_unknown,
        };
        found.ok_or(Error::INVALID_VALUE)?.write(data.nth(index)?)?;
    }
    Ok(())
}

/// Accepts `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`. Without an asynchronous order, all operations are
/// synchronous anyway; with one, the attribute has no effect.
pub(crate) fn set_pointer_attribute(attribute: c_int, address: u64) -> Result {
    in_context(|state, _, _| {
        let is_possible = attribute == 6 && state.known(address).is_some();
        if is_possible { Ok(()) } else { Err(Error::INVALID_VALUE) }
    })
}

/// The value of a `CUpointer_attribute`; None if this kind of memory has none.
fn value(attribute: c_int, address: u64, known: Known) -> Option<Value> {
    Some(match attribute {
        1 => Value::Eight(known.context as u64),
        2 => Value::Four(known.memory as u32),
        3 => Value::Eight(address),
        4 if known.memory == DEVICE && !known.is_managed => return None,
        4 => Value::Eight(address),
        6 => Value::Four(1),
        7 => Value::Eight(known.start),
        8 => Value::Four(known.is_managed.into()),
        9 => Value::Four(known.ordinal as u32),
        10 | 15 | 21 => Value::One(0),
        11 => Value::Eight(known.start),
        12 => Value::Eight(known.bytes),
        13 => Value::One(1),
        14 => Value::Eight(0),
        // Read and write access.
        16 => Value::Four(3),
        17 => Value::Eight(0),
        _ => return None,
    })
}

impl State {
    /// What is known about an address; None if it is in no allocation.
    pub(crate) fn known(&self, address: u64) -> Option<Known> {
        if let Some(block) = self.shared.find(address, 1) {
            let memory = if block.is_managed { DEVICE } else { HOST };
            let (start, bytes) = (block.start, block.bytes as u64);
            let context = crate::driver::context::current().unwrap_or(0);
            return Some(Known { memory, context, ordinal: 0, start, bytes, is_managed: block.is_managed });
        }
        let (ordinal, extent) = self.extent_of(address)?;
        let owner = self.contexts.iter().find(|(_, context)| context.allocations.contains(&extent.start));
        let context = owner.map_or(0, |(handle, _)| handle);
        let (start, bytes) = (extent.start, extent.bytes);
        Some(Known { memory: DEVICE, context, ordinal, start, bytes, is_managed: false })
    }
}
