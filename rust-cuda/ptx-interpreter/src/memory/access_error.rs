//! Errors of memory accesses.

use std::fmt;

use thiserror::Error;

use super::{Accessed, Extent, ImageError};
use crate::syntax::{Space, printable};

/// The reason why an access is rejected. Addresses are relative to the state space.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessError {
    /// Some bytes of the access are outside every allocation.
    #[error("{}", Miss(*address, *bytes, nearest))]
    OutOfBounds {
        /// Address of the access.
        address: u64,
        /// Size of the access in bytes.
        bytes: usize,
        /// The nearest allocation or variable.
        nearest: Extent,
    },
    /// Nothing is allocated, or the address is null.
    #[error("{bytes} bytes at {address:#x} of {} memory: {}", SpaceName(*space), NothingAllocated(*address))]
    NoAllocation {
        /// Address of the access.
        address: u64,
        /// Size of the access in bytes.
        bytes: usize,
        /// State space of the access.
        space: Space,
    },
    /// The allocation has been freed.
    #[error("{bytes} bytes at {address:#x} of global memory: {freed} has been freed")]
    Freed {
        /// Address of the access.
        address: u64,
        /// Size of the access in bytes.
        bytes: usize,
        /// The freed allocation.
        freed: Extent,
    },
    /// The address is not a multiple of the access size.
    #[error("{address:#x} of {} memory is no multiple of {alignment}, the size of the access", SpaceName(*space))]
    Misaligned {
        /// Address of the access.
        address: u64,
        /// The required alignment in bytes.
        alignment: usize,
        /// State space of the access.
        space: Space,
    },
    /// A load of uninitialized bytes.
    #[error("{}{}", Accessed(place, *address, *bytes), NeverWritten { address: *address, bytes: *bytes, first: *first, place })]
    Uninitialised {
        /// Address of the access.
        address: u64,
        /// Size of the access in bytes.
        bytes: usize,
        /// Offset of the first uninitialized byte from the start of `place`.
        first: u64,
        /// The allocation or variable that contains it.
        place: Extent,
    },
    /// A generic address that looks like an offset in another state space.
    #[error(
        "{bytes} bytes at {address:#x} of global memory: this looks like an offset in {0} memory; cvta.{0} is missing",
        SpaceName(*looks_like)
    )]
    WrongSpace {
        /// Address of the access.
        address: u64,
        /// Size of the access in bytes.
        bytes: usize,
        /// The space that the offset belongs to.
        looks_like: Space,
    },
    /// An access through a texture or surface object.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A store to read-only memory.
    #[error("{bytes} bytes at {address:#x} of {} memory: kernels cannot write there", SpaceName(*space))]
    ReadOnly {
        /// Address of the access.
        address: u64,
        /// Size of the access in bytes.
        bytes: usize,
        /// State space of the access.
        space: Space,
    },
}

impl AccessError {
    /// Checks that an address is a multiple of `alignment`, a power of two.
    ///
    /// # Errors
    /// [`AccessError::Misaligned`]
    #[inline]
    pub fn check_aligned(space: Space, address: u64, alignment: usize) -> Result<(), Self> {
        if address & (alignment as u64).wrapping_sub(1) == 0 {
            return Ok(());
        }
        Err(Self::Misaligned { address, alignment, space })
    }
}

/// Displays a state space by its name in messages.
pub(crate) struct SpaceName(pub(crate) Space);

impl fmt::Display for SpaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Space::Const => "const",
            Space::Global => "global",
            Space::Local => "local",
            Space::Param => "param",
            Space::Shared => "shared",
        })
    }
}

struct NothingAllocated(u64);

impl fmt::Display for NothingAllocated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1024 => f.write_str("a null pointer"),
            _ => f.write_str("nothing is allocated"),
        }
    }
}

/// Displays the element or byte after an access that was never written.
struct NeverWritten<'a> {
    address: u64,
    bytes: usize,
    first: u64,
    place: &'a Extent,
}

impl fmt::Display for NeverWritten<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, bytes, first, place } = *self;
        match (place.elements(address, bytes), place.elements(place.start + first, 1)) {
            (Some(all), Some(unwritten)) if all == unwritten => f.write_str(", which has never been written"),
            (_, Some(unwritten)) => write!(f, ", of which element {} has never been written", unwritten.start),
            (_, None) => write!(f, ": byte {first} of it has never been written"),
        }
    }
}

/// Displays an access that misses an extent, and by how much. The fields are the address, the size
/// in bytes and the extent.
struct Miss<'a>(u64, usize, &'a Extent);

impl fmt::Display for Miss<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(address, bytes, extent) = *self;
        if let Some(element) = extent.element {
            let length = cuda_launch::counted((extent.bytes / u64::from(element.get())) as usize, "element");
            return write!(f, "{}: `{}` has {length}", Accessed(extent, address, bytes), printable(&extent.name));
        }
        write!(f, "{bytes} bytes at {address:#x} of {} memory: ", SpaceName(extent.space))?;
        let end = address.wrapping_add(bytes as u64);
        if address >= extent.end() {
            write!(f, "starts {} bytes past the end of {extent}", address - extent.end())
        } else if address >= extent.start {
            write!(f, "ends {} bytes past the end of {extent}", end.wrapping_sub(extent.end()))
        } else {
            write!(f, "starts {} bytes before {extent}", extent.start - address)
        }
    }
}
