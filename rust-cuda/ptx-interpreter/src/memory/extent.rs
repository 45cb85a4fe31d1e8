//! Address ranges in a memory.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use super::AccessError;
use crate::syntax::{Space, printable};

/// A named address range: an allocation, a variable or a block's dynamic shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Name in messages, such as "allocation 3".
    pub name: Arc<str>,
    /// The state space.
    pub space: Space,
    /// First address within the space.
    pub start: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Size of an element in bytes. If set, messages name elements, as in `tile[31]`; otherwise
    /// bytes at an address.
    pub element: Option<NonZeroU32>,
}

impl Extent {
    /// The address after the last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }

    /// Offset of an access from the start. `None` if the access is not entirely inside.
    #[inline]
    pub fn offset_of(&self, address: u64, bytes: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.start);
        (offset <= self.bytes && bytes as u64 <= self.bytes - offset).then_some(offset as usize)
    }

    /// Like `offset_of`, with an error.
    ///
    /// # Errors
    /// [`AccessError::OutOfBounds`], which tells by how much the access misses.
    #[inline]
    pub fn check(&self, address: u64, bytes: usize) -> Result<usize, AccessError> {
        self.offset_of(address, bytes).ok_or_else(|| AccessError::OutOfBounds { address, bytes, nearest: self.clone() })
    }

    /// Number of bytes between an access and the extent; 0 if they touch or overlap.
    pub(super) fn distance(&self, address: u64, bytes: usize) -> u64 {
        let before = self.start.saturating_sub(address.saturating_add(bytes as u64));
        before.max(address.saturating_sub(self.end()))
    }
}

impl Extent {
    /// The range of elements that an access touches. It may extend outside the memory. `None` if
    /// the element size is unknown.
    pub fn elements(&self, address: u64, bytes: usize) -> Option<Range<i64>> {
        let (element, offset) = (i64::from(self.element?.get()), address.wrapping_sub(self.start).cast_signed());
        let last = offset.wrapping_add(bytes.max(1) as i64 - 1);
        Some(offset.div_euclid(element)..last.div_euclid(element) + 1)
    }
}

/// Displays the bytes of an access: `` `tile[31]` `` or `` `tile[28..32]` `` if elements are known,
/// otherwise as bytes at an address of the extent. The fields are the extent, the address and the
/// size in bytes.
pub(crate) struct Accessed<'a>(pub(crate) &'a Extent, pub(crate) u64, pub(crate) usize);

impl fmt::Display for Accessed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(extent, address, bytes) = *self;
        let name = printable(&extent.name);
        match extent.elements(address, bytes) {
            Some(Range { start, end }) if end == start + 1 => write!(f, "`{name}[{start}]`"),
            Some(Range { start, end }) => write!(f, "`{name}[{start}..{end}]`"),
            None => write!(f, "{bytes} bytes at {address:#x} of {extent}"),
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes at {:#x})", self.name, self.bytes, self.start)
    }
}
