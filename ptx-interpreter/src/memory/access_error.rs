//! What can be wrong with an access.

use std::fmt;

use thiserror::Error;

use super::Extent;
use crate::syntax::Space;

/// Why an access is refused. Addresses are those within the space.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessError {
    /// A byte of it lies outside of every allocation.
    #[error("{bytes} bytes at {address:#x} of {} memory: {}", SpaceName(nearest.space), Miss(*address, *bytes, nearest))]
    OutOfBounds {
        /// The address.
        address: u64,
        /// The size of the access.
        bytes: usize,
        /// What lies closest.
        nearest: Extent,
    },
    /// Nothing is allocated, or the address is null.
    #[error("{bytes} bytes at {address:#x} of {} memory: {}", SpaceName(*space), Nothing(*address))]
    NoAllocation {
        /// The address.
        address: u64,
        /// The size of the access.
        bytes: usize,
        /// The space.
        space: Space,
    },
    /// The allocation has been freed.
    #[error("{bytes} bytes at {address:#x} of global memory: {freed} has been freed")]
    Freed {
        /// The address.
        address: u64,
        /// The size of the access.
        bytes: usize,
        /// What was there.
        freed: Extent,
    },
    /// The address is no multiple of the size of the access.
    #[error("{address:#x} of {} memory is no multiple of {alignment}, the size of the access", SpaceName(*space))]
    Misaligned {
        /// The address.
        address: u64,
        /// What it must be a multiple of.
        alignment: usize,
        /// The space.
        space: Space,
    },
    /// Nobody has written a byte that is read.
    #[error("{bytes} bytes at {address:#x} of {place}: byte {first} of it has never been written")]
    Uninitialised {
        /// The address.
        address: u64,
        /// The size of the access.
        bytes: usize,
        /// The first such byte, counted from the start of `place`.
        first: u64,
        /// What it lies in.
        place: Extent,
    },
    /// A generic address that is an offset within another space.
    #[error(
        "{bytes} bytes at {address:#x} of global memory: this looks like an offset in {0} memory; cvta.{0} is missing",
        SpaceName(*looks_like)
    )]
    WrongSpace {
        /// The address.
        address: u64,
        /// The size of the access.
        bytes: usize,
        /// The space it is an offset of.
        looks_like: Space,
    },
    /// A store to memory that kernels only read.
    #[error("{bytes} bytes at {address:#x} of {} memory: kernels cannot write there", SpaceName(*space))]
    ReadOnly {
        /// The address.
        address: u64,
        /// The size of the access.
        bytes: usize,
        /// The space.
        space: Space,
    },
}

impl AccessError {
    /// Ok if an address is a multiple of the size of its access, which is a power of two.
    #[inline]
    pub fn check_aligned(space: Space, address: u64, alignment: usize) -> Result<(), Self> {
        if address & (alignment as u64).wrapping_sub(1) == 0 {
            return Ok(());
        }
        Err(Self::Misaligned { address, alignment, space })
    }
}

/// A space as messages call it.
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

struct Nothing(u64);

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1024 => f.write_str("a null pointer"),
            _ => f.write_str("nothing is allocated"),
        }
    }
}

/// How an access of so many bytes at an address misses something.
struct Miss<'a>(u64, usize, &'a Extent);

impl fmt::Display for Miss<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(address, bytes, extent) = *self;
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
